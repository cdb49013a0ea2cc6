"""Methods of the estimators for the importance and effects of columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.explain import effects as effect_curves
from obliquebart.explain.effects import Effect, column_effect
from obliquebart.explain.importance import (
    MAX_DRAWS,
    MAX_ROWS,
    ImportanceTable,
    column_importance,
)
from obliquebart.posterior.class_probabilities import weighted_probabilities
from obliquebart.table.encoded import EncodedTable

NO_TABLE = (
    "This model was loaded without its training data: pass a table, as in {call}, or save the "
    "model with include_data=True."
)


class Explaining:
    """A base of the estimators: `importance`, `effects` and `feature_importances_`."""

    _fitted: Fitted
    n_jobs: int | None

    @with_shared_parameters
    def importance(
        self,
        X: Any = None,
        *,
        coverage: float = 0.9,
        max_rows: int = MAX_ROWS,
        max_draws: int = MAX_DRAWS,
        random_state: int | np.random.RandomState | None = 0,
    ) -> ImportanceTable:
        """Measure which columns matter: how much predictions change when a column is shuffled.

        The share of a column is the fraction of the variance of the predictions that is lost when
        its values are shuffled among the rows: 0 if the column does not matter, 1 if predictions
        depend on nothing else. Interactions count for every column involved, so shares can sum to
        more than 1. Predictions are f, or class probabilities; for ordered classes f, whose larger
        values make higher classes more probable. With more than two classes, one ranking covers all
        of them; ``posteriors_[label].importance(X)`` gives that of one class: of its score or,
        with ``multiclass="one_vs_rest"``, of its probability against the rest.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            The rows. By default it is the training table, if the model still has it: after `load`
            it has not, unless it was saved with `include_data=True`.
        random_state : int, RandomState or None, default=0
            Seed of the shuffling; None shuffles differently at every call.

        Returns
        -------
        ImportanceTable
            A sequence of `Importance`, most important first; it prints as a table.

        See Also
        --------
        effects : How predictions depend on one column.

        Notes
        -----
        The interval shows how much the draws of the posterior differ. It says nothing about a
        model fitted without the column, which may use other columns instead.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTRegressor
        >>> X = np.random.default_rng(0).uniform(size=(100, 3))
        >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=50, random_state=0)
        >>> table = model.fit(X, np.sin(6 * X[:, 1])).importance()
        >>> table[0].column, table[0].share > 0.9
        ('x1', True)
        """
        check_is_fitted(self)
        return column_importance(
            self._fitted.parts,
            self._fitted.encoding,
            self._rows(X, "importance(X)"),
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    @with_shared_parameters
    def effects(
        self,
        X: Any,
        column: str | int,
        *,
        centered: bool = False,
        n_points: int = effect_curves.N_POINTS,
        coverage: float = 0.9,
        max_rows: int = effect_curves.MAX_ROWS,
        max_draws: int = effect_curves.MAX_DRAWS,
    ) -> Effect:
        """Return how predictions depend on one column, with intervals.

        This is partial dependence: for several values of the column, the average prediction over
        the rows if all of them had that value. A regression gives it in the units of y. A
        classification gives the probability of the second of two classes, or of each class if
        there are more.

        Parameters
        ----------
        X : table of shape (n, n_features) or None
            The rows to average over. None uses the training data, if the model has them.

        Returns
        -------
        Effect
            Prints as a table; `plots.effects` draws it.

        See Also
        --------
        importance : Which columns to look at.

        Notes
        -----
        An effect describes what the model predicts if one column changes alone. If columns are
        correlated, it averages over rows that do not occur in the data. It is not a causal effect.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTRegressor
        >>> X = np.random.default_rng(0).uniform(size=(100, 3))
        >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=50, random_state=0)
        >>> effect = model.fit(X, 5 * X[:, 1]).effects(X, "x1", n_points=4)
        >>> effect.points.shape, bool(effect.mean[-1] > effect.mean[0] + 3)
        ((4,), True)
        """
        check_is_fitted(self)
        fitted = self._fitted
        classes = () if fitted.classes is None else fitted.classes.tolist()
        effect = column_effect(
            fitted.parts,
            fitted.encoding,
            self._rows(X, "effects(X, column)"),
            column,
            classes=classes[1:] if len(classes) == 2 else classes,
            centered=centered,
            n_points=n_points,
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            n_jobs=self.n_jobs,
            probabilities=weighted_probabilities(fitted.class_weights, self.n_jobs),
        )
        return replace(effect, target=fitted.likelihood.quantity(fitted.target_name))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The shares of `importance()` in the order of the columns, divided by their sum.

        Computed from the training data on first access. scikit-learn's `SelectFromModel` uses it
        to select columns.
        """
        check_is_fitted(self)
        shares: NDArray[np.float64] | None = self.__dict__.get("_importances")
        if shares is None:
            if self._fitted.training is None:
                raise AttributeError(
                    "feature_importances_ needs the training data, but this model was loaded "
                    "without them: use importance(X), or save the model with include_data=True."
                )
            shares = self.importance().in_order(self._fitted.encoding.names)
            shares = shares / max(float(shares.sum()), np.finfo(np.float64).tiny)
            self._importances = shares
        return shares.copy()

    def _rows(self, X: Any, call: str) -> EncodedTable:
        """Return the encoded rows of a table, or the training rows if X is None."""
        if X is not None:
            return self._fitted.encoding.transform(X)
        if self._fitted.training is None:
            raise ValueError(NO_TABLE.format(call=call))
        return self._fitted.training.table
