"""How much of the outcome is noise: an estimate from outcomes that short fits have not seen.

The residuals of a fit say little about the noise, because an ensemble that can explain noise does
so. So the rows are split into folds, the outcomes of each fold are predicted from the others, and
the noise is what makes these outcomes most likely, given the spread of the predictions.
docs/decisions/0010-noise.md has the reasons and what was measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from obliquebart import _core
from obliquebart.likelihood import LIKELIHOODS, Given, Likelihood
from obliquebart.model.copied_rows import source_of_rows
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.parameters import Schedule
from obliquebart.model.settings import settings_from_dict, settings_to_dict
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling.run import RunRequest, run
from obliquebart.validation import effective_jobs

FloatArray = NDArray[np.float64]

N_FOLDS = 5
# Two chains, because one may be unusual; their draws are thinned to what a mixture needs.
SCHEDULE = Schedule(n_chains=2, n_burn=250, n_draws=50, n_thin=3)
# A sample of a large table tells as much, and its prior weighs little against so many rows.
MAX_ROWS = 4000
# With fewer rows, folds predict each other too badly to tell noise from ignorance.
FEWEST_ROWS = 25
# Degrees of freedom to choose from; below 6 a few badly predicted rows would pass as noise, and
# the trees would not explain them.
DEGREES_OF_FREEDOM = (6.0, 10.0, math.inf)
# With fewer rows a rare signal cannot be told from an outlier, and noise is taken to be normal.
FEWEST_ROWS_FOR_TAILS = 250
# Tails that fit the outcomes better, and soft rules, must not cost predictions: how much larger
# their mean squared error may be than the least.
ERROR_TOLERANCE = 0.05
# How many times as long short fits with soft rules take, about.
SOFT_FACTOR = 3.0
# The posterior of f is wider than its error where f is smooth, as sums of trees are not: then the
# most likely noise is less than the true one, and chains with so little noise hardly move.
SMALLEST_SHARE = 0.5
# The median of |z| of a standard normal.
MEDIAN_NORMAL = 0.6745
N_SCALES = 40


def tails_to_try(n_rows: int) -> tuple[float, ...]:
    """Return the degrees of freedom to choose from with that many rows."""
    return DEGREES_OF_FREEDOM if n_rows >= FEWEST_ROWS_FOR_TAILS else (math.inf,)


class _Unseen(NamedTuple):
    """Outcomes that short fits have not seen, and their draws of f at these rows."""

    y: FloatArray  # (n_rows,), or (n_columns, n_rows) where an outcome has several numbers
    f: FloatArray  # (n_draws, n_rows)
    weights: FloatArray  # (n_rows,)

    @property
    def errors(self) -> FloatArray:
        """The errors of the means of f, in units of a row of weight one.

        Of an outcome between limits, it is the distance of f from the nearer one.
        """
        mean = self.f.mean(axis=0)
        low, high = (self.y[0], self.y[-1]) if self.y.ndim > 1 else (self.y, self.y)
        nearest = np.maximum(low, np.minimum(mean, high))
        return np.asarray((nearest - mean) * np.sqrt(self.weights), dtype=np.float64)

    def log_densities(self, likelihood: Likelihood, sigma: float, df: float) -> FloatArray:
        """Return the log density of each outcome, over all draws of f."""
        noise = {"sigma": np.array(sigma), "df": np.array(df)}
        of_draws = likelihood.log_density(self.y, Given(self.f, noise, self.weights))
        return np.asarray(logsumexp(of_draws, axis=0) - math.log(len(self.f)), dtype=np.float64)


class _Candidate(NamedTuple):
    """Noise of some degrees of freedom, and how well its short fits predict unseen outcomes."""

    noise: NoiseEstimate
    log_densities: FloatArray  # of each outcome
    error: float  # mean squared

    @property
    def log_density(self) -> float:
        """The mean."""
        return float(np.mean(self.log_densities))

    def is_no_worse_than(self, other: _Candidate) -> bool:
        """Whether outcomes are no less likely, by more than chance, and predicted no worse."""
        gains = self.log_densities - other.log_densities
        standard_error = float(np.std(gains)) / math.sqrt(len(gains))
        is_as_likely = float(np.mean(gains)) >= -standard_error
        return is_as_likely and self.error <= (1.0 + ERROR_TOLERANCE) * other.error


def estimate_noise(
    problem: TrainingProblem,
    priors: Sequence[_core.Settings],
    n_jobs: int | None = None,
    seconds: float | None = None,
    soft_priors: Sequence[_core.Settings] = (),
) -> NoiseEstimate | None:
    """Estimate the noise of a regression.

    The settings differ in the tails of the noise and have a loose prior of sigma. Among those whose
    predictions are about the best, the one that makes unseen outcomes most likely is chosen. If
    there are the same settings with soft rules, these are tried for the tails that were chosen, and
    taken unless they are worse. With a time limit they are tried only if that seems to leave enough
    time. The result is None if there are too few rows or not enough seconds. Without a time limit
    the same data give the same estimate.
    """
    start = time.monotonic()
    fitter = _ShortFits(problem, n_jobs, None if seconds is None else start + seconds)
    candidates: list[_Candidate] = []
    for settings in priors:
        candidate = _try(fitter, settings)
        if candidate is None:
            return None
        candidates.append(candidate)
    least = min(candidate.error for candidate in candidates)
    good = [one for one in candidates if one.error <= (1.0 + ERROR_TOLERANCE) * least]
    chosen = max(good, key=lambda one: one.log_density)
    each_took = (time.monotonic() - start) / len(candidates)
    if soft_priors and fitter.has_time_for(SOFT_FACTOR * each_took):
        tails = [one.noise for one in candidates].index(chosen.noise)
        soft = _try(fitter, soft_priors[tails])
        if soft is not None and soft.is_no_worse_than(chosen):
            return soft.noise
    return chosen.noise


def _try(fitter: _ShortFits, settings: _core.Settings) -> _Candidate | None:
    """Return how well short fits predict; None if there are not enough rows or time."""
    unseen = fitter.predict_folds(settings)
    if unseen is None:
        return None
    df = settings.more.get("df", math.inf)
    log_densities, sigma = _most_likely_scale(unseen, LIKELIHOODS[settings.likelihood], df)
    noise = NoiseEstimate(sigma, df, settings.likelihood, is_soft=settings.soft)
    return _Candidate(noise, log_densities, float(np.mean(unseen.errors**2)))


class _ShortFits(NamedTuple):
    """Short fits to the rows outside a fold, for one fold after another."""

    problem: TrainingProblem
    n_jobs: int | None
    end: float | None
    """The time to stop, on the clock of `time.monotonic`."""

    def has_time_for(self, seconds: float) -> bool:
        return self.end is None or time.monotonic() + seconds <= self.end

    def predict_folds(self, settings: _core.Settings) -> _Unseen | None:
        """Return the outcomes of all folds; None if there are not enough rows or time."""
        table, outcome = self.problem
        rows = np.random.default_rng(0).permutation(table.n_rows)[:MAX_ROWS]
        # Copies of a row in two folds would be seen, and noise that they share predicted.
        y = np.stack([outcome.values, *outcome.more])
        source = source_of_rows(table.take(rows), y[:, rows])
        folds = [np.sort(rows[source % N_FOLDS == fold]) for fold in range(N_FOLDS)]
        n_fitted = len(rows) - max(map(len, folds))
        n_sources = len(np.unique(source))
        if n_sources < FEWEST_ROWS or n_fitted < settings.min_samples_leaf:
            return None
        draws = []
        for held_out in folds:
            f = self._draws_at(held_out, np.setdiff1d(rows, held_out), settings)
            if f is None:
                return None
            draws.append(f)
        seen = np.concatenate(folds)
        weights = np.ones(len(seen)) if outcome.weights is None else outcome.weights[seen]
        y = y if outcome.more else outcome.values
        return _Unseen(y[..., seen], np.concatenate(draws, axis=1), weights)

    def _draws_at(
        self, held_out: NDArray[np.intp], rows: NDArray[np.intp], settings: _core.Settings
    ) -> FloatArray | None:
        """Return draws of f at some rows, from a short fit to others."""
        training = self._part(rows)
        seconds = None if self.end is None else self.end - time.monotonic()
        if training.outcome.constant or (seconds is not None and seconds <= 0.0):
            return None
        own_settings = settings_from_dict(settings_to_dict(settings))
        request = RunRequest(training, own_settings, SCHEDULE, seed=0)
        result = run(request, self.n_jobs, seconds=seconds)
        if result.ending == "interrupted":
            raise KeyboardInterrupt
        if result.ending == "out of time":
            return None
        x = self.problem.table.take(held_out).to_core()
        threads = effective_jobs(self.n_jobs)
        f = [chain.draws.predict(x, "identity", 0.0, threads) for chain in result.chains]
        return np.concatenate(f).astype(np.float64)

    def _part(self, rows: NDArray[np.intp]) -> TrainingProblem:
        table, outcome = self.problem
        weights = None if outcome.weights is None else outcome.weights[rows]
        more = tuple(column[rows] for column in outcome.more)
        part = replace(outcome, values=outcome.values[rows], weights=weights, more=more)
        return TrainingProblem(table.take(rows), part)


def _most_likely_scale(
    unseen: _Unseen, likelihood: Likelihood, df: float
) -> tuple[FloatArray, float]:
    """Return the log densities with the highest mean, and the scale that has them."""
    errors = unseen.errors
    if unseen.y.ndim > 1:
        # Limits that do not contradict f say nothing about the noise.
        errors = errors[errors != 0.0] if errors.any() else np.ones(1)
    typical = float(np.median(np.abs(errors))) / MEDIAN_NORMAL
    largest = 1.5 * max(float(np.sqrt(np.mean(errors**2))), 1e-5)
    scales = np.geomspace(max(SMALLEST_SHARE * typical, 1e-3 * largest), largest, N_SCALES)
    densities = [unseen.log_densities(likelihood, float(scale), df) for scale in scales]
    i = int(np.argmax([np.mean(each) for each in densities]))
    # An estimate has no more digits, and a fit does not depend on the last bits of a library.
    return densities[i], float(f"{scales[i]:.3g}")
