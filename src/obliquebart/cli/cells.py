"""The type of a column's cells: numbers, booleans or text, as pandas infers them by default."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart.table.words import BOOLEANS, are_booleans

# The defaults of pandas.read_csv.
MISSING = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)


class FileColumn(ABC):
    """A column of a file whose type is not yet decided."""

    @abstractmethod
    def values(self) -> NDArray[Any]:
        """Return numbers with NaN for missing, booleans, or objects with None for missing."""

    def numbers(self) -> NDArray[Any]:
        """Return values of a column that must be numeric: of these, text is what is no number."""
        return self.values()

    @abstractmethod
    def text(self, levels: Collection[Any] = ()) -> NDArray[Any]:
        """Return text with None for missing; the given levels never count as missing."""

    @abstractmethod
    def as_written(self) -> NDArray[Any]:
        """Return the cells unchanged, to write them to another file."""


class TextColumn(FileColumn):
    """A column of a CSV file, as text."""

    def __init__(self, cells: Sequence[str], decimal: str) -> None:
        self._cells = cells
        self._decimal = decimal

    def values(self) -> NDArray[Any]:  # noqa: D102
        distinct = set(self._cells)
        present = distinct - MISSING
        if are_booleans(present):
            return self._booleans(len(present) < len(distinct))
        text = "".join(present)
        # Python reads 1_000 and the digits of other scripts as numbers; in data files they are
        # text.
        if "_" not in text and text.isascii():
            numbers = self._numbers(len(present) < len(distinct))
            if numbers is not None:
                return numbers
        return self.text()

    def numbers(self) -> NDArray[Any]:  # noqa: D102
        values = self.values()
        if values.dtype.kind != "O":
            return values
        known: dict[str, Any] = dict.fromkeys(MISSING)
        for cell in set(self._cells) - MISSING:
            known[cell] = TextColumn([cell], self._decimal).values().tolist()[0]
        types = set(map(type, known.values()))
        if str not in types and not types <= {bool, type(None)}:
            # Among numbers, True and False are text.
            known = {cell: cell if type(v) is bool else v for cell, v in known.items()}
        return np.array([known[cell] for cell in self._cells], dtype=object)

    def text(self, levels: Collection[Any] = ()) -> NDArray[Any]:  # noqa: D102
        missing = MISSING.difference(levels)
        return np.array([None if c in missing else c for c in self._cells], dtype=object)

    def as_written(self) -> NDArray[Any]:  # noqa: D102
        return np.array(self._cells, dtype=object)

    def _booleans(self, has_missing: bool) -> NDArray[Any]:
        if not has_missing:
            return np.array([bool(BOOLEANS[cell]) for cell in self._cells])
        known = {**dict.fromkeys(MISSING), **{word: bool(n) for word, n in BOOLEANS.items()}}
        return np.array([known[cell] for cell in self._cells], dtype=object)

    def _numbers(self, has_missing: bool) -> NDArray[Any] | None:
        """Return integers, or floats if a value is missing or not an integer."""
        if not has_missing:
            with contextlib.suppress(ValueError):
                return _integers([int(cell) for cell in self._cells])
        cells = self._cells
        if self._decimal != ".":
            if any("." in cell for cell in set(cells) - MISSING):
                return None
            cells = [cell.replace(self._decimal, ".") for cell in cells]
        nan = math.nan
        try:
            values = [nan if cell in MISSING else float(cell) for cell in cells]
        except ValueError:
            return None
        # Python also accepts NAN, which pandas reads as text.
        if any(v != v and cell not in MISSING for v, cell in zip(values, cells, strict=True)):
            return None
        return np.array(values, dtype=np.float64)


def _integers(values: list[int]) -> NDArray[Any]:
    """Return integers of any size without loss."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


class TypedColumn(FileColumn):
    """A column of a Parquet file, which declares its type."""

    def __init__(self, series: nw.Series[Any]) -> None:
        self._series = series

    def values(self) -> NDArray[Any]:  # noqa: D102
        dtype = self._series.dtype
        is_complete = self._series.null_count() == 0
        if dtype.is_float() or dtype.is_decimal():
            return self._series.cast(nw.Float64).to_numpy().astype(np.float64)
        if is_complete and (dtype.is_integer() or dtype == nw.Boolean):
            return self._series.to_numpy()
        return self.as_written()

    def text(self, levels: Collection[Any] = ()) -> NDArray[Any]:  # noqa: ARG002, D102
        return np.array(
            [None if v is None else str(v) for v in self._series.to_list()], dtype=object
        )

    def as_written(self) -> NDArray[Any]:  # noqa: D102
        values = np.empty(len(self._series), dtype=object)
        values[:] = self._series.to_list()
        return values
