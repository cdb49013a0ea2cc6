"""How the columns of a table are used: as continuous, categorical or dates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from obliquebart.table.columns import Column
from obliquebart.table.frames import Table

# A categorical column is declared by the user, or found by its type.
Role = Literal["continuous", "declared", "found", "date"]
Dates = Literal["auto"] | None


def column_roles(table: Table, categorical_features: Any, dates: Dates = None) -> list[Role]:
    """Return how each column is used.

    Examples
    --------
    >>> from obliquebart.table.frames import read_table
    >>> table = read_table({"shop": [1, 2], "city": ["a", "b"], "day": ["2024-05-02"] * 2}, "")
    >>> column_roles(table, ["shop"], dates="auto")
    ['declared', 'found', 'date']
    """
    choices = column_choices(table, categorical_features, dates)
    return [choice.role(partial(table.column, j)) for j, choice in enumerate(choices)]


def is_category(role: Role) -> bool:
    """Return whether a column is used as categorical."""
    return role in ("declared", "found")


class ColumnChoice(NamedTuple):
    """What the user said about a column, before its values are read."""

    is_declared: bool
    finds_dates: bool
    finds_categories: bool

    def role(self, column: Callable[[], Column]) -> Role:
        """Return how the column is used; it is read only if that depends on its values."""
        if self.is_declared:
            return "declared"
        if self.finds_dates and column().holds_dates:
            return "date"
        if self.finds_categories and column().kind in ("category", "text"):
            return "found"
        return "continuous"


def column_choices(
    table: Table, categorical_features: Any, dates: Dates = None
) -> list[ColumnChoice]:
    """Return what the user said about each column."""
    choice = _read_choice(categorical_features, table)
    finds = choice.finds and table.is_frame
    return [
        ColumnChoice(j in choice.declared, dates == "auto", finds) for j in range(len(table.names))
    ]


class _Choice(NamedTuple):
    """The meaning of ``categorical_features``."""

    declared: set[int]
    finds: bool
    """Whether columns of text or categorical type are categorical, too."""


def _read_choice(categorical_features: Any, table: Table) -> _Choice:
    if categorical_features is None:
        return _Choice(set(), finds=False)
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return _Choice(set(), finds=True)
        raise ValueError(
            "categorical_features must be 'auto', None, or a list of column names, positions or "
            f"booleans, got {categorical_features!r}. For one column write "
            f"[{categorical_features!r}]."
        )
    chosen = _as_list(categorical_features)
    p = len(table.names)
    if chosen and all(isinstance(entry, (bool, np.bool_)) for entry in chosen):
        if len(chosen) != p:
            raise ValueError(
                f"categorical_features has {len(chosen)} booleans, but X has {p} columns. Pass "
                "one per column."
            )
        return _Choice({j for j, entry in enumerate(chosen) if entry}, finds=False)
    if all(isinstance(entry, str) for entry in chosen):
        return _Choice(_positions_of_names(chosen, table), finds=True)
    if all(
        isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) for entry in chosen
    ):
        return _Choice(_checked_positions(chosen, p), finds=True)
    raise TypeError(
        "categorical_features must contain only names, only positions or only booleans, got "
        f"{sorted({type(entry).__name__ for entry in chosen})}."
    )


def _as_list(categorical_features: Any) -> list[Any]:
    # An iterator would be empty in the next `fit`.
    if not isinstance(categorical_features, Iterable) or isinstance(categorical_features, Iterator):
        raise TypeError(
            "categorical_features must be 'auto', None, or a list of column names, positions or "
            f"booleans, got {categorical_features!r}."
        )
    return list(categorical_features)


def _positions_of_names(chosen: list[str], table: Table) -> set[int]:
    if chosen and not table.is_named:
        raise ValueError(
            "categorical_features contains names, but X has no column names. Use positions "
            "instead, or pass a data frame."
        )
    unknown = [name for name in chosen if name not in table.names]
    if unknown:
        raise ValueError(
            f"categorical_features contains {', '.join(map(repr, unknown))}, which X does not "
            f"have. Its columns are {', '.join(map(repr, table.names[:10]))}"
            + (", …" if len(table.names) > 10 else ".")
        )
    return {table.names.index(name) for name in chosen}


def _checked_positions(chosen: list[Any], p: int) -> set[int]:
    outside = [int(entry) for entry in chosen if not 0 <= entry < p]
    if outside:
        raise ValueError(
            f"categorical_features contains position {outside[0]}, but the columns of X are "
            f"numbered 0 to {p - 1}."
        )
    return {int(entry) for entry in chosen}
