"""One row of a table in any form: an image, a curve, a Series, a dictionary, or a small table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart.table import Encoding
from obliquebart.table.frames import plain_array, read_table, without_column
from obliquebart.table.scaling import ColumnScale


def as_table(row: Any, encoding: Encoding, row_shape: tuple[int, ...]) -> Any:
    """Return a table with one row that an encoding can read.

    An array may have the row's shape if the image or curve is all of the row. If the model knows
    columns by their names, an array gets them. If it was fitted on an array, a row by the names
    that the model gave its columns, such as pixels, becomes an array.

    Examples
    --------
    >>> encoding = Encoding.fit({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    >>> as_table({"a": 1.0, "b": 3.0}, encoding, (2,))
    {'a': [1.0], 'b': [3.0]}
    """
    if nw.dependencies.is_pandas_series(row) and all(isinstance(name, str) for name in row.index):
        row = dict(row.items())
    if isinstance(row, Mapping):
        row = {name: [value] if np.ndim(value) == 0 else value for name, value in row.items()}
    if isinstance(row, Mapping) or nw.dependencies.is_into_dataframe(row):
        n_rows = read_table(row, encoding.owner).n_rows
        if n_rows != 1:
            raise ValueError(f"row is a table with {n_rows} rows: pass one of them.")
        values = None if encoding.is_named else _by_given_names(row, encoding.names)
        return row if values is None else _flat(values, encoding.n_features_in_, ())[np.newaxis]
    flat = _flat(row, encoding.n_features_in_, row_shape)
    if not encoding.is_named:
        return flat[np.newaxis]
    return {name: flat[j : j + 1] for j, name in enumerate(encoding.names)}


def raw_values(table: Any, encoding: Encoding, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values of the only row in some continuous columns, numbered among these.

    Missing values are NaN, also those of cells that the encoding fills.
    """
    if encoding.left_out is not None:
        table = without_column(table, encoding.left_out)
    read = read_table(table, encoding.owner, grids=encoding.grids)
    scales = [(j, c) for j, c in enumerate(encoding.columns) if isinstance(c, ColumnScale)]
    values = np.empty(columns.shape)
    for at, number in np.ndenumerate(columns):
        j, scale = scales[int(number)]
        column = read.column(j)
        values[at] = (column.days() if scale.is_date else column.numbers())[0]
    return values


def _by_given_names(row: Any, names: list[str]) -> list[Any] | None:
    """Return the values of a table with one row in the order of its names; None if others."""
    if not isinstance(row, Mapping):
        frame: nw.DataFrame[Any] = nw.from_native(row, eager_only=True)
        row = frame.to_dict(as_series=False)
    return [row[name][0] for name in names] if set(row) == set(names) else None


def _flat(row: Any, n_features: int, row_shape: tuple[int, ...]) -> NDArray[Any]:
    has_text = isinstance(row, (list, tuple)) and any(isinstance(value, str) for value in row)
    array = np.asarray(plain_array(row), dtype=object if has_text else None)
    if array.size != n_features:
        raise ValueError(
            f"row has {array.size} values, but a row of the model's table has {n_features}: "
            "pass one image or curve, with the columns beside it if there are any."
        )
    shape = tuple(n for n in array.shape if n > 1)
    if len(shape) > 1 and shape != tuple(n for n in row_shape if n > 1):
        raise ValueError(f"row has shape {array.shape}, but the model's is {row_shape}.")
    return np.asarray(array.reshape(-1))
