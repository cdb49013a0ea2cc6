"""Regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.arguments import RandomState
from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.simulating import Simulating
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.model.parameters import (
    CATEGORICAL_FEATURES,
    DATES,
    DEFAULTS,
    PROGRESS,
    RUN_LENGTHS,
    SOFT_NUMBERS,
)
from obliquebart.posterior.arviz import Observed, to_arviz
from obliquebart.posterior.predictions import FloatArray, check_quantiles
from obliquebart.sampling.device import DeviceChoice
from obliquebart.table.dask import map_rows
from obliquebart.validation import check_coverage

Kind = Literal["outcome", "mean"]
LENGTH = RUN_LENGTHS["regression"]


# The likelihood of each choice of `noise` but the constant.
NOISE_LIKELIHOODS = {"student_t": "learned_t", "varying": "varying_noise"}


@with_shared_parameters
class ObliqueBARTRegressor(RegressorMixin, Simulating, ObliqueBART):
    """Regression by a sum of Bayesian trees with oblique rules.

    The model is y = f(x) + noise, where f is a sum of small trees and the noise, of scale sigma /
    sqrt(weight), is normal or Student's t. Each rule of a tree splits rows by a hyperplane in the
    continuous columns, or by a set of levels of a categorical column. `fit` draws ensembles of
    trees from the posterior; everything else is computed from these draws.

    Parameters
    ----------
    k : float
        The range of y spans 2k prior standard deviations of f; larger is smoother.
    leaf_sd : float or None
        A number fixes the prior standard deviation of a leaf output, in the units of y. None
        samples it, with prior mode (2 / k) min(range(y) / 4, sd(y)) / sqrt(n_trees);
        `prior="paper"` fixes it at range(y) / (2 k sqrt(n_trees)).
    tree_df : float or None
        With None, the outputs of all trees have the same prior standard deviation. A number, such
        as 2, gives each tree a scale of its own, so that its outputs are jointly Student's t with
        so many degrees of freedom: a few trees may have large effects while the others stay small.
        It suits sharp signals and heavy tails, but chains take longer to agree. `leaf_sd`
        is then what their scales are multiplied with; its prior mode is df / (df + 1) of that
        above. Not with prior="paper". See ``docs/howto/sharp-signals.md``.

    Attributes
    ----------
    posterior_ : Posterior
        The draws: `posterior_.predict(X)`, `posterior_.trace`.
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
    ObliqueBARTClassifier : The same model for classes.

    Notes
    -----
    Missing values and levels unseen in training are supported; see the how-to guides in the
    documentation. Ctrl-C during `fit` raises KeyboardInterrupt. The model keeps the draws so far,
    if any, with the same number per chain.

    With `sample_weight`, a row of weight w has noise variance sigma² / w, so sigma refers to a
    row of weight one. Rows of weight zero are ignored. Multiplying all weights by a constant does
    not change f.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliquebart import ObliqueBARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ObliqueBARTRegressor(n_trees=50, n_burn=100, n_draws=100, random_state=0)
    >>> model.fit(X, y).predict(X[:2]).shape
    (2,)
    >>> model.predict_interval(X[:2], coverage=0.9).shape
    (2, 2)
    """

    _family = LIKELIHOODS["gaussian"]
    _saved_as = "ObliqueBARTRegressor"

    noise: str
    noise_df: float | None

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
        soft: bool | Literal["auto"] = SOFT_NUMBERS,
        tree_df: float | None = DEFAULTS.tree_df,
        alpha: float = DEFAULTS.alpha,
        beta: float = DEFAULTS.beta,
        k: float = DEFAULTS.k,
        nu: float | None = DEFAULTS.nu,
        sigma_quantile: float | None = DEFAULTS.sigma_quantile,
        noise: Literal["constant", "student_t", "varying"] = DEFAULTS.noise,
        n_noise_trees: int = DEFAULTS.n_noise_trees,
        noise_df: float | None = DEFAULTS.noise_df,
        theta_prior: tuple[float, float] | None = DEFAULTS.theta_prior,
        sigma: float | None = DEFAULTS.sigma,
        theta: float | None = DEFAULTS.theta,
        leaf_sd: float | None = DEFAULTS.leaf_sd,
        min_samples_leaf: int | None = DEFAULTS.min_samples_leaf,
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

    def _choose_likelihood(self, y: Any) -> Likelihood:  # noqa: ARG002
        is_fixed_t = self.noise == "student_t" and self.noise_df is not None
        if self.noise == "constant" or is_fixed_t:
            return self._family
        return LIKELIHOODS[NOISE_LIKELIHOODS[self.noise]]

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTRegressor:
        super()._set_fitted(fitted)
        (self.posterior_,) = fitted.posteriors
        return self

    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        return to_arviz(self.posterior_, X, observed, rows, self.n_jobs)

    @with_shared_parameters
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior mean of f, and optionally its standard deviation.

        Parameters
        ----------
        return_std : bool, default=False
            Also return the posterior standard deviation of f. It does not include the noise of a
            new outcome; for that, use `predict_interval`.

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

    @with_shared_parameters
    def predict_interval(self, X: Any, coverage: float = 0.9, kind: Kind = "outcome") -> FloatArray:
        """Return central intervals for new outcomes, or for f(x).

        Parameters
        ----------
        kind : {"outcome", "mean"}, default="outcome"
            "outcome" gives intervals for a new outcome y at x, of weight one; these are comparable
            with data. "mean" gives intervals for f(x), the expected outcome, without noise.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper limits.
        """
        check_is_fitted(self)
        return self.predict_quantile(X, check_coverage(coverage), kind)

    @with_shared_parameters
    def predict_quantile(
        self, X: Any, q: float | Sequence[float], kind: Kind = "outcome"
    ) -> FloatArray:
        """Return quantiles of new outcomes, or of f(x).

        Parameters
        ----------
        q : float or sequence of float
            Probabilities in (0, 1); with ``kind="mean"``, 0 and 1 are allowed too.
        kind : {"outcome", "mean"}, default="outcome"
            Quantiles of a new outcome y at x, of weight one, or of f(x).

        Returns
        -------
        ndarray of shape (n,) or (n, len(q))
            The first shape if `q` is a number.
        """
        check_is_fitted(self)
        check_quantiles("q", q, kind)
        lazy: FloatArray | None = map_rows(self.predict_quantile, X, np.shape(q), q=q, kind=kind)
        if lazy is not None:
            return lazy
        return self.posterior_.quantile(X, q, kind, n_jobs=self.n_jobs)

    def _prediction_columns(self, X: Any, coverage: float, kind: Kind) -> dict[str, FloatArray]:
        """Return the columns that the command line writes."""
        low, high = self.predict_interval(X, coverage, kind).T
        return {"prediction": self.predict(X), "low": low, "high": high}

    @with_shared_parameters
    def predict_noise(
        self, X: Any, return_interval: bool = False, coverage: float = 0.9
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the standard deviation of the noise: how far a new outcome is from f(x).

        It is the same for all rows unless ``noise="varying"``.

        Parameters
        ----------
        return_interval : bool, default=False
            Also return central posterior intervals.

        Returns
        -------
        ndarray of shape (n,), or a pair of it and an ndarray of shape (n, 2)
            The posterior mean, in the units of y, for outcomes of weight one; then the limits of
            the intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(300, 1))
        >>> y = rng.normal(0, 0.1 + X[:, 0])
        >>> model = ObliqueBARTRegressor(noise="varying", n_burn=200, n_draws=100, random_state=0)
        >>> low, high = model.fit(X, y).predict_noise([[0.1], [0.9]])
        >>> bool(low < high)
        True
        """
        check_is_fitted(self)
        levels = check_coverage(coverage)
        noise, interval = self.posterior_.noise(X, levels, n_jobs=self.n_jobs)
        return (noise, interval) if return_interval else noise
