"""Propensities: the probability of each arm, or the mean dose, given the columns of a row.

They come from one short fit to all rows, or are cross-fitted: rows are cut into folds, and each row
gets its propensity from a fit to the other folds. The fold of a row follows from its values alone.
So a training row always meets the fit that has not seen it, in other processes and from files too,
and new rows are spread over all fits. docs/decisions/0013-effects.md says which is better, and why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.treatment import Treatment
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.likelihood.softmax import Softmax
from obliquebart.model.calibration import calibrate
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import CheckedHyperparameters, Schedule
from obliquebart.model.seen_rows import row_keys
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.posterior import Posterior
from obliquebart.sampling.run import RunRequest, run
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]

# Of cross-fitting.
N_FOLDS = 5
# A propensity is one number per row, whose mean over few draws will do, and over hard rules.
SCHEDULE = Schedule(n_chains=2, n_burn=300, n_draws=50, n_thin=6)
# Of each of several fits; one fit to all rows has as many as the user wants for the outcome.
N_FOLD_TREES = 50


class Propensity(NamedTuple):
    """One fit, or those to all folds but one, by fold.

    A fold whose others have one treatment only has no fit.
    """

    posteriors: tuple[Posterior | None, ...]
    shares: FloatArray
    """Of each treatment among the training rows, or their mean: where there is no fit."""

    @property
    def n_columns(self) -> int:
        """How many numbers a row has: one per effect."""
        return len(self.shares)

    def at(self, table: EncodedTable, n_jobs: int | None = None) -> FloatArray:
        """Return the propensities of rows, of shape (n_columns, n_rows)."""
        out = np.tile(self.shares[:, None], (1, table.n_rows))
        folds = fold_of_rows(table, len(self.posteriors))
        for fold, posterior in enumerate(self.posteriors):
            rows = np.flatnonzero(folds == fold)
            if posterior is not None and len(rows):
                out[:, rows] = _predict(posterior, table.take(rows), n_jobs)
        return out


def fold_of_rows(table: EncodedTable, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each row, which follows from its values."""
    if n_folds == 1:
        return np.zeros(table.n_rows, dtype=np.int64)
    keys = row_keys(table, np.zeros(table.n_rows))
    return np.asarray((keys >> np.uint64(40)) % np.uint64(n_folds), dtype=np.int64)


def fit_propensity(
    parameters: CheckedHyperparameters,
    encoding: Encoding,
    table: EncodedTable,
    treatment: Treatment,
    doses: FloatArray,
    n_folds: int = 1,
    n_jobs: int | None = None,
) -> Propensity:
    """Fit the treatments of rows to their columns; doses are those of the engine."""
    if n_folds > 1:
        parameters = replace(parameters, n_trees=N_FOLD_TREES)
    folds = fold_of_rows(table, n_folds)
    posteriors: list[Posterior | None] = []
    for fold in range(n_folds):
        rows = np.flatnonzero(folds != fold) if n_folds > 1 else np.arange(table.n_rows)
        outcome = _outcome(treatment, doses[:, rows])
        if len(rows) == 0 or outcome.constant:
            posteriors.append(None)
            continue
        problem = TrainingProblem(table.take(rows), outcome).part(0)
        posteriors.append(_fit(parameters, encoding, problem, fold, n_jobs))
    return Propensity(tuple(posteriors), doses.mean(axis=1))


def _outcome(treatment: Treatment, doses: FloatArray) -> Outcome:
    """Return treatments as outcomes: of two arms, of several, or numbers."""
    if treatment.arms is None:
        return LIKELIHOODS["gaussian"].encode(doses[0])
    # Of one type: where memory is about to end, NumPy can crash as it converts on the way.
    numbers = np.arange(1.0, len(doses) + 1.0)[:, None]
    arms = (doses * numbers).sum(axis=0).astype(np.int64)
    if treatment.n_treatments == 1:
        return LIKELIHOODS["probit"].encode(arms)
    outcome = LIKELIHOODS["probit"].encode(arms)
    if len(np.unique(arms)) < len(doses) + 1:
        # An arm of which only this fold has rows.
        return replace(outcome, values=np.zeros_like(outcome.values))
    return replace(outcome, likelihood=Softmax(len(doses) + 1))


def _fit(
    parameters: CheckedHyperparameters,
    encoding: Encoding,
    problem: TrainingProblem,
    fold: int,
    n_jobs: int | None,
) -> Posterior:
    plain = replace(
        parameters, sigma=None, leaf_sd=None, noise="constant", noise_df=None, soft=False
    )
    settings = calibrate(plain, problem.outcome, problem.table.p_cont)
    result = run(RunRequest(problem, settings, SCHEDULE, seed=fold), n_jobs)
    if result.ending == "interrupted":
        raise KeyboardInterrupt
    posterior = Posterior.from_run(result, encoding, settings, problem.outcome.scale)
    posterior.states = ()
    return posterior


def _predict(posterior: Posterior, table: EncodedTable, n_jobs: int | None) -> FloatArray:
    """Return means: of the probabilities of all arms but the control, or of the dose."""
    n_draws = posterior.n_chains * posterior.n_draws
    if posterior.likelihood.is_joint:
        parts = posterior.parts()
        return ClassProbabilities(parts, len(parts), n_draws).mean(table, n_jobs)[:, 1:].T
    return posterior.summarise(table, n_jobs=n_jobs).mean[None]
