"""Survival analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from obliquebart import _core
from obliquebart.estimators.arguments import Estimates, RandomState
from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.running import NoiseFits
from obliquebart.estimators.simulating import Simulating
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.model.calibration import calibrate
from obliquebart.model.concordance import concordance
from obliquebart.model.parameters import (
    CATEGORICAL_FEATURES,
    DATES,
    DEFAULTS,
    PROGRESS,
    RUN_LENGTHS,
    CheckedHyperparameters,
    RunLength,
)
from obliquebart.model.times import NO_LIMIT, read_times
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.arviz import Observed, to_arviz
from obliquebart.posterior.predictions import FloatArray, check_quantiles
from obliquebart.posterior.survival import SurvivalCurve, log_densities, survival_at
from obliquebart.sampling.device import DeviceChoice
from obliquebart.table.dask import map_rows
from obliquebart.validation import check_choice, check_coverage

Kind = Literal["outcome", "median"]
Distribution = Literal["auto", "log_normal", "log_logistic"]
LENGTH = RUN_LENGTHS["survival"]
# The distributions that "auto" chooses from.
DISTRIBUTIONS = ("log_normal", "log_logistic")
# Of a survival function where the user gave no times.
N_TIMES = 100


@with_shared_parameters
class ObliqueBARTSurvival(Simulating, ObliqueBART):
    """Survival analysis by a sum of Bayesian trees with oblique rules.

    The model is that of accelerated failure times, log T = f(x) + sigma e, where T is the time
    until an event, f a sum of small trees and e normal or logistic. So exp(f(x)) is the median
    time at x. Times may be censored on the right, on the left or in intervals. `fit` draws
    ensembles of trees from the posterior; everything else is computed from these draws.

    Parameters
    ----------
    distribution : {"auto", "log_normal", "log_logistic"}
        Distribution of a time given f: with normal or logistic e. The second has heavier tails.
        "auto" chooses the one that makes times most likely that short fits have not seen; with
        fewer than 25 rows it is "log_normal".
    k : float
        Four standard deviations of log T span 2k prior standard deviations of f; larger is
        smoother.
    nu : float or None
        sigma² has an inverse-gamma prior with nu degrees of freedom. By default, its median is an
        estimate of the noise from the held-out rows of short fits, and nu is a tenth of the number
        of rows, but at least 10 and at most 300.
    sigma_quantile : float or None
        The prior probability that the noise is less than the standard deviation of log T. A number
        replaces the noise estimate; nu is then 3 by default.
    sigma : float or None
        A number fixes the scale of e, in the units of log T; None samples it.
    leaf_sd : float or None
        A number fixes the prior standard deviation of a leaf output, in the units of log T. None
        samples it, with prior mode (2 / k) sd(log T) / sqrt(n_trees); `prior="paper"` fixes
        it there.

    Attributes
    ----------
    posterior_ : Posterior
        The draws, on the scale of log T: `posterior_.predict(X)`, `posterior_.trace`.
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
        Name of the time.

    See Also
    --------
    ObliqueBARTRegressor : The same model for numbers.

    Notes
    -----
    As in scikit-survival, y is a structured array with a bool field, whether the event was
    observed, and a float field, the time of the event or of censoring. A data frame or an array
    with the columns event and time does the same. For interval censoring, pass a structured array
    or a data frame with the columns "lower" and "upper": equal limits are an observed time, an
    infinite upper limit is right-censored, a lower limit of 0 is left-censored.

    With `sample_weight`, a row counts as often as its weight says, which must be a whole number.

    Importance and effects are those of log T: a difference of 0.1 is about 10% more time.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> time, end = rng.exponential(np.exp(2 * X[:, 0])), rng.uniform(1, 5, size=200)
    >>> y = np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")
    >>> model = ObliqueBARTSurvival(n_trees=20, n_burn=100, n_draws=100, random_state=0).fit(X, y)
    >>> early, late = model.predict_median([[0.0, 0.5], [1.0, 0.5]])
    >>> bool(early < late)
    True
    >>> model.predict_survival_function(X[:2], times=[1.0, 2.0], return_array=True).shape
    (2, 2)
    """

    _family = LIKELIHOODS["log_normal"]
    _saved_as = "ObliqueBARTSurvival"

    def __init__(
        self,
        n_trees: int = DEFAULTS.n_trees,
        *,
        distribution: Distribution = "auto",
        n_burn: int = LENGTH.n_burn,
        n_draws: int | Literal["auto"] = LENGTH.n_draws,
        n_thin: int = LENGTH.n_thin,
        n_chains: int = LENGTH.n_chains,
        prior: Literal["default", "paper"] = DEFAULTS.prior,
        rules: Literal["oblique", "axis"] = DEFAULTS.rules,
        directions: Any = DEFAULTS.directions,
        soft: bool | Literal["auto"] = DEFAULTS.soft,
        alpha: float = DEFAULTS.alpha,
        beta: float = DEFAULTS.beta,
        k: float = DEFAULTS.k,
        nu: float | None = DEFAULTS.nu,
        sigma_quantile: float | None = DEFAULTS.sigma_quantile,
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

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        check_choice("distribution", self.distribution, ("auto", *DISTRIBUTIONS))
        return super()._checked_parameters()

    def _choose_likelihood(self, y: Any) -> Likelihood:  # noqa: ARG002
        return self._family if self.distribution == "auto" else LIKELIHOODS[self.distribution]

    def _prior(
        self,
        parameters: CheckedHyperparameters,
        problem: TrainingProblem,
        estimates: Estimates,
    ) -> _core.Settings:
        """Return the settings, after choosing the distribution and estimating its noise."""
        outcome, p_cont = problem.outcome, problem.table.p_cont
        names = DISTRIBUTIONS if self.distribution == "auto" else (self.distribution,)
        outcomes = {name: replace(outcome, likelihood=LIKELIHOODS[name]) for name in names}
        noise, wants_noise = None, outcome.likelihood.wants_noise(parameters)
        if len(names) > 1 or wants_noise:

            def fits(parameters: CheckedHyperparameters) -> NoiseFits:
                loose = replace(parameters, nu=None)
                return problem, [calibrate(loose, each, p_cont) for each in outcomes.values()]

            parameters, noise = self._ask_short_fits(parameters, fits, estimates)
        # A checkpoint of another fit may have an estimate of another distribution.
        own = None if noise is None else outcomes.get(noise.likelihood)
        chosen = own or outcomes[names[0]]
        return calibrate(parameters, chosen, p_cont, noise if wants_noise else None)

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTSurvival:
        super()._set_fitted(fitted)
        (self.posterior_,) = fitted.posteriors
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _export(self, X: Any, observed: Observed, rows: int | Sequence[int]) -> Any:
        return to_arviz(self.posterior_, X, observed, rows, self.n_jobs)

    @property
    def distribution_(self) -> str:
        """The distribution of the fitted model: "log_normal" or "log_logistic"."""
        check_is_fitted(self)
        return self.posterior_.likelihood.name

    @with_shared_parameters
    def predict(self, X: Any) -> Any:
        """Return risk scores: minus the posterior mean of f, the log of the median time.

        Higher means an earlier event. A difference of 1 is a factor e = 2.7 between times.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        lazy = map_rows(self.predict, X, ())
        if lazy is not None:
            return lazy
        summary = self.posterior_.summarise(self.posterior_.encode(X), n_jobs=self.n_jobs)
        return -summary.mean

    @with_shared_parameters
    def predict_median(self, X: Any) -> FloatArray:
        """Return the predictive median of the time: half of such events are earlier.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.predict_quantile(X, 0.5)

    @with_shared_parameters
    def predict_quantile(
        self, X: Any, q: float | Sequence[float], kind: Kind = "outcome"
    ) -> FloatArray:
        """Return quantiles of the time of a new event, or of the median time.

        Parameters
        ----------
        q : float or sequence of float
            Probabilities in (0, 1); with ``kind="median"``, 0 and 1 are allowed too.
        kind : {"outcome", "median"}, default="outcome"
            Quantiles of a new time at x, or posterior quantiles of exp(f(x)), the median time.

        Returns
        -------
        ndarray of shape (n,) or (n, len(q))
            The first shape if `q` is a number.
        """
        check_is_fitted(self)
        check_choice("kind", kind, ("outcome", "median"))
        of_f = "outcome" if kind == "outcome" else "mean"
        check_quantiles("q", q, of_f)
        lazy: FloatArray | None = map_rows(self.predict_quantile, X, np.shape(q), q=q, kind=kind)
        if lazy is not None:
            return lazy
        return _to_time(self.posterior_.quantile(X, q, of_f, n_jobs=self.n_jobs))

    @with_shared_parameters
    def predict_interval(self, X: Any, coverage: float = 0.9, kind: Kind = "outcome") -> FloatArray:
        """Return central intervals for the time of a new event, or for the median time.

        Parameters
        ----------
        kind : {"outcome", "median"}, default="outcome"
            "outcome" gives intervals for a new time at x. "median" gives intervals for exp(f(x)),
            the median time.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper limits.
        """
        check_is_fitted(self)
        return self.predict_quantile(X, check_coverage(coverage), kind)

    def predict_survival_function(
        self, X: Any, times: ArrayLike | None = None, return_array: bool = False
    ) -> NDArray[Any]:
        """Return survival functions: the probability that the event is later than a time.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict.
        times : array-like of shape (n_times,), optional
            Positive times, increasing. By default, 100 times that span most of the distribution of
            times in training.
        return_array : bool, default=False
            Return probabilities. By default, functions as in scikit-survival: each has the
            attributes `x` and `y` and can be called with other times.

        Returns
        -------
        ndarray of shape (n, n_times), or of shape (n,) with `SurvivalCurve` objects
            Posterior means.
        """
        check_is_fitted(self)
        grid = self._times(times)
        columns = self.posterior_.encode(X)
        mean = survival_at(self.posterior_, columns, grid, n_jobs=self.n_jobs).mean
        if return_array:
            return mean
        curves = np.empty(len(mean), dtype=object)
        curves[:] = [SurvivalCurve(grid, row) for row in mean]
        return curves

    @with_shared_parameters
    def predict_survival_interval(
        self, X: Any, times: ArrayLike | None = None, coverage: float = 0.9
    ) -> FloatArray:
        """Return central posterior intervals of the survival functions.

        Parameters
        ----------
        times : array-like of shape (n_times,), optional
            As in `predict_survival_function`.

        Returns
        -------
        ndarray of shape (n, n_times, 2)
            Lower and upper limits of the probabilities.
        """
        check_is_fitted(self)
        levels = check_coverage(coverage)
        columns, grid = self.posterior_.encode(X), self._times(times)
        found = survival_at(self.posterior_, columns, grid, levels, self.n_jobs)
        return found.quantiles

    def _times(self, times: ArrayLike | None) -> FloatArray:
        """Check times, or choose some: evenly spaced up to a time that few exceed."""
        if times is None:
            return np.linspace(0.0, self._longest_time(), N_TIMES + 1)[1:]
        try:
            grid = np.atleast_1d(np.asarray(times, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"times must be numbers: {error}") from error
        is_good = grid.ndim == 1 and grid.size > 0 and bool(np.isfinite(grid).all())
        if not (is_good and (grid > 0).all() and (np.diff(grid) > 0).all()):
            raise ValueError("times must be positive, finite and increasing, of shape (n_times,).")
        return grid

    def _longest_time(self) -> float:
        """Return the longest time in training; without training data, one that few exceed."""
        training = self._fitted.training
        scale = self.posterior_.scale
        if training is not None:
            limits = np.stack([training.outcome.values, *training.outcome.more])
            longest = limits[np.abs(limits) < NO_LIMIT].max()
            return float(_to_time(scale.location + scale.scale * longest))
        return float(_to_time(np.array(scale.location + 1.5 * scale.scale)))

    def _prediction_columns(self, X: Any, coverage: float, kind: str) -> dict[str, FloatArray]:
        """Return the columns that the command line writes."""
        low, high = self.predict_interval(
            X, coverage, "outcome" if kind == "outcome" else "median"
        ).T
        return {
            "prediction": self.predict_median(X),
            "low": low,
            "high": high,
            "risk": self.predict(X),
        }

    def _in_users_units(self, outcomes: FloatArray) -> FloatArray:
        """Return times, without censoring, of log times."""
        return _to_time(outcomes)

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance of the risk scores of `predict`.

        The share of comparable pairs of rows in which the one with the higher risk has the earlier
        event; equal risks count half. 0.5 is chance, 1 is perfect.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows, best such that were not in training.
        y : structured array, data frame or array of shape (n, 2)
            Their outcomes, as for `fit`.

        Returns
        -------
        float
            NaN if no pair is comparable.
        """
        check_is_fitted(self)
        risk = np.asarray(self.predict(X), dtype=np.float64)
        return concordance(read_times(y, len(risk)), risk)

    def log_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean log predictive density of times, or log probability of their intervals.

        Higher is better. It judges the whole predictive distribution. Observed times count with
        the density of T, so the score depends on the unit of time; censored ones count with the
        probability of what is known.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows, best such that were not in training.
        y : structured array, data frame or array of shape (n, 2)
            Their outcomes, as for `fit`.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the mean.

        Returns
        -------
        float
        """
        return super().log_score(X, y, sample_weight)

    def _log_density(self, X: Any, y: Any) -> FloatArray:
        """Return the log predictive density of each outcome."""
        columns = self.posterior_.encode(X)
        limits = self.posterior_.likelihood.check_observed(y, columns.n_rows)
        return log_densities(self.posterior_, columns, limits, self.n_jobs)


def _to_time(log_time: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log_time), dtype=np.float64)
