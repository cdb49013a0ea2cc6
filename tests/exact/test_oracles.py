"""The oracles agree with each other, so that no test rests on one of them alone."""

from __future__ import annotations

import numpy as np
import pytest

from exact.oracles import columnar, enumeration, marginal, oblique, ranges
from exact.oracles.compare import p_value, total_variation
from exact.oracles.partitions import from_key, key, partition
from exact.oracles.prior import Prior, Table, simulate
from exact.oracles.reference import ReferenceSampler

X = np.array([[-0.7, -0.1, 0.3, 0.8, 0.45], [0.2, -0.6, 0.9, -0.3, 0.05]], dtype=np.float32)
X = X.astype(float)
WITH_MISSING = np.where([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]], np.nan, X)
CODES = np.array([[0, 1, 2, 1, 0], [1, 0, 0, 1, 2]])
NO_CONT, NO_CAT = np.zeros((0, 5)), np.zeros((0, 5), dtype=int)


def prior_masses(table: Table, prior: Prior, n_draws: int, seed: int):
    """Partitions of single trees from the simulator, normalised by the valid ones."""
    sample = simulate(table, prior, n_draws, seed)
    nodes = columnar.NodeTable(sample.arrays, table.x_cont.shape[0], table.n_levels)
    masks = (nodes.rows(table) * (1 << np.arange(table.n_rows))).sum(axis=1)
    leaves = np.flatnonzero(nodes.is_leaf)
    code = np.zeros(n_draws * table.n_rows).reshape(n_draws, -1)
    for k in leaves:
        code[nodes.tree[k], [i for i in range(table.n_rows) if masks[k] >> i & 1]] = k
    out: dict = {}
    for row in code:
        blocks: dict[float, int] = {}
        for i, c in enumerate(row):
            blocks[c] = blocks.get(c, 0) | 1 << i
        name = partition(blocks.values())
        out[name] = out.get(name, 0.0) + 1 / n_draws
    return out, sample


CASES = {
    "categorical": (Table(NO_CONT, CODES, (3, 3)), 1.0, False),
    "one column": (Table(X[:1], NO_CAT), 1.0, False),
    "one column, missing": (Table(WITH_MISSING[:1], NO_CAT), 1.0, False),
    "axis": (Table(X, NO_CAT), 1.0, True),
    "mixed": (Table(X[:1], CODES[:1], (4,)), 1.0, False),
    "oblique": (Table(X, NO_CAT), 0.6, False),
    "oblique, missing": (Table(WITH_MISSING, NO_CAT), 0.6, False),
}


def exact_masses(table: Table, theta: float, axis: bool, min_samples_leaf: int):
    problem = enumeration.Problem(table.x_cont, table.x_cat, table.n_levels, min_samples_leaf)
    if table.x_cont.shape[0] == 2 and not axis:
        return oblique.smooth_masses(problem, theta, n_log2=13)
    return enumeration.rule_masses(problem)


