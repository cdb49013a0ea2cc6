"""The columns of a table in words: how many of each kind, and what is in them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable
from obliquebart.table.scaling import ColumnScale

PLURALS = {
    "continuous": "numbers",
    "date": "dates",
    "yes or no": "yes or no",
    "categorical": "categories",
}


def column_counts(encoding: Encoding, table: EncodedTable) -> str:
    """Say how many columns of each kind there are."""
    kinds = [
        "yes or no" if is_binary else kind
        for kind, is_binary in zip(encoding.taken_as, _are_binary(encoding, table), strict=True)
    ]
    counts = Counter(kinds)
    shown = [
        f"{counts[kind]} column{'' if counts[kind] == 1 else 's'} of {plural}"
        for kind, plural in PLURALS.items()
        if counts[kind]
    ]
    *others, last = shown
    return f"{', '.join(others)} and {last}" if others else last


def columns_in_words(encoding: Encoding, training: EncodedTable | None) -> list[str]:
    """Say what each column held in training; missing values are counted where it is known."""
    if training is None:
        return [
            column.in_words() if isinstance(column, LevelTable) else column.range_in_words()
            for column in encoding.columns
        ]
    numbers, codes = iter(training.x_cont), iter(training.x_cat)
    shown = []
    for column in encoding.columns:
        if isinstance(column, LevelTable):
            n_missing = int(np.count_nonzero(next(codes) == len(column.values)))
        else:
            n_missing = int(np.count_nonzero(np.isnan(next(numbers))))
        words = _values_in_words(column)
        shown.append(f"{words}; {n_missing:,} missing" if n_missing else words)
    return shown


def _values_in_words(column: ColumnScale | LevelTable) -> str:
    if isinstance(column, ColumnScale):
        return column.range_in_words()
    n_levels = len(column.values)
    return f"{n_levels} level{'' if n_levels == 1 else 's'}"


def _are_binary(encoding: Encoding, table: EncodedTable) -> list[bool]:
    """Say which columns are 0 or 1 in every row, as booleans are."""
    numbers = iter(table.x_cont)
    return [
        isinstance(column, ColumnScale) and _is_binary(column, column.undo(next(numbers)))
        for column in encoding.columns
    ]


def _is_binary(scale: ColumnScale, values: NDArray[np.float64]) -> bool:
    if (scale.low, scale.high) != (0.0, 1.0) or scale.is_date:
        return False
    return set(np.unique(values[~np.isnan(values)]).tolist()) <= {0.0, 1.0}
