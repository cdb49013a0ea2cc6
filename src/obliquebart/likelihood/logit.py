"""Labels: P(y = 1) = logistic(offset + f(x)), by Pólya-Gamma augmentation.

Polson, Scott and Windle (2013).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, log_expit, logit

from obliquebart.likelihood.base import FloatArray
from obliquebart.likelihood.labels import Labels
from obliquebart.model.outcome import OutcomeScale


class Logit(Labels):
    """The latent outcome whose sign is the label has logistic noise, so f is in log odds."""

    name = "logit"
    link = "logit"
    span = 5.0
    latent_variance = math.pi**2 / 3.0

    def unit(self, scale: OutcomeScale) -> str:
        return "1 on the scale of log odds"

    def mean(self, f: FloatArray) -> FloatArray:
        """Return the probability of the class."""
        return np.asarray(expit(f), dtype=np.float64)

    def _score(self, probability: float) -> float:
        return float(logit(probability))

    def _log_probability(self, f: FloatArray) -> FloatArray:
        return np.asarray(log_expit(f), dtype=np.float64)
