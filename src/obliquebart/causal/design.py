"""What a causal model knows besides its draws: treatments, and the propensities of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.propensity import Propensity
from obliquebart.causal.treatment import Treatment
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.frames import unmasked
from obliquebart.table.scaling import ColumnScale

FloatArray = NDArray[np.float64]


class CausalDesign(NamedTuple):
    """The treatments of a model, and the columns that its chains have besides the user's.

    The outcome depends on the user's columns and on propensities, effects on the user's alone.
    """

    treatment: Treatment
    wide: Encoding
    """Of the user's columns and the propensities."""
    n_propensities: int
    """How many of its last columns are propensities."""
    propensity: Propensity | None
    """None if the user gave propensities, or wants none."""

    @property
    def narrow(self) -> Encoding:
        """The encoding of the user's columns."""
        return self.wide.without_last(self.n_propensities)

    def propensities(
        self, table: EncodedTable, given: Any = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the propensities of rows of the user's columns, as the model sees them."""
        if self.n_propensities == 0:
            if given is not None:
                raise ValueError("This model was fitted without propensities: leave them out.")
            return np.empty((0, table.n_rows))
        if self.propensity is not None:
            if given is not None:
                raise ValueError(
                    "This model has estimated propensities, and estimates those of new rows too: "
                    "leave them out."
                )
            return self.propensity.at(table, n_jobs)
        if given is None:
            raise ValueError(
                "This model was fitted with given propensities: pass those of the rows with "
                "propensity=."
            )
        return check_propensities(given, self.treatment, table.n_rows)

    def widen(self, table: EncodedTable, propensities: FloatArray) -> EncodedTable:
        """Return the user's columns together with the propensities."""
        scales = self.wide.columns[len(self.wide.columns) - self.n_propensities :]
        columns = [
            scale.apply(values)
            for scale, values in zip(scales, propensities, strict=True)
            if isinstance(scale, ColumnScale)
        ]
        if not columns:
            return table
        return table.with_columns(np.stack(columns))


def propensity_names(treatment: Treatment) -> list[str]:
    """Return the names of the columns of propensities."""
    if treatment.arms is None or treatment.n_treatments == 1:
        return ["propensity"]
    return [f"propensity of {arm}" for arm in treatment.arms[1:].tolist()]


def require_other_columns(
    encoding: Encoding, table: EncodedTable, treatment: Treatment, doses: FloatArray
) -> None:
    """Raise an error if a column says exactly which treatment each row had."""
    is_number = [isinstance(column, ColumnScale) for column in encoding.columns]
    of_kind = [
        [name for name, number in zip(encoding.names, is_number, strict=True) if number == wanted]
        for wanted in (True, False)
    ]
    tells = _orders_doses if treatment.arms is None else _tells_arms
    for names, columns in zip(of_kind, (table.x_cont, table.x_cat), strict=True):
        for name, values in zip(names, columns, strict=True):
            if tells(values, doses):
                remedy = "Leave it out of X."
                if encoding.is_named:
                    remedy = (
                        f"If it is the treatment, pass treatment={name!r}; in any case leave it "
                        "out of X."
                    )
                raise ValueError(
                    f"Column {name!r} of X says exactly which treatment each row had, so there are "
                    f"no rows to compare. {remedy}"
                )


def _tells_arms(values: NDArray[Any], doses: FloatArray) -> bool:
    """Say whether each arm has one value of its own."""
    arms = [values[doses.max(axis=0) == 0], *(values[dose > 0] for dose in doses)]
    if not all((arm == arm[0]).all() for arm in arms):
        return False
    return len({arm[0] for arm in arms}) == len(arms)


def _orders_doses(values: NDArray[Any], doses: FloatArray) -> bool:
    """Say whether values rise or fall with the dose, and are the same where it is the same."""
    order = np.argsort(doses[0], kind="stable")
    steps, rises = np.diff(values[order].astype(np.float64)), np.diff(doses[0][order])
    if not ((steps >= 0).all() or (steps <= 0).all()) or steps[rises == 0].any():
        return False
    # Rounding may make equal values of a few different ones.
    return bool(2 * np.count_nonzero(steps) > np.count_nonzero(rises))


def check_propensities(given: Any, treatment: Treatment, n_rows: int) -> FloatArray:
    """Return the user's propensities of rows, of shape (n_treatments, n_rows)."""
    try:
        values = unmasked(given).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"propensity must be numbers: {error}") from error
    if values.ndim == 1:
        values = values[:, None]
    wanted = (n_rows, treatment.n_treatments)
    if values.shape != wanted:
        raise ValueError(
            f"propensity has shape {values.shape}, but must have {wanted}: for each row the "
            "probability of each arm besides the control, or the mean of its dose."
        )
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise ValueError(f"propensity is missing or infinite at row {row}.")
    if treatment.arms is not None and ((values < 0) | (values > 1)).any():
        row = int(np.flatnonzero(((values < 0) | (values > 1)).any(axis=1))[0])
        raise ValueError(
            f"propensity is {values[row].max():g} at row {row}, but probabilities are from 0 to 1."
        )
    return values.T
