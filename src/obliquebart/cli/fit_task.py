"""The task of the `fit` command: which columns, which outcome, which estimator."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from obliquebart.cli.causal import TreatmentOptions
from obliquebart.cli.datafile import DataFile, FileError
from obliquebart.cli.directions import parse_directions
from obliquebart.cli.screen import plain_table
from obliquebart.cli.write_table import NamedArrays
from obliquebart.display.numbers import counted, plain
from obliquebart.estimators import (
    ObliqueBART,
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
)
from obliquebart.estimators.causal_reading import is_binary
from obliquebart.table.columns import Column
from obliquebart.table.frames import Table, read_table
from obliquebart.table.levels import Factor
from obliquebart.table.problems import ColumnError
from obliquebart.table.selection import Dates, column_roles
from obliquebart.table.words import as_date

SHOWN_TYPES = 40
# By the value of --outcome. An estimator whose outcomes have exposures takes --exposure.
OUTCOMES: dict[str, type[ObliqueBART]] = {
    "number": ObliqueBARTRegressor,
    "class": ObliqueBARTClassifier,
    "ordered": ObliqueBARTClassifier,
    "count": ObliqueBARTCountRegressor,
    "survival": ObliqueBARTSurvival,
}
# What such an outcome sets besides.
OUTCOME_PARAMETERS: dict[str, dict[str, Any]] = {"ordered": {"ordered": True}}

TAKEN_AS = {
    "continuous": "continuous",
    "declared": "categorical",
    "found": "categorical",
    "date": "date",
}


class ColumnChoices(NamedTuple):
    """The user's choices about columns."""

    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    id_column: str | None = None
    dates: Dates = None
    exposure: str | None = None
    event: str | None = None
    """Says whether the time of the target is that of an event."""
    treatment: TreatmentOptions = TreatmentOptions()

    def check(self, file: DataFile, target: str) -> None:
        """Raise an error if a column is missing or has two roles."""
        file.require([*self.categorical], "--categorical")
        file.require([*self.drop], "--drop")
        if target in (*self.categorical, *self.drop):
            raise FileError(f"The target {target!r} cannot be in --categorical or --drop.")
        if self.event is not None:
            file.require([self.event], "--event")
            if self.event in (target, *self.categorical):
                raise FileError(
                    f"The --event column {self.event!r} cannot be the target or in --categorical."
                )
        if self.id_column is not None:
            file.require([self.id_column], "--id")
            if self.id_column in (target, *self.categorical):
                raise FileError(
                    f"The --id column {self.id_column!r} cannot be the target or in --categorical."
                )
        if self.exposure is not None:
            file.require([self.exposure], "--exposure")
            file.require_numbers(self.exposure, "The --exposure column")
            if self.exposure in (target, self.id_column, *self.categorical, *self.drop):
                raise FileError(
                    f"The --exposure column {self.exposure!r} cannot be the target, the --id "
                    "column, or in --categorical or --drop."
                )
        if self.treatment.column in self.categorical:
            raise FileError(
                f"The --treatment column {self.treatment.column!r} needs no --categorical: leave "
                "that out. --treatment-type arms says that numbers are arms."
            )
        roles = {"the target": target, "the --id column": self.id_column}
        self.treatment.check(file, roles | {f"in --drop ({name})": name for name in self.drop})

    def columns(self, file: DataFile, target: str) -> list[str]:
        """Return the columns of the model."""
        others = {target, *self.drop, self.id_column, self.event}
        return [name for name in file.columns if name not in others]


