"""Prior invariance for any likelihood of the core: several ensembles, scales of its own.

A case says what a model is and how outcomes are drawn from it, in NumPy. Starts and the reference
come from the core's simulator of the prior, whose trees are compared with the NumPy simulator's in
test_prior_invariance.py. A replicate is a draw from the prior, an outcome, and some sweeps; then
statistics of ensembles, scales and outcomes have the prior's distribution again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from obliquebart import _core

from . import core
from .compare import p_value
from .prior import Table

Arrays = dict[str, np.ndarray]
# A statistic fails below this p-value; numbers of replicates.
LEVEL = 1e-6
SHORT, LONG = 4_000, 20_000


class Case(ABC):
    """A model of the core. `settings` has all ensembles; `scales` names what it draws besides."""

    name: str
    table: Table
    n_sweeps: int = 10
    scales: tuple[str, ...] = ()  # of the likelihood, and "sigma" where it is sampled
    weights: np.ndarray | None = None

    @abstractmethod
    def settings(self) -> _core.Settings: ...

    @abstractmethod
    def draw_y(
        self, fits: list[np.ndarray], scales: Mapping[str, float], rng: np.random.Generator
    ) -> np.ndarray:
        """Return an outcome per row, or columns of them, given each ensemble's f at the rows."""

    @abstractmethod
    def statistics(
        self, y: np.ndarray, fits: list[np.ndarray], scales: Mapping[str, float]
    ) -> dict[str, float]:
        """Return numbers that depend on outcomes and parameters together."""


def _fits(settings: _core.Settings, data: _core.Data, trees: list[Any]) -> list[Any]:
    out = []
    for e, draws in enumerate(trees):
        link = "identity" if settings.ensemble(e).leaf_model == "normal" else "log_product"
        out.append(draws.predict(data, link, 0.0, 1)[0].astype(float))
    return out


def _statistics(case: Case, y: np.ndarray, fits: list[Any], trees: list[Any], scales: Any) -> Any:
    out: dict[str, float] = {}
    for e, (fit, draws) in enumerate(zip(fits, trees, strict=True)):
        outputs = draws.to_arrays()["outputs"]
        prefix = "" if e == 0 else f"ensemble.{e}."
        out[f"leaves of {e}"] = len(outputs)
        out[f"first f of {e}"] = fit[0]
        out[f"square of f of {e}"] = (fit**2).mean()
        out[f"leaf_sd of {e}"] = scales[f"{prefix}leaf_sd"]
        if len(scales.get(f"{prefix}tree_scales", ())):
            out[f"scale of a tree of {e}"] = scales[f"{prefix}tree_scales"][0]
        out[f"theta of {e}"] = scales[f"{prefix}theta"][0]
        if len(scales.get(f"{prefix}direction_weights", ())):
            kinds = draws.to_arrays()["node_kind"]
            out[f"weight of a component of {e}"] = scales[f"{prefix}direction_weights"][0]
            out[f"rules of the other components of {e}"] = (kinds >> 4 > 0).sum()
    return out | {name: scales[name] for name in case.scales} | case.statistics(y, fits, scales)


def _prior(data: _core.Data, settings: _core.Settings, seed: int, i: int) -> tuple[list[Any], Any]:
    first, scales = _core.draw_prior(data, settings, seed, i)
    others = [scales.pop(f"ensemble.{e}.trees") for e in range(1, settings.n_ensembles)]
    return [first, *others], scales


def _stack(found: list[dict[str, float]]) -> Arrays:
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def prior_statistics(case: Case, n: int, seed: int) -> Arrays:
    """Of independent draws from the prior, with outcomes."""
    data, settings = core.data(case.table), case.settings()
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        trees, scales = _prior(data, settings, seed, i)
        fits = _fits(settings, data, trees)
        found.append(_statistics(case, case.draw_y(fits, scales, rng), fits, trees, scales))
    return _stack(found)


def sweep_statistics(case: Case, n: int, seed: int) -> Arrays:
    """Of draws from the prior with outcomes, after some sweeps given these."""
    data, settings = core.data(case.table), case.settings()
    rng = np.random.default_rng(seed)
    found = []
    chain = None
    for i in range(n):
        trees, scales = _prior(data, settings, seed, i)
        y = case.draw_y(_fits(settings, data, trees), scales, rng)
        if chain is None:
            chain = _core.Sampler(data, y, case.weights, settings, seed, 0)
        for name in case.scales:
            chain.set_value(name, scales[name])
        _set_direction_weights(chain, scales)
        for e in range(settings.n_ensembles):
            prefix = "" if e == 0 else f"ensemble.{e}."
            chain.set_value(f"{prefix}leaf_sd", scales[f"{prefix}leaf_sd"])
            chain.set_tree_scales(scales[f"{prefix}tree_scales"].tolist(), e)
            chain.set_theta(scales[f"{prefix}theta"].tolist(), e)
        chain.set_y(y)
        for e, draws in enumerate(trees):
            chain.set_ensemble(draws, 0, e)
        chain.sweep(case.n_sweeps)
        assert i > 0 or chain.check() == []
        after = [chain.ensemble(e) for e in range(settings.n_ensembles)]
        fits = _fits(settings, data, after)
        found.append(_statistics(case, y, fits, after, chain.state()))
    return _stack(found)


def _set_direction_weights(chain: _core.Sampler, scales: Mapping[str, Any]) -> None:
    weights = {name: w for name, w in scales.items() if name.endswith("direction_weights")}
    if any(map(len, weights.values())):
        state = chain.state()
        chain.set_state(state | {name: w for name, w in weights.items() if name in state})


def p_values(case: Case, n: int, n_reference: int, seed: int) -> dict[str, float]:
    """Compare both, statistic by statistic."""
    ours = sweep_statistics(case, n, seed)
    reference = prior_statistics(case, n_reference, seed + 1)
    return {
        name: p_value(values, reference[name], name.startswith(("leaves", "rules")))
        for name, values in ours.items()
        if np.ptp(np.concatenate([values, reference[name]])) > 0
    }


def failures(case: Case, n: int, seed: int) -> dict[str, float]:
    """Return the statistics that differ after n replicates, against twice as many prior draws."""
    found = p_values(case, n, 2 * n, seed)
    print({name: f"{p:.2g}" for name, p in found.items()})
    return {name: p for name, p in found.items() if p < LEVEL}
