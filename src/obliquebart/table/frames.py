"""Any table, read column by column: arrays, dictionaries, and data frames through narwhals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from obliquebart.exceptions import warn_caller
from obliquebart.table.columns import (
    Column,
    DateColumn,
    NumberColumn,
    ObjectColumn,
    OtherColumn,
    SeriesColumn,
)
from obliquebart.table.grid import Grid, column_names, flat_rows

IMAGES_HINT = (
    "Flatten images and curves with X.reshape(len(X), -1), or set directions=Patch(shape), where "
    "all patches have the shape of a row of X."
)


@dataclass(frozen=True)
class Table:
    """A two-dimensional table with at least one row and one column."""

    names: list[str]  # for messages; x0, x1, … if the container has none
    is_named: bool  # whether the container has column names, all of them strings
    is_frame: bool  # whether each column has its own type
    n_rows: int
    column: Callable[[int], Column]  # reads the column at a position


def open_column(values: Any, name: str, rows: NDArray[np.int64] | None = None) -> Column:
    """Open one column: a NumPy array, or the series of a data frame."""
    if isinstance(values, np.ndarray):
        chosen = values if rows is None else values[rows]
        return _open_array(name, rows, chosen, "text in an array")
    series: nw.Series[Any] = nw.from_native(values, series_only=True)
    return _open_series(name, rows, series if rows is None else series[rows.tolist()])


def table_of_names(columns: list[Any] | int, n_rows: int) -> Table:
    """Return a table whose columns are elsewhere: those of a frame, or so many of an array."""

    def elsewhere(j: int) -> Column:
        raise LookupError(f"column {j} is not in this process")

    if isinstance(columns, int):
        return Table([f"x{j}" for j in range(columns)], False, False, n_rows, elsewhere)
    _check_unique(columns)
    return Table([str(name) for name in columns], _are_strings(columns), True, n_rows, elsewhere)


def category_order(y: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical, or None if y is none.

    Examples
    --------
    >>> import pandas as pd
    >>> category_order(pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True))
    ['low', 'mid', 'high']
    """
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):  # of pandas, as a Series or not
        return list(dtype.categories.tolist())
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    return None


def read_table(
    X: Any,
    owner: str,
    rows: NDArray[np.int64] | None = None,
    grids: Sequence[Grid] = (),
    names: Sequence[str] = (),
) -> Table:
    """Open a table without converting it; rows other than `rows` are ignored.

    `owner` is the name of the estimator, for messages. With grids, X may be an array in which each
    row has the shape of one, such as images. The columns of an array get the given names if there
    are as many.

    Examples
    --------
    >>> table = read_table([[1.0, 2.0], [3.0, 4.0]], "Estimator")
    >>> table.names, table.column(1).numbers()
    (['x0', 'x1'], array([2., 4.]))
    """
    if isinstance(X, Mapping) and not issparse(X):  # one sparse format is a mapping
        return _read_mapping(X, owner, rows)
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(X, owner, rows)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(
            f"{owner} needs the values of X, but X is a lazy data frame of type "
            f"{type(X).__module__}.{type(X).__name__}. Compute it first, for example with "
            "X.collect()."
        )
    array = _checked_array(flat_rows(plain_array(X), grids), owner)
    if len(names) != array.shape[1]:
        names = column_names(grids, ["continuous"] * array.shape[1])
    return _read_array(array if rows is None else array[rows], list(names), rows)


def without_column(X: Any, name: str) -> Any:
    """Return a data frame or a dictionary without a column, or X itself if it has no such column.

    Examples
    --------
    >>> without_column({"a": [1.0], "b": [2.0]}, "b")
    {'a': [1.0]}
    """
    if isinstance(X, Mapping) and not issparse(X):
        return {key: values for key, values in X.items() if key != name}
    if nw.dependencies.is_into_dataframe(X):
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        return frame.drop(name).to_native() if name in frame.columns else X
    return X


def column_values(X: Any, name: str, argument: str) -> NDArray[Any]:
    """Return a column of a data frame or a dictionary as it is.

    `argument` is what the user called it in `fit`, for messages.
    """
    if isinstance(X, Mapping) and not issparse(X):
        names = list(X)
        if name in names:
            return np.asarray(X[name])
    elif nw.dependencies.is_into_dataframe(X):
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        names = frame.columns
        if name in names:
            return np.asarray(frame[name].to_numpy())
    else:
        raise ValueError(
            f"{argument}={name!r} is the name of a column, but X has no names: pass the values."
        )
    shown = ", ".join(repr(each) for each in names[:10]) + (", …" if len(names) > 10 else "")
    raise ValueError(f"{argument}={name!r} is not a column of X, which has {shown}.")


