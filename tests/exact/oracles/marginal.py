"""Log marginal likelihood of the rows of one leaf, its output integrated out, by brute force.

The sampler uses sufficient statistics; here the n-dimensional normal density is evaluated as it
stands, and leaves of other likelihoods are integrated by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special, stats

from .partitions import Partition, rows_of

LeafMarginal = Callable[[int], float]


def gaussian(
    y: np.ndarray, sigma: float, leaf_sd: float, weights: np.ndarray | None = None
) -> LeafMarginal:
    """Rows of a leaf are jointly normal: covariance sigma^2 diag(1/w) + leaf_sd^2 11'."""
    w = np.ones(len(y)) if weights is None else np.asarray(weights)

    def log_marginal(mask: int) -> float:
        rows = rows_of(mask)
        if not rows:
            return 0.0
        covariance = np.diag(sigma**2 / w[rows]) + leaf_sd**2
        return float(stats.multivariate_normal.logpdf(y[rows], cov=covariance))

    return log_marginal


def probit(
    y: np.ndarray, offset: float, leaf_sd: float, weights: np.ndarray | None = None
) -> LeafMarginal:
    """Given the output mu the rows are independent: integrate prod Phi(+-(offset + mu))^w."""
    w = np.ones(len(y)) if weights is None else np.asarray(weights)
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(80)
    node_weights = node_weights / node_weights.sum()
    sign = np.where(np.asarray(y) > 0.5, 1.0, -1.0)

    def log_marginal(mask: int) -> float:
        rows = rows_of(mask)
        if not rows:
            return 0.0
        mean = offset + leaf_sd * nodes
        terms = (w[rows, None] * special.log_ndtr(sign[rows, None] * mean)).sum(axis=0)
        return float(special.logsumexp(terms, b=node_weights))

    return log_marginal


def student_t(
    y: np.ndarray, df: float, sigma: float, leaf_sd: float, weights: np.ndarray | None = None
) -> LeafMarginal:
    """Given the output mu the rows are independent: integrate the product of their densities."""
    mu = np.linspace(-10.0, 10.0, 4001) * leaf_sd
    prior = stats.norm.pdf(mu, scale=leaf_sd)
    prior /= prior.sum()
    scale = sigma / np.sqrt(np.ones(len(y)) if weights is None else np.asarray(weights))

    def log_marginal(mask: int) -> float:
        rows = rows_of(mask)
        if not rows:
            return 0.0
        terms = stats.t.logpdf(y[rows, None], df, mu, scale[rows, None]).sum(axis=0)
        return float(special.logsumexp(terms, b=prior))

    return log_marginal


def nothing() -> LeafMarginal:
    """Likelihood off."""
    return lambda _: 0.0


def posterior(masses: dict[Partition, float], leaf: LeafMarginal) -> dict[Partition, float]:
    """Prior masses of partitions times the likelihood of their blocks, normalised."""
    cache: dict[int, float] = {}
    logs = {
        blocks: np.log(mass) + sum(cache.setdefault(b, leaf(b)) for b in blocks)
        for blocks, mass in masses.items()
        if mass > 0
    }
    total = special.logsumexp(list(logs.values()))
    return {blocks: float(np.exp(value - total)) for blocks, value in logs.items()}
