"""An order of the training rows in which neighbours tend to fall into the same leaves.

The posterior does not depend on the order of the rows, but the time of a sweep does: the engine
goes through blocks of rows and skips the leaves that a block does not touch. So rows are
split in halves repeatedly, at the median of the column that tells most about y, down to blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core

BLOCK = _core.BLOCK_ROWS
# With fewer rows the engine goes through all leaves of every block.
FEWEST_ROWS = _core.FEWEST_MASKED_ROWS
# Rows of a part that choose its column, in groups.
SAMPLE = 512
QUARTERS = 4


def row_order(
    x_cont: NDArray[np.float32], x_cat: NDArray[np.uint32], y: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """Return the rows in a good order, or None if the given one is good enough.

    Columns are encoded and of shape (columns, rows); y is what is to be explained, and decides
    which columns matter. The order is the same for the same data.
    """
    if not is_worth_ordering(len(y), len(x_cont) + len(x_cat)):
        return None
    return order_by([*x_cont, *(mean_by_level(codes, y) for codes in x_cat)], y)


def is_worth_ordering(n_rows: int, n_columns: int) -> bool:
    """Say whether the given order may be too slow."""
    return n_rows >= FEWEST_ROWS and n_columns > 0


def order_by(keys: Sequence[NDArray[np.float32]], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return rows in the order that these keys give; there is one key per column."""
    order = np.arange(len(y), dtype=np.int64)
    parts = [(0, len(y))]
    while parts:
        first, last = parts.pop()
        rows = order[first:last]
        sample = sample_of(rows)
        key = keys[best_column(np.stack([key[sample] for key in keys]), y[sample])]
        order[first:last] = halved(key, rows)
        parts += halves(first, last)
    return order


def sample_of(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of a part that choose its column."""
    return rows[:: max(1, len(rows) // SAMPLE)]


def halved(key: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of a part, those with small keys first.

    Equal keys keep their order. `np.argpartition` would order them as the processor's sorting
    instructions do, and the draws depend on the order of the rows.
    """
    values = key[rows]
    middle = np.partition(values, _half(len(rows)))[_half(len(rows))]
    if np.isnan(middle):  # missing values come last
        small, same = ~np.isnan(values), np.isnan(values)
    else:
        small, same = values < middle, values == middle
    order = np.empty_like(rows)
    n_small, n_same = np.count_nonzero(small), np.count_nonzero(same)
    order[:n_small] = rows[small]
    order[n_small : n_small + n_same] = rows[same]
    order[n_small + n_same :] = rows[~(small | same)]
    return order


def halves(first: int, last: int) -> list[tuple[int, int]]:
    """Return the halves of a part, if they are to be halved again."""
    middle = first + _half(last - first)
    return [part for part in ((first, middle), (middle, last)) if part[1] - part[0] > BLOCK]


def _half(n_rows: int) -> int:
    return (n_rows + BLOCK) // (2 * BLOCK) * BLOCK


def best_column(x: NDArray[np.floating], y: NDArray[np.float64]) -> int:
    """Return the column whose quarters differ most in their means of y.

    Quarters rather than halves, because a cut at the median shows nothing of a symmetric effect.
    """
    rows = np.argsort(x, axis=1, kind="stable")  # on every processor; missing values come last
    size = x.shape[1] // QUARTERS
    means = y[rows[:, : size * QUARTERS]].reshape(len(x), QUARTERS, size).mean(axis=2)
    first, last = (np.take_along_axis(x, rows[:, [k]], axis=1)[:, 0] for k in (0, -1))
    return int(np.argmax(np.where(first == last, -1.0, means.var(axis=1))))


def mean_by_level(codes: NDArray[np.uint32], y: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the mean of y in the row's level."""
    _, level, n = np.unique(codes, return_inverse=True, return_counts=True)
    return (np.bincount(level, y) / n).astype(np.float32)[level]
