"""One column of a table: as numbers with NaN for missing, as days, or as a factor."""

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
from obliquebart.table.problems import (
    ColumnTypeError,
    ColumnValueError,
    type_error,
    value_error,
)
from obliquebart.table.words import BOOLEANS, are_booleans, days_of_moments, days_of_text

# Contents that are neither continuous nor categorical: the remedy's key and a description.
_DESCRIBED = {
    "dates": "dates",
    "times": "times of day",
    "durations": "durations",
    "nested": "nested values (lists, arrays or records)",
    "bytes": "bytes",
    "complex": "complex numbers",
}


def unsupported(name: str, what: str, detail: str = "") -> ColumnTypeError:
    """Make the error for a column that can be neither continuous nor categorical."""
    described = _DESCRIBED.get(what, f"values of type {what}")
    remedy = what if what in _DESCRIBED else "other"
    return type_error(name, f"contains {described}{detail}", remedy)


class Column(ABC):
    """A column with its name, its kind and, for messages, its rows in the user's table.

    ``kind`` is ``"number"`` (including booleans, also as text), ``"text"``, ``"category"`` (by
    its type), ``"date"``, ``"empty"`` (all values missing, no declared type) or ``"other"``,
    which cannot be used.
    """

    kind: str

    def __init__(self, name: str, rows: NDArray[np.int64] | None) -> None:
        self.name = name
        self._rows = rows

    @abstractmethod
    def _numbers(self) -> NDArray[np.float64]: ...

    @abstractmethod
    def _make_factor(self) -> Factor: ...

    @cached_property
    def _factor(self) -> Factor:
        return self._make_factor()

    def factor(self) -> Factor:
        """Distinct values and codes."""
        return self._factor

    def numbers(self) -> NDArray[np.float64]:
        """Values as float64, NaN where missing; text and infinite values are errors."""
        values = self._numbers()
        infinite = np.isinf(values)
        if infinite.any():
            raise self._infinite(infinite)
        return values

    def days(self) -> NDArray[np.float64]:
        """Dates as days since 1970-01-01, NaN where missing; other values are errors."""
        factor = self.factor()
        if factor.kind == "number":
            raise type_error(self.name, "contains numbers instead of dates", "changed")
        days = [days_of_text(str(value)) for value in factor.values]
        if None in days:
            row = int(np.argmax(factor.codes == days.index(None)))
            raise self._text_for("dates", str(factor.values[factor.codes[row]]), row, "not dates")
        # the last entry is for code -1, a missing value
        return np.array([*days, np.nan], dtype=np.float64)[factor.codes]

    @property
    def holds_dates(self) -> bool:
        """Whether all values are dates, by their type or as text in ISO 8601."""
        if self.kind != "text":
            return self.kind == "date"
        return all(days_of_text(str(value)) is not None for value in self.factor().values)

    def row(self, i: int | np.integer[Any]) -> int:
        """Row number in the user's table."""
        return int(i if self._rows is None else self._rows[i])

    def _infinite(self, where: NDArray[np.bool_]) -> ColumnValueError:
        count = int(np.count_nonzero(where))
        more = f" and in {count - 1} more" if count > 1 else ""
        fault = f"contains an infinite value in row {self.row(where.argmax())}{more}"
        return value_error(self.name, fault, "infinite")

    def _text_for(
        self, expected: str, value: str, i: int | np.integer[Any], remedy: str
    ) -> ColumnTypeError:
        fault = f"contains text ({value[:40]!r} in row {self.row(i)}) instead of {expected}"
        return type_error(self.name, fault, remedy)

    def _too_large(self, detail: str = "") -> ColumnValueError:
        fault = f"contains a number outside the range of double precision{detail}"
        return value_error(self.name, fault, "too large")

    def _numbers_of_levels(self) -> NDArray[np.float64]:
        """Numbers of a column that is read by its levels: booleans as text, or categories."""
        factor = self.factor()
        values: list[Any] = factor.values
        if are_booleans(values):
            values = [BOOLEANS[value] for value in values]
        elif factor.kind == "text":
            row = int(np.argmax(factor.codes >= 0))
            raise self._text_for("numbers", str(values[factor.codes[row]]), row, "text")
        # the last entry is for code -1, a missing value
        return np.array([*values, np.nan], dtype=np.float64)[factor.codes]

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
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(self._values, dtype=np.float64)
        if self._values.dtype.itemsize > values.itemsize:
            overflown = np.isinf(values) & np.isfinite(self._values)
            if overflown.any():
                raise self._too_large(f" in row {self.row(overflown.argmax())}")
        return values

    def _make_factor(self) -> Factor:
        return self._factor_of_numbers(np.ascontiguousarray(self._values))


