"""Pólya-Gamma draws: distribution, moments, Laplace transform, tails.

False alarms: some 100 p-values, each below 1e-5 with probability 1e-5. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from helpers.probes import probes

ALARM = 1e-5
N = 100_000
# Either side of |z| = 16, where the proposal changes.
TILTS = [0.0, 1e-3, 0.4, -1.0, 2.0, 3.12, 5.0, -12.0, 15.99, 16.0, 40.0]


def draws(z: float, n: int = N, seed: int = 1) -> np.ndarray:
    return probes.Rng(seed, 0).polya_gamma(z, n)


def cdf(x: np.ndarray, z: float) -> np.ndarray:
    """Sum the alternating series of first passage times, each of which has a closed form."""
    z = abs(z)
    root = np.sqrt(x)
    out = np.zeros_like(x)
    for n in range(60):
        a = n + 0.5
        with np.errstate(over="ignore"):
            early = np.exp(special.log_ndtr((z * x - a) / root) + (0.5 - a) * z)
            late = np.exp(special.log_ndtr(-(z * x + a) / root) + (0.5 + a) * z)
        out += (-1) ** n * (early + late)
    return (1.0 + np.exp(-z)) * out


def assert_distribution(x: np.ndarray, z: float) -> None:
    u = cdf(x, z)
    assert stats.kstest(u, "uniform").pvalue > ALARM
    for tail in (u < 1e-3, u > 1 - 1e-3):
        assert stats.binomtest(int(tail.sum()), len(x), 1e-3).pvalue > ALARM


def moments(z: float) -> tuple[float, float]:
    if abs(z) < 0.01:
        return 0.25 - z**2 / 48, 1 / 24 - z**2 / 120
    mean = np.tanh(z / 2) / (2 * z)
    return mean, (np.sinh(z) - z) / (4 * z**3 * np.cosh(z / 2) ** 2)


def assert_mean(values: np.ndarray, mean: float) -> None:
    z = (values.mean() - mean) / (values.std() / np.sqrt(len(values)))
    assert 2 * special.ndtr(-abs(z)) > ALARM


@pytest.mark.parametrize("z", TILTS)
def test_distribution_and_tails(z):
    assert_distribution(draws(z), z)


def test_many_at_once():
    """Each of the rows has its own distribution, wherever it stands in a batch."""
    rows = np.random.default_rng(4).permutation(np.repeat(TILTS, N))
    x = probes.Rng(6, 0).polya_gammas(rows)
    for z in TILTS:
        assert_distribution(x[rows == z], z)
        assert_mean(x[rows == z], moments(z)[0])
    # Neighbours do not depend on each other.
    alike = probes.Rng(7, 0).polya_gammas(np.full(N, 2.0))
    for lag in (1, 2, 256):
        r = np.corrcoef(alike[lag:], alike[:-lag])[0, 1]
        assert 2 * special.ndtr(-abs(r) * np.sqrt(N - lag)) > ALARM


@pytest.mark.parametrize("z", [0.0, 5.0, 15.99, 16.0, 1e3])
def test_a_batch_of_one_row(z):
    """It takes the same numbers as a single draw."""
    for seed in range(200):
        one = probes.Rng(seed, 0).polya_gammas(np.array([z]))
        assert one[0] == draws(z, 1, seed)[0]


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_batches_of_any_length(n):
    x = probes.Rng(8, 0).polya_gammas(np.linspace(-40.0, 40.0, n))
    assert x.shape == (n,)
    assert (x > 0).all()


@pytest.mark.parametrize("z", TILTS)
def test_moments_and_laplace_transform(z):
    x = draws(z, seed=2)
    mean, variance = moments(z)
    assert_mean(x, mean)
    assert_mean((x - mean) ** 2, variance)
    for t in (0.5, 5.0):
        ratio = np.cosh(z / 2) / np.cosh(np.sqrt(z**2 / 4 + t / 2))
        assert_mean(np.exp(-t * x), ratio)


@pytest.mark.parametrize("z", [0.0, 2.0, 6.0])
def test_sums_of_gammas(z):
    """By the definition: gammas over squares, where the mean of the terms left out is added."""
    rng = np.random.default_rng(3)
    n, n_terms = 20_000, 200
    weights = 1 / (2 * np.pi**2 * ((np.arange(1, n_terms + 1) - 0.5) ** 2 + (z / 2 / np.pi) ** 2))
    reference = rng.standard_exponential((n, n_terms)) @ weights
    reference += moments(z)[0] - weights.sum()
    assert stats.ks_2samp(draws(z, 100_000, seed=4), reference).pvalue > ALARM


@pytest.mark.parametrize("z", [1e3, -1e3, 1e8, 1e100, 1e300])
def test_far_out(z):
    """There it is nearly 1 / (2 |z|), with a relative deviation of sqrt(2 / |z|)."""
    x = draws(z, 2000)
    assert (x > 0).all()
    ratio = 2 * abs(z) * x
    assert ratio.mean() == pytest.approx(1.0, abs=6 * np.sqrt(2 / abs(z) / 2000) + 1e-15)
    assert (abs(ratio - 1) < 7 * np.sqrt(2 / abs(z)) + 1e-14).all()


@pytest.mark.parametrize("terms", [2, 7, 512, 600])
@pytest.mark.parametrize("z", [0.02, 0.5, 4.0])
def test_sums(terms, z):
    """From 513 terms on a normal draw with the same moments."""
    x = probes.Rng(5, 0).polya_gamma_sum(terms, z, 4000)
    mean, variance = moments(z)
    assert_mean(x, terms * mean)
    assert_mean((x - terms * mean) ** 2, terms * variance)
