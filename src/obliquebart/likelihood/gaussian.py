"""Numbers with normal noise: y ~ N(f(x), sigma² / weight)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2

from obliquebart.display.numbers import plain_alike
from obliquebart.likelihood.base import (
    CheckedOutcome,
    FloatArray,
    Given,
    Likelihood,
    Noise,
    NoiseScalar,
)
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale, require_scale
from obliquebart.model.parameters import (
    NU_RANGE,
    NU_SHARE,
    PLAIN_NU,
    CheckedHyperparameters,
    Task,
)
from obliquebart.validation import check_outcome, check_weights


class Gaussian(Likelihood):
    """The engine's y is standardised; weights have mean 1, and sigma takes up their mean."""

    name = "gaussian"
    task: ClassVar[Task] = "regression"
    link = "identity"
    noise: tuple[NoiseScalar, ...] = (NoiseScalar("sigma", "σ"),)
    has_latents = False
    target_dtype = np.float64

    def from_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return booleans as 0 and 1."""
        return values.astype(np.float64) if values.dtype.kind == "b" else values

    def describe(self, y: NDArray[Any]) -> str:
        return f"{self.task}, {' to '.join(plain_alike([y.min(), y.max()], 6))}"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Leave out the rows of weight zero."""
        values = check_outcome(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        rows = None
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            values, weights = values[rows], weights[rows]
        return CheckedOutcome(rows, values, weights)

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Standardise y by its (weighted) mean and its standard deviation.

        The first step divides by a power of two, which is exact: outcomes of any magnitude work,
        and outcomes multiplied by a power of two give the same standardised values. Weights
        multiplied by a constant give the same weights, and sigma takes up the constant.
        """
        exponent = math.frexp(float(np.abs(y).max()))[1]
        mantissa = np.ldexp(y, -exponent)
        mean_weight = 1.0
        if weights is not None:
            relative = weights / weights.max()
            mean_weight = float(weights.max() * relative.mean())
            weights = None if (relative == 1.0).all() else relative / relative.mean()
        # A constant y must become exactly zero, even if its mean is rounded.
        constant = bool(mantissa.min() == mantissa.max())
        mean = float(mantissa[0] if constant else np.average(mantissa, weights=weights))
        sd = 0.0 if constant else float(np.std(mantissa, ddof=1))
        scale = math.ldexp(sd, exponent)
        return Outcome(
            values=(mantissa - mean) / sd if sd > 0 else np.zeros_like(y),
            weights=weights,
            scale=OutcomeScale(
                location=math.ldexp(mean, exponent),
                scale=scale,
                sigma_unit=scale * math.sqrt(mean_weight),
            ),
            likelihood=self,
        )

    def is_target(self, values: NDArray[Any], classes: NDArray[Any] | None) -> bool:
        return bool(np.isfinite(values).all())

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        return check_outcome(y, n_rows)

    def leaf_sd(self, parameters: CheckedHyperparameters, outcome: Outcome) -> float:
        """Let the range of y, or with heavy tails four sd(y), span 2k deviations of f."""
        spread = float(np.ptp(outcome.values)) / 4.0
        if parameters.preset.robust_leaf:
            spread = min(spread, _weighted_sd(outcome))
        return 2.0 * spread / (parameters.k * math.sqrt(parameters.n_trees))

    def wants_noise(self, parameters: CheckedHyperparameters) -> bool:
        """Estimate the noise unless the user has said how large it is."""
        is_given = parameters.sigma is not None or parameters.sigma_quantile is not None
        is_estimated = parameters.preset.estimate_noise and not is_given
        return self.when_estimating.name == Gaussian.name and is_estimated

    @property
    def _is_normal(self) -> bool:
        """Say whether this is normal noise and not a class derived from this one."""
        return self.name == Gaussian.name

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Let sigma be fixed, near an estimate, or below sd(y) with probability `sigma_quantile`.

        Its tails are those the user wants, else those of the estimate, else normal.
        """
        df = math.inf if noise is None else noise.df
        if parameters.noise_df is not None:
            df = parameters.noise_df
        is_heavy = self._is_normal and math.isfinite(df)
        tails = {"likelihood": "student_t", "more": {"df": df}} if is_heavy else {}
        return {"offset": 0.0, **tails, **self._sigma_prior(parameters, outcome, noise)}

    def _sigma_prior(
        self, parameters: CheckedHyperparameters, outcome: Outcome, noise: NoiseEstimate | None
    ) -> dict[str, Any]:
        if parameters.sigma is not None:
            sigma = parameters.sigma / outcome.scale.sigma_unit
            require_scale(f"sigma={parameters.sigma:g}", "noise", sigma, outcome)
            return {"sigma": sigma, "sigma_fixed": True}
        # sigma^2 = nu lambda / chi2_nu, so P(sigma < s) = P(chi2_nu > nu lambda / s^2).
        if noise is not None:
            low, high = NU_RANGE
            weight = min(max(NU_SHARE * len(outcome.values), low), high)
            nu = weight if parameters.nu is None else parameters.nu
            below, s = 0.5, noise.sigma
        else:
            nu = PLAIN_NU if parameters.nu is None else parameters.nu
            quantile = parameters.sigma_quantile
            below = parameters.preset.sigma_quantile if quantile is None else quantile
            s = _weighted_sd(outcome) if parameters.preset.estimate_noise else 1.0
        lambda_ = s**2 * float(chi2.ppf(1.0 - below, nu)) / nu
        if not (math.isfinite(lambda_) and lambda_ > 1e-100):
            quantile_too = "" if noise is not None else f" with sigma_quantile={below:g}"
            raise ValueError(
                f"nu={nu:g}{quantile_too} gives no usable prior of sigma: choose nu closer to "
                f"{PLAIN_NU:g}."
            )
        return {"sigma": 1.0, "sigma_fixed": False, "nu": nu, "lambda_": lambda_}

    def unit(self, scale: OutcomeScale) -> str:
        return f"{scale.scale:g}, the standard deviation of y"

    def trace_units(self, scale: OutcomeScale) -> dict[str, float]:
        """Give sigma in the units of y."""
        sigma = scale.sigma_unit
        return {**super().trace_units(scale), "sigma": sigma, "burn_sigma": sigma}

    def mean(self, f: FloatArray) -> FloatArray:
        """Return f itself."""
        return f

    def variance(self, given: Given) -> FloatArray:
        return self.noise_sd(given) ** 2

    def noise_sd(self, given: Given) -> FloatArray:
        """Return sigma, without its square, which may overflow."""
        return np.broadcast_arrays(given.noise["sigma"], given.f)[0]

    def core_noise(self, noise: Mapping[str, FloatArray], scale: OutcomeScale) -> Noise | None:
        """Return normal noise."""
        return Noise(np.asarray(noise["sigma"].ravel() / (scale.scale or 1.0), dtype=np.float64))

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Add normal noise."""
        z = random_state.standard_normal(given.f.shape)
        return np.asarray(given.f + noise_scale(given) * z, dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log of N(y; f, sigma² / weight)."""
        sd = noise_scale(given)
        with no_noise():
            z = standardised(y, given, sd)
            log_density = -0.5 * z**2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
        return or_point_mass(log_density, z, sd)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return Phi((y - f) / sigma)."""
        with no_noise():
            z = standardised(y, given, given.noise["sigma"])
        return np.asarray(ndtr(z), dtype=np.float64)


def _weighted_sd(outcome: Outcome) -> float:
    """Return the weighted sd(y) in the engine's units."""
    if outcome.weights is None:
        return 1.0
    # The weighted mean is zero, and the weights' mean is one.
    n = len(outcome.values)
    freedom = n - float(np.sum(outcome.weights**2)) / n
    squares = float(np.sum(outcome.weights * outcome.values**2))
    return math.sqrt(squares / freedom) if freedom > 1e-12 * n else 1.0


def no_noise() -> AbstractContextManager[None]:
    """Say nothing about divisions by zero: a constant outcome has no noise."""
    return np.errstate(divide="ignore", invalid="ignore")


def standardised(y: FloatArray, given: Given, scale: FloatArray) -> FloatArray:
    """Return (y - f) / scale, which is 0 for a constant outcome."""
    return np.nan_to_num((y - given.f) / scale, nan=0.0, posinf=np.inf, neginf=-np.inf)


def or_point_mass(log_density: FloatArray, z: FloatArray, scale: FloatArray) -> FloatArray:
    """Return a log density; without noise it is infinite at f, and nothing elsewhere."""
    return np.where(scale > 0, log_density, np.where(z == 0, np.inf, -np.inf))


def noise_scale(given: Given) -> FloatArray:
    """Return sigma / sqrt(weight)."""
    sigma, weights = given.noise["sigma"], given.weights
    return sigma if weights is None else np.asarray(sigma / np.sqrt(weights), dtype=np.float64)
