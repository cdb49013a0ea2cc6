"""Classification: of two classes, of several, and of classes that have an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.arguments import RandomState, ReadData
from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.explain.evaluation import class_codes
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.likelihood.labels import with_votes
from obliquebart.likelihood.ordinal import Ordinal
from obliquebart.likelihood.softmax import Softmax
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
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import FloatArray, check_quantiles
from obliquebart.sampling.device import DeviceChoice
from obliquebart.table import EncodedTable
from obliquebart.table.dask import map_rows
from obliquebart.table.frames import category_order
from obliquebart.validation import (
    check_choice,
    check_labels,
    check_number,
    check_ordered,
    count_rows,
)

LENGTH = RUN_LENGTHS["classification"]
LINKS = ("probit", "logit")
MULTICLASS = ("joint", "one_vs_rest")
# In which columns are put in order.
N_BLOCKS = 32


@with_shared_parameters
class ObliqueBARTClassifier(ClassifierMixin, ObliqueBART):
    """Classification by ensembles of Bayesian trees with oblique rules.

    Two classes: P(y = 1) = Phi(offset + f(x)), sampled by the data augmentation of Albert and
    Chib, or logistic(offset + f(x)), by that of Polson, Scott and Windle. More than two classes:
    P(y = k) is proportional to exp(offset_k + f_k(x)), a joint model with an ensemble per class.
    Ordered classes: one ensemble for all of them, P(y <= k) = Phi(cut_k - f(x)), whose cuts are
    sampled.

    Parameters
    ----------
    multiclass : {"joint", "one_vs_rest"}
        With more than two classes, "joint" is one model of all of them. "one_vs_rest" fits a model
        of each class against the rest, and divides the probabilities of a draw by their sum.
    link : {"probit", "logit"}
        How f becomes a probability with two classes, or of one class against the rest: by the
        normal or the logistic distribution function. Predictions are nearly the same. With
        "logit", f is in log odds. A joint model of several classes is always logistic.
    k : float
        f spans (-3, 3), or (-5, 5) if it is logistic, with k prior standard deviations on each
        side; larger is smoother.
    leaf_sd : float or None
        A number fixes the prior standard deviation of a leaf output on the scale of the link. None
        samples it, with prior mode 3 / (k sqrt(n_trees)), or 5 / (k sqrt(n_trees)) if f is
        logistic; `prior="paper"` fixes it there.
    ordered : bool, "auto" or list of labels
        Whether the classes have an order, such as grades. A list gives the labels in their order.
        "auto": ordered if y is an ordered categorical (of pandas, or an Enum of polars), in its
        order. True: also other labels, in sorted order; for text that is the order of the alphabet,
        and `fit` warns. Two classes are the same model with and without an order. Columns of
        probabilities are in the order of `classes_`, not in this one; `ordered_classes_` has it.
    class_weight : dict, "balanced" or None
        Factors for the class probabilities, which are then divided by their sum. Labels missing
        from a dictionary have weight 1. "balanced" gives a class with n_k of the n training rows
        (or of their total weight) the weight n / (n_classes n_k), so that all classes count as
        equally frequent. See Notes.
    votes : int
        How many times each label counts, as if that many people had labelled the row independently
        and agreed. 1: other labels were possible. More: labels are certain, as those of images
        often are, and probabilities are less cautious. With more than 1, `leaf_sd=None` fixes it
        at its prior mode. Not with ordered classes. See ``docs/howto/certain-labels.md``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted, as scikit-learn's scorers need them; also those of ordered classes.
    ordered_classes_ : ndarray of shape (n_classes,) or None
        Three or more ordered classes in their order, without those that no row has. None if the
        classes have no order, or are only two.
    class_weight_ : ndarray of shape (n_classes,) or None
        The weights of the classes, in the order of `classes_`, or None if `class_weight` is None.
    posteriors_ : dict of label to Posterior
        With more than two classes, one posterior per class, in the order of `classes_`; in a joint
        model it has the f of the class, from which `predict_proba` computes probabilities. With two
        classes, that of the second label. With ordered classes, every label has the same one.
        Empty with a single class.
    posterior_ : Posterior
        The only posterior of a model with two classes, or with ordered classes. In the latter case,
        `posterior_.trace` has the cuts as `cut.1`, `cut.2` and so on.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of `importance()`, scaled to sum to one; computed on first access.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.
    soft_ : bool
        Whether the rules of the fitted trees are soft.
    device_ : str or None
        What the chains ran on last: "cpu", or the name of the card. None after `load`.
    target_name_ : str or None
        Name of y.

    See Also
    --------
    ObliqueBARTRegressor : The same model for numeric outcomes.

    Notes
    -----
    A row with `sample_weight` w contributes p^w to the likelihood, where p is the probability of
    its label. A row of weight 3 is equivalent to three identical rows, and a row of weight 0 is
    ignored. Weights need not be integers, but other weights make sweeps slower, and small weights
    slow down mixing. With ordered classes, weights must be integers.

    `class_weight` changes the base rates, or the costs of errors, but not the posterior. The fit
    uses all rows unchanged. `predict`, `predict_proba`, `predict_interval` and `predict_quantile`
    then multiply every draw of the probabilities by the weights and normalise it; `log_score` is of
    these probabilities. That is exact
    if the class frequencies of new data differ from those in training by these factors, and no
    information is lost. Weights in the likelihood (`sample_weight`) would act as if there were
    more or fewer rows. `posterior_` and everything computed from it ignore class weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliquebart import ObliqueBARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ObliqueBARTClassifier(n_trees=20, n_burn=50, n_draws=50, random_state=0)
    >>> model.fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """

    _family = LIKELIHOODS["probit"]
    _saved_as = "ObliqueBARTClassifier"

    ordered: bool | Literal["auto"] | Sequence[Any]
    link: Literal["probit", "logit"]
    multiclass: Literal["joint", "one_vs_rest"]

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
        directions: Any = DEFAULTS.directions,
        soft: bool | Literal["auto"] = DEFAULTS.soft,
        multiclass: Literal["joint", "one_vs_rest"] = "joint",
        link: Literal["probit", "logit"] = "probit",
        alpha: float = DEFAULTS.alpha,
        beta: float = DEFAULTS.beta,
        k: float = DEFAULTS.k,
        theta_prior: tuple[float, float] | None = DEFAULTS.theta_prior,
        theta: float | None = DEFAULTS.theta,
        leaf_sd: float | None = DEFAULTS.leaf_sd,
        min_samples_leaf: int | None = DEFAULTS.min_samples_leaf,
        ordered: bool | Literal["auto"] | Sequence[Any] = "auto",
        class_weight: ClassWeight = None,
        votes: int = DEFAULTS.votes,
        categorical_features: Any = CATEGORICAL_FEATURES,
        dates: Literal["auto"] | None = DATES,
        feature_scaling: str | None = DEFAULTS.feature_scaling,
        p_change: float | None = DEFAULTS.p_change,
        p_perturb: float | None = DEFAULTS.p_perturb,
        n_jobs: int | None = None,
        device: DeviceChoice = "cpu",
        random_state: RandomState = None,
        progress: bool | Literal["auto"] = PROGRESS,
    ) -> None:
        self._assign(locals())

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTClassifier:
        super()._set_fitted(fitted)
        # Inside, classes have the order of the outcome, as numbered for the engine. But the scorers
        # of scikit-learn take the columns of probabilities for those of the sorted labels.
        of_outcome = self._of_outcome
        n_classes = len(of_outcome)
        self._columns: NDArray[np.intp] = np.argsort(of_outcome)
        self.classes_: NDArray[Any] = of_outcome[self._columns]
        self.ordered_classes_: NDArray[Any] | None = (
            of_outcome.copy() if fitted.likelihood.joint_classes else None
        )
        weights = fitted.class_weights
        self.class_weight_ = None if weights is None else weights[self._columns]
        # With two classes, the first needs no posterior.
        modelled = of_outcome[1:] if n_classes == 2 else of_outcome
        by_label = dict(zip(modelled.tolist(), self._by_class(fitted), strict=n_classes > 1))
        self.posteriors_: dict[Any, Posterior] = {
            label: by_label[label] for label in self.classes_.tolist() if label in by_label
        }
        self._probabilities = ClassProbabilities(
            fitted.parts, n_classes, fitted.n_draws, fitted.class_weights
        )
        return self

    @staticmethod
    def _by_class(fitted: Fitted) -> list[Posterior]:
        """Return the posterior of each class that has one."""
        if fitted.likelihood.joint_classes and fitted.classes is not None:
            return fitted.parts * len(fitted.classes)
        return fitted.parts

    def _choose_likelihood(self, y: Any) -> Likelihood:
        order = check_ordered(self.ordered)
        if isinstance(order, list):
            return Ordinal(order=order)
        of_categories = category_order(y) if order else None
        if order is True or of_categories is not None:
            return Ordinal(order=of_categories)
        by_link = LIKELIHOODS[self.link]
        return Softmax(of_two=by_link) if self.multiclass == "joint" else by_link

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        check_class_weight(self.class_weight)
        check_ordered(self.ordered)
        check_choice("link", self.link, LINKS)
        check_choice("multiclass", self.multiclass, MULTICLASS)
        return super()._checked_parameters()

    def _read(
        self, parameters: CheckedHyperparameters, X: Any, y: Any, sample_weight: Any
    ) -> ReadData:
        read = super()._read(parameters, X, y, sample_weight)
        if parameters.votes == 1:
            return read
        outcome = with_votes(read.problem.outcome, parameters.votes)
        return read._replace(problem=read.problem._replace(outcome=outcome))

    def _class_weights(self, outcome: Outcome) -> FloatArray | None:
        return class_weights(check_class_weight(self.class_weight), outcome)

    @property
    def posterior_(self) -> Posterior:
        """The draws of a model with two classes, or with ordered classes."""
        fitted: Fitted | None = self.__dict__.get("_fitted")
        if fitted is None or len(fitted.parts) != 1:
            raise AttributeError(
                "posterior_ exists only for a fitted model with two classes, or with ordered "
                "classes. Otherwise, use posteriors_[label]."
            )
        return fitted.posteriors[0]

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
        """Return the posterior mean of the class probabilities, or all draws of them.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result, unless `return_draws` is True.
        return_draws : bool, default=False
            Return all draws instead of their mean.

        Returns
        -------
        ndarray of shape (n, n_classes) or (n_chains * n_draws, n, n_classes)
            Columns in the order of `classes_`; each row sums to one.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if return_draws:
            draws = self._probabilities.draws(self._encode(X), self.n_jobs)
            return self._sorted(draws, axis=2)
        lazy: FloatArray | None = map_rows(self.predict_proba, X, (n_classes,))
        if lazy is not None:
            return lazy
        return self._sorted(self._probabilities.mean(self._encode(X), self.n_jobs))

    def _log_density(self, X: Any, y: Any) -> FloatArray:
        probability = self.predict_proba(X)
        codes = class_codes(check_labels(y, len(probability)), self.classes_)
        tiny = np.finfo(np.float64).tiny
        return np.log(np.maximum(probability[np.arange(len(codes)), codes], tiny))

    @with_shared_parameters
    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return central posterior intervals of the class probabilities.

        Returns
        -------
        ndarray of shape (n, n_classes, 2)
            Lower and upper limits for each column of `predict_proba`.
        """
        check_is_fitted(self)
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        n_classes = len(self.classes_)
        lazy: FloatArray | None = map_rows(
            self.predict_interval, X, (n_classes, 2), coverage=coverage
        )
        if lazy is not None:
            return lazy
        return self._sorted(self._probabilities.interval(self._encode(X), tail, self.n_jobs))

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
        quantiles = self._sorted(quantiles)
        return quantiles[..., 0] if np.ndim(q) == 0 else quantiles

    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        if not self.posteriors_:
            raise ValueError("A model with a single class has no draws to export.")
        observed.require_table(X)
        if observed.y is not None:
            labels = check_labels(observed.y, count_rows(X, type(self).__name__))
            observed = observed._replace(y=class_codes(labels, self._of_outcome))
        if len(self._fitted.parts) == 1:
            return to_arviz(self.posterior_, X, observed, rows, self.n_jobs)
        fitted = self._fitted
        unweighted = ClassProbabilities(fitted.parts, len(self.classes_), fitted.n_draws)
        return classes_to_arviz(
            self.posteriors_, self._probabilities, unweighted, X, observed, rows, self.n_jobs
        )

    def _prediction_columns(self, X: Any, *_: Any) -> dict[str, NDArray[Any]]:
        """Return the columns that the command line writes."""
        probability = self.predict_proba(X)
        columns = {"prediction": self.classes_[np.argmax(probability, axis=1)]}
        codes = class_codes(self._of_outcome, self.classes_)
        for code, label in zip(codes, self._of_outcome.tolist(), strict=True):
            columns[f"probability_{label}"] = probability[:, code]
        return columns

    @property
    def _of_outcome(self) -> NDArray[Any]:
        """The labels in the order of the outcome, which tables and pictures show."""
        return np.asarray(self._fitted.classes)

    def _sorted(self, values: FloatArray, axis: int = 1) -> FloatArray:
        """Put classes from the order of the outcome into that of `classes_`, in place."""
        if (np.diff(self._columns) < 0).any():
            # In blocks, as all draws may take most of the memory.
            for block in np.array_split(values, N_BLOCKS):
                block[...] = np.take(block, self._columns, axis)
        return values

    def _encode(self, X: Any) -> EncodedTable:
        return self._fitted.encoding.transform(X)
