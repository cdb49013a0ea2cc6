"""Censored times: the samplers of latents, prior invariance, and the output of one leaf.

False alarms: every statistical test has a fixed seed. About 60 p-values of samplers fail below
1e-5, some 60 statistics of invariance below 1e-6, and 100 scores of one leaf beyond five standard
errors: about 1e-3 in all.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior, Table
from helpers.probes import probes
from obliquebart import _core

ALARM = 1e-5
NO_LIMIT = 1e300
N = 100_000


# -- Samplers ---------------------------------------------------------------------------------

# The logs of survival functions.
TAILS = {
    "normal": lambda z: special.log_ndtr(-np.asarray(z)),
    "logistic": lambda z: -np.logaddexp(0.0, z),
}
INTERVALS = [
    *((-1.0, 1.0), (0.0, 1.0), (-0.3, 1.5), (0.5, 3.0), (3.0, 4.0), (-1.0, 9.0), (-9.0, -5.0)),
    *((8.0, 8.05), (8.0, 20.0), (-40.0, -38.0), (0.0, 0.01), (-0.005, 0.01), (1e5, 1e5 + 1.0)),
    *((-3.0, 1e9), (-1e9, 2.0), (-1e9, 1e9), (600.0, 900.0), (-1e9, -800.0)),
]


def share_below(log_tail, z, a, b):
    """Return the probability below z, given that a draw lies between a and b, in either tail."""
    if a < 0.0 < b:
        below, low, high = (np.exp(log_tail(-np.asarray(x))) for x in (z, a, b))
        return (below - low) / (high - low)
    if b <= 0.0:
        return 1.0 - share_below(log_tail, -z, -b, -a)
    return np.expm1(log_tail(z) - log_tail(a)) / np.expm1(log_tail(b) - log_tail(a))


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("name", TAILS)
def test_draws_between_limits(name, interval, seed):
    draws = getattr(probes.Rng(seed, 0), f"{name}_between")(*interval, N)
    assert interval[0] <= draws.min() <= draws.max() <= interval[1]
    u = share_below(TAILS[name], draws, *interval)
    assert stats.kstest(u, "uniform").pvalue > ALARM


@pytest.mark.parametrize("a", [-1e300, -800.0, -30.0, -1.0, 0.0, 2.0, 40.0, 800.0, 1e6])
def test_logistic_draws_above_a_limit(a, seed):
    draws = probes.Rng(seed, 0).logistic_above(a, N)
    assert draws.min() >= a
    log_tail = TAILS["logistic"]
    assert stats.kstest(-np.expm1(log_tail(draws) - log_tail(a)), "uniform").pvalue > ALARM


@pytest.mark.parametrize("name", TAILS)
def test_intervals_of_nearly_no_length(name, seed):
    for a in (-1e6, -3.0, 0.0, 1e6):
        b = np.nextafter(a, np.inf)
        draws = getattr(probes.Rng(seed, 0), f"{name}_between")(a, b, 1000)
        assert a <= draws.min() <= draws.max() <= b


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 2.5, 3.124, 3.126, 6.0, 20.0, 100.0, -2.5])
def test_polya_gamma(z, seed):
    """Compare means of exp(-s x) with the Laplace transform, and the mean and variance."""
    x = probes.Rng(seed, 0).polya_gamma(z, N)
    size, half = max(abs(z), 1e-3), max(abs(z), 1e-3) / 2
    mean = np.tanh(half) / (2 * size)
    variance = (np.sinh(size) - size) / (4 * size**3 * np.cosh(half) ** 2)
    scores = [(x - mean), ((x - mean) ** 2 - variance)]
    for s in (0.5, 3.0, 20.0):
        there = np.sqrt(size**2 / 4 + s / 2)
        # cosh(half) / cosh(there), without overflow.
        log_ratio = half - there + np.log1p(np.exp(-2 * half)) - np.log1p(np.exp(-2 * there))
        scores.append(np.exp(-s * x) - np.exp(log_ratio))
    for score in scores:
        t = score.mean() / (score.std() / np.sqrt(N))
        assert 2 * special.ndtr(-abs(t)) > ALARM
    assert x.min() > 0


def polya_gamma_cdf(z):
    """Return a grid and the distribution function of PG(1, z) there.

    4 PG(1, 0) is the time at which a Brownian motion leaves (-1, 1), whose distribution function is
    a sum of tails of the normal; z tilts it.
    """
    x = np.linspace(0.0, 30.0, 300_001)[1:]
    untilted = sum(2 * (-1) ** n * special.erfc((2 * n + 1) / np.sqrt(2 * x)) for n in range(25))
    rate = z**2 / 8
    tilt = np.exp(-rate * x)
    integral = np.cumsum(rate * tilt * untilted) * (x[1] - x[0])
    return x / 4, np.cosh(z / 2) * (tilt * untilted + integral)


@pytest.mark.parametrize("z", [0.0, 1.3, 3.2, 7.0])
def test_polya_gamma_distribution(z, seed):
    draws = probes.Rng(seed, 0).polya_gamma(z, N)
    x, below = polya_gamma_cdf(z)
    u = np.interp(draws, x, below)
    assert stats.kstest(u, "uniform").pvalue > ALARM
    # Both tails have their share.
    for tail in (u < 1e-3, u > 1 - 1e-3):
        assert stats.binomtest(int(tail.sum()), N, 1e-3).pvalue > ALARM


# -- Prior invariance -------------------------------------------------------------------------


def noise(name, size, rng):
    return rng.standard_normal(size) if name == "log_normal" else rng.logistic(size=size)


class Survival(outcomes.Case):
    """Times of which every fourth is observed, and others censored in each of three ways."""

    scales = ("sigma",)

    def __init__(self, name, likelihood, table):
        self.name, self.likelihood, self.table = name, likelihood, table

    def settings(self):
        prior = Prior(
            n_trees=2, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=(6.0, 0.2), leaf_sd=(3.0, 1.0)
        )
        return core.settings(prior, likelihood=self.likelihood, **core.MOVES)

    def draw_y(self, fits, scales, rng):
        (f,) = fits
        log_time = f + scales["sigma"] * noise(self.likelihood, len(f), rng)
        return self.censor(log_time, rng)

    def censor(self, log_time, rng):
        """Observe whether a time lies below a limit, drawn independently, or between two."""
        low, high = np.sort(rng.normal(0.0, 1.5, size=(2, len(log_time))), axis=0)
        kind = np.arange(len(log_time)) % 4
        is_right = (kind == 1) & (log_time > low)
        is_left = (kind == 2) & (log_time < high)
        lower = np.where(is_right, low, log_time)
        upper = np.where(is_right, NO_LIMIT, log_time)
        lower, upper = np.where(is_left, -NO_LIMIT, lower), np.where(is_left, high, upper)
        below, above = log_time < low, log_time > high
        lower = np.where(kind == 3, np.where(below, -NO_LIMIT, np.where(above, high, low)), lower)
        upper = np.where(kind == 3, np.where(below, low, np.where(above, NO_LIMIT, high)), upper)
        return np.stack([lower, upper])

    def statistics(self, y, fits, scales):
        (f,) = fits
        lower, upper = y
        is_exact = lower == upper
        a, b = np.clip((y - f) / scales["sigma"], -1e9, 1e9)
        right = (upper == NO_LIMIT) & ~is_exact
        left = (lower == -NO_LIMIT) & ~is_exact
        inside = ~(is_exact | right | left)
        return {
            "squares": np.mean(np.where(is_exact, a**2, 0.0)),
            "f of observed": np.sum(np.where(is_exact, lower * f, 0.0)),
            "f of right": np.sum(np.where(right, lower * f, 0.0)),
            "f of left": np.sum(np.where(left, upper * f, 0.0)),
            "f of between": np.sum(np.where(inside, (lower / 2 + upper / 2) * f, 0.0)),
            "beyond": np.sum(np.where(right, np.clip(a, -9, 9), np.clip(b, -9, 9)) * ~is_exact),
        }


CASES = [
    Survival("normal", "log_normal", make_table(16, 2, (3,))),
    Survival("logistic", "log_logistic", make_table(16, 2, (3,))),
]
LONG_CASES = [
    *CASES,
    Survival("normal, missing values", "log_normal", make_table(12, 2, (2,), missing=0.2)),
    Survival("logistic, missing values", "log_logistic", make_table(12, 2, (2,), missing=0.2)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


# -- One leaf ---------------------------------------------------------------------------------

N_DRAWS, N_THIN = 20_000, 4
# Limits of the rows, sigma, leaf_sd.
ONE_LEAF = {
    "observed": ([(1.0, 1.0), (-0.5, -0.5)], 0.8, 1.5),
    "right": ([(2.0, NO_LIMIT), (0.3, 0.3)], 0.5, 1.5),
    "left": ([(-NO_LIMIT, -3.0), (-NO_LIMIT, 0.0)], 0.7, 1.0),
    "between": ([(1.0, 1.2), (-1.0, 3.0), (4.0, 7.0)], 0.6, 2.0),
    "far from the prior": ([(12.0, NO_LIMIT)], 0.4, 1.0),
    "a contradiction": ([(3.0, NO_LIMIT), (-NO_LIMIT, -3.0), (-0.5, 0.5)], 0.5, 2.0),
}


def log_likelihood(name, limits, sigma, f):
    total = np.zeros_like(f)
    log_tail = TAILS["normal" if name == "log_normal" else "logistic"]
    for lower, upper in limits:
        a, b = (lower - f) / sigma, (upper - f) / sigma
        if lower == upper:
            total += -(a**2) / 2 if name == "log_normal" else -a - 2 * np.logaddexp(0, -a)
        elif upper == NO_LIMIT:
            total += log_tail(a)
        elif lower == -NO_LIMIT:
            total += log_tail(-b)
        else:
            # In whichever tail the interval lies.
            flip = a + b < 0
            a, b = np.where(flip, -b, a), np.where(flip, -a, b)
            total += log_tail(a) + np.log(-np.expm1(log_tail(b) - log_tail(a)))
    return total


def density(name, limits, sigma, leaf_sd):
    """Return f on a grid, and its posterior probabilities."""
    f = np.linspace(-12.0, 16.0, 200_001)
    log_p = -0.5 * (f / leaf_sd) ** 2 + log_likelihood(name, limits, sigma, f)
    p = np.exp(log_p - log_p.max())
    return f, p / p.sum()


def one_leaf(name, limits, sigma, leaf_sd, seed):
    """Return a chain of a tree that has one leaf."""
    n = len(limits)
    prior = Prior(1, 1e-9, 0.0, sigma=sigma, leaf_sd=leaf_sd)
    settings = core.settings(prior, likelihood=name)
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    return _core.Sampler(data, np.array(limits).T, None, settings, seed, 0)


@pytest.mark.parametrize("case", ONE_LEAF)
@pytest.mark.parametrize("name", ["log_normal", "log_logistic"])
def test_the_posterior_of_one_output(name, case, seed):
    f, p = density(name, *ONE_LEAF[case])
    chain = one_leaf(name, *ONE_LEAF[case], seed)
    draws = np.empty(N_DRAWS)
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        (draws[i],) = chain.ensemble().to_arrays()["outputs"]
    below = np.interp(draws, f, np.cumsum(p))
    scores = {"mean": draws - (f * p).sum()}
    scores |= {f"below {u}": (below < u) - u for u in (0.05, 0.2, 0.5, 0.9)}
    for what, score in scores.items():
        batches = score.reshape(100, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / 10.0)
        assert abs(z) < 5, what


def test_what_the_engine_does_not_take():
    with pytest.raises(ValueError, match="lower limit must not be above"):
        one_leaf("log_normal", [(2.0, 1.0)], 1.0, 1.0, 1)
    data = core.data(Table(np.zeros((1, 2)), np.zeros((0, 2), dtype=int), ()))
    settings = core.settings(Prior(1, 0.5, 1.0, sigma=1.0, leaf_sd=1.0), likelihood="log_logistic")
    with pytest.raises(ValueError, match="take no weights"):
        _core.Sampler(data, np.zeros((2, 2)), np.ones(2), settings, 1, 0)