@pytest.mark.parametrize("min_samples_leaf", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_enumeration_agrees_with_the_prior_simulator(case, min_samples_leaf, seed):
    table, theta, axis = CASES[case]
    prior = Prior(1, 0.8, 0.7, 2, min_samples_leaf, axis_rules=axis, theta=theta)
    masses = exact_masses(table, theta, axis, min_samples_leaf).partition_masses(0.8, 0.7)
    n_draws = 20_000
    simulated, sample = prior_masses(table, prior, n_draws, seed)
    exact = marginal.posterior(masses, marginal.nothing())
    # expected distance about 0.4 sqrt(partitions / draws); the bound is 0.02 above, p < 1e-12
    assert total_variation(exact, simulated) < 0.4 * np.sqrt(len(exact) / n_draws) + 0.02
    # the measure is not renormalised: its total is the share of valid trees (six deviations)
    total = min(1.0, sum(masses.values()))
    noise = np.sqrt(sample.n_attempts * total * (1 - total)) + 1
    assert abs(sample.n_valid - sample.n_attempts * total) < 6 * noise


def test_quadrature_has_converged():
    problem = enumeration.Problem(X[:1], CODES[:1], (4,), 1)
    coarse = enumeration.rule_masses(problem, 12).partition_masses(0.95, 0.3)
    fine = enumeration.rule_masses(problem, 40).partition_masses(0.95, 0.3)
    assert total_variation(coarse, fine) < 1e-12


@pytest.mark.parametrize("x", [X, WITH_MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("min_samples_leaf", [0, 1])
def test_smooth_masses_agree_with_simulated_rules(x, min_samples_leaf, seed):
    problem = enumeration.Problem(x, NO_CAT, (), min_samples_leaf)
    smooth = oblique.smooth_masses(problem, 0.6, n_log2=13).partition_masses(0.95, 0.5)
    counted = oblique.simulated_masses(problem, 0.6, 100_000, seed).partition_masses(0.95, 0.5)
    assert total_variation(smooth, counted) < 0.01  # noise 0.003


def test_leaf_marginals(rng):
    y, w = rng.normal(size=6), rng.uniform(0.5, 2, 6)
    sigma, leaf_sd = 0.7, 1.3
    rows = [0, 2, 5]
    precision = w[rows].sum() / sigma**2 + leaf_sd**-2
    theta = (w[rows] * y[rows]).sum() / sigma**2
    log_density = -0.5 * (
        np.log(2 * np.pi * sigma**2 / w[rows]) + w[rows] * y[rows] ** 2 / sigma**2
    )
    closed = log_density.sum() - np.log(leaf_sd) - 0.5 * np.log(precision)
    closed += theta**2 / (2 * precision)
    assert marginal.gaussian(y, sigma, leaf_sd, w)(0b100101) == pytest.approx(closed, abs=1e-10)
    labels = (y > 0).astype(float)
    mu = leaf_sd * rng.standard_normal(400_000)
    z = 0.3 + mu[:, None] + rng.standard_normal((len(mu), 3))
    share = ((z > 0) == (labels[rows] > 0)).all(axis=1).mean()
    found = np.exp(marginal.probit(labels, 0.3, leaf_sd)(0b100101))
    assert found == pytest.approx(share, abs=0.005)  # five standard errors or more


def test_ranges_agree(rng):
    for p, d in ((1, 2), (2, 1), (2, 4), (3, 1), (3, 3)):
        n = 60
        phi, a = rng.normal(size=(n, p)), rng.normal(size=(n, d, p))
        inside = rng.uniform(-1, 1, size=(n, p))
        b = np.einsum("ndp,np->nd", a, inside) + rng.exponential(0.3, size=(n, d))
        lo, hi = ranges.by_vertices(phi, a, b)
        for i in range(n):
            assert ranges.by_linprog(phi[i], a[i], b[i]) == pytest.approx((lo[i], hi[i]), abs=1e-7)
        if d == 1:
            dual = ranges.by_duality(phi, a[:, 0], b[:, 0])
            np.testing.assert_allclose(dual, (lo, hi), atol=1e-9)
    phi, a = rng.normal(size=(60, 3)), np.eye(3)[rng.integers(0, 3, (60, 3))]
    a *= rng.choice([-1.0, 1.0], size=(60, 3, 1))
    b = rng.uniform(0.05, 1.2, size=(60, 3))
    np.testing.assert_allclose(ranges.by_box(phi, a, b), ranges.by_vertices(phi, a, b), atol=1e-12)
    empty = ranges.by_vertices(np.ones((1, 2)), np.array([[[1.0, 0.0]]]), np.array([[-2.0]]))
    assert empty[0] > empty[1]


def test_keys_round_trip():
    blocks = partition((0b01001, 0b10010, 0b00100))
    assert key(blocks, 5) == 0x10210
    assert from_key(0x10210, 5) == blocks


def test_whole_replicates_are_rejected():
    """theta is tilted towards values with more valid trees, as the restricted measure says."""
    table = Table(X, NO_CAT)
    random = simulate(table, Prior(3, 0.6, 1.0, theta=(1.0, 1.0)), 4000, seed=1)
    grid = np.linspace(0.05, 0.95, 10)
    valid = []
    for theta in grid:
        fixed = simulate(table, Prior(1, 0.6, 1.0, theta=float(theta)), 1, seed=2)
        valid.append(fixed.n_valid / fixed.n_attempts)
    tilt = np.array(valid) ** 3
    assert random.theta.mean() == pytest.approx((grid * tilt).sum() / tilt.sum(), abs=0.05)


def test_two_sample_tests_find_a_gap(rng):
    a, b = rng.normal(size=20_000), rng.normal(size=20_000)
    assert p_value(a, b, False) > 1e-6
    assert p_value(a, b + 0.12, False) < 1e-6  # gap of the CDFs 0.048
    c, d = rng.poisson(3, 20_000).astype(float), rng.poisson(3, 20_000).astype(float)
    assert p_value(c, d, True) > 1e-6
    assert p_value(c, rng.poisson(3.15, 20_000).astype(float), True) < 1e-6


@pytest.mark.parametrize("root_factor", [True, False], ids=["exact", "as printed in the paper"])
def test_ratios_of_the_paper(root_factor):
    """The written-out sampler meets enumeration; without the factor at the root it does not."""
    table = CASES["mixed"][0]
    prior = Prior(alpha=0.5, beta=0.5, max_depth=2)
    leaf = marginal.gaussian(np.array([-1.1, 0.2, 0.9, -0.3, 1.4]), 0.8, 0.9)
    masses = exact_masses(table, 1.0, False, 1).partition_masses(0.5, 0.5)
    exact = marginal.posterior(masses, leaf)
    sampler = ReferenceSampler(table, prior, leaf, seed=5, root_factor=root_factor)
    n = 60_000
    found: dict = {}
    for _ in range(n):
        sampler.step()
        blocks = sampler.partition()
        found[blocks] = found.get(blocks, 0.0) + 1 / n
    gap = total_variation(found, exact)
    assert gap < 0.03 if root_factor else gap > 0.05
