"""Structured directions: sweeps leave their prior invariant, and draws of it are the prior's.

As in `test_prior_invariance.py`, with setups for every kind of directions and for mixtures. Trees
are at most two rules deep where there are more than three columns, because the independent ranges
of deeper cells are slow. False alarms: p < 1e-6 for each of about 600 statistics.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exact.oracles import core, directions, invariance
from exact.oracles.invariance import Setup, make_table
from exact.oracles.setups import prior
from exact.test_prior_invariance import core_prior_p_values, failures
from obliquebart import _core

REPLICATES, REFERENCE = 6_000, 15_000
# Perturb nearly alone, and all moves.
PERTURB, MOVES = core.PERTURB, core.MOVES
# Values move so little that they do not repair what a change of size breaks.
RESIZE = {**PERTURB, "perturb_angle": 0.05}

LINE = {"kind": "patch", "columns": [0, 1, 2, 3, 4], "shape": [5], "least": [1], "most": [3]}
PLANE = {
    "kind": "patch",
    "columns": list(range(6)),
    "shape": [2, 3],
    "least": [1, 1],
    "most": [2, 2],
}
COLOURS = {**PLANE, "shape": [3, 2], "least": [2, 1], "most": [3, 2]}
SMOOTH = {"values": "smooth", "length_scale": 1.5}
EDGES = {"values": "difference", "least": [1, 2], "most": [2, 3]}
SPARSE = {"kind": "sparse"}
SIGNS = {"kind": "signs"}
GROUPS = {"kind": "groups", "groups": [[0, 1], [1, 2, 3], [4]], "inclusion": 0.3}
MIXTURE = (
    {**LINE, "columns": [0, 1, 2], "shape": [3], "concentration": 2.0},
    {**SPARSE, "columns": [2, 3, 4], "concentration": 1.5},
    {"kind": "axis", "columns": [0, 4]},
)
# One theta for sparse rules and for signs, which share some columns.
TWO_WITH_THETA = (
    {**SPARSE, "columns": [0, 1], "concentration": 3.0},
    {**SIGNS, "columns": [1, 2, 3], "concentration": 0.7},
)


def structured(*components: dict[str, Any], n_trees: int = 1, **options: Any):
    shallow = {"max_depth": 2, "leaf_sd": 0.7, **options}
    return prior(n_trees, 0.9, 0.5, directions=components, **shallow)


SHORT = [
    Setup("a line", make_table(20, 5), structured(LINE), more=RESIZE, n_sweeps=30),
    Setup("a smooth line", make_table(20, 5), structured({**LINE, **SMOOTH}), more=PERTURB),
    Setup("a plane", make_table(20, 6), structured(PLANE), more=PERTURB),
    Setup("a smooth plane", make_table(20, 6), structured({**COLOURS, **SMOOTH}), more=RESIZE),
    Setup("edges", make_table(20, 6), structured({**PLANE, **EDGES}), more=PERTURB),
    Setup(
        "edges, missing values, all moves",
        make_table(25, 6, (3,), missing=0.1),
        structured({**COLOURS, "values": "difference"}, n_trees=2),
        more=MOVES,
    ),
    Setup(
        "a line, missing values",
        make_table(20, 5, missing=0.15),
        structured(LINE),
        more=PERTURB,
    ),
    Setup("signs", make_table(20, 4), structured(SIGNS, theta=(2.0, 3.0)), more=PERTURB),
    Setup(
        "signs by column, empty leaves",
        make_table(9, 3),
        structured(SIGNS, theta=(1.0, 1.5), theta_by_column=True, min_samples_leaf=0, max_depth=3),
        more=MOVES,
    ),
    Setup("groups", make_table(20, 5), structured(GROUPS), more=MOVES, n_sweeps=20),
    Setup(
        "a mixture",
        make_table(25, 5, (3,)),
        structured(*MIXTURE, n_trees=3, theta=(2.0, 2.0), leaf_sd=0.5),
        more=MOVES,
    ),
    Setup(
        "a mixture, a theta for each column",
        make_table(25, 5, missing=0.1),
        structured(*MIXTURE, n_trees=2, theta=(1.0, 1.5), theta_by_column=True),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "sparse rules and signs, empty leaves",
        make_table(10, 4),
        structured(*TWO_WITH_THETA, n_trees=2, theta=(2.0, 3.0), min_samples_leaf=0),
        more=core.CHANGE,
    ),
    Setup(
        "three columns, deep trees",
        make_table(30, 3),
        structured({**MIXTURE[0]}, SPARSE, n_trees=1, theta=(2.0, 2.0), max_depth=5),
        more=MOVES,
    ),
]


@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior(setup, seed):
    assert failures(invariance.p_values(setup, REPLICATES, REFERENCE, seed)) == {}


@pytest.mark.long
@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior_long(setup, seed):
    assert failures(invariance.p_values(setup, 60_000, 120_000, seed)) == {}


@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_prior_of_the_core(setup, seed):
    assert failures(core_prior_p_values(setup, 6_000, REFERENCE, seed)) == {}


# ---- what can be counted ---------------------------------------------------------------------


def chain_of(component: dict[str, Any], n_trees: int, p: int, **settings: Any) -> _core.Sampler:
    """Return a chain that samples the prior."""
    out = _core.Settings()
    out.likelihood, out.n_trees, out.min_samples_leaf, out.max_depth = "none", n_trees, 0, 1
    out.directions = [component]
    for name, value in settings.items():
        setattr(out, name, value)
    x = np.random.default_rng(0).uniform(-1, 1, (p, 64)).astype(np.float32)
    data = _core.Data(x, np.empty((0, 64), np.uint32), [])
    return _core.Sampler(data, np.zeros(64), None, out, 7, 0)


def supports(chain: _core.Sampler) -> list[tuple[int, ...]]:
    arrays = chain.ensemble().to_arrays()
    ends = np.concatenate([[0], np.cumsum(arrays["phi_count"])]).astype(int)
    return [tuple(arrays["phi_column"][a:b].tolist()) for a, b in pairwise(ends)]


@pytest.mark.parametrize("values", ["normal", "smooth", "difference"])
def test_every_box_is_as_likely_as_any_other(values):
    """A grid of 4 x 5 with 3 channels, after long chains of perturbs: all boxes, equally often."""
    patch = {
        "kind": "patch",
        "columns": list(range(60)),
        "shape": [4, 5, 3],
        "least": [2, 2, 1],
        "most": [3, 2, 3],
        "values": values,
    }
    chain = chain_of(patch, 3_000, 60, p_perturb=0.9, p_change=0.05)
    count: Counter[tuple[int, ...]] = Counter()
    for _ in range(12):
        chain.sweep(60)
        count.update(supports(chain))
    places = directions.boxes((4, 5, 3), (2, 2, 1), (3, 2, 3))
    grid = np.arange(60).reshape(4, 5, 3)
    wanted = {
        tuple(grid[tuple(slice(a, a + n) for a, n in box)].ravel().tolist()) for box in places
    }
    assert set(count) == wanted
    assert stats.chisquare(list(count.values())).pvalue > 1e-6


def whitened_p_values(grid: tuple[int, ...], values: str) -> dict[str, float]:
    """Compare, by the shape of patches, the square of a whitened value with that on a sphere."""
    patch = {
        "kind": "patch",
        "columns": list(range(math.prod(grid))),
        "shape": list(grid),
        "least": [1] * len(grid),
        "most": list(grid),
        "values": values,
        "length_scale": 1.5,
    }
    p = math.prod(grid)
    chain = chain_of(patch, 4_000, p, p_perturb=0.9, p_change=0.02, perturb_angle=0.02)
    scale = 1.5 if values == "smooth" else 0.0
    first: dict[tuple[int, ...], list[float]] = {}
    for _ in range(8):
        chain.sweep(50)
        arrays = chain.ensemble().to_arrays()
        ends = np.concatenate([[0], np.cumsum(arrays["phi_count"])]).astype(int)
        for a, b in pairwise(ends):
            places = np.unravel_index(arrays["phi_column"][a:b].astype(int), grid)
            shape = tuple(len(set(axis.tolist())) for axis in places)
            factor = directions.covariance_factor(shape, scale)
            white = np.linalg.solve(factor, arrays["phi_value"][a:b])
            first.setdefault(shape, []).append(white[0] ** 2 / (white @ white))
    assert set(first) == set(product(*(range(1, n + 1) for n in grid)))
    return {
        str(shape): stats.kstest(squares, stats.beta(0.5, 0.5 * (math.prod(shape) - 1)).cdf).pvalue
        for shape, squares in first.items()
        if math.prod(shape) > 1
    }


@pytest.mark.parametrize("values", ["normal", "smooth"])
def test_values_are_uniform_on_the_sphere_once_whitened(values):
    """After many changes of size, with steps of the values that are too small to hide an error."""
    assert failures(whitened_p_values((2, 3), values)) == {}


def test_values_are_uniform_on_the_sphere_in_a_cube():
    """As images with channels are."""
    assert failures(whitened_p_values((2, 3, 2), "smooth")) == {}


def test_the_weights_of_a_mixture_follow_its_rules():
    """Given the rules, weights are Dirichlet: here by their mean and variance over many sweeps."""
    concentration = np.array([2.0, 5.0])
    components = [
        {**LINE, "concentration": concentration[0]},
        {"kind": "axis", "concentration": concentration[1]},
    ]
    chain = chain_of(LINE, 4, 5, directions=components, alpha=0.9)
    scaled = []
    for _ in range(6_000):
        chain.sweep()
        arrays = chain.ensemble().to_arrays()
        used = np.bincount(arrays["node_kind"][arrays["node_kind"] & 3 == 1] >> 4, minlength=2)
        a, b = concentration + used
        (weight, other) = chain.direction_weights
        assert weight + other == pytest.approx(1.0)
        scaled.append(stats.beta(a, b).cdf(weight))
    assert stats.kstest(scaled, "uniform").pvalue > 1e-6


def test_a_known_posterior():
    """One rule, the difference of two neighbours of five columns, so that all can be listed.

    There are four places and two signs. Given these, rows are cut between two of them, with a
    probability that is the width of the gap.
    """
    n, p = 40, 5
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (p, n)).astype(np.float32)
    y = 0.4 * np.sign(x[1] - x[2]) + rng.normal(0, 0.9, n)
    sigma, tau = 0.9, 0.8
    edge = {**LINE, "least": [2], "most": [2], "values": "difference"}
    settings = chain_settings(edge, sigma, tau)
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    chain = _core.Sampler(data, y, None, settings, 5, 0)
    wanted = known_shares(x, y, sigma, tau)
    found: Counter[tuple[int, bool]] = Counter()
    chain.sweep(500)
    n_root = 0
    for _ in range(30_000):
        chain.sweep(10)
        arrays = chain.ensemble().to_arrays()
        if len(arrays["cut"]) == 0:
            n_root += 1
            continue
        found[int(arrays["phi_column"][0]), bool(arrays["phi_value"][0] < 0)] += 1
    total = sum(found.values()) + n_root
    assert n_root / total == pytest.approx(wanted.pop("root"), abs=0.02)
    for place, share in wanted.items():
        assert found[place] / total == pytest.approx(share, abs=0.02), place


def chain_settings(component: dict[str, Any], sigma: float, tau: float) -> _core.Settings:
    settings = _core.Settings()
    settings.n_trees, settings.max_depth, settings.alpha = 1, 1, 0.6
    settings.directions = [component]
    settings.sigma, settings.sigma_fixed = sigma, True
    settings.leaf_sd, settings.leaf_sd_fixed = tau, True
    settings.p_change, settings.p_perturb = 0.2, 0.5
    return settings


def known_shares(x: np.ndarray, y: np.ndarray, sigma: float, tau: float) -> dict[Any, float]:
    """Return the posterior shares of each place and sign, and of a tree without a rule."""

    def marginal(values: np.ndarray) -> float:
        covariance = sigma**2 * np.eye(len(values)) + tau**2
        return float(np.exp(stats.multivariate_normal.logpdf(values, cov=covariance)))

    scale = 1e15  # of densities, which are small
    out: dict[Any, float] = {"root": 0.4 * marginal(y) * scale}
    for place in range(4):
        score = (x[place] - x[place + 1]) / np.sqrt(2)
        order = np.argsort(score)
        edges = np.concatenate([[-np.sqrt(2)], score[order], [np.sqrt(2)]])
        # A cut between two rows is as likely as the gap is wide; outside a leaf would be empty.
        mass = sum(
            (edges[i + 1] - edges[i])
            / np.sqrt(8)
            * marginal(y[order[:i]])
            * marginal(y[order[i:]])
            * scale
            for i in range(1, len(y))
        )
        for is_negative in (False, True):
            out[place, is_negative] = 0.6 * mass / 8
    total = sum(out.values())
    return {name: value / total for name, value in out.items()}


# ---- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ({**LINE, "most": [6]}, "fit the grid"),
        ({**LINE, "least": [0]}, "fit the grid"),
        ({**LINE, "columns": [0, 1]}, "as many columns"),
        ({**LINE, "columns": [0, 1, 2, 4, 3]}, "increase"),
        ({**LINE, "columns": [0, 1, 2, 3, 9]}, "out of range"),
        ({**LINE, "values": "difference"}, "least size of 2"),
        ({**LINE, "length_scale": 0.0}, "length_scale"),
        ({**LINE, "shape": [1, 1, 1, 1, 5]}, "one to four axes"),
        ({**SPARSE, "concentration": 0.0}, "concentration"),
        ({"kind": "groups", "groups": []}, "there must be a group"),
        ({**GROUPS, "inclusion": 0.0}, "inclusion"),
        ({"kind": "waves"}, "unknown kind"),
        ({**SPARSE, "shape": [2]}, "does not have"),
    ],
)
def test_components_that_cannot_be(component, words):
    with pytest.raises(ValueError, match=words):
        chain_of(component, 1, 5)


def test_a_state_with_another_direction_is_refused():
    chain = chain_of(LINE, 50, 5, p_perturb=0.3)
    chain.sweep(20)
    state = chain.state()
    other = chain_of({**LINE, "most": [2]}, 50, 5)
    with pytest.raises(ValueError, match="direction that its prior does not have"):
        other.set_state(state)


def test_a_chain_goes_on_from_its_state():
    components = [
        {**LINE, **SMOOTH},
        SPARSE,
        GROUPS,
        {**LINE, "least": [2], "values": "difference"},
    ]
    options = {"directions": components, "p_perturb": 0.3, "p_change": 0.2, "max_depth": 4}
    whole, part = (chain_of(LINE, 30, 5, **options) for _ in range(2))
    whole.sweep(60)
    part.sweep(25)
    rest = chain_of(LINE, 30, 5, **options)
    rest.set_state(part.state())
    rest.sweep(35)
    a, b = whole.state(), rest.state()
    assert a.keys() == b.keys()
    assert "direction_weights" in a
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert whole.check() == []
