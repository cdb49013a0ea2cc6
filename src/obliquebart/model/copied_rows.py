"""Rows that are copies of others: of a bootstrap sample, or of weights that repeat rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.seen_rows import Keys, row_keys
from obliquebart.table.encoded import EncodedTable


def source_of_rows(table: EncodedTable, outcomes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the number of each row's source, in the order in which these appear first.

    Copies have the same columns and outcomes (a row of an array, or columns of one). In tables of
    few values, different rows are equal by chance. Then their columns are also found with other
    outcomes, and their outcomes with other columns; such rows count as different ones, because
    without all of them nothing would say how often this outcome is.
    """
    y = np.atleast_2d(outcomes)
    n_rows = table.n_rows
    no_columns = EncodedTable(table.x_cont[:0], table.x_cat[:0], [])
    keys = row_keys(table, y)
    _, first, equal = np.unique(keys, return_index=True, return_inverse=True)
    of_columns, of_outcomes = row_keys(table, y[:0]), row_keys(no_columns, y)
    by_chance = _is_shared(of_columns[first]) & _is_shared(of_outcomes[first])
    source = np.where(by_chance[equal], np.arange(n_rows), first[equal])
    return np.unique(source, return_inverse=True)[1].astype(np.intp)


def _is_shared(keys: Keys) -> NDArray[np.bool_]:
    """Say which keys are there more than once."""
    _, same, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[same] > 1)
