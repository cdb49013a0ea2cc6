"""Soft rules: sweeps leave their prior invariant, posteriors are those that can be computed.

As in `test_prior_invariance.py`, with widths. The simulator draws widths after the
trees, because which rows a leaf holds does not depend on them. False alarms: p < 1e-6 for each of
about 400 statistics.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exact.oracles import columnar, core, invariance
from exact.oracles.invariance import Setup, make_table
from exact.oracles.prior import simulate
from exact.oracles.setups import LEAF_SD, prior
from exact.test_prior_invariance import core_prior_p_values, failures
from obliquebart import _core

REPLICATES, REFERENCE = 6_000, 15_000
SCALE = 0.4
MOVES = {"p_change": 0.2, "p_perturb": 0.3}
LINE = {"kind": "patch", "columns": [0, 1, 2, 3], "shape": [4], "least": [1], "most": [3]}


def soft(*positional: Any, **named: Any):
    return prior(*positional, width_scale=SCALE, **named)


SHORT = [
    Setup("two columns", make_table(12, 2), soft(1, 0.5, 1.0, theta=(1.5, 1.5))),
    Setup(
        "two columns, all moves, missing values, empty leaves",
        make_table(8, 2, missing=0.2),
        soft(1, 0.8, 1.0, min_samples_leaf=0, theta=(1.5, 1.5)),
        more=MOVES,
    ),
    Setup(
        "five trees, both kinds, weighted, all moves",
        make_table(25, 1, (3,)),
        soft(5, 0.95, 2.0, leaf_sd=0.4),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "two columns and a category, all moves, missing values, leaf_sd sampled",
        make_table(30, 2, (4,), missing=0.1),
        soft(3, 0.9, 1.0, theta=(2.0, 2.0), leaf_sd=LEAF_SD),
        more=MOVES,
    ),
    Setup(
        "change: two columns and a category",
        make_table(30, 2, (5,)),
        soft(1, 0.7, 1.0, theta=(2.0, 6.0)),
        more=core.CHANGE,
    ),
    Setup(
        "perturb: two columns",
        make_table(15, 2),
        soft(1, 0.9, 0.7, max_depth=3, theta=(3.0, 1.0)),
        more=core.PERTURB,
        n_sweeps=30,
    ),
    Setup(
        "axis rules, a weight for each column",
        make_table(20, 4, (3,)),
        soft(5, 0.6, 1.0, axis_rules=True, theta=(0.7, 1.0), theta_by_column=True, leaf_sd=0.4),
        more=MOVES,
    ),
    Setup(
        "a line of columns",
        make_table(20, 4),
        soft(1, 0.9, 0.5, max_depth=2, directions=(LINE,)),
        more=core.PERTURB,
    ),
    Setup(
        "many leaves",
        make_table(70, 1, (30,)),
        soft(2, 0.95, 0.15, max_depth=6, min_samples_leaf=0),
        more=MOVES,
        n_sweeps=40,
        share=0.25,
    ),
    Setup(
        "many rows, weighted, missing values",
        make_table(1_300, 1, (3,), missing=0.1),
        soft(2, 0.7, 1.0, leaf_sd=0.05),
        weighted=True,
        more=MOVES,
        share=0.1,
    ),
    Setup(
        "probit, five trees, both kinds, leaf_sd sampled",
        make_table(25, 2, (3,)),
        soft(5, 0.6, 1.0, theta=(4.0, 4.0), sigma=1.0, leaf_sd=LEAF_SD),
        likelihood="probit",
        offset=0.3,
        more=MOVES,
    ),
    Setup(
        "scales of trees, weighted, all moves, leaf_sd sampled",
        make_table(25, 2, (3,)),
        soft(3, 0.8, 1.0, theta=(4.0, 4.0), leaf_sd=LEAF_SD, tree_df=3.0),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "scales of trees, two columns",
        make_table(12, 2),
        soft(2, 0.7, 1.0, theta=(1.5, 1.5), tree_df=4.0),
    ),
    Setup(
        "Student's t, five trees, weighted",
        make_table(25, 2, (3,)),
        soft(5, 0.6, 1.0, theta=(4.0, 4.0), leaf_sd=LEAF_SD),
        weighted=True,
        likelihood="student_t",
        more={**MOVES, "more": {"df": 4.0}},
    ),
]


@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior(setup, seed):
    assert failures(invariance.p_values(setup, REPLICATES, REFERENCE, seed)) == {}


@pytest.mark.long
@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior_long(setup, seed):
    assert failures(invariance.p_values(setup, 40_000, 80_000, seed)) == {}


@pytest.mark.parametrize("setup", SHORT[:8], ids=lambda setup: setup.name)
def test_prior_of_the_core(setup, seed):
    assert failures(core_prior_p_values(setup, 6_000, REFERENCE, seed)) == {}


# ---- widths and directions -----------------------------------------------------------------------

N_TREES = 20_000
DIRECTIONS: dict[str, list[dict[str, Any]]] = {"all columns": [], "a line of columns": [LINE]}


def trees_without_data(directions: list[dict[str, Any]], seed: int):
    """A chain of trees that are roots or have one rule, which is perturbed again and again."""
    settings = _core.Settings()
    settings.likelihood, settings.n_trees, settings.min_samples_leaf = "none", N_TREES, 0
    settings.max_depth, settings.alpha, settings.soft = 1, 0.9, True
    settings.width_scale, settings.directions = SCALE, directions
    settings.theta_fixed, settings.theta = True, 1.0
    settings.p_perturb, settings.perturb_angle = 0.97, 1.0
    x = np.random.default_rng(0).uniform(-1, 1, (4, 8)).astype(np.float32)
    data = _core.Data(x, np.empty((0, 8), np.uint32), [])
    return _core.Sampler(data, np.zeros(8), None, settings, seed, 0)


def rules_of_trees(chain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, of each rule, its tree, ||phi||_1 and the quantile u of its width."""
    arrays = chain.ensemble().to_arrays()
    tree = np.flatnonzero(np.diff(arrays["node_begin"].astype(int)) > 1)
    rule = np.repeat(np.arange(len(tree)), arrays["phi_count"])
    half_range = np.bincount(rule, np.abs(arrays["phi_value"]))
    odds = np.sqrt(arrays["width"] / (SCALE * half_range))
    return tree, half_range, odds / (1 + odds)


