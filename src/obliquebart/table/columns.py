"""One column of a table: as numbers with NaN for missing, or as a factor."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from decimal import Decimal
from functools import cached_property
from numbers import Complex, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart.table.levels import Factor, Level

_REMEDIES = {
    "dates": (
        "dates or times",
        "Turn it into numbers or categories first, for example days since a fixed date, the "
        "month, or the day of the week.",
    ),
    "durations": ("durations", "Turn it into numbers first, for example its total seconds."),
    "nested": (
        "nested values (lists, arrays or records)",
        "Expand it into columns of numbers or categories first.",
    ),
    "bytes": ("bytes", "Decode it to text, or drop it."),
    "complex": (
        "complex numbers",
        "Complex data not supported: pass real and imaginary part as two columns.",
    ),
}


def unsupported(name: str, what: str, detail: str = "") -> TypeError:
    """Make the error for a column that can be neither numbers nor a category."""
    described, remedy = _REMEDIES.get(
        what, (f"values of type {what}", "Turn it into numbers or text first, or drop it.")
    )
    return TypeError(f"Column {name!r} holds {described}{detail}. {remedy}")


class Column(ABC):
    """A column that knows its name, its kind and, for messages, its rows in the user's table.

    ``kind`` is ``"number"``, ``"text"``, ``"category"`` (declared so by its type) or ``"empty"``
    (of undeclared type, and without a value).
    """

    kind: str

    def __init__(self, name: str, rows: NDArray[np.int64] | None) -> None:
        self.name = name
        self._rows = rows

    @abstractmethod
    def _numbers(self) -> NDArray[np.float64]: ...

    @abstractmethod
    def factor(self) -> Factor:
        """Distinct values and codes."""

    def numbers(self) -> NDArray[np.float64]:
        """Values as float64, NaN where missing; text and infinite values are errors."""
        values = self._numbers()
        infinite = np.isinf(values)
        if infinite.any():
            raise self._infinite(infinite)
        return values

    def row(self, i: int | np.integer[Any]) -> int:
        """Row of the user's table."""
        return int(i if self._rows is None else self._rows[i])

    def _infinite(self, where: NDArray[np.bool_]) -> ValueError:
        count = int(np.count_nonzero(where))
        more = f" and in {count - 1} more" if count > 1 else ""
        return ValueError(
            f"Column {self.name!r} holds an infinite value in row {self.row(where.argmax())}"
            f"{more}. Replace it by a finite number, or by NaN if the value is missing."
        )

    def _text_for_numbers(self, value: str, i: int | np.integer[Any]) -> TypeError:
        return TypeError(
            f"Column {self.name!r} holds text ({value[:40]!r} in row {self.row(i)}) where numbers "
            "are expected. Convert it to numbers or, if it is a category, list it in "
            "categorical_features."
        )

    def _factor_of_numbers(
        self, values: NDArray[Any], present: NDArray[np.bool_] | None = None
    ) -> Factor:
        """Factor of the numbers of the rows that are present (all, if None)."""
        n_rows = len(values) if present is None else len(present)
        where = np.arange(n_rows) if present is None else np.flatnonzero(present)
        if values.dtype.kind == "f":
            known = ~np.isnan(values)
            values, where = values[known], where[known]
        distinct, inverse = _distinct(values)
        if distinct.dtype.kind == "f" and np.isinf(distinct).any():
            infinite = np.zeros(n_rows, dtype=np.bool_)
            infinite[where[np.isinf(values)]] = True
            raise self._infinite(infinite)
        codes = np.full(n_rows, -1, dtype=np.int64)
        codes[where] = inverse
        return Factor(codes, _as_levels(self.name, distinct.tolist()))


