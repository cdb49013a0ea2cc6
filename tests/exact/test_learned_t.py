"""Student's t with learned degrees of freedom: prior, outcomes, sweeps, prior again; and the joint
posterior of f and the degrees of freedom.

False alarms: some 40 statistics, each below p = 1e-6, and some 30 means, each off by more than five
of its standard errors. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior, Table
from obliquebart import _core

GRID = np.array([4.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0])


def prior_of_df(rate):
    """Return the mass that Gamma(2, rate) has nearest to each point of the grid."""
    edges = [0.0, *(0.5 * (GRID[1:] + GRID[:-1])), np.inf]
    return np.diff(stats.gamma(2.0, scale=1.0 / rate).cdf(edges))


class LearnedT(outcomes.Case):
    def __init__(self, name, table, *, rate=0.1, sigma=(6.0, 1.0), weighted=False):
        self.name, self.table, self._rate, self._sigma = name, table, rate, sigma
        self.scales = ("df", "sigma") if isinstance(sigma, tuple) else ("df",)
        n = table.n_rows
        self.weights = 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if weighted else None

    def settings(self):
        prior = Prior(
            n_trees=2,
            alpha=0.8,
            beta=1.0,
            theta=(3.0, 4.0),
            sigma=self._sigma,
            leaf_sd=(3.0, 1.0),
        )
        more = {"df_rate": self._rate}
        return core.settings(prior, likelihood="learned_t", more=more, **core.MOVES)

    def _errors(self, y, f, scales):
        w = 1.0 if self.weights is None else self.weights
        return (y - f) * np.sqrt(w) / scales.get("sigma", self._sigma)

    def draw_y(self, fits, scales, rng):
        e = rng.standard_t(scales["df"], size=len(fits[0]))
        w = 1.0 if self.weights is None else self.weights
        return fits[0] + scales.get("sigma", self._sigma) * e / np.sqrt(w)

    def statistics(self, y, fits, scales):
        e = np.abs(self._errors(y, fits[0], scales))
        return {
            "errors": np.log1p(e).sum(),
            "largest error": np.log1p(e.max()),
            "errors and df": np.log1p(e).sum() * np.log(scales["df"]),
            "y'f": np.tanh(y) @ fits[0],
        }


CASES = [
    LearnedT("one scale", make_table(20, 2, (3,))),
    LearnedT("a prior of sigma that weighs", make_table(15, 2), rate=0.5, sigma=(40.0, 1.0)),
    LearnedT("weights", make_table(20, 2), rate=0.3, weighted=True),
    LearnedT("fixed sigma", make_table(12, 2, (2,), missing=0.2), sigma=0.7),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


def test_the_prior_of_the_degrees_of_freedom(seed):
    case = next(case for case in CASES if case._rate == 0.3)
    data, settings = core.data(case.table), case.settings()
    df = [_core.draw_prior(data, settings, seed, i)[1]["df"] for i in range(4_000)]
    count = np.array([np.sum(np.array(df) == value) for value in GRID])
    assert count.sum() == len(df)
    assert stats.chisquare(count, len(df) * prior_of_df(0.3)).pvalue > 1e-6


# ---- one leaf: f, sigma and df have a known density ----------------------------------------------

N_DRAWS, N_THIN = 20_000, 2
# Outcomes, weights, sigma (fixed, or nu and lambda), rate.
POSTERIORS = {
    "one outlier": ([0.1, -0.2, 0.3, 0.0, 9.0], None, 0.5, 0.1),
    "one outlier, sigma drawn": ([0.1, -0.2, 0.3, 0.0, 9.0], None, (4.0, 0.5), 0.1),
    "weights": ([2.0, -1.0, 0.5], [3.0, 0.5, 1.0], (3.0, 1.0), 0.5),
    "one row": ([1.5], None, 1.0, 0.05),
}


def density(y, weights, sigma, rate, leaf_sd=1.0):
    """Return f, sigma, df and their posterior probabilities on a grid."""
    f = np.linspace(-5.0, 5.0, 201)[:, None, None] * leaf_sd
    is_fixed = not isinstance(sigma, tuple)
    scale = np.array([sigma]) if is_fixed else np.geomspace(0.02, 60.0, 400)
    scale = scale[None, :, None]
    log_p = -0.5 * (f / leaf_sd) ** 2 + np.log(prior_of_df(rate))
    if not is_fixed:
        nu, lambda_ = sigma
        # Of sigma over the usual scale, and its derivative on the grid.
        normal = scale / (1.0 - 0.9 / GRID)
        log_p = log_p - nu * np.log(normal) - 0.5 * nu * lambda_ / normal**2
    for i, value in enumerate(y):
        w = 1.0 if weights is None else weights[i]
        log_p = log_p + stats.t(GRID).logpdf((value - f) * np.sqrt(w) / scale) - np.log(scale)
    p = np.exp(log_p - log_p.max())
    return np.broadcast_arrays(f, scale, GRID[None, None, :], p / p.sum())


def sampled(y, weights, sigma, rate, seed):
    n = len(y)
    prior = Prior(1, 1e-9, 0.0, sigma=sigma, leaf_sd=1.0)
    settings = core.settings(prior, likelihood="learned_t", more={"df_rate": rate})
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    weights = None if weights is None else np.array(weights)
    chain = _core.Sampler(data, np.array(y), weights, settings, seed, 0)
    out = np.empty((N_DRAWS, 3))
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        state = chain.state()
        (output,) = chain.ensemble().to_arrays()["outputs"]
        out[i] = output, state["sigma"], state["df"]
    return out.T


@pytest.mark.parametrize("name", POSTERIORS)
def test_the_joint_posterior_of_an_output_and_the_noise(name, seed):
    y, weights, sigma, rate = POSTERIORS[name]
    f, scale, df, p = density(y, weights, sigma, rate)
    draws = sampled(y, weights, sigma, rate, seed)

    def numbers(f, scale, df):
        yield "f", f
        yield "f and df", np.tanh(f) * np.log(df)
        yield "sigma", np.tanh(scale)
        yield "sigma and df", np.tanh(scale) * np.log(df)
        for value in (4.0, 10.0, 30.0):
            yield f"df = {value:g}", (df == value) * 1.0

    wanted = dict(numbers(f, scale, df))
    for what, values in numbers(*draws):
        batches = (values - (wanted[what] * p).sum()).reshape(100, -1).mean(axis=1)
        if np.ptp(values) == 0:
            continue
        z = batches.mean() / (batches.std(ddof=1) / 10.0)
        print(f"{what}: {z:.2f}")
        assert abs(z) < 5, what


def test_settings_the_engine_does_not_take():
    data = core.data(Table(np.zeros((1, 2)), np.zeros((0, 2), dtype=int), ()))
    for more in ({}, {"df_rate": 0.0}, {"df_rate": 11.0}):
        settings = core.settings(Prior(1, 0.5, 1.0), likelihood="learned_t", more=more)
        with pytest.raises(ValueError, match="df_rate"):
            _core.Sampler(data, np.zeros(2), None, settings, 1, 0)
