"""Predictions of counts, for rows that may have exposures, and scores of these predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.arguments import RandomState
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.judging import mean_score
from obliquebart.estimators.regressor import Kind
from obliquebart.explain.evaluation import deviance_explained
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import FloatArray, check_quantiles
from obliquebart.table.dask import map_rows
from obliquebart.table.frames import read_table
from obliquebart.validation import (
    check_count,
    check_coverage,
    check_exposure,
    check_seed,
    check_weights,
    count_rows,
)


class PredictingCounts:
    """A base of the estimator of counts: predictions and scores, given exposures."""

    posterior_: Posterior
    n_jobs: int | None
    _fitted: Fitted

    def _exposure(self, X: Any, exposure: ArrayLike | None = None) -> FloatArray:
        """Return the exposures of the rows of X: given, in its column, or 1."""
        column = self._fitted.encoding.left_out
        if exposure is None and column is not None:
            return column_of_exposures(X, column, type(self).__name__)
        return check_exposure(exposure, count_rows(X, type(self).__name__))

    def _shift(self, X: Any, exposure: Any = None) -> FloatArray:
        return np.log(self._exposure(X, exposure))

    @with_shared_parameters
    def predict(self, X: Any, exposure: ArrayLike | None = None) -> Any:
        """Return the posterior mean of the expected count.

        Parameters
        ----------
        exposure : array-like of shape (n,) or number, optional
            Exposures of the rows. By default, those in the column that `fit` took as exposure, or
            1 if it took none: then predictions are rates.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        lazy = map_rows(self.predict, X, (), exposure=_for_all_blocks(X, exposure))
        if lazy is not None:
            return lazy
        exposures = self._exposure(X, exposure)
        columns = self.posterior_.encode(X)
        return exposures * self.posterior_.summarise(columns, n_jobs=self.n_jobs).mean

    @with_shared_parameters
    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        kind: Kind = "outcome",
        exposure: ArrayLike | None = None,
    ) -> FloatArray:
        """Return central intervals for new counts, or for their means.

        Parameters
        ----------
        kind : {"outcome", "mean"}, default="outcome"
            "outcome" gives intervals for a new count; their limits are whole numbers, so that they
            contain at least this probability. "mean" gives intervals for the expected count.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper limits.
        """
        check_is_fitted(self)
        return self.predict_quantile(X, check_coverage(coverage), kind, exposure)

    @with_shared_parameters
    def predict_quantile(
        self,
        X: Any,
        q: float | Sequence[float],
        kind: Kind = "outcome",
        exposure: ArrayLike | None = None,
    ) -> FloatArray:
        """Return quantiles of new counts, or of their means.

        Parameters
        ----------
        q : float or sequence of float
            Probabilities in (0, 1); with ``kind="mean"``, 0 and 1 are allowed too.
        kind : {"outcome", "mean"}, default="outcome"
            Quantiles of a new count, or of the expected count. The former are whole numbers: the
            smallest that a count exceeds with probability at most 1 - q.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, len(q))
            The first shape if `q` is a number.
        """
        check_is_fitted(self)
        levels = check_quantiles("q", q, kind)
        options = {"q": q, "kind": kind, "exposure": _for_all_blocks(X, exposure)}
        lazy: FloatArray | None = map_rows(self.predict_quantile, X, np.shape(q), **options)
        if lazy is not None:
            return lazy
        exposures = self._exposure(X, exposure)
        columns = self.posterior_.encode(X)
        shift = np.log(exposures)
        found = self.posterior_.summarise(columns, levels, kind, self.n_jobs, shift).quantiles
        if kind == "mean":
            found = exposures[:, None] * found
        return found[:, 0] if np.ndim(q) == 0 else found

    @with_shared_parameters
    def predict_probability(
        self, X: Any, counts: int | Sequence[int], exposure: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probability of each of some counts.

        Parameters
        ----------
        counts : int or sequence of int
            Whole numbers of at least 0, such as 0 for the probability of no event.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, len(counts))
            The first shape if `counts` is a number.
        """
        check_is_fitted(self)
        wanted = np.atleast_1d(np.asarray(counts, dtype=object))
        values = np.array([check_count("counts", count, 0) for count in wanted], dtype=np.float64)
        shift = self._shift(X, exposure)
        found = np.empty((len(shift), len(values)))
        posterior = self.posterior_
        for rows, given in posterior.given_blocks(posterior.encode(X), self.n_jobs, shift):
            for j, value in enumerate(values):
                probability = np.exp(self.posterior_.likelihood.log_density(value, given))
                found[rows, j] = probability.mean(axis=0)
        return found[:, 0] if np.ndim(counts) == 0 else found

    def _prediction_columns(self, X: Any, coverage: float, kind: Kind) -> dict[str, FloatArray]:
        """Return the columns that the command line writes."""
        low, high = self.predict_interval(X, coverage, kind).T
        return {"prediction": self.predict(X), "low": low, "high": high}

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: RandomState = None,
        exposure: ArrayLike | None = None,
    ) -> FloatArray:
        """Return draws of new counts from the posterior predictive distribution.

        Each column is one joint draw: the same ensemble at all rows, and independent counts.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict.
        n_samples : int, default=1
            Draws per row.
        random_state : int, RandomState or None, default=None
            An int gives the same draws in every call.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        ndarray of shape (n, n_samples)
            Whole numbers, as float64.
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples, 1)
        rng, shift = check_seed(random_state), self._shift(X, exposure)
        return self.posterior_.sample_y(X, n_samples, rng, shift=shift, n_jobs=self.n_jobs)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return D², the share of the Poisson deviance that the predictions explain.

        1 is perfect, and 0 is as good as one rate for all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict.
        y : array-like of shape (n,)
            Their counts.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        float
            NaN if all counts are 0.
        """
        check_is_fitted(self)
        exposures = self._exposure(X, exposure)
        counts = self.posterior_.likelihood.check_observed(y, len(exposures))
        weights = check_weights(sample_weight, len(exposures))
        return deviance_explained(counts, self.predict(X, exposures), exposures, weights)

    def log_score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return the mean log probability of counts; larger is better.

        The probability of a count is the mean over the draws.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict; not those of training, where the score is too good.
        y : array-like of shape (n,)
            Their counts.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the mean.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        shift = self._shift(X, exposure)
        scores = self.posterior_.log_density(X, y, shift=shift, n_jobs=self.n_jobs)
        return mean_score(scores, sample_weight)


def column_of_exposures(X: Any, name: str, owner: str) -> FloatArray:
    """Return the exposures in a column of a table."""
    table = read_table(X, owner)
    if name not in table.names or not table.is_named:
        raise ValueError(
            f"X has no column {name!r}, which is to be the exposure: add it, or pass the exposures "
            "themselves, one positive number per row."
        )
    return check_exposure(table.column(table.names.index(name)).numbers(), table.n_rows)


def _for_all_blocks(X: Any, exposure: ArrayLike | None) -> ArrayLike | None:
    """Return an exposure that all blocks of a lazy table can use."""
    is_lazy = type(X).__module__.partition(".")[0] in ("dask", "dask_expr")
    if is_lazy and exposure is not None and np.ndim(exposure) > 0:
        raise ValueError(
            "A lazy table needs its exposures in a column: fit with the name of this column."
        )
    return exposure