def width_p_values(directions: list[dict[str, Any]], seed: int) -> dict[str, float]:
    """Compare with 0 the means, over trees, of what has mean 0 if u is uniform given phi."""
    chain = trees_without_data(directions, seed)
    looks = []
    for _ in range(60):
        chain.sweep(5)
        looks.append(rules_of_trees(chain))
    tree, half_range, u = map(np.concatenate, zip(*looks, strict=True))
    out = {}
    for k in range(1, 5):
        wave = np.cos(k * np.pi * u)
        parts = {"u": wave, "u and the range": wave * (half_range - half_range.mean())}
        for name, part in parts.items():
            score = np.bincount(tree, part, minlength=N_TREES)
            out[f"{name}, wave {k}"] = float(stats.ttest_1samp(score, 0.0).pvalue)
    return out


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_widths_do_not_depend_on_directions(directions, seed):
    """Many perturbs without data: u is uniform, and independent of ||phi||_1.

    A rule depends on those that its tree had before, but trees do not depend on each other: one
    score for each tree. False alarms: p < 1e-6 for each of 8 statistics. Widths that stay as they
    are where directions change have a correlation of 0.02 to 0.03 with ||phi||_1, which is weak,
    but 17 standard errors or more; 5 suffice.
    """
    assert failures(width_p_values(DIRECTIONS[directions], seed)) == {}


# ---- posteriors that can be computed -------------------------------------------------------------

N, SIGMA, TAU, ALPHA = 14, 0.6, 0.9, 0.5


def one_column() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a column, an outcome with a gradual rise, and weights."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(-1, 1, N)).astype(np.float32)
    return x, np.tanh(2 * x) * 0.8 + rng.normal(0, SIGMA, N), rng.uniform(0.5, 2.0, N)


