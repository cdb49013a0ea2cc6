"""Regression."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
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
from obliquebart.model.outcome import Outcome, continuous_outcome
from obliquebart.model.training import TrainingData
from obliquebart.posterior.posterior import FloatArray, Posterior, check_quantiles
from obliquebart.sampling.run import check_seed
from obliquebart.table import Encoding
from obliquebart.table.dask import map_rows
from obliquebart.validation import (
    check_count,
    check_number,
    check_outcome,
    check_weights,
    count_rows,
)

__all__ = ["ObliqueBARTRegressor"]

Kind = Literal["mean", "outcome"]


class ObliqueBARTRegressor(RegressorMixin, ObliqueBART):
    """Regression by a sum of Bayesian trees with oblique rules.

    The outcome is y ~ N(f(x), sigma² / weight), where f is a sum of small trees. A rule of a tree
    asks on which side of a hyperplane the continuous columns lie, or to which set of levels a
    categorical column belongs. `fit` draws ensembles of trees from the posterior; everything
    else is computed from these draws.

    Parameters
    ----------
    n_trees : int, default=200
        Trees of an ensemble.
    n_burn : int, default=500
        Sweeps of each chain that are thrown away at its start.
    n_draws : int, default=500
        Draws that each chain keeps.
    n_thin : int, default=1
        Sweeps from one kept draw to the next.
    n_chains : int, default=8
        Independent chains. All their draws are used; their agreement tells whether they have
        converged.
    prior : {"default", "paper"}, default="default"
        "paper" is the model and sampler of the obliqueBART paper in every respect; "default" adds
        what was found to help: a learned leaf scale, a sparsity for each column, more moves, no
        empty leaves. Parameters below that are None follow it.
    rules : {"oblique", "axis"}, default="oblique"
        "axis" uses one column a rule; with ``prior="paper"`` that is classical BART.
    alpha, beta : float, default=0.95 and 2.0
        A node at depth d splits with prior probability alpha (1 + d)^-beta.
    k : float, default=2.0
        The range of y spans 2k prior standard deviations of f; larger is smoother.
    nu : float, default=3.0
        sigma² has an inverse-gamma prior with nu degrees of freedom, such that sigma is below the
        standard deviation of y with probability `sigma_quantile`.
    sigma_quantile : float or None, default=None
        See `nu`. None: 0.99; "paper": 0.9.
    theta_prior : pair of float or None, default=None
        Beta prior (a, b) of theta, the probability that a column is part of an oblique rule. None:
        (a, a (p - 1)) for each of the p continuous columns, so that a rule has one column on
        average, with a = 100 / p but within 1 and 10; "paper": one theta for all columns,
        (M, M (p - 1)) for M trees. With axis rules, a is the concentration of the Dirichlet prior
        of the columns' weights, 1 by default.
    sigma : float or None, default=None
        A number fixes the noise's standard deviation, in the units of y; None samples it.
    theta : float or None, default=None
        A number in (0, 1] fixes theta; None samples it.
    leaf_sd : float or None, default=None
        A number fixes the prior standard deviation of a leaf output, in the units of y. None
        samples it, with prior mode (2 / k) min(range(y) / 4, sd(y)) / sqrt(n_trees); "paper"
        fixes it at range(y) / (2 k sqrt(n_trees)).
    min_samples_leaf : int or None, default=None
        Training rows that a leaf must have. None is 1; "paper": 0, with empty leaves.
    categorical_features : "auto", None, or array of names, positions or booleans, default="auto"
        Columns that are categories. "auto" takes the categorical and text columns of a data
        frame, and none of an array.
    feature_scaling : {"range", "rank", "blend", "joint"} or None, default=None
        How a continuous column is mapped to [-1, 1]: by its training range, by ranks, by the mean
        of both, or by one range for all columns. None is "blend"; "paper": "range".
    p_change, p_perturb : float or None, default=None
        Shares of the moves that redraw a rule, and that move a rule a little. None is 0.2 and
        0.3; "paper": none.
    n_jobs : int or None, default=None
        Chains at a time, as in joblib; with more jobs than chains, threads within a chain, and
        threads of a prediction. The draws do not depend on it.
    random_state : int, RandomState or None, default=None
        An int gives the same draws at every call of `fit`.
    progress : bool or "auto", default="auto"
        Whether to show progress; "auto" does so on a terminal or in a notebook.

    Attributes
    ----------
    posterior_ : Posterior
        The draws: `posterior_.predict(X)`, `posterior_.trace`.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    ObliqueBARTClassifier : The same for classes.

    Notes
    -----
    Missing values and levels unseen in training are handled: see the notes on tables in the
    documentation. Ctrl-C during `fit` keeps the draws so far, cut to a common number per chain,
    and warns; if there are none it raises KeyboardInterrupt.

    With `sample_weight`, a row of weight w has noise variance sigma² / w, so sigma belongs to a
    row of weight one. A row of weight zero is left out before anything is computed. Weights
    multiplied by a constant give the same f.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliquebart import ObliqueBARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ObliqueBARTRegressor(n_trees=50, n_burn=100, n_draws=100, random_state=0)
    >>> model.fit(X, y).predict(X[:2]).shape
    (2,)
    >>> model.predict_interval(X[:2], coverage=0.9, kind="outcome").shape
    (2, 2)
    """

    def __init__(
        self,
        n_trees: int = 200,
        *,
        n_burn: int = 500,
        n_draws: int = 500,
        n_thin: int = 1,
        n_chains: int = 8,
        prior: Literal["default", "paper"] = "default",
        rules: Literal["oblique", "axis"] = "oblique",
        alpha: float = 0.95,
        beta: float = 2.0,
        k: float = 2.0,
        nu: float = 3.0,
        sigma_quantile: float | None = None,
        theta_prior: tuple[float, float] | None = None,
        sigma: float | None = None,
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
        self.nu = nu
        self.sigma_quantile = sigma_quantile
        self.theta_prior = theta_prior
        self.sigma = sigma
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
    ) -> ObliqueBARTRegressor:
        """Draw from the posterior given training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            NumPy, pandas, polars, PyArrow or anything else that narwhals reads.
        y : array-like of shape (n,)
            Finite numbers.
        sample_weight : array-like of shape (n,), optional
            The noise of row i has variance sigma² / sample_weight[i]; 0 leaves the row out.
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
        encoding, outcome, data = self._read(plan, X, y, sample_weight)
        if outcome.constant:
            warn(
                f"All {len(outcome.values)} outcomes in y are equal: the model predicts this "
                "constant and has no uncertainty.",
                ConstantOutcomeWarning,
            )
            shape = (plan.schedule.n_chains, plan.schedule.n_draws)
            posterior = Posterior.constant(encoding, plan.hyper.n_trees, shape, outcome.scale)
        else:
            keeping = CheckpointOptions(checkpoint, checkpoint_every)
            outcomes = {"": lambda: outcome}
            (posterior,), interrupted = self._sample(plan, encoding, data, outcomes, keeping)
            if interrupted:
                warn_interrupted(posterior, plan.schedule)
        n_draws = posterior.n_chains * posterior.n_draws
        fitted = Fitted(encoding, [posterior], None, n_draws, data, data.fingerprint())
        return self._set_fitted(fitted)

    def _read(
        self, plan: Plan, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Encoding, Outcome, TrainingData]:
        n_rows = count_rows(X, type(self).__name__)
        values = check_outcome(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        rows = None
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            values, weights = values[rows], weights[rows]
        encoding, columns = self._encode_training(X, rows, plan)
        check_leaf_size(plan.hyper.min_samples_leaf, len(values))
        outcome = continuous_outcome(values, weights)
        return encoding, outcome, TrainingData(columns, outcome.values, outcome.weights)

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        return self._read(self._plan(), X, y, sample_weight)[-1]

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTRegressor:
        self._fitted = fitted
        self._remember(fitted.encoding)
        (self.posterior_,) = fitted.posteriors
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior mean of f, and its standard deviation if asked for.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result.
        return_std : bool, default=False
            Also return the posterior standard deviation of f (not of a new outcome).

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only if `return_std`.
        """
        check_is_fitted(self)
        lazy = map_rows(self.predict, X, ())
        if lazy is not None:
            return (lazy, map_rows(self._predict_std, X, ())) if return_std else lazy
        summary = self.posterior_.summarise(self.posterior_.encode(X), n_jobs=self.n_jobs)
        return (summary.mean, summary.sd) if return_std else summary.mean

    def _predict_std(self, X: Any) -> FloatArray:
        return self.posterior_.std(X, n_jobs=self.n_jobs)

    def predict_interval(self, X: Any, coverage: float = 0.9, kind: Kind = "mean") -> FloatArray:
        """Return central posterior intervals.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result.
        coverage : float, default=0.9
            Probability of the interval, in (0, 1).
        kind : {"mean", "outcome"}, default="mean"
            An interval for f(x), or for a new outcome y at x of weight one.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper end.
        """
        check_is_fitted(self)
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        return self.predict_quantile(X, [tail, 1.0 - tail], kind)

    def predict_quantile(
        self, X: Any, q: float | Sequence[float], kind: Kind = "mean"
    ) -> FloatArray:
        """Return posterior quantiles.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            A Dask array or data frame gives a lazy result.
        q : float or sequence of float
            Probabilities in [0, 1]; in (0, 1) for outcomes, whose ends are infinite.
        kind : {"mean", "outcome"}, default="mean"
            Quantiles of f(x), or of a new outcome y at x of weight one.

        Returns
        -------
        ndarray of shape (n,) or (n, len(q))
            The first shape if `q` is a number.
        """
        check_is_fitted(self)
        levels = check_quantiles("q", q, kind)
        shape = () if np.ndim(q) == 0 else (len(levels),)
        lazy: FloatArray | None = map_rows(self.predict_quantile, X, shape, q=q, kind=kind)
        if lazy is not None:
            return lazy
        return self.posterior_.quantile(X, q, kind, n_jobs=self.n_jobs)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Return draws of new outcomes from the posterior predictive distribution.

        Each column is one joint draw: the same ensemble at all rows, and independent noise.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict.
        n_samples : int, default=1
            Draws a row.
        random_state : int, RandomState or None, default=None
            An int gives the same draws at every call.

        Returns
        -------
        ndarray of shape (n, n_samples)
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples, 1)
        rng = check_seed(random_state)
        return self.posterior_.sample_y(X, n_samples, rng, n_jobs=self.n_jobs)
