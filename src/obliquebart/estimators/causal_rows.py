"""What the answers of a causal model have in common: rows, treatments, weights and names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.answers import Comparison
from obliquebart.causal.design import CausalDesign
from obliquebart.causal.effects import RowEffects
from obliquebart.causal.treatment import Treatment
from obliquebart.display.words import probability_of
from obliquebart.documentation import shared_parameters
from obliquebart.estimators.fitted import Fitted
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.posterior import Posterior
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.frames import column_values
from obliquebart.table.scaling import ColumnScale
from obliquebart.validation import check_number, check_weights, count_rows

FloatArray = NDArray[np.float64]
Dose = tuple[float, float] | None

documented = shared_parameters("""\
X : table of shape (n, n_features), optional
    By default the training rows, if the model has them: after `load` it has them only if it was
    saved with `include_data=True`. They are the rows as `fit` used them: without those of weight
    zero, and a label of weight 3 is there three times.
arm : label, optional
    Which treatment is compared with the control, if there are several.
dose : pair of float, optional
    Of a dose: the effect of going from the first to the second. By default one unit more, from
    the mean dose of the training rows.
treatment : array-like of shape (n,) or str, optional
    The treatments of the rows of X, or the name of their column. Training rows have theirs.
propensity : array-like, optional
    Propensities of the rows of X, if `fit` was given such and the outcome is binary.
sample_weight : array-like of shape (n,), optional
    Weights of the rows in averages; by default those of `fit` for the training rows.
coverage : float, default=0.95
    Probability of the intervals, in (0, 1).""")


class CausalRows:
    """The root of the bases of `ObliqueBARTCausal`."""

    _fitted: Fitted
    posterior_: Posterior
    effects_: dict[Any, Posterior]
    treatment_: Treatment
    target_name_: str | None
    n_jobs: int | None

    @property
    def _design(self) -> CausalDesign:
        design = self._fitted.design
        if design is None:
            raise AssertionError("a causal model has a design")
        return design

    def _required_training(self) -> TrainingProblem:
        """Return the training rows; not a property, which `dir` would look at."""
        training = self._fitted.training
        if training is None:
            raise ValueError(
                "This model was loaded without its training data: pass X, or save the model "
                "with include_data=True."
            )
        return training

    def _narrow(self, X: Any) -> EncodedTable:
        """Return the user's columns at the rows of X."""
        if X is not None:
            return self._fitted.encoding.transform(X)
        table = self._required_training().table
        return table._replace(x_cont=table.x_cont[: self._fitted.encoding.p_cont])

    def _wide(self, X: Any, propensity: Any = None) -> EncodedTable:
        """Return all columns of the chains at the rows of X; None means the training rows."""
        if X is None:
            return self._required_training().table
        design = self._design
        table = self._narrow(X)
        return design.widen(table, design.propensities(table, propensity, self.n_jobs))

    def _row_effects(
        self, X: Any, arm: Any = None, dose: Dose = None, propensity: Any = None
    ) -> RowEffects:
        """Return the effect of one treatment at the rows of X."""
        check_is_fitted(self)
        k = self.treatment_.index(arm)
        change = self._change(dose)
        needs_outcome = self._fitted.likelihood.has_classes or propensity is not None
        table = self._wide(X, propensity) if needs_outcome else self._narrow(X)
        effect = list(self.effects_.values())[k]
        return RowEffects(self.posterior_, effect, table, change, self.n_jobs)

    def _effects_by_name(self, X: Any, propensity: Any = None) -> dict[str, RowEffects]:
        """Return the effect of each treatment at the rows of X, by what is compared."""
        names = zip(self.treatment_.names, self.effects_, strict=True)
        return {name: self._row_effects(X, arm, propensity=propensity) for name, arm in names}

    def _change(self, dose: Dose) -> tuple[float, float]:
        """Return the change of the dose, from that at which f is the mean outcome."""
        if dose is None:
            return 0.0, 1.0
        low, high = self._checked_dose(dose)
        return low - self.treatment_.location, high - self.treatment_.location

    def _checked_dose(self, dose: Any) -> tuple[float, float]:
        if self.treatment_.arms is not None:
            raise ValueError("dose= is for doses, but the treatments are arms: use arm=.")
        if not isinstance(dose, (tuple, list, np.ndarray)) or len(dose) != 2:
            raise ValueError(f"dose={dose!r} must be a pair: from which dose to which.")
        values = [each.item() if isinstance(each, np.generic) else each for each in dose]
        low, high = (check_number("dose", each, -np.inf, np.inf) for each in values)
        return low, high

    def _comparison(self, arm: Any, dose: Dose = None) -> Comparison:
        """Return what an effect is of, in words."""
        name = self.treatment_.names[self.treatment_.index(arm)]
        if dose is not None:
            low, high = self._checked_dose(dose)
            name = f"{high:g} against {low:g}"
        outcome = self.target_name_ or "y"
        if self._fitted.classes is not None:
            outcome = f"the {probability_of(self._fitted.classes[-1], self.target_name_)}"
        return Comparison(name, outcome)

    def _weights(self, X: Any, n_rows: int, sample_weight: Any = None) -> FloatArray:
        """Return the weights of rows, which sum to one."""
        weights = check_weights(sample_weight, n_rows)
        if weights is None and X is None:
            weights = self._required_training().outcome.weights
        if weights is None:
            weights = np.ones(n_rows)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def _doses(self, X: Any, treatment: Any) -> FloatArray:
        """Return the engine's doses of the rows of X, shape (n_treatments, n)."""
        if X is None:
            if treatment is not None:
                raise ValueError("The training rows have their treatments: leave treatment out.")
            return np.stack(self._required_training().outcome.more)
        left_out = self._fitted.encoding.left_out
        if treatment is None and left_out is None:
            raise ValueError("Pass the treatments of the rows of X with treatment=.")
        if treatment is None or isinstance(treatment, str):
            treatment = column_values(X, treatment or str(left_out), "treatment")
        return self.treatment_.encode(treatment, count_rows(X, type(self).__name__))

    def _propensities(self, X: Any, propensity: Any = None) -> FloatArray:
        """Return the propensities of rows as the model has them, shape (n_treatments, n)."""
        design = self._design
        wide = self._wide(X, propensity)
        last = wide.x_cont[wide.p_cont - design.n_propensities :]
        scales = design.wide.columns[len(design.wide.columns) - design.n_propensities :]
        values = [
            scale.undo(column)
            for scale, column in zip(scales, last, strict=True)
            if isinstance(scale, ColumnScale)
        ]
        return np.array(values).reshape(design.n_propensities, wide.n_rows)
