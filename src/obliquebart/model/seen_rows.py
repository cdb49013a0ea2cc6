"""Rows that were in training: a model keeps a key of each, by which it is recognised."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.table.encoded import EncodedTable

Keys = NDArray[np.uint64]

_START = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
# By how many standard deviations matches must exceed what chance explains.
_UNLIKELY = 3.0


class SeenRows(NamedTuple):
    """How many rows of a table were in training."""

    n_rows: int
    n_seen: int | None
    """None where the model cannot tell."""

    @property
    def in_words(self) -> str:
        """Say which rows they are, and what that means for errors."""
        if self.n_seen is None:
            return "the model does not know whether these rows were in training"
        if self.n_seen == 0:
            return "rows not in training"
        if self.n_seen == self.n_rows:
            return "training rows, so too good"
        return f"{self.n_seen:,} of {self.n_rows:,} rows were in training, so too good"


def row_keys(table: EncodedTable, outcomes: NDArray[Any]) -> Keys:
    """Return a 64-bit key of each row and its outcome.

    An outcome is a number, the number of its class, or a column of an array of numbers.
    """
    keys = np.full(table.n_rows, _START)
    for values in table.x_cont:
        # One NaN for all of them, and no negative zero.
        plain = np.where(np.isnan(values), np.float32(np.nan), values + np.float32(0.0))
        _mix(keys, plain.view(np.uint32))
    for codes in table.x_cat:
        _mix(keys, codes)
    for numbers in np.atleast_2d(outcomes):
        _mix(keys, (numbers.astype(np.float64) + 0.0).view(np.uint64))
    return keys


def training_keys(
    table: EncodedTable, outcomes: NDArray[Any], rows: NDArray[np.int64] | None
) -> Keys:
    """Return the keys of a training table, sorted; of rows that a weight repeats there is one."""
    keys = row_keys(table, outcomes)
    if rows is not None:
        keys = keys[np.unique(rows, return_index=True)[1]]
    return np.sort(keys)


def count_seen(training: Keys | None, keys: Keys) -> SeenRows:
    """Count the rows that were in training; their order does not matter.

    Tables of few different rows have equal rows by chance. A new row has one in training about as
    often as a training row has another one there. Where this explains the matches, nothing is said
    about many of them, and a few are no training rows.
    """
    n_rows = len(keys)
    if training is None:
        return SeenRows(n_rows, None)
    n_seen = int(np.isin(keys, training).sum())
    if np.array_equal(np.sort(keys), training):
        return SeenRows(n_rows, n_rows)
    counts = np.unique(training, return_counts=True)[1]
    by_chance = n_rows * float(counts[counts > 1].sum()) / len(training)
    if n_seen > by_chance + _UNLIKELY * math.sqrt(by_chance):
        return SeenRows(n_rows, n_seen)
    return SeenRows(n_rows, None if 2 * n_seen > n_rows else 0)


def _mix(keys: Keys, bits: NDArray[Any]) -> None:
    """Add a column to the keys."""
    keys ^= bits
    keys *= _FACTOR
    keys ^= keys >> _HALF
