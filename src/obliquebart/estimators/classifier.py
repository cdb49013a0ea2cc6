"""Classification, with one model per class where there are more than two."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.base import (
    CheckpointOptions,
    ObliqueBART,
    Plan,
    RandomState,
    check_leaf_size,
    warn,
    warn_interrupted,
)
from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ConstantOutcomeWarning
from obliquebart.model.outcome import Outcome, binary_outcome
from obliquebart.model.training import TrainingData
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.posterior import FloatArray, Posterior
from obliquebart.table import Encoding
from obliquebart.table.dask import map_rows
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import (
    check_labels,
    check_number,
    check_weights,
    count_rows,
    whole_weights,
)

__all__ = ["ObliqueBARTClassifier"]


class ObliqueBARTClassifier(ClassifierMixin, ObliqueBART):
    """Classification by probit ensembles of Bayesian trees with oblique rules.

    Two classes: P(y = 1) = Phi(offset + f(x)), sampled by the data augmentation of Albert and
    Chib. More than two: one such model for each class against the rest, each probability divided
    by their sum, draw by draw. That is a convenience, not a joint model of the classes.

    Parameters
    ----------
    n_trees : int, default=200
        Trees of an ensemble.
    n_burn : int, default=1000
        Sweeps of each chain that are thrown away at its start.
    n_draws : int, default=500
        Draws that each chain keeps.
    n_thin : int, default=1
        Sweeps from one kept draw to the next.
    n_chains : int, default=8
        Independent chains, all of whose draws are used.
    prior : {"default", "paper"}, default="default"
        "paper" is the model and sampler of the obliqueBART paper in every respect; "default" adds
        what was found to help: a learned leaf scale, a sparsity for each column, more moves, no
        empty leaves. Parameters below that are None follow it.
    rules : {"oblique", "axis"}, default="oblique"
        "axis" uses one column a rule; with ``prior="paper"`` that is classical BART.
    alpha, beta : float, default=0.95 and 2.0
        A node at depth d splits with prior probability alpha (1 + d)^-beta.
    k : float, default=2.0
        f spans (-3, 3) with k prior standard deviations on each side; larger is smoother.
    theta_prior : pair of float or None, default=None
        The Beta prior of theta, the share of columns in an oblique rule; see the regressor.
    theta : float or None, default=None
        A number in (0, 1] fixes theta; None samples it.
    leaf_sd : float or None, default=None
        A number fixes the prior standard deviation of a leaf output on the probit scale. None
        samples it, with prior mode 3 / (k sqrt(n_trees)); "paper" fixes it there.
    min_samples_leaf : int or None, default=None
        Training rows that a leaf must have. None is 1; "paper": 0, with empty leaves.
    categorical_features : "auto", None, or array of names, positions or booleans, default="auto"
        Columns that are categories. "auto" takes the categorical and text columns of a data
        frame, and none of an array.
    feature_scaling : {"range", "rank", "blend", "joint"} or None, default=None
        How a continuous column is mapped to [-1, 1]. None is "blend"; "paper": "range".
    p_change, p_perturb : float or None, default=None
        Shares of the moves that redraw a rule, and that move a rule a little. None is 0.2 and
        0.3; "paper": none.
    n_jobs : int or None, default=None
        Chains at a time, as in joblib. The draws do not depend on it.
    random_state : int, RandomState or None, default=None
        An int gives the same draws at every call of `fit`.
    progress : bool or "auto", default="auto"
        Whether to show progress; "auto" does so on a terminal or in a notebook.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    posteriors_ : list of Posterior
        One for two classes (of the second label), one for each of more than two classes, none
        for a single class.
    posterior_ : Posterior
        The only one, for two classes.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

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

    def __init__(
        self,
        n_trees: int = 200,
        *,
        n_burn: int = 1000,
        n_draws: int = 500,
        n_thin: int = 1,
        n_chains: int = 8,
        prior: Literal["default", "paper"] = "default",
        rules: Literal["oblique", "axis"] = "oblique",
        alpha: float = 0.95,
        beta: float = 2.0,
        k: float = 2.0,
        theta_prior: tuple[float, float] | None = None,
        theta: float | None = None,
        leaf_sd: float | None = None,
        min_samples_leaf: int | None = None,
        categorical_features: Any = "auto",
        feature_scaling: str | None = None,
        p_change: float | None = None,
        p_perturb: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.n_trees = n_trees
        self.n_burn = n_burn
        self.n_draws = n_draws
        self.n_thin = n_thin
        self.n_chains = n_chains
        self.prior = prior
        self.rules = rules
        self.alpha = alpha
        self.beta = beta
        self.k = k
        self.theta_prior = theta_prior
        self.theta = theta
        self.leaf_sd = leaf_sd
        self.min_samples_leaf = min_samples_leaf
        self.categorical_features = categorical_features
        self.feature_scaling = feature_scaling
        self.p_change = p_change
        self.p_perturb = p_perturb
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
    ) -> ObliqueBARTClassifier:
        """Draw from the posterior given training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            NumPy, pandas, polars, PyArrow or anything else that narwhals reads.
        y : array-like of shape (n,)
            Labels: text, integers or booleans.
        sample_weight : array-like of shape (n,), optional
            Whole numbers: how many times a row counts.
        checkpoint : str or path, optional
            A file in which the chains are put away while they run. If the process dies, the same
            call goes on from there, and the draws are those of an undisturbed fit, bit for bit.
            The file is left behind at the end; one of another fit is refused.
        checkpoint_every : int, optional
            Sweeps after which a chain is put away; by default it is about once a minute.

        Returns
        -------
        self
        """
        plan = self._plan()
        encoding, classes, data = self._read(plan, X, y, sample_weight)
        posteriors: list[Posterior] = []
        n_draws = plan.schedule.n_chains * plan.schedule.n_draws
        if len(classes) == 1:
            warn(
                f"y holds one class only ({classes.tolist()[0]!r}): the model predicts it with "
                "probability 1.",
                ConstantOutcomeWarning,
            )
        else:
            # Of two classes the second; of more, each against the rest.
            titles = {1: ""}
            if len(classes) > 2:
                titles = {code: f"{label} " for code, label in enumerate(classes)}
            outcomes = {t: partial(_binary_outcome, data, code) for code, t in titles.items()}
            keeping = CheckpointOptions(checkpoint, checkpoint_every)
            posteriors, interrupted = self._sample(plan, encoding, data, outcomes, keeping)
            n_draws = posteriors[0].n_chains * posteriors[0].n_draws
            if interrupted:
                warn_interrupted(posteriors[0], plan.schedule)
        fitted = Fitted(encoding, posteriors, classes, n_draws, data, data.fingerprint())
        return self._set_fitted(fitted)

    def _read(
        self, plan: Plan, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Encoding, NDArray[Any], TrainingData]:
        n_rows = count_rows(X, type(self).__name__)
        labels = check_labels(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        rows = None
        if weights is not None and (weights != 1).any():
            rows = np.repeat(np.arange(n_rows), whole_weights(weights))
            labels = labels[rows]
        encoding, columns = self._encode_training(X, rows, plan)
        check_leaf_size(plan.hyper.min_samples_leaf, len(labels))
        classes, codes = np.unique(labels, return_inverse=True)
        return encoding, classes, TrainingData(columns, codes.astype(np.int64), None)

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        return self._read(self._plan(), X, y, sample_weight)[-1]

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTClassifier:
        self._fitted = fitted
        self._remember(fitted.encoding)
        self.classes_: NDArray[Any] = np.asarray(fitted.classes)
        self.posteriors_ = fitted.posteriors
        self._encoding = fitted.encoding
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

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result.

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

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return central posterior intervals of the class probabilities.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result.
        coverage : float, default=0.9
            Probability of the interval, in (0, 1).

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

    def _encode(self, X: Any) -> EncodedTable:
        return self._encoding.transform(X)


def _binary_outcome(data: TrainingData, code: int) -> Outcome:
    return binary_outcome(data.target == code)