class SeriesColumn(Column):
    """A numeric, boolean, text or categorical column of a data frame."""

    def __init__(self, name: str, rows: NDArray[np.int64] | None, series: nw.Series[Any]) -> None:
        super().__init__(name, rows)
        self._series = series

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """Kind by type, except for text columns that are all missing or all boolean."""
        if self._series.dtype == nw.String:
            # pandas gives a column of None the type text
            if self._series.null_count() == len(self._series):
                return "empty"
            return "number" if are_booleans(self.factor().values) else "text"
        return "category" if self._is_read_by_level else "number"

    @property
    def _is_read_by_level(self) -> bool:
        return self._series.dtype in (nw.String, nw.Categorical, nw.Enum)

    def _numbers(self) -> NDArray[np.float64]:
        if self._is_read_by_level:
            return self._numbers_of_levels()
        values = self._series.cast(nw.Float64).to_numpy()
        return np.ascontiguousarray(values, dtype=np.float64)

    def _make_factor(self) -> Factor:
        present = ~self._series.is_null().to_numpy().astype(np.bool_)
        series = self._series.drop_nulls()
        if not self._is_read_by_level:
            if series.dtype.is_decimal():
                series = series.cast(nw.Float64)
            return self._factor_of_numbers(series.to_numpy(), present)
        if series.dtype == nw.String and series.implementation.is_pandas_like():
            # three times as fast, in pandas only
            series = series.cast(nw.Categorical)
        distinct = series.unique().to_list()
        codes = np.full(len(present), -1, dtype=np.int64)
        codes[present] = _codes(series, distinct)
        return Factor(codes, _as_levels(self.name, distinct))


class DateColumn(Column):
    """A column of dates, with or without a time of day."""

    kind = "date"

    def __init__(self, name: str, rows: NDArray[np.int64] | None, moments: NDArray[Any]) -> None:
        super().__init__(name, rows)
        self._moments = moments

    def days(self) -> NDArray[np.float64]:  # noqa: D102
        return days_of_moments(self._moments)

    def _numbers(self) -> NDArray[np.float64]:
        raise unsupported(self.name, "dates")

    def _make_factor(self) -> Factor:
        raise unsupported(self.name, "dates")


class OtherColumn(Column):
    """A column that contains neither numbers, dates nor categories."""

    kind = "other"

    def __init__(self, name: str, rows: NDArray[np.int64] | None, what: str) -> None:
        super().__init__(name, rows)
        self._what = what

    def _numbers(self) -> NDArray[np.float64]:
        raise unsupported(self.name, self._what)

    def _make_factor(self) -> Factor:
        raise unsupported(self.name, self._what)


