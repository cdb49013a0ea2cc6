"""Treatment effects whose posterior is known: by quadrature, and by enumeration of partitions.

With one leaf in each tree the mean of a row of dose d is a + b d, where a = mu + low tau and
b = level + (high - low) tau is the effect. Given tau both are jointly normal, so that their prior
density is an integral over tau, and their posterior lies on a grid for any kind of noise.

If one of the two trees splits, outcomes are jointly normal given low and high: each partition has a
marginal likelihood, integrated over those two.

False alarms: forty means, each off by more than five of its standard errors, which come from 100
batches, and three distances that are bounded as in test_exact_posterior.py: about 1e-3 in all.
Seeds are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from exact.oracles import core, enumeration
from exact.oracles.compare import distance, frequencies
from exact.oracles.partitions import Partition, rows_of
from exact.oracles.prior import Prior, Table
from helpers.probes import probes
from obliquebart import _core

SIGMA, MU_SD, TAU_SD, LEVEL_SD, DF, OFFSET = 0.6, 0.8, 0.9, 0.5, 4.0, 0.3
N_DRAWS, N_THIN = 10_000, 8
Y = np.array([-1.1, 0.2, 0.9, -0.3, 1.4, 0.6])
LABELS = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
ARMS = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
DOSES = np.array([-1.5, 0.0, 0.4, -0.2, 1.3, 0.8])
WEIGHTS = np.array([0.3, 2.0, 1.0, 0.6, 3.0, 1.4])


@dataclass(frozen=True)
class OneLeaf:
    noise: str = "gaussian"
    dose: bool = False
    weighted: bool = False

    @property
    def doses(self) -> np.ndarray:
        return DOSES if self.dose else ARMS

    @property
    def weights(self) -> np.ndarray | None:
        return WEIGHTS if self.weighted else None

    @property
    def y(self) -> np.ndarray:
        return LABELS if "probit" in self.noise else Y

    def log_likelihood(self, mean: np.ndarray) -> np.ndarray:
        """Of all rows, whose means are along the last axis."""
        w = WEIGHTS if self.weighted else np.ones(len(Y))
        if "probit" in self.noise:
            return (w * special.log_ndtr((2 * LABELS - 1) * (mean + OFFSET))).sum(axis=-1)
        z = (Y - mean) * np.sqrt(w) / SIGMA
        log_p = stats.norm.logpdf(z) if self.noise == "gaussian" else stats.t.logpdf(z, DF)
        return log_p.sum(axis=-1)


CASES = {
    "arms": OneLeaf(),
    "weights": OneLeaf(weighted=True),
    "doses": OneLeaf(dose=True),
    "Student's t": OneLeaf("student_t", weighted=True),
    "labels": OneLeaf("probit"),
    "labels with weights": OneLeaf("weighted_probit", weighted=True),
}


NEVER = (1e-9, 0.0)  # alpha and beta of a tree that does not split


def settings(case: OneLeaf, of_mu=NEVER, of_tau=NEVER, **more: Any) -> _core.Settings:
    """Return those of a tree for each; alpha and beta say how they split."""
    prior = Prior(1, *of_mu, max_depth=2, sigma=SIGMA, leaf_sd=MU_SD)
    out = core.settings(prior, likelihood=f"causal_{case.noise}", **more)
    out.more = {"n_treatments": 1, "codes_arms": float(not case.dose), "level_sd": LEVEL_SD}
    if case.noise == "student_t":
        out.more = {**out.more, "df": DF}
    if "probit" in case.noise:
        out.sigma, out.offset = 1.0, OFFSET
    out.add_ensemble()
    tau = out.ensemble(1)
    tau.n_trees, tau.max_depth, (tau.alpha, tau.beta) = 1, 2, of_tau
    tau.leaf_sd, tau.theta_fixed, tau.theta = TAU_SD, True, 1.0
    tau.p_change, tau.p_perturb = 0.2, 0.3
    return out


def prior_of_line(a: np.ndarray, b: np.ndarray, dose: bool) -> np.ndarray:
    """Return the density of intercept and effect, up to a constant, by quadrature over tau."""
    low, high = (0.0, 1.0) if dose else (0.5, 0.5)  # variances of the codes
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    density = np.zeros(np.broadcast(a, b).shape)
    for t2, weight in zip((TAU_SD * nodes) ** 2, weights, strict=True):
        aa, ab, bb = MU_SD**2 + low * t2, -low * t2, LEVEL_SD**2 + (low + high) * t2
        det = aa * bb - ab**2
        square = (bb * a**2 - 2 * ab * a * b + aa * b**2) / det
        density += weight * np.exp(-0.5 * square) / np.sqrt(det)
    return density


def exact_line(case: OneLeaf) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return intercepts, effects, and their posterior probabilities on the grid of both."""
    a, b = np.linspace(-6, 6, 601), np.linspace(-8, 8, 801)
    mean = a[:, None, None] + b[:, None] * case.doses
    log_p = case.log_likelihood(mean) + np.log(prior_of_line(a[:, None], b, case.dose))
    p = np.exp(log_p - log_p.max())
    return a, b, p / p.sum()


