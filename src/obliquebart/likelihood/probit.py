"""Labels: P(y = 1) = Phi(offset + f(x)), by the data augmentation of Albert and Chib (1993)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from obliquebart.likelihood.base import FloatArray
from obliquebart.likelihood.labels import Labels
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters


class Probit(Labels):
    """The latent outcome whose sign is the label has normal noise of variance 1."""

    name = "probit"
    link = "probit"
    span = 3.0
    latent_variance = 1.0

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Name the engine's likelihood besides: fractional weights have one of their own."""
        name = Probit.name if outcome.weights is None else WeightedProbit.name
        return {"likelihood": name, **super().noise_prior(parameters, outcome, noise)}

    def unit(self, scale: OutcomeScale) -> str:
        return "1, the standard deviation of the latent noise"

    def mean(self, f: FloatArray) -> FloatArray:
        """Return the probability of the class."""
        return np.asarray(ndtr(f), dtype=np.float64)

    def _score(self, probability: float) -> float:
        return float(ndtri(probability))

    def _log_probability(self, f: FloatArray) -> FloatArray:
        return np.asarray(log_ndtr(f), dtype=np.float64)


class WeightedProbit(Probit):
    """As `Probit`, where some weights are fractions: a row of weight w has likelihood p^w."""

    name = "weighted_probit"
