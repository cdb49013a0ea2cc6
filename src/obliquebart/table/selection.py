"""Which columns of a table are categories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from obliquebart.table.frames import Table


def categorical_mask(categorical_features: Any, table: Table) -> list[bool]:
    """Say of each column of a table whether ``categorical_features`` makes it a category."""
    p = len(table.names)
    if categorical_features is None:
        return [False] * p
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return [_is_declared(table, j) for j in range(p)]
        raise ValueError(
            "categorical_features must be 'auto', None, or a list of column names, positions or "
            f"booleans, got {categorical_features!r}. For one column write "
            f"[{categorical_features!r}]."
        )
    chosen = _as_list(categorical_features)
    if not chosen:
        return [False] * p
    if all(isinstance(entry, (bool, np.bool_)) for entry in chosen):
        if len(chosen) != p:
            raise ValueError(
                f"categorical_features has {len(chosen)} booleans, but X has {p} columns. Give "
                "one for each column."
            )
        return [bool(entry) for entry in chosen]
    if all(isinstance(entry, str) for entry in chosen):
        positions = _positions_of_names(chosen, table)
    elif all(
        isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) for entry in chosen
    ):
        positions = _checked_positions(chosen, p)
    else:
        raise TypeError(
            "categorical_features must hold only names, only positions or only booleans, got "
            f"{sorted({type(entry).__name__ for entry in chosen})}."
        )
    return [j in positions for j in range(p)]


def _is_declared(table: Table, j: int) -> bool:
    return table.is_frame and table.column(j).kind in ("category", "text")


def _as_list(categorical_features: Any) -> list[Any]:
    if not isinstance(categorical_features, Iterable):
        raise TypeError(
            "categorical_features must be 'auto', None, or a list of column names, positions or "
            f"booleans, got {categorical_features!r}."
        )
    return list(categorical_features)


def _positions_of_names(chosen: list[str], table: Table) -> set[int]:
    if not table.is_named:
        raise ValueError(
            "categorical_features holds names, but the columns of X have none. Give positions "
            "instead, or pass a data frame."
        )
    unknown = [name for name in chosen if name not in table.names]
    if unknown:
        raise ValueError(
            f"categorical_features names {', '.join(map(repr, unknown))}, but X has no such "
            f"column. Its columns are {', '.join(map(repr, table.names[:10]))}"
            + (", …" if len(table.names) > 10 else ".")
        )
    return {table.names.index(name) for name in chosen}


def _checked_positions(chosen: list[Any], p: int) -> set[int]:
    outside = [int(entry) for entry in chosen if not 0 <= entry < p]
    if outside:
        raise ValueError(
            f"categorical_features has position {outside[0]}, but the columns of X are numbered "
            f"0 to {p - 1}."
        )
    return {int(entry) for entry in chosen}
