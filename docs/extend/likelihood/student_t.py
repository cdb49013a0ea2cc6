"""Numbers with heavy-tailed noise: y = f(x) + sigma e / sqrt(weight), e ~ Student's t."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

from obliquebart.likelihood.base import FloatArray, Given, Likelihood
from obliquebart.likelihood.gaussian import Gaussian, noise_scale
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import CheckedHyperparameters

__all__ = ["StudentT"]

DEGREES_OF_FREEDOM = 3.0


class StudentT(Gaussian):
    """Reads, encodes and calibrates as `Gaussian` does; the noise differs."""

    name = "student_t"
    # The noise is not normal, so that quantiles of outcomes come from `cdf`.
    noise_sd = Likelihood.noise_sd

    def noise_prior(self, parameters: CheckedHyperparameters, outcome: Outcome) -> dict[str, Any]:
        """Add the degrees of freedom, which this likelihood alone has."""
        prior = super().noise_prior(parameters, outcome)
        return {**prior, "more": {"df": DEGREES_OF_FREEDOM}}

    def variance(self, given: Given) -> FloatArray:
        """Return the variance of an outcome of weight one."""
        ratio = DEGREES_OF_FREEDOM / (DEGREES_OF_FREEDOM - 2.0)
        return np.asarray(ratio * super().variance(given), dtype=np.float64)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Add heavy-tailed noise."""
        e = random_state.standard_t(DEGREES_OF_FREEDOM, given.f.shape)
        return np.asarray(given.f + noise_scale(given) * e, dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log density of Student's t around f."""
        density = student.logpdf(y, DEGREES_OF_FREEDOM, given.f, noise_scale(given))
        return np.asarray(density, dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the probability of an outcome below y."""
        below = student.cdf(y, DEGREES_OF_FREEDOM, given.f, given.noise["sigma"])
        return np.asarray(below, dtype=np.float64)
