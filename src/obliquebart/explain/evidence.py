"""What in an image or a curve speaks for a prediction: parts of it are replaced by other rows'."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.explain.layout import Layout
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]
# Rows that are predicted at a time.
BLOCK_ROWS = 4096
# The side of a window by default, as a share of the side of an image or a cube, or of the length of
# a curve.
SIDE_SHARE, LENGTH_SHARE = 1 / 7, 1 / 10


def default_size(layout: Layout) -> tuple[int, ...]:
    """Return the sides of a window."""
    share = LENGTH_SHARE if len(layout.shape) == 1 else SIDE_SHARE
    return tuple(min(max(round(share * n), 2), n) for n in layout.shape)


def windows_of(layout: Layout, size: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Yield windows that cover all cells, each half a window from the one before."""
    along = [
        [slice(start, start + side) for start in _starts(length, side)]
        for length, side in zip(layout.shape, size, strict=True)
    ]
    yield from itertools.product(*along)


def _starts(length: int, side: int) -> list[int]:
    return sorted({*range(0, length - side, max(side // 2, 1)), length - side})


def cell_evidence(
    score: Callable[[EncodedTable], FloatArray],
    row: EncodedTable,
    others: EncodedTable,
    layout: Layout,
    size: Sequence[int],
) -> FloatArray:
    """Return how much each cell speaks for a score, in the shape of the cells without channels.

    The evidence of a window is the score of the row less the mean of its scores with the window's
    cells of each of the other rows. A cell has the mean over the windows that contain it: positive
    where the row's own values raise the score. Only relative to the other rows do values speak for
    anything, and windows that need each other, as the two ends of a stroke, are not taken apart.
    """
    windows = list(windows_of(layout, size))
    base = float(score(row)[0])
    n_others = others.n_rows
    per_block = max(BLOCK_ROWS // n_others, 1)
    total = np.zeros(layout.shape)
    count = np.zeros_like(total)
    for start in range(0, len(windows), per_block):
        block = windows[start : start + per_block]
        table = row.take(np.zeros(len(block) * n_others, dtype=np.intp))
        for i, window in enumerate(block):
            columns = layout.columns[window].ravel()
            table.x_cont[columns, i * n_others : (i + 1) * n_others] = others.x_cont[columns]
        means = score(table).reshape(len(block), n_others).mean(axis=1)
        for window, mean in zip(block, means.tolist(), strict=True):
            total[window] += base - mean
            count[window] += 1.0
    return total / count


def check_size(size: int | Sequence[int] | None, layout: Layout) -> tuple[int, ...]:
    """Return the sides of a window; a number is for all of them."""
    if size is None:
        return default_size(layout)
    lengths = layout.shape
    sides: Any = (size,) * len(lengths) if isinstance(size, (int, np.integer)) else size
    is_list = isinstance(sides, (list, tuple, np.ndarray)) and len(sides) == len(lengths)
    if not is_list or not all(
        isinstance(a, (int, np.integer)) and 1 <= a <= b
        for a, b in zip(sides, lengths, strict=True)
    ):
        raise ValueError(
            f"size={size!r} must be one number, or one per axis, each from 1 to the length of its "
            f"axis: {lengths}."
        )
    return tuple(int(side) for side in sides)


def log_odds(probability: FloatArray, smallest: float = 1e-6) -> FloatArray:
    """Return the log odds of probabilities, which are kept away from 0 and 1.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 13.82])
    """
    p = np.clip(probability, smallest, 1.0 - smallest)
    return np.asarray(np.log(p) - np.log1p(-p))
