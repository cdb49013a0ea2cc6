"""Effects of treatments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.arviz import effects_to_arviz
from obliquebart.causal.design import (
    CausalDesign,
)
from obliquebart.causal.effects import effect_posterior, narrow_table
from obliquebart.causal.treatment import KINDS
from obliquebart.estimators.arguments import RandomState
from obliquebart.estimators.causal_checks import CausalChecks
from obliquebart.estimators.causal_reading import FITS, CausalReading, TreatedOutcomes
from obliquebart.estimators.causal_rows import documented
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.running import NoiseFits
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.likelihood.causal import WithEffects
from obliquebart.model.added_columns import with_added_columns
from obliquebart.model.calibration import calibrate
from obliquebart.model.directions import MOST_COMPONENTS, Groups, Patch
from obliquebart.model.parameters import (
    CATEGORICAL_FEATURES,
    DATES,
    DEFAULTS,
    PROGRESS,
    RUN_LENGTHS,
    CheckedHyperparameters,
    RunLength,
)
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.arviz import Observed
from obliquebart.posterior.diagnostics import Diagnostics, ModelSummary, diagnose
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.verdict import Evidence, examine
from obliquebart.sampling.device import DeviceChoice
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import (
    check_choice,
    check_target_name,
)

LENGTH = RUN_LENGTHS["regression"]
OUTCOMES = ("auto", "number", "binary")


@with_shared_parameters
class ObliqueBARTCausal(CausalChecks, CausalReading):
    """Effects of a treatment on an outcome, by Bayesian trees with oblique rules.

    The model is that of Bayesian causal forests (Hahn, Murray and Carvalho 2020) with oblique
    rules: y = mu(x, p(x)) + b(z) tau(x) + noise, where z is the treatment, mu and tau are sums of
    trees with priors of their own, and p(x) is an estimate of the propensity, the probability of
    the treatment. Effects are shrunk towards one effect for all. With several arms each has a tau
    of its own, against the control. A treatment may also be a dose, whose effect is linear in it.

    Parameters
    ----------
    n_effect_trees : int
        Number of trees of an effect.
    effect_alpha, effect_beta : float
        A node at depth d of these trees splits with prior probability
        effect_alpha (1 + d)^-effect_beta.
    outcome : {"auto", "number", "binary"}
        What y is: numbers, or two classes with effects on the probability of the second. "auto"
        takes text, booleans and two different whole numbers, such as 0 and 1 or 1 and 2, for
        classes. The second is the last in sorted order, or in that of an ordered categorical.
    treatment_type : {"auto", "arms", "dose"}
        Whether treatments are arms, or numbers of which there can be more or less. "auto" takes
        fractions, and more than ten different whole numbers, for doses.
    control : label or None
        The arm that others are compared with; by default the first in sorted order, such as 0 or
        False, or the first category that rows have if treatments are an ordered categorical.
    propensity : {"fitted", "cross_fitted", None}
        "fitted" estimates propensities by a short fit of the treatment to the columns, and gives
        them to mu as a further column. "cross_fitted" does so by fits to other rows, which is
        worse in small tables. None leaves them out, for randomised experiments. `fit` also takes
        propensities that you know.
    noise_df : float or None
        Degrees of freedom of Student's t noise, an even number from 4 to 30. By default noise is
        normal: heavier tails would make far outcomes count less in an average effect. With other
        `noise` than "constant" it is sampled.
    k : float
        The range of y spans 2k prior standard deviations of mu; larger is smoother.
    leaf_sd : float or None
        A number fixes the prior standard deviation of a leaf output of mu, in the units of y.

    Attributes
    ----------
    posterior_ : Posterior
        The draws of the outcome without treatment: `posterior_.trace`. Its columns are those of X
        and the propensities.
    effects_ : dict of label to Posterior
        The draws of the effect of each arm, or of the only effect, as a function of the columns
        of X. For binary outcomes on the latent probit scale.
    treatment_ : Treatment
        The arms, the control first, or the location and scale of the dose.
    n_features_in_ : int
        Number of columns of X, without a column of treatments.
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
    average_difference : The plain way: predictions with a column set to two values.

    Notes
    -----
    An effect is causal if, given the columns of X, the treatment does not depend on anything else
    that affects the outcome; if each row could have had each treatment; and if the treatment of
    one row does not affect the outcome of another. Nothing in the data can show the first.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTCausal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> z = rng.uniform(size=200) < 1 / (1 + np.exp(-X[:, 0]))
    >>> y = X[:, 0] + z * (1 + X[:, 1]) + rng.normal(size=200)
    >>> model = ObliqueBARTCausal(n_burn=100, n_draws=100, random_state=0).fit(X, y, z)
    >>> model.effect(X[:2]).shape
    (2,)
    >>> bool(0 < model.ate().mean < 2)
    True
    """

    _family = LIKELIHOODS["causal_gaussian"]
    _rules_of_directions = "rule of an effect"
    _saved_as = "ObliqueBARTCausal"

    def __init__(
        self,
        n_trees: int = DEFAULTS.n_trees,
        *,
        n_effect_trees: int = DEFAULTS.n_effect_trees,
        effect_alpha: float = DEFAULTS.effect_alpha,
        effect_beta: float = DEFAULTS.effect_beta,
        outcome: Literal["auto", "number", "binary"] = "auto",
        treatment_type: Literal["auto", "arms", "dose"] = "auto",
        control: Any = None,
        propensity: Literal["fitted", "cross_fitted"] | None = "fitted",
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

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        check_choice("outcome", self.outcome, OUTCOMES)
        check_choice("treatment_type", self.treatment_type, KINDS)
        check_choice("propensity", self.propensity, (*FITS, None))
        parameters, length = super()._checked_parameters()
        given = parameters.directions or ()
        if len(given) == MOST_COMPONENTS and all(isinstance(g, (Patch, Groups)) for g in given):
            raise ValueError(
                f"directions has {MOST_COMPONENTS} patches or groups, but {type(self).__name__} "
                "needs sparse rules beside them for the propensities: leave one out."
            )
        return parameters, length

    @classmethod
    def _takes(cls, likelihood: Likelihood) -> bool:
        return isinstance(likelihood, WithEffects)

    # As everywhere for treatments, they come after the outcomes.
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: ArrayLike,
        treatment: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        propensity: ArrayLike | None = None,
        max_seconds: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        target_name: str | None = None,
    ) -> ObliqueBARTCausal:
        """Draw from the posterior given training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The columns that may affect both treatment and outcome, or how large the effect is.
            They must have been known before the treatment.
        y : array-like of shape (n,)
            Numbers, or two classes.
        treatment : array-like of shape (n,), or str
            The treatment of each row: two or more arms, or doses. The name of a column of X leaves
            this column out of the others; later tables may have it or not.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, as in `ObliqueBARTRegressor.fit` and `ObliqueBARTClassifier.fit`.
        propensity : array-like of shape (n,) or (n, n_treatments), optional
            The probability of the treatment, of each arm besides the control, or the mean dose, if
            you know it or have estimated it yourself.
        max_seconds : float, optional
            Wall time after which the chains stop, as in `ObliqueBARTRegressor.fit`.
        checkpoint : str or path, optional
            A file in which to save the chains while they run, as in `ObliqueBARTRegressor.fit`.
        checkpoint_every : int, optional
            Number of sweeps between saves of a chain; by default, about once a minute.
        target_name : str, optional
            Name of y in plots, reports and notebooks. By default, the name of y if it is a Series
            with a name.

        Returns
        -------
        self
        """
        super().fit(
            X,
            TreatedOutcomes(y, treatment, propensity),  # type: ignore[arg-type]
            sample_weight,
            max_seconds=max_seconds,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            target_name=check_target_name(target_name, y),
        )
        self._warn_of_overlap()
        return self

    def sample_more(  # type: ignore[override]
        self,
        n_draws: int,
        X: Any = None,
        y: Any = None,
        treatment: Any = None,
        sample_weight: Any = None,
        *,
        propensity: Any = None,
    ) -> ObliqueBARTCausal:
        """Continue the chains of a finished fit.

        The result is the same, bit for bit, as that of `fit` with the total number of draws and
        the `n_burn` and `n_thin` of `posterior_.schedule`.

        Parameters
        ----------
        n_draws : int
            Additional draws per chain, with the same thinning as the existing ones.
        X, y, treatment, sample_weight, propensity : optional
            The training data, exactly as passed to `fit`. Required after `load` or `pickle`,
            unless the file was saved with `include_data=True`. Different data raise an error.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if treatment is None:
            treatment = self._fitted.encoding.left_out
        treated = TreatedOutcomes(y, treatment, propensity, self._fitted.design)
        return super().sample_more(n_draws, X, treated, sample_weight)

    def _noise_fits(
        self, parameters: CheckedHyperparameters, problem: TrainingProblem
    ) -> NoiseFits:
        """Short fits have the doses as columns."""
        outcome = problem.outcome
        doses = np.stack(outcome.more)
        scale = np.maximum(np.abs(doses).max(axis=1, keepdims=True), 1e-300)
        simple = replace(outcome, likelihood=outcome.likelihood.when_estimating, more=())
        plain = TrainingProblem(problem.table.with_columns(doses / scale), simple)
        p_cont = plain.table.p_cont
        added = range(p_cont - len(doses) - outcome.likelihood.n_hidden, p_cont)
        directions = with_added_columns(parameters.core_directions, added)
        # Tails that are not asked for would make skewed outcomes count less, and an average effect
        # is about all of them.
        normal = replace(
            parameters,
            core_directions=directions,
            nu=None,
            noise_df=parameters.noise_df or math.inf,
        )
        return plain, [calibrate(normal, simple, p_cont)]

    @documented
    def to_arviz(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rows: int | Sequence[int] = 10,
        random_state: int | np.random.RandomState | None = None,
        propensity: ArrayLike | None = None,
    ) -> Any:
        """Convert the draws for ArviZ: the trace and, given a table, effects at some of its rows.

        Outcomes are not exported, so `y`, `sample_weight` and `random_state` have no use.

        Parameters
        ----------
        rows : int or sequence of int, default=10
            Rows at which to include effects: their number (evenly spaced), or their positions.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            The former with ArviZ 0.x, the latter with ArviZ 1.x.
        """
        check_is_fitted(self)
        return self._export(X, Observed(y, sample_weight, random_state), rows, propensity)

    def _export(
        self, X: Any, observed: Observed, rows: int | Sequence[int], propensity: Any = None
    ) -> Any:
        """Export the trace and, given a table, the effects at some of its rows."""
        if observed.y is not None or observed.sample_weight is not None:
            raise ValueError(
                "to_arviz of a causal model exports effects, not outcomes: leave y and "
                "sample_weight out."
            )
        effects = {} if X is None else self._effects_by_name(X, propensity)
        return effects_to_arviz(self.posterior_, effects, rows)

    # ---- convergence -----------------------------------------------------------------------------

    @documented
    def summary(
        self,
        X: Any = None,
        *,
        rows: int | Sequence[int] = 10,
        propensity: ArrayLike | None = None,
    ) -> ModelSummary:
        """Check whether the chains have converged and how large the Monte Carlo error is.

        As `ObliqueBARTRegressor.summary`, for the outcome without treatment and for each effect.

        Parameters
        ----------
        rows : int or sequence of int, default=10
            Rows to show in the table: their number (evenly spaced), or their positions.
        propensity : array-like, optional
            Propensities of the rows of X, if `fit` was given such.

        Returns
        -------
        ModelSummary
        """
        check_is_fitted(self)
        return self._summary_at(None if X is None else self._wide(X, propensity), rows)

    def _encode(self, X: Any) -> EncodedTable:
        return self._wide(X)

    def _diagnose(
        self, posteriors: list[Posterior], table: EncodedTable | None, rows: int | Sequence[int]
    ) -> dict[str, Diagnostics]:
        """Check the outcome without treatment, and each effect."""
        (posterior,) = posteriors
        found = {"outcome without treatment": diagnose(posterior, table, rows, self.n_jobs)}
        for name, effect in zip(self.treatment_.names, self.effects_.values(), strict=True):
            narrow = None if table is None else narrow_table(table, effect)
            found[f"effect, {name}"] = diagnose(effect, narrow, rows, self.n_jobs)
        return found

    def _examine(
        self, posteriors: list[Posterior], problem: TrainingProblem, design: CausalDesign | None
    ) -> list[Evidence]:
        (posterior,) = posteriors
        if design is None:
            raise AssertionError("a causal model has a design")
        effects = [
            effect_posterior(posterior, design, k) for k in range(design.treatment.n_treatments)
        ]
        return [
            examine(posterior, problem.table, n_jobs=self.n_jobs),
            *(
                examine(each, narrow_table(problem.table, each), n_jobs=self.n_jobs)
                for each in effects
            ),
        ]

    def _set_fitted(self, fitted: Fitted) -> ObliqueBARTCausal:
        design = fitted.design
        if design is None:
            raise AssertionError("a causal model has a design")
        super()._set_fitted(fitted)
        (self.posterior_,) = fitted.posteriors
        self.treatment_ = design.treatment
        arms = [None] if design.treatment.arms is None else design.treatment.arms[1:].tolist()
        self.effects_: dict[Any, Posterior] = {
            arm: effect_posterior(self.posterior_, design, k) for k, arm in enumerate(arms)
        }
        return self
