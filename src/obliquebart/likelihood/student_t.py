"""Numbers with heavy-tailed noise: y = f(x) + sigma e / sqrt(weight), e ~ Student's t."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from obliquebart.likelihood.base import FloatArray, Given, Likelihood, Noise, NoiseScalar
from obliquebart.likelihood.gaussian import (
    Gaussian,
    no_noise,
    noise_scale,
    or_point_mass,
    standardised,
)
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters

# What the engine draws learned degrees of freedom from: even, so that the distribution function is
# a short sum. The prior is Gamma(2, DF_RATE); each number stands for those nearest to it.
DF_GRID = (4.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0)
DF_RATE = 0.1


def usual_scale(df: float) -> float:
    """Return sigma of Student's t over the scale of normal noise that fits the same errors, about.

    With learned degrees of freedom, the prior of sigma is that of sigma / usual_scale(df).
    """
    return 1.0 - 0.9 / df


class StudentT(Gaussian):
    """As `Gaussian`, with degrees of freedom that are even and do not change within a fit."""

    name = "student_t"
    noise = (NoiseScalar("sigma", "σ"), NoiseScalar("df", "df", sampled=False))

    def noise_sd(self, given: Given) -> FloatArray:
        """Return sigma sqrt(df / (df - 2))."""
        df = given.noise["df"]
        return np.asarray(super().noise_sd(given) * np.sqrt(df / (df - 2.0)), dtype=np.float64)

    def core_noise(self, noise: Mapping[str, FloatArray], scale: OutcomeScale) -> Noise | None:
        """Return Student's t."""
        normal = super().core_noise(noise, scale)
        df = np.broadcast_to(noise["df"].ravel(), noise["sigma"].ravel().shape)
        return normal and normal._replace(df=np.ascontiguousarray(df, dtype=np.float64))

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Add heavy-tailed noise."""
        e = random_state.standard_t(np.broadcast_to(given.noise["df"], given.f.shape))
        return np.asarray(given.f + noise_scale(given) * e, dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log density of Student's t around f, of scale sigma / sqrt(weight)."""
        df, scale = given.noise["df"], noise_scale(given)
        constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
        with no_noise():
            z = standardised(y, given, scale)
            log_density = constant - np.log(scale) - 0.5 * (df + 1.0) * np.log1p(z * z / df)
        return or_point_mass(log_density, z, scale)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the probability of an outcome below y."""
        with no_noise():
            z = standardised(y, given, given.noise["sigma"])
        return cdf_even(z, given.noise["df"])


class LearnedT(StudentT):
    """As `StudentT`, with degrees of freedom that are sampled."""

    name = "learned_t"
    noise = (NoiseScalar("sigma", "σ"), NoiseScalar("df", "df"))

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Standardise y; a constant has no noise to learn about."""
        outcome = super().encode(y, weights)
        return replace(outcome, likelihood=Gaussian()) if outcome.constant else outcome

    def are_scalars(self, noise: Mapping[str, FloatArray]) -> bool:
        """Take the degrees of freedom that the engine draws."""
        return bool(np.isin(noise["df"], DF_GRID).all())

    @property
    def when_estimating(self) -> Likelihood:
        """Short fits estimate the noise as they do for normal noise."""
        return Gaussian()

    @property
    def _is_normal(self) -> bool:
        """Take degrees of freedom that are given, as normal noise does."""
        return True

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Draw the degrees of freedom unless they are given, as in short fits."""
        if parameters.noise_df is not None:
            prior = super().noise_prior(parameters, outcome, noise)
            return {"likelihood": Gaussian.name, **prior}
        if noise is not None:
            noise = noise._replace(sigma=noise.sigma / usual_scale(noise.df))
        prior = super().noise_prior(parameters, outcome, noise)
        return {**prior, "likelihood": self.name, "more": {"df_rate": DF_RATE}}


def cdf_even(z: FloatArray, df: FloatArray) -> FloatArray:
    """Return the distribution function of Student's t for even degrees of freedom.

    P(|T| < z) is x times the first df / 2 terms of the series of (1 - c)^(-1/2), with
    x = z / sqrt(df + z²) and c = 1 - x².
    """
    z = np.clip(z, -1e100, 1e100)
    c = 1.0 / (1.0 + z * z / df)
    x = z / np.sqrt(df + z * z)
    series = np.zeros_like(c)
    for k in range(int(df.max()) // 2 - 1, 0, -1):
        series = (series + (2 * k < df)) * c * ((2 * k - 1) / (2 * k))
    return np.asarray(0.5 + 0.5 * x * (1.0 + series), dtype=np.float64)
