"""Compare predicted survival curves with censored times: concordance, calibration, Kaplan-Meier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.concordance import concordance
from obliquebart.model.times import NO_LIMIT, Times
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.survival import log_densities, mean_curve, probability_below, thinned
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]
# Times of a curve, and draws of which its band consists.
N_TIMES, MAX_DRAWS = 60, 400
# Groups of rows by risk, unless there are too few rows for them.
N_GROUPS, SMALLEST_GROUP = 3, 30


class Curve(NamedTuple):
    """A group of rows with similar risks: its predicted mean curve and its Kaplan-Meier estimate.

    All arrays have the shape (n_times,).
    """

    n_rows: int
    predicted: FloatArray
    """Posterior mean of the mean survival probability of the rows."""
    low: FloatArray
    """Its interval over the draws."""
    high: FloatArray
    observed: FloatArray
    """Kaplan-Meier estimate; NaN after the last time in the group."""


@dataclass(frozen=True)
class SurvivalEvaluation:
    """Predictions of survival times and what was observed of them.

    Attributes
    ----------
    times : Times
        Limits of each time: `lower` and `upper`, equal if the event was observed.
    risk : ndarray of shape (n,)
        Risk scores.
    below : ndarray of shape (2, n)
        The predictive probability of a time below each limit; uniform if the model is correct.
    log_density : ndarray of shape (n,)
        Log predictive density of each time, or log probability of its interval.
    grid : ndarray of shape (n_times,)
        The times of the curves.
    curves : list of Curve
        Groups of rows, by increasing risk.
    coverage : float
        The probability of the intervals.
    n_table : int
        The number of rows of the table, `n` of which were used.
    target : str or None
        What the time is called.
    """

    times: Times
    risk: FloatArray
    below: FloatArray
    log_density: FloatArray
    grid: FloatArray
    curves: list[Curve]
    coverage: float
    n_table: int
    target: str | None = None

    @property
    def n_events(self) -> int:
        """How many times have an upper limit: the event happened."""
        return int((~self.times.is_right_censored).sum())

    def shares(self, edges: FloatArray) -> FloatArray:
        """Return the expected number of times between predictive probabilities.

        A censored time is spread evenly over the probabilities it may have.
        """
        low, high = self.below
        width = high - low
        is_point = width <= 1e-12
        inside = np.clip(edges[:, None], low, high) - low
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = inside / width
        steps = np.where(is_point, edges[:, None] >= low, spread)
        return np.asarray(np.diff(steps.sum(axis=1)), dtype=np.float64)

    def coverage_at(self, level: float) -> float:
        """Return the share of times inside their central intervals of probability `level`."""
        edges = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        return float(self.shares(edges)[0] / len(self.risk))

    def scores(self) -> dict[str, float]:
        """Return scores and coverages by name."""
        return {
            "concordance": concordance(self.times, self.risk),
            "log score": float(self.log_density.mean()),
            "in 50% interval": self.coverage_at(0.5),
            f"in {self.coverage:.0%} interval": self.coverage_at(self.coverage),
        }


def evaluate_times(
    model: Any,
    data: tuple[EncodedTable, Any, NDArray[np.intp], FloatArray | None],
    tail: float,
    n_jobs: int | None,
) -> SurvivalEvaluation:
    """Compare a model of times with a table and its outcomes."""
    table, y, rows, _ = data
    posterior: Posterior = model.posterior_
    limits = posterior.likelihood.check_observed(y, table.n_rows)[:, rows]
    columns = table.take(rows)
    risk = -posterior.summarise(columns, n_jobs=n_jobs).mean
    times = Times.from_log(limits)
    grid = np.linspace(0.0, _last_time(limits), N_TIMES + 1)[1:]
    few = thinned(posterior, MAX_DRAWS)
    groups = _groups(risk)
    curves = []
    for group in groups:
        levels = (tail, 1.0 - tail)
        mean, (low, high) = mean_curve(few, columns.take(group), grid, levels, n_jobs)
        observed = kaplan_meier(times.take(group), grid)
        curves.append(Curve(len(group), mean, low, high, observed))
    return SurvivalEvaluation(
        times=times,
        risk=risk,
        below=probability_below(few, columns, limits, n_jobs),
        log_density=log_densities(posterior, columns, limits, n_jobs),
        grid=grid,
        curves=curves,
        coverage=1.0 - 2.0 * tail,
        n_table=table.n_rows,
        target=model.target_name_,
    )


def kaplan_meier(times: Times, grid: FloatArray) -> FloatArray:
    """Return the Kaplan-Meier estimate at some times; NaN after the last time.

    Events that are known to be between limits count in the middle of them.
    """
    time, event = times.middle, ~times.is_right_censored
    distinct, position = np.unique(time, return_inverse=True)
    n_events = np.bincount(position, event, len(distinct))
    n_at_risk = len(time) - np.searchsorted(np.sort(time), distinct, "left")
    survival = np.append(1.0, np.cumprod(1.0 - n_events / n_at_risk))
    found = survival[np.searchsorted(distinct, grid, "right")]
    return np.where(grid <= distinct[-1], found, np.nan)


def _last_time(limits: FloatArray) -> float:
    """Return the last time of the outcomes."""
    return float(np.exp(limits[np.abs(limits) < NO_LIMIT].max()))


def _groups(risk: FloatArray) -> list[NDArray[np.intp]]:
    """Return rows by increasing risk, in groups of about the same size."""
    n_groups = max(min(N_GROUPS, len(risk) // SMALLEST_GROUP), 1)
    return list(np.array_split(np.argsort(risk, kind="stable"), n_groups))
