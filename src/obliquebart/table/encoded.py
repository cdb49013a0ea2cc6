"""A table in the form that the engine reads."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core


class EncodedTable(NamedTuple):
    """Encoded columns, one per row of an array; unlike `_core.Data`, it can be pickled."""

    x_cont: NDArray[np.float32]
    """(p_cont, n), C order; NaN is missing."""
    x_cat: NDArray[np.uint32]
    """(p_cat, n), C order; codes of `n_levels` or more are levels unseen in training."""
    n_levels: list[int]
    """Number of levels of each categorical column."""

    @property
    def p_cont(self) -> int:
        """Return the number of continuous columns."""
        return int(self.x_cont.shape[0])

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.x_cont.shape[1])

    @property
    def n_rows_here(self) -> int:
        """Return the number of rows that are in this process."""
        return self.n_rows

    def digest(self) -> str:
        """Return a digest by which the same table can be recognised."""
        return digest_of(self.x_cont, self.x_cat, np.array(self.n_levels, np.int64))

    def take(self, rows: slice | NDArray[Any]) -> EncodedTable:
        """Return some of the rows."""
        x_cont = np.ascontiguousarray(self.x_cont[:, rows])
        return EncodedTable(x_cont, np.ascontiguousarray(self.x_cat[:, rows]), self.n_levels)

    def with_columns(self, x_cont: NDArray[np.float32]) -> EncodedTable:
        """Return a table with further continuous columns, after the others."""
        return self._replace(x_cont=np.concatenate([self.x_cont, x_cont.astype(np.float32)]))

    def with_value(self, column: int, value: float) -> EncodedTable:
        """Return a table whose rows all have one value in a column, of the engine's order."""
        x_cont, x_cat = self.x_cont.copy(), self.x_cat.copy()
        if column < self.p_cont:
            x_cont[column] = value
        else:
            x_cat[column - self.p_cont] = int(value)
        return EncodedTable(x_cont, x_cat, self.n_levels)

    def to_core(self, order: NDArray[np.int64] | None = None) -> _core.Data:
        """Return the engine's copy, with its rows in this order."""
        return _core.Data(self.x_cont, self.x_cat, self.n_levels, order)


def digest_of(*arrays: NDArray[Any]) -> str:
    """Return a digest of arrays: their types, shapes and values."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(digest_header(array.dtype, array.shape))
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def digest_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what comes before the values of an array in a digest."""
    return f"{dtype.str}{shape}".encode()
