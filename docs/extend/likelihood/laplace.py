"""Numbers with heavy-tailed noise: y = f(x) + sigma e / sqrt(weight), e ~ Laplace."""

from __future__ import annotations

import numpy as np
from scipy.stats import laplace

from obliquebart.likelihood.base import FloatArray, Given, Likelihood
from obliquebart.likelihood.gaussian import Gaussian, noise_scale

__all__ = ["Laplace"]


class Laplace(Gaussian):
    """Reads, encodes and calibrates as `Gaussian` does; the noise differs."""

    name = "laplace"
    # The engine does not know this noise, so that quantiles of outcomes come from `cdf`.
    core_noise = Likelihood.core_noise

    def variance(self, given: Given) -> FloatArray:
        """Return the variance of an outcome of weight one."""
        return np.asarray(2.0 * super().variance(given), dtype=np.float64)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Add heavy-tailed noise."""
        e = random_state.laplace(size=given.f.shape)
        return np.asarray(given.f + noise_scale(given) * e, dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log density of Laplace's distribution around f."""
        density = laplace.logpdf(y, given.f, noise_scale(given))
        return np.asarray(density, dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the probability of an outcome below y."""
        below = laplace.cdf(y, given.f, given.noise["sigma"])
        return np.asarray(below, dtype=np.float64)