def log_marginal(shares: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of y, where rows have these shares (..., N, leaves), by its covariance matrix."""
    covariance = np.diag(SIGMA**2 / weights) + TAU**2 * shares @ np.swapaxes(shares, -1, -2)
    _, log_determinant = np.linalg.slogdet(covariance)
    solved = np.linalg.solve(covariance, np.broadcast_to(y[:, None], (*covariance.shape[:-1], 1)))
    return -0.5 * (log_determinant + (y[:, None] * solved).sum(axis=(-1, -2)))


def known_posterior(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, n_grid: int = 300
) -> dict[str, float]:
    """Integrate over cut and width: the tree is a root, or has one rule."""
    middle = (np.arange(n_grid) + 0.5) / n_grid
    cut, u = 2 * middle[:, None] - 1, middle[None, :]
    width = SCALE * (u / (1 - u)) ** 2
    z = np.clip((cut[..., None] - x) / width[..., None], -1, 1)
    left = (2 + 3 * z - z**3) / 4
    like = np.exp(log_marginal(np.stack([left, 1 - left], axis=-1), y, weights))
    like *= ((x.min() < cut) & (cut <= x.max())).reshape(n_grid, 1)  # a row on either side
    root = (1 - ALPHA) * np.exp(log_marginal(np.ones((N, 1)), y, weights))
    rule = ALPHA * like / n_grid**2
    among = rule / rule.sum()
    return {
        "root": float(root / (root + rule.sum())),
        "u": float((among * u).sum()),
        "narrow": float(among[:, middle < 0.25].sum()),
        "absolute cut": float((among * np.abs(cut)).sum()),
    }


@pytest.mark.parametrize("moves", ["grow and prune", "all moves", "perturb"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_known_posterior(moves, weighted):
    """One column, at most one rule; the sign of phi turns the rule around and changes nothing."""
    x, y, weights = one_column()
    weights = weights if weighted else np.ones(N)
    settings = _core.Settings()
    settings.n_trees, settings.max_depth, settings.alpha = 1, 1, ALPHA
    settings.soft, settings.width_scale = True, SCALE
    settings.theta_fixed, settings.theta = True, 1.0
    settings.sigma_fixed, settings.sigma, settings.leaf_sd = True, SIGMA, TAU
    for name, value in {**core.NAMES[moves], "output_correlation": 0.0}.items():
        setattr(settings, name, value)
    data = _core.Data(x[None, :], np.empty((0, N), np.uint32), [])
    chain = _core.Sampler(data, y, weights if weighted else None, settings, 11, 0)
    chain.sweep(200)
    found: dict[str, list[float]] = {"root": [], "u": [], "narrow": [], "absolute cut": []}
    for _ in range(25_000):
        chain.sweep(20)
        arrays = chain.ensemble().to_arrays()
        found["root"].append(float(len(arrays["cut"]) == 0))
        if len(arrays["cut"]):
            odds = math.sqrt(arrays["width"][0] / SCALE)
            u = odds / (1 + odds)
            found["u"].append(u)
            found["narrow"].append(float(u < 0.25))
            found["absolute cut"].append(abs(arrays["cut"][0]))
    for name, value in known_posterior(x, y, weights).items():
        assert np.mean(found[name]) == pytest.approx(value, abs=0.015), name


def test_outputs_given_the_tree():
    """With the tree as it is, outputs are jointly normal: mean and covariance of many draws."""
    x, y, weights = one_column()
    settings = _core.Settings()
    settings.n_trees, settings.alpha, settings.soft = 1, 0.9, True
    settings.sigma_fixed, settings.sigma, settings.leaf_sd = True, SIGMA, TAU
    data = _core.Data(x[None, :], np.empty((0, N), np.uint32), [])
    sample = simulate(table_of(x), prior(1, 0.95, 0.3, theta=1.0, width_scale=SCALE), 40, 5)
    leaves = [np.sum(sample.arrays["node_kind"][a:b] & 3 == 0) for a, b in spans(sample.arrays)]
    start = int(np.argmax(np.array(leaves) >= 3))
    arrays = core.draws(sample.arrays, table_of(x))
    chain = _core.Sampler(data, y, weights, settings, 3, 0)
    outputs = []
    for _ in range(60_000):
        chain.set_ensemble(arrays, start)
        chain.sweep()
        now = chain.ensemble().to_arrays()
        if is_same_tree(now, sample.arrays, start):
            outputs.append(now["outputs"])
    nodes = columnar.NodeTable(sample.arrays, 1, ())
    of_tree = slice(nodes.start[start], nodes.start[start + 1])
    shares = nodes.shares(table_of(x))[of_tree][nodes.is_leaf[of_tree]].T
    precision = (shares.T * weights) @ shares / SIGMA**2 + np.eye(shares.shape[1]) / TAU**2
    covariance = np.linalg.inv(precision)
    mean = covariance @ (shares.T @ (weights * y)) / SIGMA**2
    assert len(outputs) > 4_000
    error = np.sqrt(np.diag(covariance) / len(outputs))
    assert np.abs((np.mean(outputs, axis=0) - mean) / error).max() < 5
    assert np.cov(np.transpose(outputs)) == pytest.approx(covariance, abs=0.06 * TAU**2)


def table_of(x: np.ndarray):
    return make_table(len(x), 1).__class__(x[None, :].astype(float), np.zeros((0, len(x)), int))


def spans(arrays: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    begin = arrays["node_begin"].astype(int)
    return list(itertools.pairwise(begin))


def is_same_tree(now: dict[str, np.ndarray], sample: dict[str, np.ndarray], tree: int) -> bool:
    begin, end = spans(sample)[tree]
    is_rule = sample["node_kind"] & 3 == 1
    rules = slice(is_rule[:begin].sum(), is_rule[:end].sum())
    return all(np.array_equal(now[name], sample[name][rules]) for name in ("cut", "width"))
