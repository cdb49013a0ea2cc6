"""One row in any form."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from obliquebart.explain.layout import layout_of
from obliquebart.explain.one_row import as_table, raw_values
from obliquebart.table import Encoding
from obliquebart.table.grid import Grid

PIXELS = [f"p{j}" for j in range(6)]
GRID = Grid((2, 3), columns=tuple(PIXELS))


def frame() -> pd.DataFrame:
    """Images of six pixels, one of them missing, beside a date and a category."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 6)), columns=PIXELS)
    table.loc[3, "p4"] = np.nan
    table.insert(2, "day", pd.date_range("2020-01-01", periods=8))
    table.insert(4, "town", pd.Categorical(list("abab" * 2)))
    return table


def named() -> Encoding:
    return Encoding.fit(frame(), dates="auto", grids=[GRID])


FORMS = {
    "series": lambda table: table.iloc[3],
    "dictionary": lambda table: table.iloc[3].to_dict(),
    "dictionary of lists": lambda table: {name: [v] for name, v in table.iloc[3].items()},
    "frame": lambda table: table.iloc[[3]],
    "polars": lambda table: pl.from_pandas(table)[3],
    "arrow": lambda table: pl.from_pandas(table)[3:4].to_arrow(),
    "polars row": lambda table: pl.from_pandas(table).row(3, named=True),
    "tuple": lambda table: tuple(table.iloc[3]),
    "list": lambda table: table.iloc[3].tolist(),
    "array": lambda table: table.iloc[3].to_numpy(),
    "array with one row": lambda table: table.iloc[[3]].to_numpy(dtype=object),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("error")
def test_all_forms_are_the_same_row(form):
    encoding = named()
    table = as_table(FORMS[form](frame()), encoding, (2, 3))
    expected, found = encoding.transform(frame().iloc[[3]]), encoding.transform(table)
    np.testing.assert_array_equal(found.x_cont, expected.x_cont)
    np.testing.assert_array_equal(found.x_cat, expected.x_cat)
    raw = raw_values(table, encoding, layout_of(encoding).columns)
    np.testing.assert_array_equal(raw[..., 0], frame()[PIXELS].to_numpy()[3].reshape(2, 3))
    assert np.isnan(raw[1, 1, 0])
    assert not np.isnan(found.x_cont).any()


def test_dates_are_days():
    encoding = named()
    table = as_table(frame().iloc[2], encoding, (2, 3))
    days = (dt.date(2020, 1, 3) - dt.date(1970, 1, 1)).days
    # It is the third of the numbers.
    np.testing.assert_array_equal(raw_values(table, encoding, np.array([2])), [days])


def test_a_column_that_was_left_out_may_be_there():
    encoding = replace(named(), left_out="treated")
    for table in (frame(), frame().assign(treated=1)):
        one = as_table(table.iloc[3], encoding, (2, 3))
        raw = raw_values(one, encoding, layout_of(encoding).columns)
        np.testing.assert_array_equal(raw[..., 0], frame()[PIXELS].to_numpy()[3].reshape(2, 3))


def test_arrays_have_the_shape_of_a_row_or_are_flat():
    x = np.arange(12.0).reshape(2, 3, 2)
    encoding = Encoding.fit(x, grids=[Grid((3, 2))])
    masked = np.ma.masked_equal(x[1], 8.0)
    same = [x[1], x[1].ravel(), x[1:], x[1].tolist(), pd.Series(x[1].ravel()), x[1][..., None]]
    for row in same:
        np.testing.assert_array_equal(as_table(row, encoding, (3, 2)), x[1].reshape(1, -1))
    raw = raw_values(as_table(masked, encoding, (3, 2)), encoding, layout_of(encoding).columns)
    np.testing.assert_array_equal(raw[..., 0], [[6, 7], [np.nan, 9], [10, 11]])


@pytest.mark.filterwarnings("error")
def test_a_row_by_the_names_that_an_array_got():
    x = np.arange(12.0).reshape(2, 3, 2)
    encoding = Encoding.fit(x, grids=[Grid((3, 2))])
    series = pd.Series(x[1].ravel(), encoding.names)
    mixed = series.iloc[::-1]
    table = series.to_frame().T
    for row in (series, mixed, mixed.to_dict(), table, pl.from_pandas(table)):
        found = as_table(row, encoding, (3, 2))
        np.testing.assert_array_equal(found, x[1].reshape(1, -1))
        encoding.transform(found)
    holes = as_table({**series, "pixel[0,1]": None}, encoding, (3, 2))
    assert np.isnan(raw_values(holes, encoding, np.arange(6))[1])
    with pytest.warns(UserWarning, match="X has feature names"):
        encoding.transform(as_table(series.rename({"pixel[0,0]": "a"}), encoding, (3, 2)))


def test_lists_of_masked_rows_are_an_image():
    encoding = Encoding.fit(np.arange(12.0).reshape(2, 3, 2), grids=[Grid((3, 2))])
    rows = list(np.ma.masked_equal([[6, 7], [8, 9], [10, 11]], 8))
    raw = raw_values(as_table(rows, encoding, (3, 2)), encoding, np.arange(6))
    np.testing.assert_array_equal(raw, [6, 7, np.nan, 9, 10, 11])


def test_images_with_a_single_row():
    x = np.arange(12.0).reshape(2, 1, 6)
    encoding = Encoding.fit(x, grids=[Grid((1, 6))])
    for row in (x[1], x[1].ravel(), x[1:]):
        table = as_table(row, encoding, (1, 6))
        np.testing.assert_array_equal(encoding.transform(table).x_cont, [[1.0]] * 6)
        raw = raw_values(table, encoding, layout_of(encoding).columns)
        np.testing.assert_array_equal(raw[..., 0], x[1])


def test_errors_name_the_fix():
    encoding = named()
    for row in (frame().iloc[:2], {name: [1.0, 2.0] for name in encoding.names}):
        with pytest.raises(ValueError, match="row is a table with 2 rows: pass one of them"):
            as_table(row, encoding, (2, 3))
    with pytest.raises(ValueError, match=r"row has 6 values, but a row .* has 8"):
        as_table(np.zeros((2, 3)), encoding, (2, 3))
    images = Encoding.fit(np.eye(6)[:3], grids=[Grid((2, 3))])
    with pytest.raises(ValueError, match=r"row has shape \(3, 2\), but the model's is \(2, 3\)"):
        as_table(np.zeros((3, 2)), images, (2, 3))
