"""Synthetic new rows for checking convergence, made from the training rows."""

from __future__ import annotations

import numpy as np

from obliquebart.table.encoded import EncodedTable

# Enough for a mean over rows, and few enough that preparing trees takes longer than evaluating.
N_PROBES = 64
# The fractional parts of its multiples are evenly spread over [0, 1).
GOLDEN = (5**0.5 - 1) / 2


def rows_between(table: EncodedTable, n_rows: int = N_PROBES) -> EncodedTable:
    """Return up to `n_rows` rows halfway between pairs of rows of a table, evenly spread.

    At a training row, the outcome constrains f, and chains agree on it long before they agree on
    f elsewhere: the Monte Carlo error at new rows can be ten times as large. Halfway between two
    training rows, it is as large as at new rows (docs/howto/convergence.md has the numbers).

    A continuous value is the mean of the pair's values, or the one that is not missing; a
    categorical value is that of one of the two rows.
    """
    n_rows = min(n_rows, table.n_rows)
    first = np.unique(np.linspace(0, table.n_rows - 1, n_rows).round().astype(np.intp))
    # Pair rows at all distances, because a table may be sorted, and never a row with itself.
    distance = 1 + (np.arange(len(first)) * GOLDEN % 1.0 * (table.n_rows - 1)).astype(np.intp)
    second = (first + distance) % table.n_rows
    one, other = table.take(first), table.take(second)
    values, values_of_other = one.x_cont, other.x_cont
    mean = values / 2 + values_of_other / 2
    mean = np.where(np.isnan(values), values_of_other, np.where(np.isnan(mean), values, mean))
    swapped = np.add.outer(np.arange(len(one.x_cat)), np.arange(len(first))) % 2 == 1
    codes = np.where(swapped, other.x_cat, one.x_cat)
    return EncodedTable(mean.astype(np.float32), codes.astype(np.uint32), table.n_levels)
