"""The part of the estimators that hands the draws of a model to other packages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliquebart.posterior.arviz import Observed


class Exporting(ABC):
    """A base of the estimators: `to_arviz`."""

    @abstractmethod
    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        """Return ArviZ's object; `observed.y` is as the user gave it."""

    def to_arviz(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rows: int | Sequence[int] = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> Any:
        """Return the draws for ArviZ: `az.plot_trace`, `az.summary`, `az.loo`, `az.compare`.

        With more than two classes, theta, leaf_sd, f and p have a dimension `class`, whose
        coordinate has the labels; p are the probabilities of `predict_proba`. Outcomes are then
        numbers of classes, in the order of `classes_`; with two classes they are 0 and 1.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Adds f (and p) at some rows to the group posterior, and the group
            posterior_predictive.
        y : array-like of shape (n,), optional
            Numbers, or labels of a classifier, as for `fit`. Adds the groups log_likelihood and
            observed_data.
        sample_weight : array-like of shape (n,), optional
            The weights of the fit, if it had any.
        rows : int or sequence of int, default=10
            How many rows of f, evenly spread, or which ones.
        random_state : int, RandomState or None, default=None
            For the posterior predictive draws.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            The former with ArviZ 0.x, the latter with ArviZ 1.x.

        Notes
        -----
        For `az.loo` pass the training rows and their outcomes. Pareto k is often large for such
        flexible models, and the estimate unreliable; then compare the log density of held-out
        rows, which is in the group log_likelihood if these are passed instead.
        """
        check_is_fitted(self)
        return self._export(X, Observed(y, sample_weight, random_state), rows)
