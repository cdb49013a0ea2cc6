"""The levels of one categorical column: which codes they have, and what was never seen."""

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

# The engine takes any code that is not below the number of levels as unseen in training.
UNSEEN = 0xFFFFFFFF


class UnseenLevelWarning(UserWarning):
    """A categorical column holds levels that training did not have."""


@dataclass(frozen=True)
class Factor:
    """A categorical column as read: codes into its own distinct values, -1 where missing."""

    codes: NDArray[np.int64]
    values: list[Level]

    @property
    def kind(self) -> str:
        """``"text"``, ``"number"``, or ``"empty"`` if there is no value at all."""
        if not self.values:
            return "empty"
        return "text" if isinstance(self.values[0], str) else "number"


@dataclass(frozen=True)
class Unseen:
    """What a column held that training did not: rows, and the first few levels."""

    column: str
    n_rows: int
    examples: list[str]


@dataclass(frozen=True)
class LevelTable:
    """Levels of one column in sorted order; a missing category is the last one, if seen.

    The order is that of the values, never of their appearance or of a container's own codes,
    so that every container gives the same codes.

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
        """Number of levels, the missing one included; 1 at least."""
        return len(self.values) + self.has_missing

    @property
    def levels(self) -> list[Level | None]:
        """Levels in the order of their codes; None stands for a missing category."""
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
        """Training codes of a column's rows, and a report if some of them have none."""
        factor = self._in_my_words(factor)
        if "empty" not in (self.kind, factor.kind) and self.kind != factor.kind:
            fault = f"holds {_plural(factor.kind)}, but its levels were {_plural(self.kind)} in fit"
            raise type_error(column, fault, "changed")
        known = self._code_of
        # the last entry serves code -1, a missing category
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
        """Return booleans as this table has them: the numbers 0 and 1, or words."""
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
            raise ValueError("a level table needs a list of values and a flag has_missing")
        if not (
            all(type(value) is str for value in values)
            or all(type(v) is int or (type(v) is float and math.isfinite(v)) for v in values)
        ):
            raise ValueError("levels must be all text or all finite numbers")
        if any(not a < b for a, b in pairwise(values)):
            raise ValueError("levels must be distinct and sorted")
        if not values and not has_missing:
            raise ValueError("a categorical column needs a level")
        return cls(values, has_missing)


def unseen_message(reports: list[Unseen]) -> str:
    """One sentence for all columns, then the policy."""
    shown = []
    for report in reports[:5]:
        more = ", …" if len(report.examples) > 3 else ""
        rows = "row" if report.n_rows == 1 else "rows"
        examples = ", ".join(report.examples[:3]) + more
        shown.append(f"column {report.column!r} in {report.n_rows} {rows} ({examples})")
    if len(reports) > 5:
        shown.append(f"{len(reports) - 5} more columns")
    return (
        f"Levels unseen in training: {'; '.join(shown)}. At a rule on such a column these rows "
        "go to the side with more training rows."
    )


def _plural(kind: str) -> str:
    return {"text": "text", "number": "numbers"}[kind]
