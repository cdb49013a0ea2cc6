"""Counts with mean mu = exposure exp(f(x)): Poisson, and negative binomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln, pdtr

from obliquebart.display.numbers import plain_alike
from obliquebart.exceptions import ConstantOutcomeWarning, warn_caller
from obliquebart.likelihood.base import CheckedOutcome, FloatArray, Given, Likelihood, NoiseScalar
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import (
    COUNT_SPREAD,
    LOG_DISPERSION,
    CheckedHyperparameters,
)
from obliquebart.validation import check_count_weights, check_counts, check_exposure

# Below this dispersion, a negative binomial distribution is computed as a Poisson one.
NO_DISPERSION = 1e-9
# Means beyond this are simulated as this; NumPy's Poisson draws are 64-bit integers.
LARGEST_MEAN = 1e18


class ExposedCounts(NamedTuple):
    """What the user gave to `fit` as outcomes."""

    y: Any
    exposure: Any
    """One per row, or None: all are 1."""


class Poisson(Likelihood):
    """y ~ Poisson(mu); a row of weight w counts w times. f is the log of the rate, mu / exposure.

    The exposures are the second numbers of the outcomes. Here and in the engine, the log of an
    exposure is added to f.
    """

    name = "poisson"
    task = "count regression"
    link = "product"
    sum_link = "log_product"
    has_latents = True
    target_dtype = np.float64
    n_more: int = 1
    is_whole = True
    noun = "a count"

    def from_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return booleans as 0 and 1."""
        return values.astype(np.float64) if values.dtype.kind == "b" else values

    def describe(self, y: NDArray[Any]) -> str:
        if y.dtype.kind not in "iuf":
            return self.task
        return f"{self.task}, {' to '.join(plain_alike([y.min(), y.max()], 6))}"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Leave out the rows of weight zero; y may be an `ExposedCounts`."""
        given = y if isinstance(y, ExposedCounts) else ExposedCounts(y, None)
        counts = check_counts(given.y, n_rows)
        exposure = check_exposure(given.exposure, n_rows)
        weights = check_count_weights(sample_weight, n_rows)
        rows = None
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            counts, exposure, weights = counts[rows], exposure[rows], weights[rows]
        if weights is not None and (weights == 1.0).all():
            weights = None
        if not counts.any():
            warn_caller(
                f"All {len(counts)} counts in y are 0: the data only say that the rate is low. "
                "Predictions depend on the prior, which expects half a count in all rows together.",
                ConstantOutcomeWarning,
            )
        return CheckedOutcome(rows, counts, weights, (exposure,))

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Keep the counts; the caller adds the exposures."""
        return Outcome(y, weights, OutcomeScale(), self)

    def is_constant(self, outcome: Outcome) -> bool:
        """Learn the rate, and how sure it is, even if all counts are equal."""
        return False

    def is_target(self, values: NDArray[Any], classes: NDArray[Any] | None) -> bool:
        return bool(((values >= 0) & (values == np.floor(values))).all())

    def are_more(self, values: NDArray[Any], more: tuple[FloatArray, ...]) -> bool:
        (exposure,) = more
        return bool((np.isfinite(exposure) & (exposure > 0)).all())

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        return check_counts(y, n_rows)

    # ---- the prior -------------------------------------------------------------------------------

    def leaf_sd(self, parameters: CheckedHyperparameters, outcome: Outcome) -> float:
        """Let 2 / k times the spread of the log rates be the standard deviation of f.

        Half a count is added to outcomes and expectations, and the spread has limits.
        """
        expected = outcome.more[0] * math.exp(_log_mean_rate(outcome))
        log_ratio = np.log((outcome.values + 0.5) / (expected + 0.5))
        mean = np.average(log_ratio, weights=outcome.weights)
        variance = np.average((log_ratio - mean) ** 2, weights=outcome.weights)
        spread = min(max(math.sqrt(float(variance)), COUNT_SPREAD[0]), COUNT_SPREAD[1])
        return 2.0 * spread / (parameters.k * math.sqrt(parameters.n_trees))

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Set the offset so that f = 0 is the mean rate, and record the mean exposure."""
        exposure = float(np.average(outcome.more[0], weights=outcome.weights))
        return {
            "leaf_model": "rate",
            "offset": _log_mean_rate(outcome),
            "sigma": 1.0,
            "sigma_fixed": True,
            "more": {"exposure": exposure, **self._scale_prior()},
        }

    def _scale_prior(self) -> dict[str, float]:
        return {}

    def usual_shift(self, more: Mapping[str, float]) -> float:
        """Return the log of the mean exposure in training."""
        return math.log(more["exposure"])

    def unit(self, scale: OutcomeScale) -> str:
        return "1, a factor of e in the rate"

    def terms(self, outputs: FloatArray) -> FloatArray:
        """Return the logs of factors of the rate."""
        return np.log(outputs)

    # ---- a new outcome ---------------------------------------------------------------------------

    def mean(self, f: FloatArray) -> FloatArray:
        """Return exp(f)."""
        return np.exp(f)

    def variance(self, given: Given) -> FloatArray:
        return np.exp(given.f)

    def noise_on_f(self, given: Given) -> FloatArray:
        """Return the squared relative error of a count."""
        return np.asarray(self.variance(given) * np.exp(-2.0 * given.f), dtype=np.float64)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return Poisson draws."""
        return _poisson(np.exp(given.f), random_state)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log probability of counts, times their weights."""
        weights = 1.0 if given.weights is None else given.weights
        return np.asarray(weights * self._log_probability(y, given), dtype=np.float64)

    def _log_probability(self, y: FloatArray, given: Given) -> FloatArray:
        return np.asarray(y * given.f - np.exp(given.f) - gammaln(y + 1.0), dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return P(Y <= y), less half of P(Y = y) where y is whole."""
        whole = np.floor(y)
        at_y = np.where(y == whole, np.exp(self._log_probability(np.maximum(whole, 0), given)), 0.0)
        below = self._at_most(np.maximum(whole, 0.0), given) - 0.5 * at_y
        return np.asarray(np.where(y < 0, 0.0, below), dtype=np.float64)

    def _at_most(self, y: FloatArray, given: Given) -> FloatArray:
        """Return P(Y <= y) for whole y >= 0."""
        return np.asarray(pdtr(y, np.exp(given.f)), dtype=np.float64)


