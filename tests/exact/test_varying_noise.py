"""Noise that varies: prior, outcomes, sweeps, prior again.

False alarms: some 30 statistics, each below p = 1e-6. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior

DF = 4.0


class VaryingNoise(outcomes.Case):
    def __init__(self, name, table, *, leaf_sd=(3.0, 0.8), weighted=False, learns_df=False):
        self.name, self.table, self._leaf_sd = name, table, leaf_sd
        self._tails = {"df_rate": 0.1} if learns_df else {"df": DF}
        self.scales = ("sigma", "df") if learns_df else ("sigma",)
        n = table.n_rows
        self.weights = 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if weighted else None

    def settings(self):
        prior = Prior(
            n_trees=2, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=(6.0, 1.0), leaf_sd=(3.0, 1.0)
        )
        out = core.settings(prior, likelihood="varying_noise", more=self._tails, **core.MOVES)
        out.add_ensemble()
        noise = out.ensemble(1)
        noise.leaf_model, noise.n_trees, noise.alpha, noise.beta = "precision", 2, 0.8, 1.0
        noise.theta_a, noise.theta_b = 4.0, 6.0
        noise.p_change, noise.p_perturb = 0.2, 0.3
        if isinstance(self._leaf_sd, tuple):
            noise.leaf_sd_fixed = False
            noise.leaf_shape, noise.leaf_rate = self._leaf_sd
        else:
            noise.leaf_sd = self._leaf_sd
        return out

    def draw_y(self, fits, scales, rng):
        f, log_h = fits
        w = 1.0 if self.weights is None else self.weights
        return f + scales["sigma"] * np.exp(-log_h / 2) * rng.standard_t(
            scales["df"], len(f)
        ) / np.sqrt(w)

    def statistics(self, y, fits, scales):
        f, log_h = fits
        w = 1.0 if self.weights is None else self.weights
        squares = w * np.exp(log_h) * (y - f) ** 2
        df = self._tails.get("df") or scales["df"]
        z2 = squares / scales["sigma"] ** 2
        return {
            "log density": -0.5 * (df + 1) * np.log1p(z2 / df).sum(),
            "y'f": (y * f).sum(),
            "y² and h": (y**2 * log_h).sum(),
        }


CASES = [
    VaryingNoise("learned scale and tails", make_table(12, 2, (3,)), learns_df=True),
    VaryingNoise("weights", make_table(15, 2), leaf_sd=0.6, weighted=True),
    VaryingNoise("missing values", make_table(12, 2, (2,), missing=0.2), leaf_sd=1.0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}
