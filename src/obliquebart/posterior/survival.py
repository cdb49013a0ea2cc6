"""Survival probabilities of a posterior of times, with intervals over its draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from obliquebart.likelihood import Given
from obliquebart.likelihood.survival import LogNormal
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import require_draws_memory
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]


class SurvivalCurve:
    """The survival function of one row: call it with times to get probabilities.

    As the step functions of scikit-survival it has the attributes `x` and `y`. Between the times
    of `x` it is interpolated, before them it begins at 1, and after them it keeps the last value.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times, increasing.
    y : ndarray of shape (n_times,)
        Probabilities that the event is later.
    """

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.x = x
        self.y = y

    @property
    def domain(self) -> tuple[float, float]:
        """The times at which the function is known."""
        return 0.0, float(self.x[-1])

    def __call__(self, time: float | FloatArray) -> FloatArray:
        """Return the probability that the event is later than a time."""
        found = np.interp(time, np.append(0.0, self.x), np.append(1.0, self.y))
        return np.asarray(found, dtype=np.float64)

    def __repr__(self) -> str:
        return f"SurvivalCurve({len(self.x)} times up to {self.x[-1]:g})"


class Survival(NamedTuple):
    """Survival probabilities at rows and times."""

    mean: FloatArray
    """(n_rows, n_times)"""
    quantiles: FloatArray
    """(n_rows, n_times, n_quantiles), over the draws"""


def times_likelihood(posterior: Posterior) -> LogNormal:
    """Return the likelihood of a posterior of times."""
    likelihood = posterior.likelihood
    assert isinstance(likelihood, LogNormal)
    return likelihood


def thinned(posterior: Posterior, max_draws: int) -> Posterior:
    """Return a posterior with at most so many draws, evenly spaced."""
    n_draws = int(posterior.draws.n_draws)
    if n_draws <= max_draws:
        return posterior
    return posterior._take(np.linspace(0, n_draws - 1, max_draws).round().astype(np.intp))


def survival_at(
    posterior: Posterior,
    columns: EncodedTable,
    times: FloatArray,
    quantiles: Sequence[float] = (),
    n_jobs: int | None = None,
) -> Survival:
    """Return the posterior means of survival probabilities, and quantiles over the draws."""
    require_draws_memory(1 + len(quantiles), columns.n_rows, len(times))
    likelihood, noise = times_likelihood(posterior), posterior.likelihood.noise_of(posterior.trace)
    with np.errstate(divide="ignore"):
        log_times = np.log(times)
    mean = np.empty((columns.n_rows, len(times)))
    levels = np.empty((columns.n_rows, len(times), len(quantiles)))
    for rows, f in posterior.blocks(columns, n_jobs):
        for j, log_time in enumerate(log_times):
            probability = likelihood.survival(log_time, Given(f, noise))
            mean[rows, j] = probability.mean(axis=0)
            if quantiles:
                levels[rows, j] = np.quantile(probability, quantiles, axis=0).T
    return Survival(mean, levels)


def log_densities(
    posterior: Posterior, columns: EncodedTable, limits: FloatArray, n_jobs: int | None = None
) -> FloatArray:
    """Return the log predictive density of each time, or probability of its interval."""
    likelihood, noise = posterior.likelihood, posterior.likelihood.noise_of(posterior.trace)
    out = np.empty(columns.n_rows)
    for rows, f in posterior.blocks(columns, n_jobs):
        of_draws = likelihood.log_density(limits[:, rows], Given(f, noise))
        out[rows] = logsumexp(of_draws, axis=0) - np.log(len(f))
    return out


def mean_curve(
    posterior: Posterior,
    columns: EncodedTable,
    times: FloatArray,
    quantiles: Sequence[float],
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the mean survival curve of all rows: its mean and quantiles over the draws."""
    likelihood, noise = times_likelihood(posterior), posterior.likelihood.noise_of(posterior.trace)
    total = np.zeros((int(posterior.draws.n_draws), len(times)))
    with np.errstate(divide="ignore"):
        log_times = np.log(times)
    for _, f in posterior.blocks(columns, n_jobs):
        for j, log_time in enumerate(log_times):
            total[:, j] += likelihood.survival(log_time, Given(f, noise)).sum(axis=1)
    curves = total / columns.n_rows
    return curves.mean(axis=0), np.quantile(curves, quantiles, axis=0)


def probability_below(
    posterior: Posterior, columns: EncodedTable, limits: FloatArray, n_jobs: int | None = None
) -> FloatArray:
    """Return the predictive probability of a time below each limit, shape (2, n)."""
    likelihood, noise = times_likelihood(posterior), posterior.likelihood.noise_of(posterior.trace)
    out = np.empty(limits.shape)
    for rows, f in posterior.blocks(columns, n_jobs):
        for k, limit in enumerate(limits):
            out[k, rows] = 1.0 - likelihood.survival(limit[rows], Given(f, noise)).mean(axis=0)
    return out
