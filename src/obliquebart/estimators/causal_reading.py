"""What a causal model makes of the arguments of `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import (
    CausalDesign,
    check_propensities,
    propensity_names,
    require_other_columns,
)
from obliquebart.causal.propensity import N_FOLDS, Propensity, fit_propensity
from obliquebart.causal.treatment import Treatment
from obliquebart.estimators.arguments import ReadData
from obliquebart.estimators.base import ObliqueBART
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.likelihood.causal import WithEffects
from obliquebart.model.added_columns import beside_patches
from obliquebart.model.directions import core_directions, grids_of
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.seen_rows import training_keys
from obliquebart.model.training import TrainingProblem
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.frames import (
    category_order,
    column_order,
    column_values,
    unmasked,
    without_column,
)
from obliquebart.validation import check_treatment, count_rows

# The likelihood of each choice of `noise`, for numbers.
NOISE_LIKELIHOODS = {
    "constant": "causal_gaussian",
    "student_t": "causal_learned_t",
    "varying": "causal_varying_noise",
}
# How many fits propensities come from.
FITS = {"fitted": 1, "cross_fitted": N_FOLDS}


class TreatedOutcomes(NamedTuple):
    """What `fit` takes besides the columns and the weights."""

    y: Any
    treatment: Any
    propensity: Any = None
    design: CausalDesign | None = None
    """Of a fit that goes on."""


class CausalReading(ObliqueBART):
    """A base of the causal estimator: columns, treatments, propensities and outcomes."""

    noise: str
    outcome: str
    treatment_type: str
    control: Any
    propensity: str | None

    def _read(
        self, parameters: CheckedHyperparameters, X: Any, y: TreatedOutcomes, sample_weight: Any
    ) -> ReadData:
        """Encode columns, treatments, propensities and outcomes."""
        owner, column = type(self).__name__, None
        order = category_order(y.treatment)
        if isinstance(y.treatment, str):
            column = y.treatment
            order = column_order(X, column)
            y = y._replace(treatment=column_values(X, column, "treatment"))
            X = without_column(X, column)
        n_rows = count_rows(X, owner)
        labels = check_treatment(y.treatment, n_rows)
        plain = self._choose_likelihood(y.y)
        rows, values, weights, _ = plain.read(y.y, sample_weight, n_rows)
        # Rows of weight zero have no say in what the treatments are.
        labels = labels if rows is None else labels[rows]
        treatment = (
            Treatment.fit(labels, self.treatment_type, self.control, order)
            if y.design is None
            else y.design.treatment
        )
        used = treatment.encode(labels, len(labels))
        if plain.has_classes and len(np.unique(values)) > 2:
            raise ValueError(
                f"y has {len(np.unique(values))} classes, but effects are on numbers or on the "
                "probability of one of two classes."
            )
        encoding, table = Encoding.fit_transform(
            X,
            categorical_features=self.categorical_features,
            dates=self.dates,
            feature_scaling=parameters.feature_scaling,
            grids=grids_of(parameters.directions),
            rows=rows,
            owner=owner,
        )
        encoding = replace(encoding, left_out=column)
        directions = beside_patches(core_directions(parameters.directions, encoding))
        for_propensities = replace(parameters, core_directions=directions)
        if y.design is None:
            require_other_columns(encoding, table, treatment, used)
        given = y.propensity
        if given is not None:
            given = check_propensities(given, treatment, n_rows)
            given = given if rows is None else given[:, rows]
        # Rows that a weight repeats are there once: a fit to copies would learn their treatments.
        once = np.arange(len(labels)) if rows is None else np.unique(rows, return_index=True)[1]
        design = y.design or self._make_design(
            for_propensities,
            encoding,
            table.take(once),
            treatment,
            used[:, once],
            None if given is None else given[:, once],
        )
        if given is None:
            given = design.propensities(table, None, self.n_jobs)
        likelihood = type(plain)(treatment.n_treatments, treatment.arms is not None, len(given))
        outcome = replace(likelihood.encode(values, weights), more=tuple(used))
        if plain.has_classes:
            known = None if y.design is None else self._fitted.classes
            outcome = _in_order(outcome, category_order(y.y) if known is None else known.tolist())
        if outcome.constant:
            raise ValueError("All outcomes in y are equal: there is no effect to estimate.")
        keys = training_keys(table, values if outcome.classes is None else outcome.values, rows)
        problem = TrainingProblem(design.widen(table, given), outcome)
        return ReadData(encoding, problem, keys, design, rows)

    def _differences(self, read: ReadData) -> list[str]:
        """Tell treatments and propensities, of which the chains make columns, from y and X."""
        known = self._fitted.row_keys
        of_chains = {"X": "propensity", "y": "treatment"}
        found = super()._differences(read)
        if known is None:
            return [f"{name} or {of_chains[name]}" if name in of_chains else name for name in found]
        if not np.array_equal(known, read.row_keys):
            return found
        return [of_chains.get(name, name) for name in found]

    def _make_design(
        self,
        parameters: CheckedHyperparameters,
        encoding: Encoding,
        table: EncodedTable,
        treatment: Treatment,
        doses: NDArray[np.float64],
        given: NDArray[np.float64] | None,
    ) -> CausalDesign:
        """Return the design of a new fit, after estimating propensities if they are wanted."""
        propensity: Propensity | None = None
        values = given
        if given is None and self.propensity is not None:
            propensity = fit_propensity(
                parameters,
                encoding,
                table,
                treatment,
                doses,
                FITS[self.propensity],
                self.n_jobs,
            )
            values = propensity.at(table, self.n_jobs)
        if values is None:
            return CausalDesign(treatment, encoding, 0, None)
        wide = encoding.with_columns(propensity_names(treatment), values)
        return CausalDesign(treatment, wide, len(values), propensity)

    def _choose_likelihood(self, y: Any) -> WithEffects:
        name = NOISE_LIKELIHOODS[self.noise]
        if self.outcome == "binary" or (self.outcome == "auto" and is_binary(y)):
            if self.noise != "constant":
                raise ValueError(
                    f'noise="{self.noise}" is for numbers, but y has two classes: leave noise out, '
                    'or set outcome="number".'
                )
            name = "causal_probit"
        likelihood = LIKELIHOODS[name]
        if not isinstance(likelihood, WithEffects):
            raise AssertionError(name)
        return likelihood


def is_binary(y: Any) -> bool:
    """Say whether outcomes are classes: text, booleans, or two different whole numbers.

    Examples
    --------
    >>> is_binary([1, 2, 2]), is_binary([0.5, 1.5]), is_binary([1, 2, 3]), is_binary(["a", "b"])
    (True, False, False, True)
    """
    values = unmasked(y)
    if values.dtype.kind in "iuf":
        different = np.unique(values)
        return len(different) == 2 and bool((different == np.floor(different)).all())
    return values.dtype.kind != "c"


def _in_order(outcome: Outcome, order: Sequence[Any] | None) -> Outcome:
    """Give two classes the order of their categories, which is not always the sorted one."""
    classes = outcome.classes
    if order is None or classes is None:
        return outcome
    if [label for label in order if label in classes.tolist()] == classes.tolist():
        return outcome
    return replace(outcome, values=1 - outcome.values, classes=classes[::-1].copy())