class NumberColumn(Column):
    """A column of a numeric NumPy array."""

    kind = "number"

    def __init__(self, name: str, rows: NDArray[np.int64] | None, values: NDArray[Any]) -> None:
        super().__init__(name, rows)
        self._values = values

    def _numbers(self) -> NDArray[np.float64]:
        # a long double may overflow; the caller finds the infinite value
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(self._values, dtype=np.float64)

    def factor(self) -> Factor:  # noqa: D102
        return self._factor_of_numbers(np.ascontiguousarray(self._values))


class SeriesColumn(Column):
    """A numeric, boolean, text or categorical column of a data frame."""

    def __init__(self, name: str, rows: NDArray[np.int64] | None, series: nw.Series[Any]) -> None:
        super().__init__(name, rows)
        self._series = series
        dtype = series.dtype
        if dtype == nw.String:
            # pandas calls a column of None text
            self.kind = "text" if series.null_count() < len(series) else "empty"
        elif dtype in (nw.Categorical, nw.Enum):
            self.kind = "category"
        else:
            self.kind = "number"

    def _numbers(self) -> NDArray[np.float64]:
        if self.kind == "number":
            values = self._series.cast(nw.Float64).to_numpy()
            return np.ascontiguousarray(values, dtype=np.float64)
        factor = self.factor()
        if factor.kind == "text":
            row = int(np.argmax(factor.codes >= 0))
            raise self._text_for_numbers(str(factor.values[factor.codes[row]]), row)
        # the last entry serves code -1, a missing value
        return np.array([*factor.values, np.nan], dtype=np.float64)[factor.codes]

    def factor(self) -> Factor:  # noqa: D102
        present = ~self._series.is_null().to_numpy().astype(np.bool_)
        series = self._series.drop_nulls()
        if self.kind == "number":
            if series.dtype.is_decimal():
                series = series.cast(nw.Float64)
            return self._factor_of_numbers(series.to_numpy(), present)
        if series.dtype == nw.String and series.implementation.is_pandas_like():
            # three times as fast, there only
            series = series.cast(nw.Categorical)
        distinct = series.unique().to_list()
        codes = np.full(len(present), -1, dtype=np.int64)
        codes[present] = _codes(series, distinct)
        return Factor(codes, _as_levels(self.name, distinct))


class ObjectColumn(Column):
    """A column of Python objects: what it is depends on what it holds."""

    def __init__(self, name: str, rows: NDArray[np.int64] | None, values: list[Any]) -> None:
        super().__init__(name, rows)
        self._values = values
        self._types = {kind: _content(kind) for kind in set(map(type, values))}

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """What it holds."""
        contents = set(self._types.values())
        strange = contents - {"number", "text", "missing"}
        if strange:
            raise self._unsupported_value()
        if "text" in contents:
            return "text"
        if all(map(self._is_missing, self._values)):
            return "empty"
        return "number"

    def _numbers(self) -> NDArray[np.float64]:
        if self.kind == "text":
            row = self._first("text")
            raise self._text_for_numbers(self._values[row], row)
        values: list[Any] = self._values
        if "missing" in self._types.values():
            types = self._types
            values = [None if types[type(v)] == "missing" else v for v in values]
        try:
            return np.array(values, dtype=object).astype(np.float64)
        except OverflowError:
            raise ValueError(
                f"Column {self.name!r} holds a number beyond the range of double precision. "
                "Rescale it."
            ) from None

    def factor(self) -> Factor:  # noqa: D102
        if self.kind == "empty":
            return Factor(np.full(len(self._values), -1, dtype=np.int64), [])
        distinct = list(dict.fromkeys(self._values))
        present = [value for value in distinct if not self._is_missing(value)]
        numbers = [value for value in present if not isinstance(value, str)]
        if self.kind == "text" and numbers:
            raise self._mixed(numbers[0])
        code_of = dict.fromkeys(distinct, -1)
        code_of.update({value: code for code, value in enumerate(present)})
        codes = np.fromiter(
            map(code_of.__getitem__, self._values), dtype=np.int64, count=len(self._values)
        )
        levels = _as_levels(self.name, present)
        if any(value in (np.inf, -np.inf) for value in levels):
            infinite = np.array([value in (np.inf, -np.inf) for value in self._values])
            raise self._infinite(infinite)
        return Factor(codes, levels)

    def _is_missing(self, value: Any) -> bool:
        return self._types[type(value)] == "missing" or bool(value != value)

    def _first(self, content: str) -> int:
        return next(i for i, v in enumerate(self._values) if self._types[type(v)] == content)

    def _mixed(self, number: Any) -> TypeError:
        row = self._first("text")
        return TypeError(
            f"Column {self.name!r} mixes text and numbers ({self._values[row][:40]!r} in row "
            f"{self.row(row)}, {number!r} in row {self.row(self._values.index(number))}). "
            "Convert it to one of the two, for example all to text."
        )

    def _unsupported_value(self) -> TypeError:
        usual = ("number", "text", "missing")
        row, value = next(
            (i, v) for i, v in enumerate(self._values) if self._types[type(v)] not in usual
        )
        # scikit-learn's checks look for these words
        detail = f"an argument must be a string or a number, not a {type(value).__name__}"
        return unsupported(self.name, self._types[type(value)], f" (row {self.row(row)}: {detail})")


