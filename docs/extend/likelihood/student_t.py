"""Numbers with heavy-tailed noise: y = f(x) + sigma e / sqrt(weight), e ~ Student's t."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import t as student

from obliquebart.likelihood.base import FloatArray, Likelihood
from obliquebart.likelihood.gaussian import Gaussian
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

    def variance(self, f: FloatArray, noise: Mapping[str, FloatArray]) -> FloatArray:
        """Return the variance of an outcome of weight one."""
        ratio = DEGREES_OF_FREEDOM / (DEGREES_OF_FREEDOM - 2.0)
        return np.asarray(ratio * super().variance(f, noise), dtype=np.float64)

    def simulate(
        self,
        f: FloatArray,
        noise: Mapping[str, FloatArray],
        weights: FloatArray | None,
        random_state: np.random.RandomState,
    ) -> FloatArray:
        """Add heavy-tailed noise."""
        e = random_state.standard_t(DEGREES_OF_FREEDOM, f.shape)
        return np.asarray(f + _scale(noise, weights) * e, dtype=np.float64)

    def log_density(
        self,
        y: FloatArray,
        f: FloatArray,
        noise: Mapping[str, FloatArray],
        weights: FloatArray | None,
    ) -> FloatArray:
        """Return the log density of Student's t around f."""
        density = student.logpdf(y, DEGREES_OF_FREEDOM, f, _scale(noise, weights))
        return np.asarray(density, dtype=np.float64)

    def cdf(self, y: FloatArray, f: FloatArray, noise: Mapping[str, FloatArray]) -> FloatArray:
        """Return the probability of an outcome below y."""
        below = student.cdf(y, DEGREES_OF_FREEDOM, f, noise["sigma"])
        return np.asarray(below, dtype=np.float64)


def _scale(noise: Mapping[str, FloatArray], weights: FloatArray | None) -> FloatArray:
    sigma = noise["sigma"]
    return sigma if weights is None else np.asarray(sigma / np.sqrt(weights), dtype=np.float64)