def sampled_line(case: OneLeaf, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(Y)
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    y = np.stack([case.y, case.doses])
    chain = _core.Sampler(data, y, case.weights, settings(case), seed, 0)
    chain.run(100, N_DRAWS, N_THIN, _core.Control())
    assert chain.check() == []
    mu, tau = (chain.draws_of(e).to_arrays()["outputs"].astype(float) for e in (0, 1))
    low, high, level = (chain.trace[f"{name}.0"] for name in ("low", "high", "level"))
    return mu + low * tau, level + (high - low) * tau


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_of_one_effect(name, seed):
    intercepts, effects, p = exact_line(CASES[name])
    a, b = sampled_line(CASES[name], seed)
    of_effect = p.sum(axis=0)
    below = np.interp(b, effects, np.cumsum(of_effect) - 0.5 * of_effect)
    scores = {
        "intercept": a - (intercepts * p.sum(axis=1)).sum(),
        "effect": b - (effects * of_effect).sum(),
        "square": b**2 - (effects**2 * of_effect).sum(),
        "product": a * b - intercepts @ p @ effects,
    }
    scores |= {f"below {u}": (below < u) - u for u in (0.1, 0.5, 0.9)}
    for what, score in scores.items():
        batches = score.reshape(100, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / 10.0)
        print(f"{what}: {z:.2f}")
        assert abs(z) < 5, what


# The last column is the propensity: trees of mu see both, those of tau only the category.
TABLE = Table(np.array([[-0.7, -0.1, 0.3, 0.8, 0.45, -0.4]]), np.array([[0, 1, 2, 1, 0, 2]]), (3,))
SEEN_BY_TAU = Table(np.zeros((0, 6)), TABLE.x_cat, (3,))
# The ensemble whose tree splits, and its alpha and beta. With large beta it splits once.
PARTITIONS = {
    "of the effect": (OneLeaf(), 1, (0.7, 0.5)),
    "of the effect, doses and weights": (OneLeaf(dose=True, weighted=True), 1, (0.7, 0.5)),
    "of the outcome": (OneLeaf(weighted=True), 0, (0.7, 60.0)),
}


def log_marginal(case: OneLeaf, e: int, blocks: Partition) -> float:
    """Of outcomes that are jointly normal given low and high, over which it is integrated."""
    w = WEIGHTS if case.weighted else np.ones(len(Y))
    same = np.zeros((len(Y), len(Y)))
    for block in blocks:
        rows = rows_of(block)
        same[np.ix_(rows, rows)] = 1.0
    of_mu, of_tau = (same, np.ones_like(same)) if e == 0 else (np.ones_like(same), same)
    d = case.doses
    fixed = np.diag(SIGMA**2 / w) + MU_SD**2 * of_mu + LEVEL_SD**2 * np.outer(d, d)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    low, high = np.meshgrid(nodes * np.sqrt(0.5), nodes * np.sqrt(0.5))
    weight = np.outer(weights, weights)
    if case.dose:
        low, high, weight = np.zeros_like(nodes), nodes, weights
    factor = low[..., None] * (1 - d) + high[..., None] * d
    covariance = fixed + TAU_SD**2 * of_tau * factor[..., :, None] * factor[..., None, :]
    _, log_det = np.linalg.slogdet(covariance)
    square = np.linalg.solve(covariance, np.broadcast_to(Y[:, None], (*factor.shape, 1)))[..., 0]
    log_p = -0.5 * (log_det + square @ Y)
    return float(special.logsumexp(log_p, b=weight))


@pytest.mark.parametrize("name", PARTITIONS)
def test_row_partitions(name, seed):
    case, e, depth = PARTITIONS[name]
    t = SEEN_BY_TAU if e == 1 else TABLE
    masses = enumeration.rule_masses(enumeration.Problem(t.x_cont, t.x_cat, t.n_levels))
    exact = {
        blocks: np.log(mass) + log_marginal(case, e, blocks)
        for blocks, mass in masses.partition_masses(*depth).items()
        if mass > 0
    }
    total = special.logsumexp(list(exact.values()))
    exact = {blocks: float(np.exp(value - total)) for blocks, value in exact.items()}
    chosen = settings(case, *((depth, NEVER) if e == 0 else (NEVER, depth)), **core.MOVES)
    chosen.ensemble(1).hidden_columns = 1
    y = np.stack([Y, case.doses])
    chain = _core.Sampler(core.data(TABLE), y, case.weights, chosen, seed, 0)
    probes.partition_keys(chain, 2_000, e)
    batches = [frequencies(probes.partition_keys(chain, 20_000, e)) for _ in range(25)]
    found = distance(batches, exact, len(Y))
    assert chain.check() == []
    print(found)
    assert found.noise < 0.0035
    assert found.total_variation < 0.01
