"""Rows at which to judge the chains of a fit that has seen no other rows than its own."""

from __future__ import annotations

import numpy as np

from obliquebart.table.encoded import EncodedTable

# Enough for a mean over rows, and few enough that trees take longer to prepare than to evaluate.
N_PROBES = 64
# Its multiples are spread evenly over [0, 1) once their whole part is left out.
GOLDEN = (5**0.5 - 1) / 2


def rows_between(table: EncodedTable, n_rows: int = N_PROBES) -> EncodedTable:
    """Return up to so many rows half-way between pairs of rows of a table, evenly spread.

    At a training row f is held in place by the outcome there, and chains agree on it long before
    they agree on f elsewhere: the Monte Carlo error at new rows can be ten times as large. Between
    two training rows it is that of new rows (docs/howto/convergence.md has the numbers).

    A continuous column is the mean of the pair's values, or the one that is not missing; a
    categorical column is that of one or the other.
    """
    n_rows = min(n_rows, table.n_rows)
    first = np.unique(np.linspace(0, table.n_rows - 1, n_rows).round().astype(np.intp))
    # Partners at all distances, as a table may be sorted, and never a row itself.
    distance = 1 + (np.arange(len(first)) * GOLDEN % 1.0 * (table.n_rows - 1)).astype(np.intp)
    second = (first + distance) % table.n_rows
    one, other = table.take(first), table.take(second)
    values, values_of_other = one.x_cont, other.x_cont
    mean = values / 2 + values_of_other / 2
    mean = np.where(np.isnan(values), values_of_other, np.where(np.isnan(mean), values, mean))
    swapped = np.add.outer(np.arange(len(one.x_cat)), np.arange(len(first))) % 2 == 1
    codes = np.where(swapped, other.x_cat, one.x_cat)
    return EncodedTable(mean.astype(np.float32), codes.astype(np.uint32), table.n_levels)
