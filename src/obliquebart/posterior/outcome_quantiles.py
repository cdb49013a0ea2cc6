"""Quantiles of a new outcome for any likelihood, from its distribution given f.

For normal and Student's t noise, the engine has a faster implementation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from obliquebart.likelihood import Given, Likelihood

FloatArray = NDArray[np.float64]
# The distribution of a count costs a microsecond per draw, so similar draws are taken together: so
# many groups by the noise, and in each so many by f. Probabilities change by less than 0.001.
N_NOISE_GROUPS = 4
N_F_GROUPS = 32
# Each step halves the interval that contains a quantile.
N_STEPS = 60
# Each step doubles the interval, until it contains the quantile.
MAX_DOUBLINGS = 60


def outcome_quantiles(likelihood: Likelihood, given: Given, levels: Sequence[float]) -> FloatArray:
    """Return quantiles (n_rows, n_levels) of the mixture over draws of an outcome's distribution.

    `given.f` has the shape (n_draws, n_rows) and the units of y. Quantiles of whole numbers are the
    smallest of at least this probability.
    """
    if likelihood.is_whole:
        return _whole_quantiles(likelihood, grouped(given), levels)

    def probability(y: FloatArray) -> FloatArray:
        below: FloatArray = likelihood.cdf(y, given).mean(axis=0)
        return below

    mean = likelihood.mean(given.f)
    spread = np.ptp(mean, axis=0) + likelihood.noise_sd(given).max(axis=0)
    middle, width = mean.mean(axis=0), np.where(spread > 0, spread, 1.0)
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


def _whole_quantiles(likelihood: Likelihood, given: Given, levels: Sequence[float]) -> FloatArray:
    def at_most(y: FloatArray) -> FloatArray:
        probability: FloatArray = likelihood.cdf(y + 0.5, given).mean(axis=0)
        return probability

    mean = likelihood.mean(given.f)
    variance = mean.var(axis=0) + likelihood.variance(given).mean(axis=0)
    likely = np.ceil(mean.mean(axis=0) + 3.0 * np.sqrt(variance)) + 1.0
    quantiles = np.empty((given.f.shape[1], len(levels)))
    for j, level in enumerate(levels):
        below, high = np.full_like(likely, -1.0), likely
        for _ in range(MAX_DOUBLINGS):
            is_below = at_most(high) < level
            if not is_below.any():
                break
            below, high = np.where(is_below, high, below), np.where(is_below, 2.0 * high, high)
        while (high - below > 1.0).any():
            half = np.floor((below + high) / 2.0)
            is_below = at_most(half) < level
            # Where there is nothing between the two, half is the lower of them.
            below = np.where(is_below, half, below)
            high = np.where(is_below, high, np.maximum(half, below + 1.0))
        quantiles[:, j] = high
    return quantiles


def grouped(given: Given) -> Given:
    """Return means of similar draws in the place of all draws, row by row.

    Draws are sorted by the first scalar of the noise, if there is one, and in groups of these by f.
    """
    n_draws = given.f.shape[0]
    first = next(iter(given.noise.values()), None)
    n_noise = 1 if first is None else N_NOISE_GROUPS
    size = n_draws // (n_noise * N_F_GROUPS)
    if size < 2:
        return given
    kept = np.linspace(0, n_draws - 1, size * n_noise * N_F_GROUPS).round().astype(np.intp)
    if first is not None:
        kept = kept[np.argsort(first[kept, 0], kind="stable")]
    parts = kept.reshape(n_noise, -1)
    sorted_f = (np.sort(given.f[part], axis=0) for part in parts)
    f = [each.reshape(N_F_GROUPS, size, -1).mean(axis=1) for each in sorted_f]
    noise = {
        name: np.repeat([values[part, 0].mean() for part in parts], N_F_GROUPS)[:, None]
        for name, values in given.noise.items()
    }
    return Given(np.concatenate(f), noise, given.weights)
