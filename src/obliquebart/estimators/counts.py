"""Regression of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.arguments import RandomState, ReadData
from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.predicting_counts import PredictingCounts, column_of_exposures
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.likelihood.counts import ExposedCounts
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
from obliquebart.sampling.device import DeviceChoice
from obliquebart.table.frames import without_column
from obliquebart.validation import (
    check_choice,
    check_target_name,
)

LENGTH = RUN_LENGTHS["count regression"]
DISTRIBUTIONS = ("negative_binomial", "poisson")
Distribution = Literal["negative_binomial", "poisson"]


@with_shared_parameters
class ObliqueBARTCountRegressor(PredictingCounts, RegressorMixin, ObliqueBART):
    """Regression of counts by Bayesian trees with oblique rules.

    The mean of a count y is exposure × exp(f(x)), where f is a sum of small trees: exp(f) is a
    rate, such as accidents per year, and the exposure says how much was observed, such as years.
    Given its mean mu, a count has a negative binomial distribution with variance
    mu + dispersion mu², or a Poisson distribution with variance mu. Predictions are never
    negative.

    Parameters
    ----------
    distribution : {"negative_binomial", "poisson"}
        The distribution of a count given its mean. "negative_binomial" learns how much counts vary
        beyond a Poisson distribution; its dispersion is near 0 if they do not.
    k : float
        The prior standard deviation of f is 2 / k times that of the log rates in the data; larger
        is smoother.
    leaf_sd : float or None
        A number fixes the prior standard deviation of what a leaf adds to f. None samples it, with
        prior mode (2 / k) s / sqrt(n_trees). Here s is the standard deviation of
        log((y + 1/2) / (mean + 1/2)), where the mean is that of a constant rate, limited to the
        range 0.5 to 1.5; `prior="paper"` fixes it there.

    Attributes
    ----------
    posterior_ : Posterior
        The draws: `posterior_.predict(X)` is f, the log of the rate; `posterior_.trace` has the
        dispersion.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of `importance()`, scaled to sum to one; computed on first access.
    n_features_in_ : int
        Number of columns of X, without a column of exposures.
    feature_names_in_ : ndarray of str
        Names of these columns, if X had names.
    soft_ : bool
        Whether the rules of the fitted trees are soft.
    device_ : str or None
        What the chains ran on last: "cpu", or the name of the card. None after `load`.
    target_name_ : str or None
        Name of y.

    See Also
    --------
    ObliqueBARTRegressor : For numbers that are not counts.

    Notes
    -----
    A row of weight w counts w times, which need not be an integer. Rows of weight zero are
    ignored. If all counts are 0, a warning says that predictions depend on the prior.

    `importance`, `effects` and `posterior_` describe the rate, that is the mean count at exposure
    1. The log of the dispersion has a normal prior with mean -1 and standard deviation 2.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTCountRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> years = rng.uniform(1, 5, size=200)
    >>> y = rng.poisson(years * np.exp(1 + X[:, 0]))
    >>> model = ObliqueBARTCountRegressor(n_trees=20, n_burn=100, n_draws=100, random_state=0)
    >>> model.fit(X, y, exposure=years).predict(X[:2], exposure=[1, 10]).shape
    (2,)
    >>> low, high = model.predict_interval(X, exposure=years).T
    >>> bool(low.min() >= 0)
    True
    """

    _family = LIKELIHOODS["negative_binomial"]
    _saved_as = "ObliqueBARTCountRegressor"

    def __init__(
        self,
        n_trees: int = DEFAULTS.n_trees,
        *,
        distribution: Distribution = "negative_binomial",
        n_burn: int = LENGTH.n_burn,
        n_draws: int | Literal["auto"] = LENGTH.n_draws,
        n_thin: int = LENGTH.n_thin,
        n_chains: int = LENGTH.n_chains,
        prior: Literal["default", "paper"] = DEFAULTS.prior,
        rules: Literal["oblique", "axis"] = DEFAULTS.rules,
        directions: Any = DEFAULTS.directions,
        alpha: float = DEFAULTS.alpha,
        beta: float = DEFAULTS.beta,
        k: float = DEFAULTS.k,
        theta_prior: tuple[float, float] | None = DEFAULTS.theta_prior,
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

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        check_choice("distribution", self.distribution, DISTRIBUTIONS)
        return super()._checked_parameters()

    def _choose_likelihood(self, y: Any) -> Likelihood:  # noqa: ARG002
        return LIKELIHOODS[self.distribution]

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTCountRegressor:
        super()._set_fitted(fitted)
        (self.posterior_,) = fitted.posteriors
        return self

    @with_shared_parameters
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | str | None = None,
        max_seconds: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        target_name: str | None = None,
    ) -> ObliqueBARTCountRegressor:
        """Draw from the posterior given training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            NumPy, pandas, polars, PyArrow or any other table that narwhals supports.
        y : array-like of shape (n,)
            Counts: whole numbers of at least 0.
        sample_weight : array-like of shape (n,), optional
            Row i counts sample_weight[i] times, which need not be an integer. Rows of weight 0 are
            ignored.
        exposure : array-like of shape (n,), number or str, optional
            How much was observed in each row, such as years, persons or an area; positive. By
            default 1. The name of a column of X leaves this column out of the model; later tables
            then have their exposures in the same column.
        max_seconds : float, optional
            Wall time after which the chains stop, as in `ObliqueBARTRegressor.fit`.
        checkpoint : str or path, optional
            A file in which to save the chains while they run, as in `ObliqueBARTRegressor.fit`.

        Returns
        -------
        self
        """
        return super().fit(
            X,
            ExposedCounts(y, exposure),
            sample_weight,
            max_seconds=max_seconds,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            target_name=check_target_name(target_name, y),
        )

    def _read(
        self, parameters: CheckedHyperparameters, X: Any, y: ExposedCounts, sample_weight: Any
    ) -> ReadData:
        column = y.exposure if isinstance(y.exposure, str) else None
        if column is not None:
            y = y._replace(exposure=column_of_exposures(X, column, type(self).__name__))
            X = without_column(X, column)
        read = super()._read(parameters, X, y, sample_weight)
        return read._replace(encoding=replace(read.encoding, left_out=column))

    def sample_more(
        self,
        n_draws: int,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        exposure: ArrayLike | str | None = None,
    ) -> ObliqueBARTCountRegressor:
        """Continue the chains of a finished fit.

        The result is the same, bit for bit, as that of `fit` with the total number of draws and
        the `n_burn` and `n_thin` of `posterior_.schedule`.

        Parameters
        ----------
        n_draws : int
            Additional draws per chain, with the same thinning as the existing ones.
        X, y, sample_weight, exposure : optional
            The training data, exactly as passed to `fit`. Required after `load` or `pickle`,
            unless the file was saved with `include_data=True`. Different data raise an error.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if exposure is None:
            exposure = self._fitted.encoding.left_out
        return super().sample_more(n_draws, X, ExposedCounts(y, exposure), sample_weight)

    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        return self._to_arviz(X, observed, rows, None)

    def _to_arviz(
        self, X: Any, observed: Observed, rows: int | Sequence[int], exposure: ArrayLike | None
    ) -> Any:
        shift = None if X is None else self._shift(X, exposure)
        return to_arviz(self.posterior_, X, observed, rows, self.n_jobs, shift)

    def to_arviz(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        rows: int | Sequence[int] = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> Any:
        """Convert the draws for ArviZ: `az.plot_trace`, `az.summary`, `az.loo`, `az.compare`.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Adds f, the log of the rate, at some rows to the group posterior, and adds the group
            posterior_predictive.
        y : array-like of shape (n,), optional
            Counts as for `fit`. Adds the groups log_likelihood and observed_data.
        sample_weight : array-like of shape (n,), optional
            Weights as for `fit`.
        exposure : array-like of shape (n,) or number, optional
            Exposures, as for `predict`.
        rows : int or sequence of int, default=10
            Rows at which to include f: their number (evenly spaced), or their positions.
        random_state : int, RandomState or None, default=None
            Seed of the posterior predictive draws.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            The former with ArviZ 0.x, the latter with ArviZ 1.x.
        """
        check_is_fitted(self)
        return self._to_arviz(X, Observed(y, sample_weight, random_state), rows, exposure)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
