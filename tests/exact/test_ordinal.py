"""Ordered classes: prior, outcomes, sweeps, prior again; and the joint posterior of f and a cut.

False alarms: some 60 statistics, each below p = 1e-6, and some 20 means, each off by more than five
of its standard errors. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior, Table
from helpers.probes import probes
from obliquebart import _core


class Ordinal(outcomes.Case):
    def __init__(self, name, table, n_classes, *, concentration=1.0, **prior):
        self.name, self.table, self._n_classes = name, table, n_classes
        self._concentration = concentration
        self._prior = {"leaf_sd": (3.0, 1.0), "n_trees": 2, **prior}
        self.scales = tuple(f"cut.{k}" for k in range(1, n_classes))

    def settings(self):
        prior = Prior(alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=1.0, **self._prior)
        more = {"n_classes": float(self._n_classes), "concentration": self._concentration}
        return core.settings(prior, likelihood="ordinal", more=more, **core.MOVES)

    def cuts(self, scales):
        return np.array([scales[name] for name in self.scales])

    def draw_y(self, fits, scales, rng):
        z = fits[0] + rng.standard_normal(len(fits[0]))
        return np.searchsorted(self.cuts(scales), z).astype(float)

    def statistics(self, y, fits, scales):
        f, cuts = fits[0], self.cuts(scales)
        limits = np.concatenate([[-np.inf], cuts, [np.inf]])
        k = y.astype(int)
        p = special.ndtr(limits[k + 1] - f) - special.ndtr(limits[k] - f)
        return {
            "classes": y.sum(),
            "y'f": (y * f).sum(),
            "y and the first cut": y.sum() * cuts[0],
            "y and the gaps": (y * np.diff(cuts).mean()).sum(),
            "probability": np.log(np.maximum(p, 1e-12)).sum(),
        }


CASES = [
    Ordinal("three classes", make_table(12, 2, (3,)), 3),
    Ordinal("five classes, no joint scale", make_table(15, 2), 5, concentration=3.0, leaf_sd=0.7),
    Ordinal("scales of trees", make_table(12, 2, (3,)), 3, leaf_sd=0.6, tree_df=3.0),
    Ordinal("rare classes", make_table(12, 2, (2,), missing=0.2), 4, concentration=0.5, n_trees=5),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_prior_of_the_shares_is_a_dirichlet(case, seed):
    """The core's own simulator against NumPy's."""
    data, settings = core.data(case.table), case.settings()
    found = [_core.draw_prior(data, settings, seed, i)[1] for i in range(2_000)]
    below = special.ndtr(np.array([case.cuts(scales) for scales in found]))
    ends = np.zeros((len(below), 1)), np.ones((len(below), 1))
    shares = np.diff(np.hstack([ends[0], below, ends[1]]), axis=1)
    a, n = case._concentration, case._n_classes
    for k in range(n):
        u = special.betainc(a, a * (n - 1), shares[:, k])
        z = (u.mean() - 0.5) / np.sqrt(1 / 12 / len(u))
        assert abs(z) < 5


# ---- one leaf: f and the cuts have a known density -----------------------------------------------

N_DRAWS, N_THIN = 20_000, 2
# Classes of the rows, their number, concentration, leaf_sd.
POSTERIORS = {
    "one row in the middle": ([1], 3, 1.0, 1.0),
    "all in the last class": ([2, 2, 2], 3, 1.0, 1.5),
    "both ends": ([0, 0, 2], 3, 2.0, 1.0),
    "far out": ([0, 1, 1, 2], 3, 0.5, 3.0),
}


def density(classes, concentration, leaf_sd):
    """Return f, both cuts, and their posterior probabilities on a grid."""
    f = np.linspace(-6.0, 6.0, 121)[:, None, None] * leaf_sd
    first = np.linspace(-8.0, 8.0, 201)[None, :, None]
    # The gap on a logarithmic grid, with its derivative.
    gap = np.geomspace(1e-6, 12.0, 241)[None, None, :]
    second = first + gap
    log_p = -0.5 * (f / leaf_sd) ** 2 - 0.5 * first**2 - 0.5 * second**2 + np.log(gap)

    def log_share(k, at):
        if k == 0:
            return special.log_ndtr(first - at)
        if k == 2:
            return special.log_ndtr(at - second)
        middle = np.where(first + second > 2 * at, 1.0, -1.0)
        low, high = (first - at) * middle, (second - at) * middle
        low, high = np.minimum(low, high), np.maximum(low, high)
        a, b = special.log_ndtr(-low), special.log_ndtr(-high)
        return a + np.log(-np.expm1(b - a))

    for k in range(3):
        log_p = log_p + (concentration - 1.0) * log_share(k, 0.0)
    for k in classes:
        log_p = log_p + log_share(k, f)
    p = np.exp(log_p - log_p.max())
    return np.broadcast_arrays(f, first, second, p / p.sum())


def sampled(classes, n_classes, concentration, leaf_sd, seed):
    n = len(classes)
    prior = Prior(1, 1e-9, 0.0, sigma=1.0, leaf_sd=leaf_sd)
    more = {"n_classes": float(n_classes), "concentration": concentration}
    settings = core.settings(prior, likelihood="ordinal", more=more)
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    chain = _core.Sampler(data, np.array(classes, float), None, settings, seed, 0)
    out = np.empty((N_DRAWS, n_classes))
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        state = chain.state()
        (output,) = chain.ensemble().to_arrays()["outputs"]
        out[i] = [output, *(state[f"cut.{k}"] for k in range(1, n_classes))]
    return out.T


@pytest.mark.parametrize("name", POSTERIORS)
def test_the_joint_posterior_of_an_output_and_two_cuts(name, seed):
    classes, n_classes, concentration, leaf_sd = POSTERIORS[name]
    f, first, second, p = density(classes, concentration, leaf_sd)
    draws = sampled(classes, n_classes, concentration, leaf_sd, seed)

    def numbers(f, first, second):
        yield "f", np.tanh(f)
        yield "first cut", np.tanh(first)
        yield "gap", np.tanh(second - first)
        yield "f and the first cut", np.tanh(f) * np.tanh(first)
        yield "probability of the middle", special.ndtr(second - f) - special.ndtr(first - f)

    wanted = dict(numbers(f, first, second))
    for what, values in numbers(*draws):
        batches = (values - (wanted[what] * p).sum()).reshape(100, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / 10.0)
        print(f"{what}: {z:.2f}")
        assert abs(z) < 5, what


# ---- its parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-0.5, 0.7),
        (-np.inf, -3.0),
        (2.0, np.inf),
        (1.0, 1.03),
        (1.0, 1.01),
        (-0.001, 0.0),
        (-9.0, -5.0),
        (3.0, 3.0 + 1e-9),
        (-20.0, 20.0),
    ],
)
def test_the_log_probability_of_an_interval(low, high):
    """Against SciPy, where f is in the interval and where it is far from it."""
    f = np.linspace(-30.0, 30.0, 241).astype(np.float32)
    for factor in (1.0, 0.5):
        z = factor * f.astype(float)
        a, b = low - z, high - z
        turned = a + b < 0
        a, b = np.where(turned, -b, a), np.where(turned, -a, b)
        log_a, log_b = special.log_ndtr(-a), special.log_ndtr(-b)
        wanted = log_a + np.log(-np.expm1(log_b - log_a))
        one = np.array(
            [probes.log_interval(f[i : i + 1], factor, low, high) for i in range(len(f))]
        )
        np.testing.assert_allclose(one, wanted, rtol=3e-6, atol=1e-4)
        together = probes.log_interval(f, factor, low, high)
        assert abs(together - wanted.sum()) < 1e-6 * np.abs(wanted).sum() + 1e-3


def test_settings_and_classes_the_engine_does_not_take():
    data = core.data(Table(np.zeros((1, 2)), np.zeros((0, 2), dtype=int), ()))

    def chain(y=(0.0, 1.0), weights=None, **more):
        more = {"n_classes": 3.0, "concentration": 1.0} | more
        settings = core.settings(Prior(1, 0.5, 1.0), likelihood="ordinal", more=more)
        return _core.Sampler(data, np.array(y), weights, settings, 1, 0)

    assert chain().check() == []
    for more in ({"n_classes": 2.0}, {"n_classes": 3.5}, {"n_classes": 101.0}):
        with pytest.raises(ValueError, match="n_classes must be a whole number"):
            chain(**more)
    with pytest.raises(ValueError, match="concentration"):
        chain(concentration=0.0)
    for y in ((0.0, 3.0), (-1.0, 0.0), (np.nan, 0.0)):
        with pytest.raises(ValueError, match=r"classes must be numbers|finite"):
            chain(y)
    with pytest.raises(ValueError, match="takes no weights"):
        chain(weights=np.array([0.5, 1.5]))