@dataclass(frozen=True)
class FitTask:
    """What to fit: a table, its outcomes, and how they are interpreted."""

    file: DataFile
    target: str
    X: NamedArrays
    y: NDArray[Any]
    choices: ColumnChoices
    outcome: str
    n_dropped: int

    @property
    def estimator(self) -> type[ObliqueBART]:
        """The estimator for such outcomes."""
        is_causal = self.choices.treatment.column is not None
        return ObliqueBARTCausal if is_causal else OUTCOMES[self.outcome]

    @property
    def _roles(self) -> dict[str, str]:
        """The columns that are none of the model's, by what they are."""
        roles = {self.choices.exposure: "exposure", self.choices.treatment.column: "treatment"}
        return {name: role for name, role in roles.items() if name is not None}

    def in_words(self) -> str:
        """Return a sentence about the task."""
        n_columns = len(self.X) - len(self._roles)
        words = f"{len(self.y)} rows, {n_columns} columns. Target {self.target!r}: "
        kind = f"{self.outcome} " if self.outcome in OUTCOME_PARAMETERS else ""
        words += f"{kind}{OUTCOMES[self.outcome]._family.describe(self.y)}."
        treatment = self.choices.treatment.column
        if treatment is not None:
            words += f" Treatment {treatment!r}."
        if self.n_dropped:
            what = "target" if treatment is None else "target or treatment"
            words += f" Dropped {counted(self.n_dropped, 'row')} with a missing {what}."
        return words

    def table_of_types(self) -> RichTable:
        """Return the columns and how each is used."""
        rows = [
            [name, taken_as, describe(self._table.column(j), taken_as)]
            for j, (name, taken_as) in enumerate(self.taken_as.items())
        ]
        more = len(rows) - SHOWN_TYPES
        if more > 0:
            rows = [*rows[:SHOWN_TYPES], [f"{more} more", "", ""]]
        return plain_table(f"Columns of {self.file.name}", ["column", "used as", "values"], rows)

    @cached_property
    def _table(self) -> Table:
        return read_table(self.X, self.estimator.__name__)

    @cached_property
    def taken_as(self) -> dict[str, str]:
        """How each column is used."""
        roles = column_roles(self._table, list(self.choices.categorical), self.choices.dates)
        taken_as = {name: TAKEN_AS[role] for name, role in zip(self.X, roles, strict=True)}
        return taken_as | self._roles

    def directions(self, texts: Sequence[str], rules: str) -> dict[str, Any]:
        """Return the parameter that says which directions rules have; none without options."""
        if not texts:
            return {}
        if rules == "axis":
            raise FileError(
                "--rules axis and --directions exclude each other: use --directions axis."
            )
        kinds = list(self.taken_as.values())
        n_continuous = kinds.count("continuous") + kinds.count("date")
        return {"directions": parse_directions(texts, n_continuous)}

    def softness(self, soft: bool | None) -> dict[str, Any]:
        """Return the parameter that makes rules soft or hard; none without the option."""
        has_choice = "soft" in self.estimator().get_params()
        if soft and not has_choice:
            raise FileError("--soft and --outcome count exclude each other: leave --soft out.")
        return {} if soft is None or not has_choice else {"soft": soft}

    @property
    def fit_options(self) -> dict[str, Any]:
        """What `fit` needs besides the table and the outcomes."""
        return {role: name for name, role in self._roles.items()}

    def new_model(self, parameters: dict[str, Any]) -> Any:
        """Return an estimator."""
        known = set(self.estimator().get_params())
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(
                f"Unknown parameter {unknown[0]!r}. Valid parameters are "
                f"{', '.join(sorted(known))}."
            )
        chosen: dict[str, Any] = {
            "categorical_features": list(self.choices.categorical) or "auto",
            "dates": self.choices.dates,
        }
        treatment = self.choices.treatment
        if treatment.column is None:
            chosen |= OUTCOME_PARAMETERS.get(self.outcome, {})
        else:
            chosen |= treatment.parameters(self.X[treatment.column], self.outcome)
        return self.estimator(**{**chosen, **parameters})

    def to_dict(self) -> dict[str, Any]:
        """Return the task for JSON."""
        return {
            "target": self.target,
            "task": OUTCOMES[self.outcome]._family.task,
            "outcome": self.outcome,
            "treatment": self.choices.treatment.column,
            "n_rows": len(self.y),
            "rows_without_target": self.n_dropped,
            "columns": self.taken_as,
        }


def describe(column: Column, taken_as: str) -> str:
    """Describe the values of a column briefly."""
    try:
        if taken_as == "date":
            words, missing = _describe_numbers(column.days(), as_date)
        elif column.kind in ("text", "category"):
            words, missing = _describe_levels(column.factor())
        else:
            words, missing = _describe_numbers(column.numbers(), partial(plain, digits=6))
    except ColumnError:
        # `fit` reports all such columns in one error.
        return "cannot be used"
    n_missing = int(missing.sum())
    return words + (f"; {n_missing} missing" if n_missing else "")


