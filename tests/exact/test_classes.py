"""Labels by the logistic link: two classes (logit), and several jointly (softmax).

Prior, outcomes, sweeps, prior again; and trees of one leaf, whose outputs have a known posterior.

False alarms: some 60 statistics, each below p = 1e-6, and 70 means, each off by more than five of
its standard errors, which come from 100 batches: about 1e-4 in all. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table, twice
from exact.oracles.prior import Prior, Table
from obliquebart import _core

REPLICATES = 3_000
N_DRAWS, N_THIN = 20_000, 4
OFFSETS = (1.5, -0.8, 0.5, 0.0)


def split_weights(table: Table) -> tuple[Table, np.ndarray]:
    """Every row twice, with weights that add up to one: together they are one label."""
    n = table.n_rows
    first = (1 + (7 * np.arange(n)) % 11) / 13
    return twice(table), np.concatenate([first, 1.0 - first])


class Classes(outcomes.Case):
    """`leaf_sd` has an entry per ensemble: fixed, or the parameters of its prior."""

    def __init__(self, name, table, leaf_sd, *, weighted=False):
        self.name, self.table, self._leaf_sd = name, table, leaf_sd
        if weighted:
            self.table, self.weights = split_weights(table)

    def settings(self):
        more = {f"offset.{k}": OFFSETS[k] for k in range(len(self._leaf_sd))}
        name = "softmax" if len(self._leaf_sd) > 1 else "logit"
        out = core.settings(
            Prior(2, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=1.0),
            likelihood=name,
            offset=OFFSETS[0],
            more=more,
            **core.MOVES,
        )
        for e, leaf_sd in enumerate(self._leaf_sd):
            if e > 0:
                out.add_ensemble()
            ensemble = out.ensemble(e)
            ensemble.n_trees, ensemble.alpha, ensemble.beta = 2, 0.8, 1.0
            ensemble.theta_a, ensemble.theta_b = 3.0, 4.0
            ensemble.p_change, ensemble.p_perturb = 0.2, 0.3
            ensemble.leaf_sd_fixed = not isinstance(leaf_sd, tuple)
            if isinstance(leaf_sd, tuple):
                ensemble.leaf_shape, ensemble.leaf_rate = leaf_sd
            else:
                ensemble.leaf_sd = leaf_sd
        return out

    def log_probabilities(self, fits):
        """Return those of classes, or of 0 and 1, by row."""
        scores = np.array([f + offset for f, offset in zip(fits, OFFSETS, strict=False)])
        if len(fits) == 1:
            scores = np.array([np.zeros_like(scores[0]), scores[0]])
        return special.log_softmax(scores, axis=0)

    def draw_y(self, fits, _scales, rng):
        p = np.exp(self.log_probabilities(fits))
        y = (rng.random(p.shape[1]) > np.cumsum(p, axis=0)[:-1]).sum(axis=0).astype(float)
        if self.weights is not None:
            y = np.tile(y[: len(y) // 2], 2)
        return y

    def statistics(self, y, fits, _scales):
        log_p = self.log_probabilities(fits)
        weights = 1.0 if self.weights is None else self.weights
        labels = y.astype(int)
        one = {"log likelihood": (weights * log_p[labels, np.arange(len(y))]).sum()}
        for k, f in enumerate(fits):
            is_class = y == (k if len(fits) > 1 else 1)
            one[f"f of class {k}"] = (is_class * f).sum()
            one[f"f of others than {k}"] = (~is_class * f).sum()
        return one


CASES = [
    Classes("logit", make_table(12, 2, (3,)), [(2.0, 2.0)]),
    Classes("logit, weights", make_table(8, 2), [(3.0, 2.0)], weighted=True),
    Classes("three classes", make_table(12, 2, (3,)), [(3.0, 2.0)] * 3),
    Classes("four classes, missing values", make_table(12, 2, missing=0.2), [1.5, 0.4, 1.0, 2.0]),
    Classes("far apart", make_table(12, 2), [60.0, 60.0, 60.0]),
    Classes("scales of two", make_table(12, 2), [1.0, (3.0, 2.0), (3.0, 4.0)]),
    Classes("three classes, weights", make_table(6, 2), [(3.0, 2.0), 1.0, 1.5], weighted=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, REPLICATES // len(case._leaf_sd), seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


# ---- trees of one leaf -------------------------------------------------------------------------

# Labels, weights, leaf_sd by ensemble, offsets.
ONE_LEAF = {
    "one label": ([1], None, [3.0], [-1.0]),
    "two labels that disagree": ([1, 0], None, [2.0], [0.4]),
    "far out": ([1] * 40, None, [8.0], [-6.0]),
    "weights": ([1, 0, 1], [0.3, 2.5, 1.0], [3.0], [0.5]),
    "votes": ([1, 0, 1], [3.0, 3.0, 3.0], [3.0], [0.5]),
    "votes of whose latents only the sum is drawn": ([1, 0, 0], [600.0] * 3, [1.0], [0.5]),
    "many latents of a label": ([1, 0], [50.5, 30.25], [2.0], [0.5]),
    "three classes": ([0, 0, 1, 2], None, [2.0, 1.0, 1.5], [0.2, -1.0, 0.4]),
    "a class without rows": ([0, 0, 1], None, [1.0, 2.0, 2.0], [0.0, 0.5, -2.0]),
    "three classes, votes": ([0, 1, 2, 0], [5.0] * 4, [1.5, 1.0, 2.0], [0.0, 0.3, -0.3]),
    "three classes, weights": ([0, 1, 2], [0.4, 1.7, 3.0], [1.5, 1.5, 2.0], [0.0, 0.3, -0.3]),
}


def log_likelihood(scores, labels, weights):
    """Of scores by class on a grid."""
    log_p = special.log_softmax(scores, axis=0)
    weights = np.ones(len(labels)) if weights is None else np.array(weights)
    return sum(w * log_p[k] for k, w in zip(labels, weights, strict=True))


def exact_means(labels, weights, leaf_sd, offsets, functions):
    """Return the posterior means of functions of the outputs."""
    n = 40_001 if len(leaf_sd) == 1 else 81
    axes = [np.linspace(-7.0, 7.0, n) * sd for sd in leaf_sd]
    f = np.array(np.meshgrid(*axes, indexing="ij"))
    scores = f + np.reshape(offsets, (-1, *[1] * len(leaf_sd)))
    if len(leaf_sd) == 1:
        scores = np.array([np.zeros_like(scores[0]), scores[0]])
    scale = np.reshape(leaf_sd, (-1, *[1] * len(leaf_sd)))
    log_p = log_likelihood(scores, labels, weights) - 0.5 * ((f / scale) ** 2).sum(axis=0)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return [(p * function(f)).sum() for function in functions]


def sampled(labels, weights, leaf_sd, offsets, seed):
    """Return draws of the outputs of trees that have one leaf, one tree per ensemble."""
    n = len(labels)
    several = len(leaf_sd) > 1
    settings = core.settings(
        Prior(1, 1e-9, 0.0, sigma=1.0, leaf_sd=leaf_sd[0]),
        likelihood="softmax" if several else "logit",
        offset=offsets[0],
        more={f"offset.{k}": offset for k, offset in enumerate(offsets)},
    )
    for e in range(1, len(leaf_sd)):
        settings.add_ensemble()
        one = settings.ensemble(e)
        one.n_trees, one.alpha, one.beta, one.leaf_sd = 1, 1e-9, 0.0, leaf_sd[e]
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    given = None if weights is None else np.array(weights, float)
    chain = _core.Sampler(data, np.array(labels, float), given, settings, seed, 0)
    out = np.empty((len(leaf_sd), N_DRAWS))
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        for e in range(len(leaf_sd)):
            (out[e, i],) = chain.ensemble(e).to_arrays()["outputs"]
    return out


# Smooth, so that a grid of three dimensions is fine enough.
FUNCTIONS = {
    "first": lambda f: f[0],
    "square of the last": lambda f: f[-1] ** 2,
    "first is large": lambda f: special.ndtr(2.0 * (f[0] - 1.0)),
    "first is small": lambda f: special.ndtr(-2.0 * (f[0] + 1.0)),
    "last is large": lambda f: special.ndtr(2.0 * (f[-1] - 1.0)),
    "difference": lambda f: special.ndtr(f[0] - f[-1] + 0.5),
    "product": lambda f: f[0] * f[-1],
}


@pytest.mark.parametrize("name", ONE_LEAF)
def test_the_posterior_of_outputs(name, seed):
    functions = FUNCTIONS.values()
    exact = exact_means(*ONE_LEAF[name], functions)
    draws = sampled(*ONE_LEAF[name], seed)
    for what, function, mean in zip(FUNCTIONS, functions, exact, strict=True):
        batches = (function(draws) - mean).reshape(100, -1).mean(axis=1)
        z = batches.mean() / max(batches.std(ddof=1) / 10.0, 1e-12)
        print(f"{what}: {mean:.3f}, {z:.2f}")
        assert abs(z) < 5, what


# ---- what the engine does not take -------------------------------------------------------------


@pytest.mark.parametrize("label", [-1, 3, 0.5, np.nan])
def test_classes_the_engine_does_not_take(label):
    with pytest.raises(ValueError, match="numbers of classes"):
        sampled([0, label], None, [1.0] * 3, [0.0] * 3, 1)


def test_weights_the_engine_does_not_take():
    for weight in (0.0, -1.0, np.nan, 2.0**21):
        with pytest.raises(ValueError, match=r"positive and at most 2\^20"):
            sampled([1], [weight], [1.0], [0.0], 1)


def test_a_softmax_needs_two_ensembles_and_their_offsets():
    data = core.data(make_table(5, 1))
    settings = core.settings(Prior(1, 0.5, 1.0, sigma=1.0), likelihood="softmax")
    with pytest.raises(ValueError, match=r"offset\.0"):
        _core.Sampler(data, np.zeros(5), None, settings, 1, 0)
    settings.more = {"offset.0": 0.0}
    with pytest.raises(ValueError, match="must have 2 ensembles"):
        _core.Sampler(data, np.zeros(5), None, settings, 1, 0)


def test_huge_scores_do_not_break_a_chain():
    """A start beyond the range of the exponential function."""
    n = 30
    case = Classes("", make_table(n, 2), [1e4, 1e4, 1e4])
    data, settings = core.data(case.table), case.settings()
    y = np.arange(n, dtype=float) % 3
    chain = _core.Sampler(data, y, None, settings, 1, 0)
    first, rest = _core.draw_prior(data, settings, 1, 0)
    for e, trees in enumerate([first, rest["ensemble.1.trees"], rest["ensemble.2.trees"]]):
        chain.set_ensemble(trees, 0, e)
    assert max(abs(chain.fit(e)).max() for e in range(3)) > 5000
    for _ in range(100):
        chain.sweep(1)
        assert all(np.isfinite(chain.residual(e)).all() for e in range(3))
    log_p = case.log_probabilities([chain.fit(e) for e in range(3)])
    assert log_p[y.astype(int), np.arange(n)].mean() > -100