def _codes(series: nw.Series[Any], distinct: list[Any]) -> NDArray[np.int64]:
    """Position of each value of a series among its distinct values."""
    if all(isinstance(value, (str, int, float)) for value in distinct):
        positions = list(range(len(distinct)))
        replaced = series.replace_strict(distinct, positions, return_dtype=nw.Int64)
        return replaced.to_numpy().astype(np.int64)
    # not every library can look up categories such as intervals and dates
    code_of = {value: code for code, value in enumerate(distinct)}
    return np.fromiter(map(code_of.__getitem__, series.to_list()), np.int64, len(series))


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Distinct numbers, sorted, and the position of each number among them."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) + 1000 and low > -(2**62) and high < 2**62:
            # a table of all integers in the range is much faster than sorting; the difference
            # wraps around in narrow types, and is right again when read as unsigned
            unsigned = values.dtype.newbyteorder("=").str.replace("i", "u")
            offsets = (values - values.dtype.type(low)).astype(unsigned).astype(np.intp)
            present = np.bincount(offsets, minlength=high - low + 1) > 0
            position = np.cumsum(present) - 1
            return np.flatnonzero(present) + low, position[offsets]
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _content(kind: type) -> str:
    """Say what values of a Python type are to us."""
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (Real, Decimal, np.bool_)):
        return "number"
    # pandas' NA and NaT, by name because pandas may not be installed
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (dt.date, dt.time, np.datetime64)):
        return "dates"
    if issubclass(kind, (dt.timedelta, np.timedelta64)):
        return "durations"
    if issubclass(kind, (bytes, bytearray)):
        return "bytes"
    if issubclass(kind, Complex):
        return "complex"
    if issubclass(kind, (list, tuple, dict, set, np.ndarray)):
        return "nested"
    return kind.__name__


def _as_number(value: Any) -> int | float:
    """Make an int where that is exact: 1 and 1.0 are one level, large identifiers stay apart."""
    if isinstance(value, (int, np.integer, np.bool_)):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number


def _as_levels(name: str, values: list[Any]) -> list[Level]:
    """Distinct values as text or numbers, one of the two; other categories by their text."""
    types = set(map(type, values))
    if len(types) <= 1 and types <= {str, int}:
        return values
    contents = {_content(kind) for kind in types}
    if contents == {"number"}:
        return [_as_number(value) for value in values]
    if len(contents) > 1 and contents & {"number", "text"}:
        raise TypeError(
            f"Column {name!r} mixes categories of different types "
            f"({', '.join(sorted(kind.__name__ for kind in types))}). "
            "Convert them to one type, for example all to text."
        )
    # strings, but also intervals, dates and the like that the user declared as categories
    return [str(value) for value in values]
