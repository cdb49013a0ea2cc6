"""How far are these predictions from those of an infinitely long run? In NumPy alone.

`fit` computes this after every run, so this module avoids ArviZ, whose import takes longer than
the computation. Everything is computed for all rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Tier = Literal["fine", "more", "apart"]

# Two halves of two draws each; R-hat is undefined for shorter chains.
SMALLEST_CHAIN = 4
# A single chain is cut into as many batches as the default number of chains. Batches must be much
# longer than the autocorrelation time, which is hundreds of sweeps, so there are few of them.
N_BATCHES = 8

# The limits were chosen on fits whose true error is known from long chains, and checked on others:
# benchmarks/verdict.py, with its table in docs/howto/convergence.md.
# Predictions are fine if Monte Carlo adds at most one percent to their variance: an interval of a
# new outcome would be only half a percent wider.
FINE_SHARE = 0.01
# Up to this limit intervals of f have the right coverage, if the share is small.
FINE_RHAT = 1.1
# Scales mix slowly; up to this limit it affects neither errors nor intervals.
FINE_SCALE_RHAT = 1.5
# Beyond one of these limits, the run would have to be more than five times as long, and the error
# is closer to 10% than to 1%.
APART_SHARE = 0.05
APART_RHAT = 1.3
# An automatic run stops when it meets these limits, which are stricter than those of "fine".
ARRIVED_SHARE = 0.01
ARRIVED_RHAT = 1.015
ARRIVED_SCALE_RHAT = 1.1


class Convergence(NamedTuple):
    """Convergence of f at some rows and of the scales; NaN if chains are too short to tell.

    The *share* of a variance is relative to the predictive variance: the posterior variance of f
    plus that of the noise.
    """

    mc_share: float
    """The Monte Carlo variance of the overall mean of f, as a share; mean over rows. It includes
    disagreement between chains."""
    between_share: float
    """The variance of the chains' means beyond what their movement explains, as a share; mean
    over rows. Movement is the difference between the two halves of a chain. If each chain is stuck
    in a different place, this share does not shrink with longer chains. 0 for one chain."""
    rhat_f: float
    """Split R-hat of f; median over rows."""
    scale_rhat: dict[str, float]
    """Split R-hat of the logarithm of each scale."""
    mcse: float
    """Monte Carlo standard error of the mean of f, in its units; root mean square over rows."""

    @property
    def worst_scale_rhat(self) -> float:
        """The largest R-hat of a scale; 1 if there is none."""
        return max(self.scale_rhat.values(), default=1.0)

    @property
    def tier(self) -> Tier:
        """What the fit is good for; "more" if that is unknown."""
        if self._within(FINE_SHARE, FINE_RHAT, FINE_SCALE_RHAT):
            return "fine"
        return "apart" if self.mc_share > APART_SHARE or self.rhat_f > APART_RHAT else "more"

    @property
    def arrived(self) -> bool:
        """Whether a run that chooses its own length may stop."""
        return self._within(ARRIVED_SHARE, ARRIVED_RHAT, ARRIVED_SCALE_RHAT)

    def _within(self, share: float, rhat: float, scale_rhat: float) -> bool:
        return (
            self.mc_share <= share
            and self.rhat_f <= rhat
            and all(value <= scale_rhat for value in self.scale_rhat.values())
        )


def measure_convergence(
    f: FloatArray, noise_variance: ArrayLike, scales: Mapping[str, FloatArray]
) -> Convergence:
    """Measure the convergence of f at some rows and of the scales.

    Parameters
    ----------
    f : ndarray of shape (n_chains, n_draws, n_rows)
        Draws of f.
    noise_variance : float or array-like of shape (n_rows,)
        Posterior mean of the variance of the noise, in the square of f's units; 1 on the probit
        scale.
    scales : dict of str to ndarray of shape (n_chains, n_draws)
        Draws of sigma, leaf_sd and the like, if they are sampled.

    Returns
    -------
    Convergence
        All NaN if a chain has fewer than four draws.

    Examples
    --------
    >>> import numpy as np
    >>> f = np.random.default_rng(0).normal(size=(4, 500, 10))
    >>> measure_convergence(f, 1.0, {}).tier
    'fine'
    >>> f[1] += 3.0
    >>> measure_convergence(f, 1.0, {}).tier
    'apart'
    """
    f = np.asarray(f, dtype=np.float64)
    n_chains, n_draws, n_rows = f.shape
    if n_draws < SMALLEST_CHAIN or n_rows == 0:
        rhats = dict.fromkeys(scales, math.nan) if n_draws < SMALLEST_CHAIN else _log_rhats(scales)
        return Convergence(math.nan, math.nan, math.nan, rhats, math.nan)
    variance = f.var(axis=(0, 1)) + np.broadcast_to(noise_variance, n_rows)
    error = _variance_of_mean(f)
    apart = np.zeros(n_rows)
    if n_chains > 1:
        apart = f.mean(axis=1).var(axis=0, ddof=1) - _variance_of_movement(f)
    return Convergence(
        mc_share=_mean_ratio(error, variance),
        between_share=max(_mean_ratio(apart, variance), 0.0),
        rhat_f=float(np.median(split_rhat(f))),
        scale_rhat=_log_rhats(scales),
        mcse=math.sqrt(error.mean()),
    )


def relative_to_mean(f: Sequence[FloatArray]) -> list[FloatArray]:
    """Return f of each class minus their mean: a constant in all of them changes nothing."""
    mean = np.mean(f, axis=0)
    return [each - mean for each in f]


def standard_error(draws: FloatArray) -> float:
    """Return the Monte Carlo standard error of means, root mean square over rows.

    `draws` has the shape (n_chains, n_draws, n_rows). The result is NaN if chains are too short.
    """
    if draws.shape[1] < SMALLEST_CHAIN or draws.shape[2] == 0:
        return math.nan
    return math.sqrt(_variance_of_mean(draws).mean())


def split_rhat(draws: FloatArray) -> FloatArray:
    """Return the plain split R-hat of draws of shape (n_chains, n_draws, ...).

    The halves of chains are compared as if they were chains. It is 1 for a constant, and infinite
    if chains are stuck at different values.
    """
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt((half - 1) / half + between / within)
    return np.where((within == 0) & (between == 0), 1.0, rhat)


def _log_rhats(scales: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the R-hat of the logarithms, or of numbers that may be negative as they are."""
    return {
        name: float(split_rhat(np.log(draws) if draws.min() > 0 else draws))
        for name, draws in scales.items()
    }


def _variance_of_mean(f: FloatArray) -> FloatArray:
    """Return the variance of the overall mean at each row, from the means of independent parts."""
    n_chains, n_draws, _ = f.shape
    if n_chains > 1:
        means = f.mean(axis=1)
    else:
        n_batches = min(N_BATCHES, n_draws // 2)
        means = np.stack([batch.mean(axis=0) for batch in np.array_split(f[0], n_batches)])
    variance: FloatArray = means.var(axis=0, ddof=1) / len(means)
    return variance


def _variance_of_movement(f: FloatArray) -> FloatArray:
    """Return the variance of a chain's mean at each row if all chains explored the same region.

    If the halves of a chain are independent, (first - second)² / 4 has that expectation.
    """
    half = f.shape[1] // 2
    first, second = f[:, :half].mean(axis=1), f[:, -half:].mean(axis=1)
    variance: FloatArray = ((first - second) ** 2).mean(axis=0) / 4.0
    return variance


def _mean_ratio(part: FloatArray, whole: FloatArray) -> float:
    """Return the mean of the ratios; 0 / 0 counts as 0."""
    return float(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0).mean())
