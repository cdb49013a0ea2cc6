"""What a causal model answers: effects for rows, on average, by group, and of policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.answers import (
    AverageEffect,
    SubgroupEffects,
    average_effect,
    effects_by_group,
)
from obliquebart.causal.effects import outcome_blocks, summarise_blocks
from obliquebart.causal.groups import groups_of
from obliquebart.causal.policy import Policy, PolicyValue, check_policy, policy_value
from obliquebart.causal.treatment import label_text
from obliquebart.estimators.causal_rows import CausalRows, Dose, documented
from obliquebart.table.frames import column_values
from obliquebart.validation import check_number

FloatArray = NDArray[np.float64]


class CausalAnswers(CausalRows):
    """A base of `CausalChecks`."""

    @documented
    def effect_draws(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        dose: Dose = None,
        propensity: ArrayLike | None = None,
    ) -> FloatArray:
        """Return every draw of the effect at the rows of X.

        Returns
        -------
        ndarray of shape (n_chains * n_draws, n)
            In the units of y, or differences of probabilities.
        """
        return self._row_effects(X, arm, dose, propensity).draws()

    @documented
    def effect(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        dose: Dose = None,
        return_interval: bool = False,
        coverage: float = 0.95,
        propensity: ArrayLike | None = None,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the posterior mean of the effect at each row of X, and perhaps intervals.

        It is the effect that is expected for rows with these columns: the mean outcome with the
        treatment minus that with the control. The effect on a single row may differ from it.

        Parameters
        ----------
        return_interval : bool, default=False
            Also return central posterior intervals.

        Returns
        -------
        ndarray of shape (n,), or a pair of it and an ndarray of shape (n, 2)
            In the units of y, or differences of probabilities; then the limits of the intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTCausal
        >>> rng = np.random.default_rng(0)
        >>> X, z = rng.normal(size=(100, 2)), np.arange(100) % 2
        >>> model = ObliqueBARTCausal(
        ...     n_trees=20, n_burn=50, n_draws=50, propensity=None, random_state=0
        ... )
        >>> effect, interval = model.fit(X, X[:, 0] + 3 * z, z).effect(X[:3], return_interval=True)
        >>> bool(((interval[:, 0] < effect) & (effect < interval[:, 1])).all())
        True
        """
        if not return_interval:
            return self._row_effects(X, arm, dose, propensity).summarise().mean
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        found = self._row_effects(X, arm, dose, propensity).summarise((tail, 1.0 - tail))
        return found.mean, found.quantiles

    @documented
    def effect_interval(
        self,
        X: Any = None,
        coverage: float = 0.95,
        *,
        arm: Any = None,
        dose: Dose = None,
        propensity: ArrayLike | None = None,
    ) -> FloatArray:
        """Return central posterior intervals of the effect at each row of X.

        Returns
        -------
        ndarray of shape (n, 2)
        """
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        return self._row_effects(X, arm, dose, propensity).summarise((tail, 1.0 - tail)).quantiles

    @documented
    def probability_above(
        self,
        X: Any = None,
        threshold: float = 0.0,
        *,
        arm: Any = None,
        dose: Dose = None,
        propensity: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the posterior probability that the effect at each row is above a threshold.

        For whom is it positive? Those whose probability is near one.

        Parameters
        ----------
        threshold : float, default=0.0
            In the units of y, or a difference of probabilities.

        Returns
        -------
        ndarray of shape (n,)
        """
        threshold = check_number("threshold", threshold, -np.inf, np.inf)
        return self._row_effects(X, arm, dose, propensity).summarise((), threshold).above

    @documented
    def predict(
        self,
        X: Any = None,
        treatment: Any = None,
        *,
        return_interval: bool = False,
        coverage: float = 0.95,
        propensity: ArrayLike | None = None,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the mean outcome of each row under a treatment.

        Parameters
        ----------
        treatment : label, number, array-like of shape (n,) or str, optional
            One arm or dose for all rows, one per row, or the name of a column of X. By default the
            treatment that the row has: in training, or in the column of X that `fit` used.
        return_interval : bool, default=False
            Also return central posterior intervals of this mean, without the noise of an outcome.
        propensity : array-like, optional
            Propensities of the rows of X, if `fit` was given such.

        Returns
        -------
        ndarray of shape (n,), or a pair of it and an ndarray of shape (n, 2)
            In the units of y, or probabilities of the second class; then the intervals.
        """
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        check_is_fitted(self)
        wide = self._wide(X, propensity)
        doses = self._treatments(X, treatment, wide.n_rows) * self.treatment_.scale
        effects = list(self.effects_.values())
        blocks = outcome_blocks(self.posterior_, effects, wide, doses, self.n_jobs)
        levels = (tail, 1.0 - tail) if return_interval else ()
        found = summarise_blocks(blocks, wide.n_rows, levels)
        return (found.mean, found.quantiles) if return_interval else found.mean

    def _treatments(self, X: Any, treatment: Any, n_rows: int) -> FloatArray:
        """Return the engine's doses: of one treatment for all rows, or of one per row."""
        if treatment is None:
            return self._doses(X, None)
        known = [] if self.treatment_.arms is None else self.treatment_.arms.tolist()
        if isinstance(treatment, str) and treatment not in known:
            if X is None or treatment != self._fitted.encoding.left_out:
                raise ValueError(
                    f"treatment={treatment!r} is neither an arm, of {known!r}, nor the column "
                    "that fit used."
                )
            treatment = column_values(X, treatment, "treatment")
        if np.ndim(treatment) == 0:
            treatment = np.full(n_rows, treatment)
        return self.treatment_.encode(treatment, n_rows)

    # ---- averages --------------------------------------------------------------------------------

    @documented
    def ate(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        dose: Dose = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> AverageEffect:
        """Return the average effect over the rows of X.

        Returns
        -------
        AverageEffect
            Prints as a sentence; `mean`, `low`, `high`, `draws`.

        Notes
        -----
        This is the average over these very rows of the effect that their columns predict. The
        interval says how well this is known. For a population of which they are a random sample,
        it is a little too narrow if effects differ between rows; pass rows, or weights, that
        represent the population.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTCausal
        >>> rng = np.random.default_rng(0)
        >>> X, z = rng.normal(size=(100, 2)), np.arange(100) % 2
        >>> model = ObliqueBARTCausal(
        ...     n_trees=20, n_burn=100, n_draws=50, propensity=None, random_state=0
        ... )
        >>> average = model.fit(X, X[:, 0] + 3 * z + rng.normal(size=100), z).ate()
        >>> average.n_rows, bool(average.low < 3 < average.high)
        (100, True)
        """
        coverage = check_number("coverage", coverage, 0, 1)
        effects = self._row_effects(X, arm, dose, propensity)
        weights = self._weights(X, effects.n_rows, sample_weight)
        rows = "training rows" if X is None else "rows"
        return average_effect(effects, weights, coverage, self._comparison(arm, dose), rows)

    @documented
    def att(
        self,
        X: Any = None,
        treatment: ArrayLike | str | None = None,
        *,
        arm: Any = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> AverageEffect:
        """Return the average effect over the treated rows: what the treatment did to them.

        Returns
        -------
        AverageEffect
            As `ate`; over the rows of X that have the arm.
        """
        coverage = check_number("coverage", coverage, 0, 1)
        chosen = self._arm_doses(X, treatment, "att")[self.treatment_.index(arm)] > 0
        effects = self._row_effects(X, arm, None, propensity)
        weights = self._weights(X, effects.n_rows, sample_weight)
        name = self._comparison(arm)
        return average_effect(effects, weights, coverage, name, "treated rows", chosen)

    @documented
    def atc(
        self,
        X: Any = None,
        treatment: ArrayLike | str | None = None,
        *,
        arm: Any = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> AverageEffect:
        """Return the average effect over the rows of the control: what it would do to them.

        Returns
        -------
        AverageEffect
            As `ate`; over the rows of X that have the control.
        """
        coverage = check_number("coverage", coverage, 0, 1)
        chosen = self._arm_doses(X, treatment, "atc").max(axis=0) == 0
        effects = self._row_effects(X, arm, None, propensity)
        weights = self._weights(X, effects.n_rows, sample_weight)
        name = self._comparison(arm)
        return average_effect(effects, weights, coverage, name, "control rows", chosen)

    def _arm_doses(self, X: Any, treatment: Any, method: str) -> FloatArray:
        check_is_fitted(self)
        if self.treatment_.arms is None:
            raise ValueError(
                f"{method} is for arms, but the treatment is a dose, which all rows have: use ate."
            )
        return self._doses(X, treatment)

    # ---- who benefits ----------------------------------------------------------------------------

    @documented
    def effect_by(
        self,
        X: Any,
        column: str | int,
        *,
        bins: int | Sequence[float] = 4,
        levels: Sequence[Any] | None = None,
        arm: Any = None,
        dose: Dose = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> SubgroupEffects:
        """Return the average effect within groups of rows, by the values of a column.

        Groups keep their other columns as they are, so they may differ in these too. `effects`
        says how the effect depends on one column alone.

        Parameters
        ----------
        X : table of shape (n, n_features) or None
            None uses the training rows.
        column : str or int
            Name or position of the column.
        bins : int or sequence of float, default=4
            For numbers: how many groups of about the same size, or the limits between groups.
        levels : sequence, optional
            The groups to show, by their names, in this order; by default all.

        Returns
        -------
        SubgroupEffects
            Prints as a table: the effect in each group, its difference to all other rows, and the
            probability that this is positive.
        """
        coverage = check_number("coverage", coverage, 0, 1)
        effects = self._row_effects(X, arm, dose, propensity)
        groups = groups_of(self._fitted.encoding, self._narrow(X), column, bins, levels)
        weights = self._weights(X, effects.n_rows, sample_weight)
        return effects_by_group(effects, groups, weights, coverage, self._comparison(arm, dose))

    @documented
    def policy_value(
        self,
        X: Any = None,
        policy: Policy = None,
        *,
        cost: float = 0.0,
        arm: Any = None,
        dose: Dose = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> PolicyValue:
        """Return what the mean outcome gains if a policy says who is treated.

        Parameters
        ----------
        policy : array-like of bool of shape (n,), callable, or None
            The rows to treat, or a function of X that returns them. By default those whose mean
            effect is above the cost.
        cost : float, default=0.0
            Of one treatment, in the units of the effect. If lower outcomes are better, fit the
            model to -y.

        Returns
        -------
        PolicyValue
            The gain per row against treating none and against treating all, with intervals.

        Notes
        -----
        The default policy is chosen from the same draws that judge it. This is right for the
        posterior mean; in repeated studies such a gain is a little optimistic.
        """
        coverage = check_number("coverage", coverage, 0, 1)
        cost = check_number("cost", cost, -np.inf, np.inf)
        effects = self._row_effects(X, arm, dose, propensity)
        treated = check_policy(policy, X, effects.n_rows)
        weights = self._weights(X, effects.n_rows, sample_weight)
        comparison = self._comparison(arm, dose)
        return policy_value(effects, treated, weights, cost, coverage, comparison)

    def _prediction_columns(self, X: Any, coverage: float, kind: str) -> dict[str, FloatArray]:
        """Return the columns that the command line writes: for each arm the effect."""
        del kind
        tail = (1.0 - coverage) / 2.0
        columns: dict[str, FloatArray] = {}
        for arm in self.effects_:
            found = self._row_effects(X, arm).summarise((tail, 1.0 - tail))
            end = "" if len(self.effects_) == 1 else f"_{label_text(arm)}"
            low, high = found.quantiles.T
            names = ("effect", "low", "high", "probability_positive")
            values = (found.mean, low, high, found.above)
            columns |= {f"{name}{end}": v for name, v in zip(names, values, strict=True)}
        return columns
