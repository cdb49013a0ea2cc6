"""Quantiles of a new outcome for any likelihood, from its distribution given f.

For normal and Student's t noise, the engine has a faster implementation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from obliquebart.likelihood import Given, Likelihood

FloatArray = NDArray[np.float64]
# Each step halves the interval that contains a quantile.
N_STEPS = 60
# Each step doubles the interval, until it contains the quantile.
MAX_DOUBLINGS = 60


def outcome_quantiles(likelihood: Likelihood, given: Given, levels: Sequence[float]) -> FloatArray:
    """Return quantiles (n_rows, n_levels) of the mixture over draws of an outcome's distribution.

    `given.f` has the shape (n_draws, n_rows) and the units of y.
    """

    def probability(y: FloatArray) -> FloatArray:
        below: FloatArray = likelihood.cdf(y, given).mean(axis=0)
        return below

    mean = likelihood.mean(given.f)
    middle, width = mean.mean(axis=0), np.ptp(mean, axis=0) + 1.0
    quantiles = np.empty((given.f.shape[1], len(levels)))
    for j, level in enumerate(levels):
        low, high = middle - width, middle + width
        for _ in range(MAX_DOUBLINGS):
            too_high, too_low = probability(low) > level, probability(high) < level
            if not (too_high | too_low).any():
                break
            low = np.where(too_high, middle - 2.0 * (middle - low), low)
            high = np.where(too_low, middle + 2.0 * (high - middle), high)
        for _ in range(N_STEPS):
            half = (low + high) / 2.0
            is_below = probability(half) < level
            low, high = np.where(is_below, half, low), np.where(is_below, high, half)
        quantiles[:, j] = (low + high) / 2.0
    return quantiles