class NegativeBinomial(Poisson):
    """As `Poisson`, with variance mu + dispersion mu²."""

    name = "negative_binomial"
    noise = (NoiseScalar("dispersion", "dispersion"),)

    def _scale_prior(self) -> dict[str, float]:
        mean, sd = LOG_DISPERSION
        return {"log_dispersion_mean": mean, "log_dispersion_sd": sd}

    def trace_units(self, scale: OutcomeScale) -> dict[str, float]:
        """Give the dispersion as it is."""
        return {**super().trace_units(scale), "dispersion": 1.0}

    def variance(self, given: Given) -> FloatArray:
        mean = np.exp(given.f)
        return np.asarray(mean + given.noise["dispersion"] * mean**2, dtype=np.float64)

    def noise_on_f(self, given: Given) -> FloatArray:
        """Return the squared relative error of a count."""
        return np.asarray(np.exp(-given.f) + given.noise["dispersion"], dtype=np.float64)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return Poisson draws of means times gamma draws."""
        size = np.broadcast_to(1.0 / _dispersion(given), given.f.shape)
        return _poisson(np.exp(given.f) * random_state.standard_gamma(size) / size, random_state)

    def _log_probability(self, y: FloatArray, given: Given) -> FloatArray:
        a, f = _dispersion(given), given.f
        log_odds = np.log1p(a * np.exp(f))
        log_choices = -betaln(y + 1.0, 1.0 / a) - np.log(y + 1.0 / a)
        log_p = log_choices + y * (f + np.log(a) - log_odds) - log_odds / a
        return np.asarray(log_p, dtype=np.float64)

    def _at_most(self, y: FloatArray, given: Given) -> FloatArray:
        a = _dispersion(given)
        at_most = betainc(1.0 / a, y + 1.0, 1.0 / (1.0 + a * np.exp(given.f)))
        return np.asarray(at_most, dtype=np.float64)


def _log_mean_rate(outcome: Outcome) -> float:
    """Return the log of the counts over the exposures; no count at all is taken for half a one."""
    weights = 1.0 if outcome.weights is None else outcome.weights
    total = max(float(np.sum(weights * outcome.values)), 0.5)
    return math.log(total) - math.log(float(np.sum(weights * outcome.more[0])))


def _dispersion(given: Given) -> FloatArray:
    return np.maximum(given.noise["dispersion"], NO_DISPERSION)


def _poisson(mean: FloatArray, random_state: np.random.RandomState) -> FloatArray:
    return random_state.poisson(np.minimum(mean, LARGEST_MEAN)).astype(np.float64)
