"""The order of rows whose columns are on the workers of a cluster; see `row_order`.

The first halves are made column by column. Once a part is small enough, one worker gets its rows
and goes on alone. The order is that of one machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.row_order import (
    best_column,
    halved,
    halves,
    is_worth_ordering,
    mean_by_level,
    order_by,
    sample_of,
)
from obliquebart.table.remote import Future, RemoteTable, rows_of

# A part of so many rows is one worker's task.
PART_ROWS = 2**18


def remote_row_order(table: RemoteTable, y: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the rows of a table in a good order, or None if the given one is good enough."""
    if not is_worth_ordering(len(y), len(table.columns)):
        return None
    keys = _keys(table, y)
    order = np.arange(len(y), dtype=np.int64)
    parts, small = [(0, len(y))], []
    while parts:
        first, last = parts.pop()
        if last - first <= PART_ROWS:
            small.append((first, last))
            continue
        rows = order[first:last]
        sample = sample_of(rows)
        values = table.client.gather([table.submit(rows_of, key, sample) for key in keys])
        key = keys[best_column(np.stack(values), y[sample])]
        order[first:last] = table.submit(halved, key, table.send(rows)).result()
        parts += halves(first, last)
    rest = [_order_part(table, keys, order[first:last], y) for first, last in small]
    for (first, last), future in zip(small, rest, strict=True):
        order[first:last] = order[first:last][future.result()]
    return order


def _keys(table: RemoteTable, y: NDArray[np.float64]) -> list[Future]:
    """Return the keys of all columns, on the workers."""
    columns, p_cont = table.columns, table.p_cont
    if p_cont == len(columns):
        return columns
    outcomes = table.send(y)
    return columns[:p_cont] + [table.submit(mean_by_level, c, outcomes) for c in columns[p_cont:]]


def _order_part(
    table: RemoteTable, keys: list[Future], rows: NDArray[np.int64], y: NDArray[np.float64]
) -> Future:
    chosen = table.send(rows)
    pieces = [table.submit(rows_of, key, chosen) for key in keys]
    return table.submit(_order_here, pieces, table.send(y[rows]))


def _order_here(keys: list[NDArray[Any]], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order within a part; called on a worker."""
    return order_by(keys, y)