class ObjectColumn(Column):
    """A column of Python objects, whose kind depends on its values."""

    def __init__(
        self,
        name: str,
        rows: NDArray[np.int64] | None,
        values: list[Any],
        text_remedy: str = "text",
    ) -> None:
        super().__init__(name, rows)
        self._values = values
        self._text_remedy = text_remedy
        self._types = {kind: _content(kind) for kind in set(map(type, values))}

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """Kind by the types of the values."""
        if self._has_unusual:
            return "date" if self._contents == {"dates"} else "other"
        if "text" in self._types.values():
            is_boolean = self._contents == {"text"} and are_booleans(self.factor().values)
            return "number" if is_boolean else "text"
        return "number" if self._contents else "empty"

    @property
    def _has_unusual(self) -> bool:
        return bool(set(self._types.values()) - {"number", "text", "missing"})

    @cached_property
    def _contents(self) -> set[str]:
        """What the non-missing values are."""
        if set(self._types.values()) == {"text"}:
            return {"text"}
        return {self._types[type(v)] for v in self._values if not self._is_missing(v)}

    def days(self) -> NDArray[np.float64]:  # noqa: D102
        if self.kind == "date":
            nat = np.datetime64("NaT", "us")
            moments = [nat if self._is_missing(v) else _as_moment(v) for v in self._values]
            return days_of_moments(np.array(moments, dtype="M8[us]"))
        return super().days()

    def _numbers(self) -> NDArray[np.float64]:
        self._require_usual()
        if "text" in self._types.values():
            row = self._first("text")
            if self.kind == "text":
                raise self._text_for("numbers", self._values[row], row, self._text_remedy)
            return self._numbers_of_levels()
        values: list[Any] = self._values
        if "missing" in self._types.values():
            types = self._types
            values = [None if types[type(v)] == "missing" else v for v in values]
        try:
            return np.array(values, dtype=object).astype(np.float64)
        except OverflowError:
            raise self._too_large() from None

    def _make_factor(self) -> Factor:
        self._require_usual()
        distinct = list(dict.fromkeys(self._values))
        present = [value for value in distinct if not self._is_missing(value)]
        numbers = [value for value in present if not isinstance(value, str)]
        if numbers and len(numbers) < len(present):
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

    def _require_usual(self) -> None:
        if self._has_unusual:
            is_date = self._contents == {"dates"}
            raise unsupported(self.name, "dates") if is_date else self._unsupported_value()

    def _is_missing(self, value: Any) -> bool:
        is_array = isinstance(value, np.ndarray)
        return self._types[type(value)] == "missing" or (not is_array and bool(value != value))

    def _first(self, content: str) -> int:
        return next(i for i, v in enumerate(self._values) if self._types[type(v)] == content)

    def _mixed(self, number: Any) -> ColumnTypeError:
        row = self._first("text")
        fault = (
            f"mixes text and numbers ({self._values[row][:40]!r} in row {self.row(row)}, "
            f"{number!r} in row {self.row(self._values.index(number))})"
        )
        return type_error(self.name, fault, "mixed")

    def _unsupported_value(self) -> ColumnTypeError:
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
    """Return how values of a Python type are treated."""
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (Real, Decimal, np.bool_)):
        return "number"
    # pandas' NA and NaT, by name because pandas may not be installed
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (dt.date, np.datetime64)):
        return "dates"
    if issubclass(kind, dt.time):
        return "times"
    if issubclass(kind, (dt.timedelta, np.timedelta64)):
        return "durations"
    if issubclass(kind, (bytes, bytearray)):
        return "bytes"
    if issubclass(kind, Complex):
        return "complex"
    if issubclass(kind, (list, tuple, dict, set, np.ndarray)):
        return "nested"
    return kind.__name__


def _as_moment(value: Any) -> np.datetime64:
    """Convert a date to `datetime64`, in UTC if it has a time zone."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _as_number(value: Any) -> int | float:
    """Convert to int if that is exact: 1 and 1.0 are one level, large identifiers stay distinct."""
    if isinstance(value, (int, np.integer, np.bool_)):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number


def _as_levels(name: str, values: list[Any]) -> list[Level]:
    """Distinct values, all as text or all as numbers; other categories as their text."""
    types = set(map(type, values))
    if len(types) <= 1 and types <= {str, int}:
        return values
    contents = {_content(kind) for kind in types}
    if contents == {"number"}:
        return [_as_number(value) for value in values]
    if len(contents) > 1 and contents & {"number", "text"}:
        listed = ", ".join(sorted(kind.__name__ for kind in types))
        raise type_error(name, f"mixes categories of different types ({listed})", "mixed")
    # strings, but also intervals, dates and so on that the user declared as categorical
    return [str(value) for value in values]
