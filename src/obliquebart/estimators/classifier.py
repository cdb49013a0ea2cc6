"""Classification, with one model per class where there are more than two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.base import ObliqueBART, RandomState
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.explain.evaluation import class_codes
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.class_weight import ClassWeight, check_class_weight, class_weights
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import (
    CATEGORICAL_FEATURES,
    DATES,
    DEFAULTS,
    PROGRESS,
    RUN_LENGTHS,
    CheckedHyperparameters,
    RunLength,
)
from obliquebart.posterior.arviz import Observed, to_arviz
from obliquebart.posterior.class_arviz import classes_to_arviz
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.posterior import FloatArray, Posterior, check_quantiles
from obliquebart.table import EncodedTable
from obliquebart.table.dask import map_rows
from obliquebart.validation import check_labels, check_number, count_rows

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
    class_weight : dict, "balanced" or None
        What the probabilities of the classes are multiplied by, before they are divided by their
        sum; labels that a dictionary does not name have weight 1. "balanced" gives
        n / (n_classes n_k) to a class with n_k of the n training rows (or of their weights), so
        that the classes count as equally frequent. See the notes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_weight_ : ndarray of shape (n_classes,) or None
        The weights of the classes, where `class_weight` is not None.
    posteriors_ : dict of label to Posterior
        For more than two classes one for each of them, in the order of `classes_`. For two classes
        one, of the second label. For a single class none.
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
    `sample_weight` says how often a row counts: the likelihood of a row of weight w is p^w, where p
    is the probability of its label. A row of weight 3 is the same as three such rows, and a row of
    weight 0 is left out. Weights may be fractions. They cost more time per sweep than whole ones,
    and chains mix the more slowly the smaller the weights are.

    `class_weight` changes the base rates, or the costs of errors, and not the posterior. All rows
    are used as they are; then every draw of the probabilities is multiplied by the weights and
    normalised, in `predict`, `predict_proba`, `predict_interval` and `predict_quantile`. That is
    exact if the classes are as frequent elsewhere as the weights say, and loses no information.
    Weights in the likelihood (`sample_weight`) would pretend that there are more or fewer rows.
    `posterior_` and what is computed from it have no class weights.

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
        class_weight: ClassWeight = None,
        categorical_features: Any = CATEGORICAL_FEATURES,
        dates: Literal["auto"] | None = DATES,
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
        n_classes = len(self.classes_)
        self.class_weight_ = fitted.class_weights
        # Of two classes the first needs no posterior of its own.
        modelled = self.classes_[1:] if n_classes == 2 else self.classes_
        self.posteriors_: dict[Any, Posterior] = dict(
            zip(modelled.tolist(), fitted.posteriors, strict=n_classes > 1)
        )
        self._probabilities = ClassProbabilities(
            fitted.posteriors, n_classes, fitted.n_draws, fitted.class_weights
        )
        return self

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        check_class_weight(self.class_weight)
        return super()._checked_parameters()

    def _class_weights(self, outcome: Outcome) -> FloatArray | None:
        return class_weights(check_class_weight(self.class_weight), outcome)

    @property
    def posterior_(self) -> Posterior:
        """The draws of a model with two classes."""
        posteriors: dict[Any, Posterior] = self.__dict__.get("posteriors_", {})
        if len(posteriors) != 1:
            raise AttributeError(
                "posterior_ exists for a fitted model with two classes; of more classes, "
                "posteriors_[label] has that of each."
            )
        (only,) = posteriors.values()
        return only

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

    @with_shared_parameters
    def predict_quantile(self, X: Any, q: float | Sequence[float]) -> FloatArray:
        """Return posterior quantiles of the class probabilities.

        Parameters
        ----------
        q : float or sequence of float
            Probabilities in [0, 1].

        Returns
        -------
        ndarray of shape (n, n_classes) or (n, n_classes, len(q))
            For each column of `predict_proba`; the first shape if `q` is a number.
        """
        check_is_fitted(self)
        levels = check_quantiles("q", q, "mean")
        n_classes = len(self.classes_)
        shape = (n_classes,) if np.ndim(q) == 0 else (n_classes, len(levels))
        lazy: FloatArray | None = map_rows(self.predict_quantile, X, shape, q=q)
        if lazy is not None:
            return lazy
        quantiles = self._probabilities.quantiles(self._encode(X), levels, self.n_jobs)
        return quantiles[..., 0] if np.ndim(q) == 0 else quantiles

    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        if not self.posteriors_:
            raise ValueError("A model of a single class has no draws to export.")
        observed.require_table(X)
        if observed.y is not None:
            labels = check_labels(observed.y, count_rows(X, type(self).__name__))
            observed = observed._replace(y=class_codes(labels, self.classes_))
        if len(self.classes_) == 2:
            return to_arviz(self.posterior_, X, observed, rows, self.n_jobs)
        return classes_to_arviz(
            self.posteriors_, self._probabilities, X, observed, rows, self.n_jobs
        )

    def _prediction_columns(self, X: Any, *_: Any) -> dict[str, NDArray[Any]]:
        """Return what the command line writes."""
        probability = self.predict_proba(X)
        columns = {"prediction": self.classes_[np.argmax(probability, axis=1)]}
        for code, label in enumerate(self.classes_.tolist()):
            columns[f"probability_{label}"] = probability[:, code]
        return columns

    def _encode(self, X: Any) -> EncodedTable:
        return self._fitted.encoding.transform(X)
