"""The outputs of a soft tree, whose leaves share rows: their likelihood and draws, by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.probes import probes


def shares_of(rng, n_leaves: int, n_rows: int) -> np.ndarray:
    """Return the share of each row in each leaf."""
    shares = rng.random((n_leaves, n_rows)) ** 8
    return shares / shares.sum(axis=0)


def log_likelihood(shares, left, sigma: float, leaf_sd: float) -> float:
    """Return that of what the other trees leave, up to a constant, outputs integrated out."""
    precision = shares @ shares.T / sigma**2 + np.eye(len(shares)) / leaf_sd**2
    score = shares @ left / sigma**2
    log_determinant = np.linalg.slogdet(precision * leaf_sd**2)[1]
    return 0.5 * (score @ np.linalg.solve(precision, score) - log_determinant)


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 4, 5, 12, 60])
@pytest.mark.parametrize("sigma", [1.0, 1e-3])
def test_the_likelihood_of_a_tree(rng, n_leaves, sigma):
    """With 60 leaves and little noise, the determinant is beyond all numbers."""
    shares = shares_of(rng, n_leaves, 2_000)
    left = shares.T @ rng.standard_normal(n_leaves) + sigma * rng.standard_normal(2_000)
    found = probes.soft_log_likelihood_over_root(shares, left, sigma, 0.8)
    root = log_likelihood(shares[:1], left, sigma, 0.8)
    assert found == pytest.approx(log_likelihood(shares, left, sigma, 0.8) - root, rel=1e-8)


def test_the_draws_of_outputs(rng):
    shares, sigma, leaf_sd = shares_of(rng, 6, 40), 0.7, 0.5
    left = rng.standard_normal(40)
    generator = probes.Rng(3, 0)
    drawn = np.array(
        [probes.draw_soft_outputs(shares, left, sigma, leaf_sd, generator) for _ in range(20_000)]
    )
    covariance = np.linalg.inv(shares @ shares.T / sigma**2 + np.eye(6) / leaf_sd**2)
    z = (drawn - covariance @ shares @ left / sigma**2) @ np.linalg.cholesky(
        np.linalg.inv(covariance)
    )
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=5 / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(z.T), np.eye(6), atol=5 * np.sqrt(2 / 20_000))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-9])
@pytest.mark.parametrize("sigma", [1e-8, 1e-10, 1e-13])
def test_leaves_that_rounding_cannot_tell_apart(rng, sigma, gap):
    """Their outputs stay of the prior's size, about, and together they fit what is left."""
    generator = probes.Rng(3, 0)
    for _ in range(200):
        first, second, other = shares_of(rng, 3, 300)
        nearly_first = first * (1.0 + gap * rng.standard_normal(300))
        shares = np.array([first, nearly_first, second, other])
        left = rng.standard_normal(4) @ shares
        drawn = np.array(probes.draw_soft_outputs(shares, left, sigma, 1.0, generator))
        assert np.abs(drawn).max() < 200.0
        np.testing.assert_allclose(drawn @ shares, left, atol=1e-4)
