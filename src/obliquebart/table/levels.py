"""The levels of one categorical column: their codes, and levels unseen in training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.table.problems import type_error
from obliquebart.table.words import BOOLEANS, are_booleans

Level = str | int | float

# The engine treats any code at or above the number of levels as unseen in training.
UNSEEN = 0xFFFFFFFF


class UnseenLevelWarning(UserWarning):
    """A categorical column contains levels that were not in the training data."""


@dataclass(frozen=True)
class Factor:
    """A categorical column as read: codes into its own distinct values, -1 where missing."""

    codes: NDArray[np.int64]
    values: list[Level]

    @property
    def kind(self) -> str:
        """``"text"``, ``"number"``, or ``"empty"`` if all values are missing."""
        if not self.values:
            return "empty"
        return "text" if isinstance(self.values[0], str) else "number"


@dataclass(frozen=True)
class Unseen:
    """Unseen levels of a column: the number of rows, and the first few levels."""

    column: str
    n_rows: int
    examples: list[str]


@dataclass(frozen=True)
class LevelTable:
    """Levels of one column in sorted order; missing values, if any, are the last level.

    Codes depend only on the values, never on their order in the table or on a container's own
    codes, so every container gives the same codes.

    Examples
    --------
    >>> table = LevelTable.fit(Factor(np.array([1, 0, -1]), ["red", "blue"]))
    >>> table.levels
    ['blue', 'red', None]
    >>> codes, unseen = table.codes(Factor(np.array([0, 1]), ["red", "green"]), "colour")
    >>> codes, unseen.examples
    (array([         1, 4294967295], dtype=uint32), ["'green'"])
    """

    values: list[Level]
    has_missing: bool

    @classmethod
    def fit(cls, factor: Factor) -> LevelTable:
        """Sort the distinct values of a training column."""
        return cls(sorted(factor.values), bool((factor.codes < 0).any()))

    @property
    def n_levels(self) -> int:
        """Number of levels, counting missing values as a level; at least 1."""
        return len(self.values) + self.has_missing

    @property
    def levels(self) -> list[Level | None]:
        """Levels in the order of their codes; None stands for missing values."""
        return [*self.values, *([None] if self.has_missing else [])]

    def in_words(self) -> str:
        """Count the levels for people, to whom a missing value is none.

        Examples
        --------
        >>> LevelTable(["blue", "red"], True).in_words()
        '2 levels and missing values'
        """
        if not self.values:
            return "missing values only"
        levels = "1 level" if len(self.values) == 1 else f"{len(self.values)} levels"
        return f"{levels} and missing values" if self.has_missing else levels

    @property
    def kind(self) -> str:
        """``"text"``, ``"number"`` or ``"empty"``, as for a factor."""
        return Factor(np.empty(0, dtype=np.int64), self.values[:1]).kind

    @cached_property
    def _code_of(self) -> dict[Level, int]:
        return {value: code for code, value in enumerate(self.values)}

    def codes(self, factor: Factor, column: str) -> tuple[NDArray[np.uint32], Unseen | None]:
        """Training codes of a column's rows, and a report if some levels are unseen."""
        factor = self._in_my_words(factor)
        if "empty" not in (self.kind, factor.kind) and self.kind != factor.kind:
            fault = f"contains {_plural(factor.kind)}, but contained {_plural(self.kind)} in fit"
            raise type_error(column, fault, "changed")
        known = self._code_of
        # the last entry is for code -1, a missing value
        translation = np.array(
            [known.get(value, UNSEEN) for value in factor.values]
            + [len(self.values) if self.has_missing else UNSEEN],
            dtype=np.uint32,
        )
        codes = translation[factor.codes]
        n_unseen = int(np.count_nonzero(codes == UNSEEN))
        if n_unseen == 0:
            return codes, None
        unseen = [repr(value) for value in factor.values if value not in known]
        if not self.has_missing and (factor.codes < 0).any():
            unseen.append("missing")
        return codes, Unseen(column, n_unseen, unseen[:4])

    def _in_my_words(self, factor: Factor) -> Factor:
        """Return booleans in the form used in training: the numbers 0 and 1, or text."""
        if self.kind == "number" and are_booleans(factor.values):
            return Factor(factor.codes, [BOOLEANS[str(value)] for value in factor.values])
        if self.kind == "text" and factor.kind == "number":
            words = {BOOLEANS[level]: level for level in self.values if level in BOOLEANS}
            if all(value in words for value in factor.values):
                return Factor(factor.codes, [words[int(value)] for value in factor.values])
        return factor

    def to_state(self) -> dict[str, Any]:
        """JSON-able state."""
        return {"values": list(self.values), "has_missing": self.has_missing}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LevelTable:
        """Rebuild from `to_state`'s dictionary, which may come from an untrusted file."""
        values, has_missing = state["values"], state["has_missing"]
        if not isinstance(values, list) or not isinstance(has_missing, bool):
            raise ValueError("a level table needs a list of values and has_missing")
        if not (
            all(type(value) is str for value in values)
            or all(type(v) is int or (type(v) is float and math.isfinite(v)) for v in values)
        ):
            raise ValueError("levels must be all text or all finite numbers")
        if any(not a < b for a, b in pairwise(values)):
            raise ValueError("levels must be distinct and sorted")
        if not values and not has_missing:
            raise ValueError("a categorical column needs at least one level")
        return cls(values, has_missing)


def unseen_message(reports: list[Unseen]) -> str:
    """Describe the unseen levels of all columns, and what happens to their rows."""
    shown = []
    for report in reports[:5]:
        more = ", …" if len(report.examples) > 3 else ""
        rows = "row" if report.n_rows == 1 else "rows"
        examples = ", ".join(report.examples[:3]) + more
        shown.append(f"column {report.column!r} in {report.n_rows} {rows} ({examples})")
    if len(reports) > 5:
        shown.append(f"{len(reports) - 5} more columns")
    return (
        f"Levels unseen in training: {'; '.join(shown)}. At rules on these columns, such rows "
        "follow the branch with more training rows."
    )


def _plural(kind: str) -> str:
    return {"text": "text", "number": "numbers"}[kind]
