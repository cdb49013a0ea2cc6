"""The prior of an average effect, by simulation.

The core draws single trees from the prior, each with a theta of its own; an ensemble is a choice of
them. Its scale and the coefficients of the treatment are drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.model.settings import settings_from_dict
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.posterior import Posterior
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]
# Rows over which an average is taken, and trees among which an ensemble chooses.
MAX_ROWS, POOL = 100, 600
# Settings of a tree whose outputs have variance one.
ONE_TREE: dict[str, Any] = {
    "n_trees": 1,
    "leaf_sd": 1.0,
    "leaf_sd_fixed": True,
    "hidden_columns": 0,
    "likelihood": "none",
    "offset": 0.0,
    "sigma": 1.0,
    "sigma_fixed": True,
    "nu": 3.0,
    "lambda_": 1.0,
    "more": {},
    "ensembles": [],
}


class PriorOf(NamedTuple):
    """Which effect to simulate, and how often."""

    k: int
    """Number of the treatment."""
    change: tuple[float, float]
    """Two doses in the user's units from that of f, as for `effect_blocks`."""
    dose_scale: float
    """The engine's unit of a dose in the user's units."""
    n_draws: int
    seed: int


def prior_averages(posterior: Posterior, wide: EncodedTable, of: PriorOf) -> FloatArray:
    """Return prior draws of the effect of a treatment, averaged over rows."""
    table = wide.take(choose_rows(MAX_ROWS, wide.n_rows))
    settings, likelihood = posterior.settings, posterior.likelihood
    rng = np.random.default_rng(of.seed)
    others: list[dict[str, Any]] = settings["ensembles"]
    e = len(others) - likelihood.n_treatments + of.k
    tau = _ensemble(others[e], table, of, rng)
    low, high = _coefficients(settings["more"], of.n_draws, rng)
    level = settings["more"]["level_sd"] * rng.standard_normal((of.n_draws, 1))
    effect = (level + (high - low) * tau) / of.dose_scale
    first, second = of.change
    if not likelihood.has_classes:
        return np.asarray((second - first) * posterior.scale.scale * effect.mean(axis=1))
    f = float(settings["offset"]) + _ensemble(settings, table, of, rng) + low * tau
    means = [likelihood.mean(f + dose * effect).mean(axis=1) for dose in (first, second)]
    return np.asarray(means[1] - means[0])


def _coefficients(
    more: Mapping[str, float], n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return draws of the coding: normal with variance 1/2 for arms; 0 and normal for a dose."""
    if more["codes_arms"]:
        low, high = math.sqrt(0.5) * rng.standard_normal((2, n_draws, 1))
        return low, high
    return np.zeros((n_draws, 1)), rng.standard_normal((n_draws, 1))


def _ensemble(
    settings: Mapping[str, Any], table: EncodedTable, of: PriorOf, rng: np.random.Generator
) -> FloatArray:
    """Return prior draws of a sum of trees at the rows, shape (n_draws, n_rows)."""
    # The engine's table without the columns that this ensemble does not have.
    n_kept = table.p_cont - int(settings["hidden_columns"])
    data = table._replace(x_cont=np.ascontiguousarray(table.x_cont[:n_kept])).to_core()
    one = settings_from_dict({**settings, **ONE_TREE})
    pool = np.concatenate(
        [
            _core.draw_prior(data, one, of.seed, i)[0].predict(data, "identity", 0.0, 1)
            for i in range(POOL)
        ]
    ).astype(np.float64)
    scale = np.full(of.n_draws, float(settings["leaf_sd"]))
    if not settings["leaf_sd_fixed"]:
        scale = np.sqrt(settings["leaf_rate"] / rng.gamma(settings["leaf_shape"], size=of.n_draws))
    # The sign of an output is as probable as the other.
    signs = rng.choice((-1.0, 1.0), size=(of.n_draws, settings["n_trees"]))
    chosen = rng.integers(POOL, size=signs.shape)
    weights = np.zeros((of.n_draws, POOL))
    np.add.at(weights, (np.arange(of.n_draws)[:, None], chosen), signs)
    return np.asarray(scale[:, None] * (weights @ pool))