def column_order(X: Any, name: str) -> list[Any] | None:
    """Return the categories of a column if it is an ordered categorical, or None.

    Examples
    --------
    >>> import pandas as pd
    >>> arms = pd.Categorical(["sham", "drug"], ["sham", "drug"], ordered=True)
    >>> column_order(pd.DataFrame({"arm": arms}), "arm")
    ['sham', 'drug']
    """
    if isinstance(X, Mapping) and not issparse(X):
        return category_order(X.get(name))
    if nw.dependencies.is_into_dataframe(X):
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        return category_order(frame[name].to_native()) if name in frame.columns else None
    return None


def check_columns(table: Table, names: list[str], is_named: bool, owner: str) -> None:
    """Compare the columns with those in fit; messages are scikit-learn's."""
    if is_named and table.is_named and table.names != names:
        raise ValueError(_names_message(names, table.names))
    if table.is_named and not is_named:
        warn_caller(f"X has feature names, but {owner} was fitted without feature names")
    if is_named and not table.is_named:
        warn_caller(
            f"X does not have valid feature names, but {owner} was fitted with feature names"
        )
    if len(table.names) != len(names):
        raise ValueError(
            f"X has {len(table.names)} features, but {owner} is expecting {len(names)} features "
            "as input."
        )


def _names_message(fitted: list[str], given: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unexpected, missing = sorted(set(given) - set(fitted)), sorted(set(fitted) - set(given))
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _bullets(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _bullets(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _bullets(names: list[str]) -> str:
    shown = "".join(f"- {name}\n" for name in names[:5])
    return shown + ("- ...\n" if len(names) > 5 else "")


def _checked_array(X: Any, owner: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = check_array(
            X, dtype=None, ensure_all_finite=False, input_name="X", estimator=owner
        )
    except ValueError as error:
        if str(error).startswith("Found array with dim"):
            raise ValueError(f"{error} {IMAGES_HINT}") from None
        if not str(error).startswith("Complex data"):
            raise
        # scikit-learn's message would print the whole array
        raise ValueError(
            "Complex data not supported: split X into real and imaginary columns."
        ) from None
    return array


def _read_array(array: NDArray[Any], names: list[str], rows: NDArray[np.int64] | None) -> Table:
    def column(j: int) -> Column:
        return _open_array(names[j], rows, array[:, j], "text in an array")

    return Table(names, False, False, len(array), cache(column))


def _read_mapping(X: Mapping[Any, Any], owner: str, rows: NDArray[np.int64] | None) -> Table:
    """Read a dictionary of columns, for use without a data frame library."""
    names, arrays = list(X), [np.asarray(plain_array(values)) for values in X.values()]
    single = next((str(name) for name, a in zip(names, arrays, strict=True) if a.ndim == 0), None)
    if single is not None:
        raise ValueError(
            f"Column {single!r} is a single value: give each column a list with one value per row, "
            f"as in {{{single!r}: [1.0]}}."
        )
    for name, array in zip(names, arrays, strict=True):
        if array.ndim != 1 or len(array) != len(arrays[0]):
            raise ValueError(
                f"Column {str(name)!r} has shape {array.shape}; expected ({len(arrays[0])},) as in "
                "the first column."
            )
    if not names or len(arrays[0]) == 0:
        # for scikit-learn's own message
        shape = (len(arrays[0]) if names else 1, len(names))
        check_array(np.empty(shape), input_name="X", estimator=owner)
    if rows is not None:
        arrays = [array[rows] for array in arrays]

    def column(j: int) -> Column:
        return _open_array(str(names[j]), rows, arrays[j])

    shown = [str(name) for name in names]
    return Table(shown, _are_strings(names), True, len(arrays[0]), cache(column))


def _open_array(
    name: str, rows: NDArray[np.int64] | None, values: NDArray[Any], text_remedy: str = "text"
) -> Column:
    kind = values.dtype.kind
    if kind in "biuf":
        return NumberColumn(name, rows, values)
    if kind in "OU":
        return ObjectColumn(name, rows, values.tolist(), text_remedy)
    if kind == "M":
        return DateColumn(name, rows, values)
    what = {"m": "durations", "S": "bytes", "c": "complex"}.get(kind, kind)
    return OtherColumn(name, rows, what)


def plain_array(X: Any) -> Any:
    """Avoid two silent conversions by NumPy: dropped masks, and numbers mixed with text to text.

    Examples
    --------
    >>> plain_array([np.ma.masked_equal([1, 2], 2), np.array([3, 4])])
    array([[ 1., nan],
           [ 3.,  4.]])
    """
    if isinstance(X, (list, tuple)) and any(map(_is_masked_row, X)):
        X = _stacked_masks(X)
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biufO":
        # `filled(None)` of objects would write "?".
        missing: Any = None if X.dtype.kind == "O" else np.nan
        return np.where(np.ma.getmaskarray(X), missing, X.data)
    rows = X if isinstance(X, (list, tuple)) else []
    if any(isinstance(v, str) for row in rows[:1] if isinstance(row, (list, tuple)) for v in row):
        return np.array(X, dtype=object)
    return X


def unmasked(values: Any) -> NDArray[Any]:
    """Return an array in which masked values are missing: NaN, or None among others than numbers.

    Examples
    --------
    >>> unmasked(np.ma.masked_equal([1, 2], 2)), unmasked(np.ma.masked_equal(["a", "b"], "b"))
    (array([ 1., nan]), array(['a', None], dtype=object))
    """
    array = np.asarray(values)
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if mask is None or not mask.any():
        return array
    return np.where(mask, np.nan, array) if array.dtype.kind in "biuf" else _with_none(array, mask)


def _with_none(array: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    values = array.astype(object)
    values[mask] = None
    return values


def _is_masked_row(row: Any) -> bool:
    return isinstance(row, np.ma.MaskedArray) and row.ndim > 0


def _stacked_masks(rows: Sequence[Any]) -> Any:
    """Return a list of masked arrays as one, or as it is if their shapes differ."""
    arrays = [np.ma.asanyarray(row) for row in rows]
    return np.ma.stack(arrays) if len({array.shape for array in arrays}) == 1 else rows


def _read_frame(X: Any, owner: str, rows: NDArray[np.int64] | None) -> Table:
    # narwhals checks for duplicates too, but not for every library and not immediately
    _check_unique(list(getattr(X, "column_names", getattr(X, "columns", []))))
    frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    columns: list[Any] = list(frame.columns)
    is_named = _are_strings(columns)
    if 0 in frame.shape:
        # for scikit-learn's own message
        check_array(np.empty(frame.shape), input_name="X", estimator=owner)
    if rows is not None:
        frame = frame[rows.tolist(), :]
    names = [str(name) for name in columns]

    def column(j: int) -> Column:
        return _open_series(names[j], rows, frame.get_column(columns[j]))

    return Table(names, is_named, True, frame.shape[0], cache(column))


def _check_unique(columns: list[Any]) -> None:
    twice = [str(name) for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(
            f"Column names must be unique, but X has duplicates: {', '.join(twice)}. "
            "Rename or drop the duplicates."
        )


def _are_strings(columns: list[Any]) -> bool:
    types = sorted({type(name).__qualname__ for name in columns})
    if len(types) > 1 and "str" in types:
        # scikit-learn's message
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. Convert them all to strings, "
            "for example with X.columns = X.columns.astype(str)."
        )
    return types == ["str"]


def _open_series(name: str, rows: NDArray[np.int64] | None, series: nw.Series[Any]) -> Column:
    dtype = series.dtype
    if dtype.is_numeric() or dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum):
        return SeriesColumn(name, rows, series)
    if dtype in (nw.Object, nw.Unknown):
        return ObjectColumn(name, rows, series.to_list())
    if dtype in (nw.Date, nw.Datetime):
        return DateColumn(name, rows, _moments(series))
    for described, dtypes in (
        ("times", (nw.Time,)),
        ("durations", (nw.Duration,)),
        ("nested", (nw.List, nw.Array, nw.Struct)),
        ("bytes", (nw.Binary,)),
    ):
        if dtype in dtypes:
            return OtherColumn(name, rows, described)
    return OtherColumn(name, rows, str(dtype))


def _moments(series: nw.Series[Any]) -> NDArray[np.datetime64]:
    """Dates as NumPy's `datetime64`, in UTC if they have a time zone."""
    present = ~series.is_null().to_numpy().astype(np.bool_)
    moments = np.full(len(series), np.datetime64("NaT", "us"))
    stamps = series.drop_nulls().dt.timestamp("us").to_numpy()
    moments[present] = stamps.astype(np.int64).astype("M8[us]")
    return moments