def _describe_levels(factor: Factor) -> tuple[str, NDArray[np.bool_]]:
    levels = list(map(str, factor.values))
    shown = ", ".join(levels[:4]) + (", …" if len(levels) > 4 else "")
    return f"{len(levels)} levels: {shown}", factor.codes < 0


def _describe_numbers(
    values: NDArray[np.float64], write: Callable[[float], str]
) -> tuple[str, NDArray[np.bool_]]:
    missing = np.isnan(values)
    if missing.all():
        return "no values", missing
    words = f"{write(float(np.nanmin(values)))} to {write(float(np.nanmax(values)))}"
    if len(values) > 2 and (np.diff(values) == 1.0).all():
        words += ", increasing by 1: a row number?"
    return words, missing


def survival_outcome(
    file: DataFile, target: str, event: str | None
) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """Return events and times, and the rows that have both (None if all do)."""
    if event is None:
        raise FileError(
            "Survival times need --event COLUMN: 1 (or true) if the time is that of an event, 0 if "
            "the row was censored."
        )
    times, with_time = file.outcome(target)
    events, with_event = file.outcome(event, what="--event")
    file.require_numbers(target, "The target")
    everything = np.arange(file.n_rows)
    timed = everything if with_time is None else with_time
    known = everything if with_event is None else with_event
    rows = np.intersect1d(timed, known)
    if not len(rows):
        raise FileError(f"No row of {file.name} has both {target!r} and {event!r}.")
    y = np.empty(len(rows), dtype=[("event", events.dtype), ("time", times.dtype)])
    y["time"] = times[np.searchsorted(timed, rows)]
    y["event"] = events[np.searchsorted(known, rows)]
    return y, None if len(rows) == file.n_rows else rows


def _with_treatment(
    file: DataFile, column: str, y: NDArray[Any], rows: NDArray[np.intp] | None
) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """Leave out the rows without a treatment."""
    _, with_treatment = file.outcome(column, what="--treatment")
    if with_treatment is None:
        return y, rows
    known = np.arange(file.n_rows) if rows is None else rows
    kept = np.isin(known, with_treatment)
    if not kept.any():
        raise FileError(f"No row of {file.name} has both a target and a treatment.")
    return y[kept], known[kept]


def read_task(file: DataFile, target: str, outcome: str, choices: ColumnChoices) -> FitTask:
    """Decide what the outcome is and how to use each column."""
    choices.check(file, target)
    if choices.event is not None and outcome != "survival":
        raise FileError("--event requires --outcome survival.")
    if outcome == "survival":
        y, rows = survival_outcome(file, target, choices.event)
    else:
        y, rows = file.outcome(target, as_text=False)
    if choices.treatment.column is not None:
        y, rows = _with_treatment(file, choices.treatment.column, y, rows)
    names = choices.columns(file, target)
    if not set(names) - {choices.exposure, choices.treatment.column}:
        raise FileError(f"{file.name} has no columns other than the target.")
    X = file.table(names, rows)
    is_text = y.dtype.kind == "O"
    if outcome in ("number", "count") and is_text:
        raise FileError(f"The target {target!r} contains text: use --outcome class.")
    if outcome == "auto":
        # For effects as in Python: two numbers with decimals are no classes.
        is_class = is_binary(y) if choices.treatment.column else len(np.unique(y)) == 2
        outcome = "class" if is_text or is_class else "number"
    if choices.exposure is not None and outcome != "count":
        raise FileError("--exposure is for counts: add --outcome count.")
    y = OUTCOMES[outcome]._family.from_column(y)
    return FitTask(
        file=file,
        target=target,
        X=X,
        y=y,
        choices=choices,
        outcome=outcome,
        n_dropped=file.n_rows - len(y),
    )


def parse_draws(text: str) -> int | str:
    """Read a number of draws; the estimator rejects any text other than "auto"."""
    try:
        return int(text)
    except ValueError:
        return text


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parse NAME=VALUE pairs; a value is a Python literal or text."""
    parsed = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting!r} must be NAME=VALUE, as in --set k=3.")
        try:
            value: Any = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            value = text.strip()
        if value == "inf":
            value = math.inf
        key = name.strip().replace("-", "_")
        if key == "directions":
            raise ValueError("--set cannot set directions: use --directions, as in patch:28x28.")
        parsed[key] = value
    return parsed
