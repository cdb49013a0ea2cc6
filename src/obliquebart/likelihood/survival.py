"""Times until an event, perhaps censored: log T = f(x) + sigma e, e normal or logistic.

These are accelerated failure times: exp(f) is the median of T, and a change of f stretches or
shortens all times by a factor. The outcome of both classes is log T; estimators turn it into times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_ndtr

from obliquebart.display.numbers import plain_alike
from obliquebart.likelihood.base import CheckedOutcome, FloatArray, Given, Noise
from obliquebart.likelihood.gaussian import Gaussian
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.times import NO_LIMIT, Times, read_times
from obliquebart.validation import check_weights, whole_weights

# How far the spread of all log times may be from that of their limits, as a factor.
LARGEST_FACTOR = math.exp(4.0)


class LogNormal(Gaussian):
    """Normal noise. The engine's outcome is a lower and an upper limit of log T, standardised."""

    name = "log_normal"
    task = "survival"
    has_latents = True
    n_more: int = 1
    predicted = "Predicted log times"
    # The standard deviation of e.
    sd: ClassVar[float] = 1.0

    def from_column(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def describe(self, y: NDArray[Any]) -> str:
        times = read_times(y, len(y))
        ends = " to ".join(plain_alike([times.middle.min(), times.middle.max()], 6))
        return f"survival, times {ends}, {np.mean(~times.is_right_censored):.0%} with an event"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Repeat rows as often as their weights say; the outcomes are limits of shape (2, n)."""
        times = read_times(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        rows = None
        if weights is not None and not (weights == 1).all():
            whole = np.round(weights)
            if whole_weights(whole) is None or not np.allclose(weights, whole, rtol=1e-9, atol=0):
                row = int(np.argmax(weights != whole))
                raise ValueError(
                    f"sample_weight must be whole numbers for survival times (row {row} has "
                    f"{weights[row]:g}): a weight says how often a row counts. Round the weights, "
                    "or draw rows with probabilities proportional to them."
                )
            rows = np.repeat(np.arange(n_rows), whole.astype(np.int64))
            times = times.take(rows)
        _require_both_ends(times)
        return CheckedOutcome(rows, times.to_log(), None)

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Standardise log times by a fit that ignores the columns but knows of censoring."""
        location, scale = marginal_fit(y)
        is_limit = np.abs(y) < NO_LIMIT
        lower, upper = np.where(is_limit, (np.where(is_limit, y, location) - location) / scale, y)
        if (y == y[0, 0]).all():
            location, scale = float(y[0, 0]), 0.0
            lower = upper = np.zeros_like(lower)
        unit = OutcomeScale(location, scale, scale)
        return Outcome(lower, None, unit, self, more=(upper,))

    def are_more(self, values: NDArray[Any], more: tuple[FloatArray, ...]) -> bool:
        """Require upper limits that are not below the lower ones."""
        return super().are_more(values, more) and bool((more[0] >= values).all())

    def order_key(self, outcome: Outcome) -> FloatArray:
        """Return a limit, or the middle of two."""
        lower, upper = outcome.values, outcome.more[0]
        has_lower, has_upper = lower > -NO_LIMIT, upper < NO_LIMIT
        lower, upper = np.where(has_lower, lower, upper), np.where(has_upper, upper, lower)
        return np.asarray(0.5 * (lower + upper), dtype=np.float64)

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        """Return the logarithms of limits, shape (2, n)."""
        return read_times(y, n_rows).to_log()

    def observed_groups(self, y: FloatArray) -> dict[str, FloatArray]:
        """Return both limits of log T, infinite where there is none."""
        lower, upper = np.where(np.abs(y) < NO_LIMIT, y, np.sign(y) * np.inf)
        return {"lower": lower, "upper": upper}

    def is_constant(self, outcome: Outcome) -> bool:
        """Say whether all times were observed and are equal."""
        columns = (outcome.values, *outcome.more)
        return all(bool((column == outcome.values[0]).all()) for column in columns)

    def constant_warning(self, outcome: Outcome) -> str:
        return (
            f"All {len(outcome.values)} times in y are equal and observed: the model predicts this "
            "constant and has no uncertainty."
        )

    def leaf_sd(self, parameters: CheckedHyperparameters, outcome: Outcome) -> float:
        """Let four standard deviations of log T span 2k deviations of f."""
        return 2.0 / (parameters.k * math.sqrt(parameters.n_trees))

    def wants_noise(self, parameters: CheckedHyperparameters) -> bool:
        """Estimate the noise unless the user has said how large it is."""
        is_given = parameters.sigma is not None or parameters.sigma_quantile is not None
        return parameters.preset.estimate_noise and not is_given

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Let sigma be fixed, near an estimate, or such that its noise is below sd(log T)."""
        prior = {"offset": 0.0, **self._sigma_prior(parameters, outcome, noise)}
        if noise is None and "lambda_" in prior:
            prior["lambda_"] /= self.sd**2
        return prior

    def unit(self, scale: OutcomeScale) -> str:
        return f"{scale.scale:g}, the standard deviation of log times"

    def outcome_in_words(self, classes: NDArray[Any] | None) -> str:
        return "the time until an event"

    def quantity(self, target: str | None) -> str:
        """Say that predictions are logarithms."""
        return f"log {target or 'time'}"

    def noise_sd(self, given: Given) -> FloatArray:
        """Return the standard deviation of a log time."""
        return np.asarray(self.sd * super().noise_sd(given), dtype=np.float64)

    def survival(self, log_time: FloatArray, given: Given) -> FloatArray:
        """Return P(log T > log_time)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num((log_time - given.f) / given.noise["sigma"], nan=0.0)
        return np.asarray(np.exp(self._log_tail(z)), dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log density of observed times, the log probability of an interval of others.

        The density is that of T, not of log T.
        """
        lower, upper = y
        sigma = given.noise["sigma"]
        # A constant outcome has no noise.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = np.clip(np.nan_to_num((lower - given.f) / sigma, nan=0.0), -1e100, 1e100)
            b = np.clip(np.nan_to_num((upper - given.f) / sigma, nan=0.0), -1e100, 1e100)
            density = self._log_standard_density(a) - np.log(sigma) - lower
            # In whichever tail the interval is.
            flip = a + b < 0.0
            near, far = np.where(flip, -b, a), np.where(flip, -a, b)
            log_near, log_far = self._log_tail(near), self._log_tail(far)
            inside = log_near + np.log(-np.expm1(np.minimum(log_far - log_near, 0.0)))
        return np.asarray(np.where(lower == upper, density, inside), dtype=np.float64)

    def _log_tail(self, z: FloatArray) -> FloatArray:
        """Return log P(e > z)."""
        return np.asarray(log_ndtr(-z), dtype=np.float64)

    def _log_standard_density(self, z: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi), dtype=np.float64)


class LogLogistic(LogNormal):
    """Logistic noise, with heavier tails: the odds of an event are a power of the time."""

    name = "log_logistic"
    sd = math.pi / math.sqrt(3.0)

    def core_noise(self, noise: Mapping[str, FloatArray], scale: OutcomeScale) -> Noise | None:
        """Return None: the engine does not know logistic noise."""
        return None

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Add logistic noise."""
        e = random_state.logistic(size=given.f.shape)
        return np.asarray(given.f + given.noise["sigma"] * e, dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return P(log T < y)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num((y - given.f) / given.noise["sigma"], nan=0.0)
        return np.asarray(expit(z), dtype=np.float64)

    def _log_tail(self, z: FloatArray) -> FloatArray:
        return np.asarray(log_expit(-z), dtype=np.float64)

    def _log_standard_density(self, z: FloatArray) -> FloatArray:
        return np.asarray(log_expit(z) + log_expit(-z), dtype=np.float64)


def marginal_fit(limits: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation of log times, by maximum likelihood of a log-normal.

    With few events the spread is held near that of the limits. Both numbers are rounded, so that
    a fit does not depend on the last bits of a library.
    """
    finite = limits[np.abs(limits) < NO_LIMIT]
    middle, spread = float(np.median(finite)), float(np.std(finite))
    if spread <= 1e-9 * max(abs(middle), 1.0):
        spread = 1.0
    model = LogNormal()

    def loss(point: FloatArray) -> float:
        f, sigma = np.array([[middle + spread * point[0]]]), np.array([[spread * np.exp(point[1])]])
        log_density = model.log_density(limits, Given(f, {"sigma": sigma}))
        # As if one more row had told the spread, and one the mean.
        prior = 0.5 * point[1] ** 2 + 0.5 * (point[0] / 10.0) ** 2
        return float((prior - np.maximum(log_density, -1e6).sum()) / limits.shape[1])

    bounds = [(-100.0, 100.0), (-math.log(LARGEST_FACTOR), math.log(LARGEST_FACTOR))]
    found = minimize(loss, np.zeros(2), method="Nelder-Mead", bounds=bounds).x
    scale = float(f"{spread * math.exp(found[1]):.3g}")
    digits = 2 - math.floor(math.log10(scale))
    return round(middle + spread * float(found[0]), digits), scale


def _require_both_ends(times: Times) -> None:
    """Raise ValueError if all times are censored on the same side."""
    if times.is_right_censored.all():
        raise ValueError(
            "No event was observed: all rows are censored, so nothing says how long times may be. "
            "Pass rows with events; if the event column is inverted, pass ~event."
        )
    if (times.lower == 0.0).all():
        raise ValueError(
            "All rows are censored on the left (lower is 0 everywhere), so nothing says how short "
            "times may be. Pass rows with a lower limit or an observed time."
        )
