"""Classification, with one model per class where there are more than two."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.base import ObliqueBART, RandomState
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.parameters import CATEGORICAL_FEATURES, DEFAULTS, PROGRESS, RUN_LENGTHS
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.posterior import FloatArray, Posterior
from obliquebart.table import EncodedTable
from obliquebart.table.dask import map_rows
from obliquebart.validation import check_number

LENGTH = RUN_LENGTHS["classification"]


@with_shared_parameters
class ObliqueBARTClassifier(ClassifierMixin, ObliqueBART):
    """Classification by probit ensembles of Bayesian trees with oblique rules.

    Two classes: P(y = 1) = Phi(offset + f(x)), sampled by the data augmentation of Albert and
    Chib. More than two: one such model for each class against the rest, each probability divided
    by their sum, draw by draw. That is a convenience, not a joint model of the classes.

    Parameters
    ----------
    k : float
        f spans (-3, 3) with k prior standard deviations on each side; larger is smoother.
    leaf_sd : float or None
        A number fixes the prior standard deviation of a leaf output on the probit scale. None
        samples it, with prior mode 3 / (k sqrt(n_trees)); "paper" fixes it there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    posteriors_ : list of Posterior
        One for two classes (of the second label), one for each of more than two classes, none
        for a single class.
    posterior_ : Posterior
        The only one, for two classes.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of `importance()`, which sum to one; computed when first asked for.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.
    target_name_ : str or None
        What y is called.

    See Also
    --------
    ObliqueBARTRegressor : The same for numbers.

    Notes
    -----
    `sample_weight` counts repetitions: a row of weight 3 is the same as three such rows, and a row
    of weight 0 is left out. Other weights than whole numbers have no meaning for draws of labels
    and are an error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliquebart import ObliqueBARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ObliqueBARTClassifier(n_trees=20, n_burn=50, n_draws=50, random_state=0)
    >>> model.fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """

    _likelihood = LIKELIHOODS["probit"]
    _saved_as = "ObliqueBARTClassifier"

    def __init__(
        self,
        n_trees: int = DEFAULTS.n_trees,
        *,
        n_burn: int = LENGTH.n_burn,
        n_draws: int | Literal["auto"] = LENGTH.n_draws,
        n_thin: int = LENGTH.n_thin,
        n_chains: int = LENGTH.n_chains,
        prior: Literal["default", "paper"] = DEFAULTS.prior,
        rules: Literal["oblique", "axis"] = DEFAULTS.rules,
        alpha: float = DEFAULTS.alpha,
        beta: float = DEFAULTS.beta,
        k: float = DEFAULTS.k,
        theta_prior: tuple[float, float] | None = DEFAULTS.theta_prior,
        theta: float | None = DEFAULTS.theta,
        leaf_sd: float | None = DEFAULTS.leaf_sd,
        min_samples_leaf: int | None = DEFAULTS.min_samples_leaf,
        categorical_features: Any = CATEGORICAL_FEATURES,
        feature_scaling: str | None = DEFAULTS.feature_scaling,
        p_change: float | None = DEFAULTS.p_change,
        p_perturb: float | None = DEFAULTS.p_perturb,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        progress: bool | Literal["auto"] = PROGRESS,
    ) -> None:
        self._assign(locals())

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTClassifier:
        super()._set_fitted(fitted)
        self.classes_: NDArray[Any] = np.asarray(fitted.classes)
        self.posteriors_ = fitted.posteriors
        n_classes = len(self.classes_)
        self._probabilities = ClassProbabilities(fitted.posteriors, n_classes, fitted.n_draws)
        return self

    @property
    def posterior_(self) -> Posterior:
        """The draws of a model with two classes."""
        posteriors: list[Posterior] = self.__dict__.get("posteriors_", [])
        if len(posteriors) != 1:
            raise AttributeError(
                "posterior_ exists for a fitted model with two classes; there is a list "
                "posteriors_, with one for each of more classes."
            )
        return posteriors[0]

    @with_shared_parameters
    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        lazy = map_rows(self.predict, X, (), dtype=self.classes_.dtype)
        if lazy is not None:
            return lazy
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any, return_draws: bool = False) -> FloatArray:
        """Return the posterior mean of the class probabilities, or all their draws.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result, if it is a mean.
        return_draws : bool, default=False
            Return every draw.

        Returns
        -------
        ndarray of shape (n, n_classes) or (n_chains * n_draws, n, n_classes)
            Columns in the order of `classes_`; a row sums to one.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if return_draws:
            return self._probabilities.draws(self._encode(X), self.n_jobs)
        lazy: FloatArray | None = map_rows(self.predict_proba, X, (n_classes,))
        if lazy is not None:
            return lazy
        return self._probabilities.mean(self._encode(X), self.n_jobs)

    @with_shared_parameters
    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return central posterior intervals of the class probabilities.

        Returns
        -------
        ndarray of shape (n, n_classes, 2)
            Lower and upper end for each column of `predict_proba`.
        """
        check_is_fitted(self)
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        n_classes = len(self.classes_)
        lazy: FloatArray | None = map_rows(
            self.predict_interval, X, (n_classes, 2), coverage=coverage
        )
        if lazy is not None:
            return lazy
        return self._probabilities.interval(self._encode(X), tail, self.n_jobs)

    def _prediction_columns(self, X: Any, *_: Any) -> dict[str, NDArray[Any]]:
        """Return what the command line writes."""
        probability = self.predict_proba(X)
        columns = {"prediction": self.classes_[np.argmax(probability, axis=1)]}
        for code, label in enumerate(self.classes_.tolist()):
            columns[f"probability_{label}"] = probability[:, code]
        return columns

    def _encode(self, X: Any) -> EncodedTable:
        return self._fitted.encoding.transform(X)
