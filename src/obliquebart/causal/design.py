"""What a causal model knows besides its draws: treatments, and the propensities of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.propensity import Propensity
from obliquebart.causal.treatment import Treatment
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
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


def check_propensities(given: Any, treatment: Treatment, n_rows: int) -> FloatArray:
    """Return the user's propensities of rows, of shape (n_treatments, n_rows)."""
    try:
        values = np.asarray(given, dtype=np.float64)
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
