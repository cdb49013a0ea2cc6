"""Data files: types, missing values, delimiters, quotes, and what Parquet says itself."""

from __future__ import annotations

import datetime as dt
import gzip

import numpy as np
import polars as pl
import pytest

from obliquebart import ObliqueBARTRegressor
from obliquebart.cli.datafile import FileError, read_data


def read(tmp_path, text, name="d.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_data(str(path), **options)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.5", "-3e2"], [1.0, 2.5, -300.0]),
        (["1", "", "NA"], [1.0, np.nan, np.nan]),
        ([" 1 ", "2", "3"], [1.0, 2.0, 3.0]),
        (["", "NaN", "null"], [np.nan] * 3),
        (["1", "x", ""], ["1", "x", None]),
        (["1_000", "2", "3"], ["1_000", "2", "3"]),
        (["True", "False", "True"], ["True", "False", "True"]),
        (["2020-01-01", "2020-01-02", "NA"], ["2020-01-01", "2020-01-02", None]),
    ],
)
def test_types(tmp_path, cells, expected):
    file = read(tmp_path, "a,b\n" + "\n".join(f"{cell},0" for cell in cells))
    values = file.table(["a"])["a"]
    if isinstance(expected[0], str):
        assert values.dtype == object
        assert values.tolist() == expected
    else:
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, mark):
    file = read(tmp_path, f"a{mark}b c{mark}d\n1{mark}2{mark}3\n")
    assert list(file.columns) == ["a", "b c", "d"]


def test_quotes_line_breaks_blank_lines_and_a_byte_order_mark(tmp_path):
    text = '\ufeff"a","b, too"\r\n"x\ny",1\r\n\r\n"he said ""no""",2\r\n'
    file = read(tmp_path, text)
    assert list(file.columns) == ["a", "b, too"]
    assert file.columns["a"].values().tolist() == ["x\ny", 'he said "no"']
    assert file.n_rows == 2


def test_decimal_comma(tmp_path):
    file = read(tmp_path, "a;b\n1,5;2\n-0,25;3\n", decimal=",")
    np.testing.assert_array_equal(file.columns["a"].values(), [1.5, -0.25])
    assert read(tmp_path, "a;b\n1,5;2\n").columns["a"].values().dtype == object


def test_gzip(tmp_path):
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.write("a,b\n1,2\n")
    assert read_data(str(path)).n_rows == 1


def test_description(tmp_path):
    file = read(tmp_path, "a,b,c\n1,x,\n2,y,\n,x,\n")
    assert file.columns["a"].describe() == ("number", "1 to 2; 1 missing")
    assert file.columns["b"].describe() == ("text", "2 different: x, y")
    assert file.columns["c"].describe() == ("number", "no value; 3 missing")


def test_an_unclosed_quote_is_named(tmp_path):
    with pytest.raises(FileError, match="no CSV file"):
        read(tmp_path, 'a,b\n"1,2\n3,4\n')


def test_parquet_types(tmp_path):
    path = tmp_path / "d.parquet"
    frame = pl.DataFrame(
        {
            "whole": [1, 2, None],
            "yes": [True, False, None],
            "text": ["a", None, "b"],
            "category": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "date": [dt.date(2020, 1, day) for day in (1, 2, 3)],
        }
    )
    frame.write_parquet(path)
    file = read_data(str(path))
    table = file.table(["whole", "yes", "text", "category"])
    np.testing.assert_array_equal(table["whole"], [1, 2, np.nan])
    np.testing.assert_array_equal(table["yes"], [1, 0, np.nan])
    assert table["text"].tolist() == ["a", None, "b"]
    assert table["category"].tolist() == ["u", "v", "u"]
    assert file.columns["date"].describe()[0] == "text"
    with pytest.raises(TypeError, match="'date' holds dates"):
        ObliqueBARTRegressor().fit(file.table(["date"]), [1, 2, 3])


def test_parquet_is_known_by_its_first_bytes(tmp_path):
    path = tmp_path / "d.csv"
    pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(path)
    assert read_data(str(path)).n_rows == 2


def test_outcomes(tmp_path):
    file = read(tmp_path, "x,y\n1,5\n2,\n3,7\n")
    y, rows = file.outcome("y")
    assert y.tolist() == [5.0, 7.0]
    assert rows.tolist() == [0, 2]
    assert file.table(["x"], rows)["x"].tolist() == [1.0, 3.0]
    assert file.outcome("x")[1] is None
