"""Errors about columns: one error lists all columns that cannot be used, with remedies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

# By the key of a problem. The command line replaces some of them.
REMEDIES = {
    "dates": 'Set dates="auto" to convert dates to numbers (days since 1970-01-01), or drop the '
    "column.",
    "times": "Convert times of day to numbers, for example hours since midnight.",
    "durations": "Convert durations to numbers, for example total seconds.",
    "nested": "Expand nested values into separate columns; stack images into an array.",
    "bytes": "Decode bytes to text, or drop the column.",
    "complex": "Complex data not supported: split it into real and imaginary columns.",
    "other": "Convert the values to numbers or text, or drop the column.",
    "infinite": "Replace infinite values by finite numbers, or by NaN if they are missing.",
    "too large": "Rescale the column.",
    "text": "Convert the column to numbers or, if it is categorical, list it in "
    "categorical_features.",
    "text in an array": "Convert the column to numbers or, if it is a category, name it in "
    'categorical_features. If a step of a pipeline made the array, .set_output(transform="pandas") '
    "makes it a data frame, which keeps the types of columns.",
    "mixed": "Convert such a column to one type, for example all to text.",
    "free text": "Drop the column or turn it into numbers; if it is a category after all, name it "
    "in categorical_features or give it a categorical type.",
    "not dates": "Convert dates that are not ISO dates (YYYY-MM-DD) first, in pandas with "
    "pd.to_datetime(..., dayfirst=True), or drop the column.",
    "changed": "Convert the column to the type it had in fit.",
}
# Once a model is fitted, the kinds of its columns are fixed.
LATER = {
    "dates": REMEDIES["changed"],
    "text": REMEDIES["changed"],
    "text in an array": REMEDIES["changed"],
    "bytes": REMEDIES["changed"],
    "other": REMEDIES["changed"],
}
_PLURALS = {"contains": "contain", "looks": "look", "mixes": "mix"}


class Problem(NamedTuple):
    """What is wrong with a column."""

    column: str
    fault: str
    """A verb and its object, as in "contains dates"."""
    remedy: str
    """A key of `REMEDIES`."""


class ColumnError(Exception):
    """One or more columns cannot be used.

    The raised error is also a `TypeError` or a `ValueError`; see `type_error` and `value_error`.
    """

    def __init__(self, problems: list[Problem], *, later: bool = False) -> None:
        super().__init__(problems)
        self.problems = problems
        self.later = later

    def __str__(self) -> str:
        return self.in_words(REMEDIES, LATER)

    def in_words(self, remedies: Mapping[str, str], later: Mapping[str, str]) -> str:
        """List all columns with their remedies; `later` replaces some after training."""
        if self.later:
            remedies = {**remedies, **later}
        if len(self.problems) == 1:
            column, fault, remedy = self.problems[0]
            return f"Column {column!r} {fault}. {remedies[remedy]}"
        columns: dict[tuple[str, str], list[str]] = {}
        for column, fault, remedy in self.problems:
            columns.setdefault((fault, remedy), []).append(repr(column))
        lines = [
            f"- {', '.join(names)} {_in_number(fault, len(names))}. {remedies[remedy]}"
            for (fault, remedy), names in columns.items()
        ]
        return "\n".join([f"{len(self.problems)} columns cannot be used:", *lines])


class ColumnTypeError(ColumnError, TypeError):
    """Some columns have a type that is not supported."""


class ColumnValueError(ColumnError, ValueError):
    """Some columns contain values that are not supported."""


def type_error(column: str, fault: str, remedy: str) -> ColumnTypeError:
    """Make the error for a column of the wrong type."""
    return ColumnTypeError([Problem(column, fault, remedy)])


def value_error(column: str, fault: str, remedy: str) -> ColumnValueError:
    """Make the error for a column with wrong values."""
    return ColumnValueError([Problem(column, fault, remedy)])


class ProblemCollector:
    """Collects the problems of columns and raises them together.

    Examples
    --------
    >>> problems = ProblemCollector()
    >>> for name in ("start", "end"):
    ...     with problems.of_column():
    ...         raise type_error(name, "contains durations", "durations")
    >>> problems.raise_all()
    Traceback (most recent call last):
        ...
    obliquebart.table.problems.ColumnTypeError: 2 columns cannot be used:
    - 'start', 'end' contain durations. Convert durations to numbers, for example total seconds.
    """

    def __init__(self, *, later: bool = False) -> None:
        self._later = later
        self._errors: list[ColumnError] = []

    @contextmanager
    def of_column(self) -> Iterator[None]:
        """Catch the error of one column until `raise_all`."""
        try:
            yield
        except ColumnError as error:
            self._errors.append(error)

    def raise_all(self) -> None:
        """Raise one error for all columns, if any, of the type of the first."""
        if self._errors:
            problems = [problem for error in self._errors for problem in error.problems]
            raise type(self._errors[0])(problems, later=self._later)


def _in_number(fault: str, n_columns: int) -> str:
    verb, _, rest = fault.partition(" ")
    return f"{_PLURALS[verb] if n_columns > 1 else verb} {rest}"
