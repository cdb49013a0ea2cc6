"""Methods of the estimators that export draws to other packages."""

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
        """Return an ArviZ object; `observed.y` is as passed by the user."""

    def to_arviz(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rows: int | Sequence[int] = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> Any:
        """Convert the draws for ArviZ: `az.plot_trace`, `az.summary`, `az.loo`, `az.compare`.

        With more than two classes, theta, leaf_sd, f and p have a dimension `class`, with the
        labels as coordinates. p contains the probabilities of `predict_proba`. Ordered classes have
        one f, and the cuts between them. Outcomes are class indices in the order of `classes_`, or
        of `ordered_classes_` if the classes have an order; with two classes, 0 and 1. The log
        likelihood is that of the posterior, which does not depend on `class_weight`; for one with
        `votes`, pass them times the weights of `fit` as `sample_weight`.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Adds f (and p) at some rows to the group posterior, and adds the group
            posterior_predictive.
        y : array-like of shape (n,), optional
            Outcomes as for `fit`. Adds the groups log_likelihood and observed_data.
        sample_weight : array-like of shape (n,), optional
            Weights as for `fit`.
        rows : int or sequence of int, default=10
            Rows at which to include f: their number (evenly spaced), or their positions.
        random_state : int, RandomState or None, default=None
            Seed of the posterior predictive draws.

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
