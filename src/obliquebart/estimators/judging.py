"""The part of the estimators that says how far their predictions can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ConvergenceWarning, warn_caller
from obliquebart.likelihood import Likelihood
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.convergence import SMALLEST_CHAIN
from obliquebart.posterior.diagnostics import ModelSummary, diagnose
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.verdict import examine, reach_verdict


class Judging:
    """A base of the estimators: `summary`, and the warning at the end of `fit`."""

    _likelihood: ClassVar[Likelihood]
    _fitted: Fitted
    n_jobs: int | None

    def summary(self, X: Any = None, *, rows: int | Sequence[int] = 10) -> ModelSummary:
        """Say how far the predictions can be trusted, as far as Monte Carlo is concerned.

        A verdict (fine for predictions, more draws would help, or the chains disagree), and a
        table: R-hat, effective sample sizes (ESS) and the Monte Carlo error of the mean (MCSE) of
        sigma, theta and f at some rows; and how often each move was accepted.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Where to look at f. By default it is the training table, if the model still has it:
            after `load` it has not, unless it was saved with `include_data=True`.
        rows : int or sequence of int, default=10
            How many rows the table shows, evenly spread, or which ones.

        Returns
        -------
        ModelSummary
            Prints as tables and a verdict; `verdict`, `diagnostics`, `to_dict()`. With more than
            two classes it has a table for each, and one verdict that names the worst.
        """
        check_is_fitted(self)
        fitted = self._fitted
        table = None if fitted.training is None else fitted.training.table
        if X is not None:
            table = fitted.encoding.transform(X)
        labels = self._likelihood.labels(fitted.classes)
        diagnostics = {
            label: diagnose(posterior, table, rows, self.n_jobs, label)
            for label, posterior in zip(labels, fitted.posteriors, strict=True)
        }
        return ModelSummary(diagnostics, fitted.seconds)

    def _warn_if_apart(self, posteriors: list[Posterior], problem: TrainingProblem) -> None:
        """Warn where chains disagree; fewer draws than can be judged are the user's intention."""
        if posteriors[0].n_draws < SMALLEST_CHAIN:
            return
        labels = self._likelihood.labels(problem.outcome.classes)
        verdict = reach_verdict(
            [
                examine(posterior, problem.table, label, self.n_jobs)
                for label, posterior in zip(labels, posteriors, strict=True)
            ]
        )
        if verdict.tier == "apart":
            warn_caller(str(verdict), ConvergenceWarning)
