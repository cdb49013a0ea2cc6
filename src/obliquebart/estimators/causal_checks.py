"""How far the effects of a causal model can be trusted, and which columns they depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.design import check_propensities
from obliquebart.causal.effects import log_densities, narrow_table
from obliquebart.causal.overlap import (
    FEWEST_FITTED,
    FEWEST_WARNED,
    WARNED_SHARE,
    Overlap,
    overlap_of,
)
from obliquebart.causal.prior import PriorOf, prior_averages
from obliquebart.causal.sensitivity import Sensitivity, observed_strengths, sensitivity_of
from obliquebart.estimators.causal_answers import CausalAnswers
from obliquebart.estimators.causal_rows import Dose, documented
from obliquebart.exceptions import OverlapWarning, warn_caller
from obliquebart.explain import effects as effect_curves
from obliquebart.explain.effects import Effect, column_effect
from obliquebart.explain.evaluation import class_codes
from obliquebart.explain.importance import (
    MAX_DRAWS,
    MAX_ROWS,
    ImportanceTable,
    column_importance,
)
from obliquebart.sampling.run import new_seed
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_count, check_labels, check_seed, check_weights

FloatArray = NDArray[np.float64]
N_PRIOR_DRAWS = 500


class CausalChecks(CausalAnswers):
    """A base of `ObliqueBARTCausal`, with all answers."""

    @documented
    def overlap(
        self,
        X: Any = None,
        treatment: ArrayLike | str | None = None,
        *,
        propensity: ArrayLike | None = None,
    ) -> Overlap:
        """Compare the propensities of the arms, and find rows without counterparts.

        A row has counterparts in another arm if at least three rows of that arm, or of a small arm
        one in fifty, have similar propensities: they differ by at most 0.1, and by at most a
        factor of three. `fit` warns if more than 20% of the rows have none.
        Propensities fitted to the same few rows exaggerate the differences, so with
        ``propensity="fitted"`` it does so from 200 rows on only. Training rows have the numbers
        that they had in `fit`; those of weight zero are not compared.

        Parameters
        ----------
        propensity : array-like, optional
            Propensities of the rows, if `fit` was given such and X is new, or if the model was
            fitted without propensities.

        Returns
        -------
        Overlap
            Prints as a table; `rows`, `share`, `propensity`.
        """
        check_is_fitted(self)
        if self.treatment_.arms is None:
            raise ValueError("overlap compares arms, but the treatment is a dose.")
        doses = self._doses(X, treatment)
        if self._design.n_propensities:
            values = self._propensities(X, propensity)
        elif propensity is None:
            raise ValueError(
                "This model was fitted without propensities, as for a randomised experiment: pass "
                'them with propensity=, or fit with propensity="fitted".'
            )
        else:
            values = check_propensities(propensity, self.treatment_, doses.shape[1])
        numbers = self._fitted.row_numbers if X is None else None
        return overlap_of(self.treatment_.arms.tolist(), doses, values, numbers)

    def _warn_of_overlap(self) -> None:
        """Warn of training rows without counterparts."""
        if self.treatment_.arms is None or not self._design.n_propensities:
            return
        estimate = self._design.propensity
        is_fitted = estimate is not None and len(estimate.posteriors) == 1
        found = self.overlap()
        fewest = FEWEST_FITTED if is_fitted else FEWEST_WARNED
        if found.share > WARNED_SHARE and found.n_different >= fewest:
            warn_caller(
                f"{found.in_words()} Their effects come from the model and its prior more than "
                "from data. Look at plots.overlap(model), and leave such rows out, or ask about "
                "the other rows alone: pass them to model.ate.",
                OverlapWarning,
            )

    @documented
    def prior_ate(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        dose: Dose = None,
        n_draws: int = N_PRIOR_DRAWS,
        random_state: int | np.random.RandomState | None = 0,
        propensity: ArrayLike | None = None,
    ) -> FloatArray:
        """Return draws of the average effect from its prior, before any outcome was seen.

        Beside those of `ate` they show how much the data have said: `plots.prior_and_posterior`.
        The prior depends on the data only by the scale of y.

        Parameters
        ----------
        n_draws : int, default=500
            Number of draws.
        random_state : int, RandomState or None, default=0
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n_draws,)
        """
        check_is_fitted(self)
        k = self.treatment_.index(arm)
        n_draws = check_count("n_draws", n_draws, 1)
        seed = new_seed(check_seed(random_state))
        of = PriorOf(k, self._change(dose), self.treatment_.scale, n_draws, seed)
        return prior_averages(self.posterior_, self._wide(X, propensity), of)

    @documented
    def sensitivity(
        self,
        X: Any = None,
        treatment: ArrayLike | str | None = None,
        *,
        arm: Any = None,
        coverage: float = 0.95,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> Sensitivity:
        """Say how strong an unmeasured confounder would have to be to change the conclusion.

        Suppose that something unmeasured, which a row has or has not, adds `shift` to the outcome,
        and that it is more common among the treated by `difference`, given the columns. Then the
        average effect is too large by shift times difference, and the result shows what is left
        of it. Observed columns, cut in two, give an idea of which numbers are plausible.

        Returns
        -------
        Sensitivity
            Prints as tables; `bias_to_include_zero`, `adjusted`, `observed`.

        Notes
        -----
        This is a simple bound (Lin, Psaty and Kronmal 1998). It assumes that shift and difference
        are the same at all values of the columns. For binary outcomes the shift is a difference of
        probabilities. It is about arms, not doses. Observed columns are compared with their
        propensities estimated anew; propensities that `fit` was given stay what they are, and the
        columns then look weaker.
        """
        if self.treatment_.arms is None:
            raise ValueError("sensitivity() compares arms, but the treatment is a dose.")
        effect = self.ate(
            X, arm=arm, coverage=coverage, sample_weight=sample_weight, propensity=propensity
        )
        k, design = self.treatment_.index(arm), self._design
        doses = self._doses(X, treatment)
        rows = ~(np.delete(doses, k, axis=0) > 0).any(axis=0)
        wide = self._wide(X, propensity)
        observed = observed_strengths(
            self.posterior_,
            design.wide,
            len(self._fitted.encoding.columns),
            wide.take(np.flatnonzero(rows)),
            doses[k, rows],
            self._with_own_propensities,
            self.n_jobs,
        )
        return sensitivity_of(
            effect, observed, 1.0 if self._fitted.likelihood.has_classes else np.inf
        )

    def _with_own_propensities(self, wide: EncodedTable) -> EncodedTable:
        """Return rows with the propensities that follow from their columns, if these are known."""
        design = self._design
        if design.propensity is None:
            return wide
        narrow = narrow_table(wide, next(iter(self.effects_.values())))
        return design.widen(narrow, design.propensities(narrow, None, self.n_jobs))

    @documented
    def log_score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        treatment: ArrayLike | str | None = None,
        propensity: ArrayLike | None = None,
    ) -> float:
        """Return the mean log predictive density, or log probability, of outcomes.

        Higher is better. It judges the predictions of outcomes under the treatments that the rows
        had; of effects it says little, since these are never observed.

        Parameters
        ----------
        X : table of shape (n, n_features)
            Rows, best such that were not in training.
        y : array-like of shape (n,)
            Their outcomes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the mean.
        propensity : array-like, optional
            Propensities of the rows, if `fit` was given such.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        doses = self._doses(X, treatment) * self.treatment_.scale
        wide = self._wide(X, propensity)
        likelihood, classes = self._fitted.likelihood, self._fitted.classes
        if classes is not None:
            y = class_codes(check_labels(y, wide.n_rows), classes)
        observed = likelihood.check_observed(y, wide.n_rows)
        effects = list(self.effects_.values())
        found = log_densities(self.posterior_, effects, wide, doses, observed, self.n_jobs)
        return float(np.average(found, weights=check_weights(sample_weight, len(found))))

    # ---- columns ---------------------------------------------------------------------------------

    @documented
    def importance(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        coverage: float = 0.9,
        max_rows: int = MAX_ROWS,
        max_draws: int = MAX_DRAWS,
        random_state: int | np.random.RandomState | None = 0,
    ) -> ImportanceTable:
        """Measure which columns the effect depends on: who responds differently.

        As `ObliqueBARTRegressor.importance`, but of the effect of the treatment, not of the
        outcome: the share of its variance between rows that is lost when a column is shuffled. If
        the effect hardly differs between rows, shares say little; see `effect`. For binary
        outcomes it is the effect on the latent probit scale.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability of the intervals, in (0, 1).
        max_rows, max_draws : int
            Of a larger table and of a longer run so many are used, evenly spread.
        random_state : int, RandomState or None, default=0
            Seed of the shuffling.

        Returns
        -------
        ImportanceTable
        """
        check_is_fitted(self)
        effect = list(self.effects_.values())[self.treatment_.index(arm)]
        return column_importance(
            [effect],
            self._fitted.encoding,
            self._narrow(X),
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    @documented
    def effects(
        self,
        X: Any,
        column: str | int,
        *,
        arm: Any = None,
        centered: bool = False,
        n_points: int = effect_curves.N_POINTS,
        coverage: float = 0.9,
        max_rows: int = effect_curves.MAX_ROWS,
        max_draws: int = effect_curves.MAX_DRAWS,
    ) -> Effect:
        """Return how the effect of the treatment depends on one column, with intervals.

        As `ObliqueBARTRegressor.effects`, but of the effect of the treatment, not of the outcome:
        the average effect if all rows had the same value in the column. For binary outcomes it is
        the effect on the latent probit scale. `effect_by` averages over groups of rows as they
        are, in the units of the outcome.

        Parameters
        ----------
        X : table of shape (n, n_features) or None
            The rows to average over. None uses the training rows.
        column : str or int
            Name or position of the column.
        centered : bool, default=False
            Return differences from the average effect.
        n_points : int, default=30
            Maximum number of points.
        coverage : float, default=0.9
            Probability of the intervals, in (0, 1).
        max_rows, max_draws : int
            Of a larger table and of a longer run so many are used, evenly spread.

        Returns
        -------
        Effect
            Prints as a table; `plots.effects` draws it.
        """
        check_is_fitted(self)
        posterior = list(self.effects_.values())[self.treatment_.index(arm)]
        found = column_effect(
            [posterior],
            self._fitted.encoding,
            self._narrow(X),
            column,
            centered=centered,
            n_points=n_points,
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            n_jobs=self.n_jobs,
        )
        return replace(found, averaged=self._effect_name(arm))

    def _effect_name(self, arm: Any) -> str:
        """Name the effect for axes: on y itself, or on the latent scale."""
        name = str(self._comparison(arm))
        latent = " (probit scale)" if self._fitted.likelihood.has_classes else ""
        return f"{name}{latent}"

    @property
    def feature_importances_(self) -> FloatArray:
        """The shares of `importance()` in the order of the columns, divided by their sum.

        With several arms, the mean over the arms. Computed from the training data.
        """
        check_is_fitted(self)
        shares: FloatArray | None = self.__dict__.get("_importances")
        if shares is None:
            if self._fitted.training is None:
                raise AttributeError(
                    "feature_importances_ needs the training data, but this model was loaded "
                    "without them: use importance(X), or save the model with include_data=True."
                )
            names = self._fitted.encoding.names
            by_arm = [self.importance(arm=arm).in_order(names) for arm in self.effects_]
            shares = np.mean(by_arm, axis=0)
            shares = shares / max(float(shares.sum()), np.finfo(np.float64).tiny)
            self._importances = shares
        return shares.copy()
