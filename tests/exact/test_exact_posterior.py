"""One tree, tiny data: the sampler against the posterior over row partitions, computed exactly.

sigma, leaf_sd and theta are fixed, trees have depth at most two, rows number four or five. Prior
masses of partitions come from enumeration and quadrature (categorical rules, one continuous column,
axis rules, both kinds mixed) or from simulated rules (two columns, oblique). The total variation
between the sampler's frequencies and the exact posterior must be below 0.01.

False alarms: the chain runs until a correct sampler's expected distance, estimated from batches,
is below 0.0035 (at least 10^6 sweeps; 0.0025 and a bound of 0.007 in the long form). Resampled
from the covariance of the batches, a correct sampler's distance has a standard deviation of a
third of its mean or less, and the bound lies six or more of them above it: at most 1e-4 a case,
1e-3 in all. Seeds are fixed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from exact.oracles import core, enumeration, marginal, oblique
from exact.oracles.compare import Distance, distance, frequencies
from exact.oracles.prior import Prior, Table
from helpers.probes import probes
from obliquebart import _core

SIGMA, LEAF_SD = 0.8, 0.6
X = np.array([[-0.7, -0.1, 0.3, 0.8, 0.45], [0.2, -0.6, 0.9, -0.3, 0.05]], dtype=np.float32)
WITH_MISSING = np.where([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]], np.float32(np.nan), X)
CODES = np.array([[0, 1, 2, 1, 0], [1, 0, 0, 1, 2]])
CODES_2_4 = np.array([[0, 1, 0, 1, 0], [1, 0, 3, 1, 2]])
NO_CONT, NO_CAT = np.zeros((0, 5)), np.zeros((0, 5), dtype=int)
Y = np.array([-1.1, 0.2, 0.9, -0.3, 1.4])
LABELS = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
WEIGHTS = np.array([0.3, 2.0, 1.0, 0.6, 3.0])


def table(x: np.ndarray, codes: np.ndarray, n_levels: tuple[int, ...] = ()) -> Table:
    return Table(x.astype(float), codes, n_levels)


TABLES = {
    "categorical": table(NO_CONT, CODES, (3, 4)),  # the fourth level has no row
    "categorical 2 and 4": table(NO_CONT, CODES_2_4, (2, 4)),
    "one column": table(X[:1], NO_CAT),
    "one column, missing": table(WITH_MISSING[:1], NO_CAT),
    "axis": table(X, NO_CAT),
    "mixed": table(X[:1], CODES[:1], (4,)),
    "mixed, missing": table(WITH_MISSING[:1], CODES[:1], (4,)),
    "oblique": table(X, NO_CAT),
    "oblique, missing": table(WITH_MISSING, NO_CAT),
}
OBLIQUE_THETA = 0.6
DF = 4.0
# The name of a case -> the core's, and whether rows have weights.
LIKELIHOODS = {
    "gaussian": ("gaussian", False),
    "weighted": ("gaussian", True),
    "probit": ("probit", False),
    "weighted_probit": ("weighted_probit", True),
    "student_t": ("student_t", False),
    "student_t, weighted": ("student_t", True),
    "none": ("none", False),
}


@dataclass(frozen=True)
class Case:
    table: str
    min_samples_leaf: int = 1
    alpha: float = 0.95
    beta: float = 0.5
    likelihood: str = "gaussian"  # or another of LIKELIHOODS
    moves: str = "grow and prune"  # or another of core.NAMES

    @property
    def is_oblique(self) -> bool:
        return self.table.startswith("oblique")

    @property
    def id(self) -> str:
        return (
            f"{self.table}-leaf {self.min_samples_leaf}-alpha {self.alpha}-beta {self.beta}"
            f"-{self.likelihood}-{self.moves}"
        )


@functools.cache
def rule_masses(name: str, min_samples_leaf: int, n_log2: int) -> enumeration.RuleMasses:
    t = TABLES[name]
    problem = enumeration.Problem(t.x_cont, t.x_cat, t.n_levels, min_samples_leaf)
    if name.startswith("oblique"):
        return oblique.smooth_masses(problem, OBLIQUE_THETA, n_log2)
    return enumeration.rule_masses(problem)


def leaf_marginal(likelihood: str) -> marginal.LeafMarginal:
    if likelihood == "none":
        return marginal.nothing()
    name, weighted = LIKELIHOODS[likelihood]
    weights = WEIGHTS if weighted else None
    if name.endswith("probit"):
        return marginal.probit(LABELS, 0.25, LEAF_SD, weights)
    if name == "student_t":
        return marginal.student_t(Y, DF, SIGMA, LEAF_SD, weights)
    return marginal.gaussian(Y, SIGMA, LEAF_SD, weights)


def exact_posterior(case: Case, masses: enumeration.RuleMasses):
    return marginal.posterior(
        masses.partition_masses(case.alpha, case.beta), leaf_marginal(case.likelihood)
    )


def sampler(case: Case, seed: int) -> _core.Sampler:
    prior = Prior(
        n_trees=1,
        alpha=case.alpha,
        beta=case.beta,
        max_depth=2,
        min_samples_leaf=case.min_samples_leaf,
        axis_rules=case.table == "axis",
        theta=OBLIQUE_THETA if case.is_oblique else 1.0,
        sigma=1.0 if case.likelihood.endswith("probit") else SIGMA,
        leaf_sd=LEAF_SD,
    )
    is_probit = case.likelihood.endswith("probit")
    settings = core.settings(prior, **core.NAMES[case.moves])
    settings.likelihood, weighted = LIKELIHOODS[case.likelihood]
    settings.offset = 0.25 if is_probit else 0.0
    settings.more = {"df": DF} if settings.likelihood == "student_t" else {}
    weights = WEIGHTS if weighted else None
    y = LABELS if is_probit else Y
    return _core.Sampler(core.data(TABLES[case.table]), y, weights, settings, seed, 0)


def sampled_distance(case: Case, masses, n_sweeps: int, noise: float, seed: int) -> Distance:
    """At least n_sweeps, and then until the noise is small enough to tell 0.01 from nothing."""
    chain = sampler(case, seed)
    probes.partition_keys(chain, 2_000)
    exact = exact_posterior(case, masses)
    batches: list[dict[int, float]] = []
    for _ in range(20):
        batches += [frequencies(probes.partition_keys(chain, n_sweeps // 25)) for _ in range(25)]
        found = distance(batches, exact, len(Y))
        if found.noise < noise:
            break
    assert chain.check() == []
    print(found)
    return found


SHORT = [
    # categorical rules
    Case("categorical", 1, 0.95, 0.5),
    Case("categorical", 0, 0.5, 0.5),
    Case("categorical", 1, 0.25, 0.0, moves="all moves"),
    Case("categorical", 0, 0.95, 1.0, moves="all moves"),
    Case("categorical 2 and 4", 1, 0.5, 0.5, moves="change"),
    # one continuous column
    Case("one column", 1, 0.95, 0.5),
    Case("one column", 0, 0.25, 0.5),
    Case("one column", 1, 0.5, 0.0, moves="all moves"),
    Case("one column", 0, 0.5, 0.5, moves="perturb"),
    Case("one column, missing", 1, 0.95, 0.5, moves="all moves"),
    Case("axis", 1, 0.5, 0.5),
    Case("axis", 0, 0.95, 0.5, moves="all moves"),
    # both kinds
    Case("mixed", 1, 0.95, 0.5),
    Case("mixed", 0, 0.5, 0.0, moves="all moves"),
    Case("mixed", 1, 0.25, 0.5, "weighted", moves="all moves"),
    Case("mixed, missing", 0, 0.95, 0.5),
    Case("mixed", 1, 0.5, 0.5, moves="change"),
    # two columns, oblique
    Case("oblique", 1, 0.95, 0.5),
    Case("oblique", 0, 0.95, 0.5),
    Case("oblique", 1, 0.5, 0.0, moves="all moves"),
    Case("oblique", 0, 0.25, 0.5, moves="all moves"),
    Case("oblique", 0, 0.5, 0.5, moves="perturb"),
    Case("oblique, missing", 1, 0.95, 0.5, moves="all moves"),
    # other likelihoods
    Case("one column", 1, 0.95, 0.5, "weighted"),
    Case("oblique", 1, 0.95, 0.5, "probit"),
    Case("mixed", 0, 0.5, 0.5, "probit", moves="all moves"),
    Case("oblique", 1, 0.95, 0.5, "weighted_probit"),
    Case("mixed", 0, 0.5, 0.5, "weighted_probit", moves="all moves"),
    Case("oblique", 1, 0.95, 0.5, "student_t"),
    Case("mixed", 1, 0.5, 0.5, "student_t, weighted", moves="all moves"),
    Case("mixed", 1, 0.95, 0.5, "none", moves="all moves"),
]

LONG = [
    Case(name, leaf, alpha, beta, "gaussian", moves)
    for name in TABLES
    for leaf in (0, 1)
    for alpha, beta in ((0.25, 0.0), (0.5, 0.5), (0.95, 1.0))
    for moves in ("grow and prune", "all moves")
] + [
    Case(name, leaf, 0.6, 0.3, likelihood, moves)
    for name in TABLES
    for leaf in (0, 1)
    for likelihood, moves in (
        ("gaussian", "change"),
        ("gaussian", "perturb"),
        ("weighted", "all moves"),
        ("probit", "grow and prune"),
        ("weighted_probit", "all moves"),
        ("student_t, weighted", "all moves"),
        ("none", "all moves"),
    )
]


def check_row_partitions(case, seed, n_log2, n_sweeps, noise, bound):
    masses = rule_masses(case.table, case.min_samples_leaf, n_log2)
    found = sampled_distance(case, masses, n_sweeps, noise, seed)
    assert found.noise < noise
    assert found.total_variation < bound


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.id)
def test_row_partitions(case, seed):
    check_row_partitions(case, seed, 13, 1_000_000, 0.0035, 0.01)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=lambda case: case.id)
def test_row_partitions_long(case, seed):
    check_row_partitions(case, seed, 16, 4_000_000, 0.0025, 0.007)


@pytest.mark.long
@pytest.mark.parametrize("name", ["oblique", "oblique, missing"])
@pytest.mark.parametrize("min_samples_leaf", [0, 1])
def test_row_partitions_by_simulated_rules(name, min_samples_leaf, seed):
    """Dichotomies counted in 10^7 simulated triples of rules, nothing integrated."""
    t = TABLES[name]
    problem = enumeration.Problem(t.x_cont, t.x_cat, t.n_levels, min_samples_leaf)
    masses = oblique.simulated_masses(problem, OBLIQUE_THETA, 10_000_000, seed)
    for alpha in (0.25, 0.5, 0.95):
        case = Case(name, min_samples_leaf, alpha, 0.5, moves="all moves")
        found = sampled_distance(case, masses, 4_000_000, 0.003, seed)
        assert found.total_variation < 0.01
