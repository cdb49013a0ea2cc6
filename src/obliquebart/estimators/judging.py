"""Methods of the estimators that check convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.design import CausalDesign
from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ConvergenceWarning, warn_caller
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.convergence import SMALLEST_CHAIN
from obliquebart.posterior.diagnostics import Diagnostics, ModelSummary, diagnose_all
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import FloatArray
from obliquebart.posterior.verdict import Evidence, examine_all, reach_verdict
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_weights


def mean_score(scores: FloatArray, sample_weight: Any) -> float:
    """Return the mean of the rows' scores, each row as often as its weight says."""
    return float(np.average(scores, weights=check_weights(sample_weight, len(scores))))


class Judging:
    """A base of the estimators: `summary`, and the warning at the end of `fit`."""

    _fitted: Fitted
    n_jobs: int | None

    def summary(self, X: Any = None, *, rows: int | Sequence[int] = 10) -> ModelSummary:
        """Check whether the chains have converged and how large the Monte Carlo error is.

        The summary has a verdict (fine for predictions, more draws would help, or the chains
        disagree) and a table: R-hat, effective sample sizes (ESS) and the Monte Carlo standard
        error of the mean (MCSE) for sigma, theta and f at some rows. It also shows how often each
        move was accepted.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Rows at which to check f. By default, the training data; a loaded model has them only
            if it was saved with `include_data=True`.
        rows : int or sequence of int, default=10
            Rows to show in the table: their number (evenly spaced), or their positions.

        Returns
        -------
        ModelSummary
            Prints as a verdict and tables; see also `verdict`, `diagnostics` and `to_dict()`. With
            more than two classes there is a table per class, and one verdict that names the worst.
        """
        check_is_fitted(self)
        return self._summary_at(None if X is None else self._encode(X), rows)

    def _summary_at(self, table: EncodedTable | None, rows: int | Sequence[int]) -> ModelSummary:
        """Return the summary for encoded rows; None means the training rows, if they are known."""
        fitted = self._fitted
        if table is None and fitted.training is not None:
            table = fitted.training.table
        return ModelSummary(self._diagnose(fitted.posteriors, table, rows), fitted.seconds)

    def _encode(self, X: Any) -> EncodedTable:
        """Return the columns of the chains at the rows of X."""
        return self._fitted.encoding.transform(X)

    def _diagnose(
        self, posteriors: list[Posterior], table: EncodedTable | None, rows: int | Sequence[int]
    ) -> dict[str, Diagnostics]:
        """Return the diagnostics of what the model estimates, by label."""
        labels = self._fitted.likelihood.labels(self._fitted.classes)
        return diagnose_all(posteriors, labels, table, rows, self.n_jobs)

    def _examine(
        self,
        posteriors: list[Posterior],
        problem: TrainingProblem,
        design: CausalDesign | None,  # noqa: ARG002
    ) -> list[Evidence]:
        """Return what the verdict on new chains is based on."""
        labels = problem.outcome.likelihood.labels(problem.outcome.classes)
        return examine_all(posteriors, problem.table, labels, self.n_jobs)

    def log_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean log predictive density, or log probability, of outcomes.

        Higher is better. It judges the whole predictive distribution, not only its mean. For
        classes it is minus the log loss. Densities of numbers depend on their unit, so only scores
        of the same outcomes are comparable.

        Parameters
        ----------
        X : table of shape (n, n_features)
            Rows, best such that were not in training.
        y : array-like of shape (n,)
            Their outcomes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the mean.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return mean_score(self._log_density(X, y), sample_weight)

    def _log_density(self, X: Any, y: Any) -> FloatArray:
        """Return the log predictive density of each outcome."""
        (posterior,) = self._fitted.posteriors
        return posterior.log_density(X, y, n_jobs=self.n_jobs)

    def _warn_if_apart(
        self,
        posteriors: list[Posterior],
        problem: TrainingProblem,
        design: CausalDesign | None = None,
    ) -> None:
        """Warn if the chains disagree, but not if there are too few draws to judge."""
        if posteriors[0].n_draws < SMALLEST_CHAIN:
            return
        verdict = reach_verdict(self._examine(posteriors, problem, design))
        if verdict.tier == "apart":
            warn_caller(str(verdict), ConvergenceWarning)
