"""Data files: types, missing values, delimiters, quotes, and what Parquet says itself."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from obliquebart import ObliqueBARTRegressor
from obliquebart.cli.datafile import FileError, read_data
from obliquebart.cli.fit_task import describe
from obliquebart.table import Encoding
from obliquebart.table.frames import read_table


def read(tmp_path, text, name="d.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_data(str(path), **options)


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


def test_names_are_those_of_pandas(tmp_path):
    text = "a, b,,c \n1,2,3,4\n"
    assert list(read(tmp_path, text).columns) == list(pd.read_csv(io.StringIO(text)).columns)
    spaced = read(tmp_path, 'a, b\n1, "x, y"\n', delimiter=", ")
    assert list(spaced.columns) == ["a", "b"]
    assert spaced.columns["b"].values().tolist() == ["x, y"]
    with pytest.raises(
        FileError, match=r"no column 'b' \(--drop\)\. Spaces are .*--delimiter ', '"
    ):
        read(tmp_path, "a, b\n1,2\n").require(["b"], "--drop")


def test_blank_lines_are_no_rows(tmp_path):
    assert read(tmp_path, "a,b\n1,2\n\n  \n3,4\n").n_rows == 2


@pytest.mark.parametrize("start", ["\n", "\r\n  \r\n", "\ufeff\n"])
def test_blank_lines_before_the_header(tmp_path, start):
    text = f"{start}a,b\n1,2\n"
    assert list(read(tmp_path, text).columns) == list(pd.read_csv(io.StringIO(text)).columns)
    n_blank = start.count("\n")
    with pytest.raises(FileError, match=f"line {n_blank + 3}: 1 values"):
        read(tmp_path, f"{text}3\n")
    with pytest.raises(FileError, match="is empty"):
        read(tmp_path, start)


def test_standard_input_is_read_like_a_file(monkeypatch):
    def given(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin1"))
        return read_data("-")

    file = given("\ufeffa,caf\xe9\r\n1,2\r\n".encode())
    assert list(file.columns) == ["a", "caf\xe9"]
    with pytest.raises(FileError, match="standard input is UTF-16 text"):
        given("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(FileError, match="standard input is not UTF-8 text"):
        given("caf\xe9,b\n1,2\n".encode("latin1"))


def test_the_error_names_the_cell_that_is_no_number(tmp_path):
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5], "yes": [True, False, True], "n": [1, 2, 1]})
    encoding = Encoding.fit(frame, categorical_features=["n"])
    good = read(tmp_path, "x,yes,n\n0.5,true,1\n,,2\n")
    encoding.transform(good.table_for(encoding))
    faults = {
        "oops,true,1": r"'x' contains text \('oops' in row 1\) instead of numbers",
        "True,true,1": r"'x' contains text \('True' in row 1\) instead of numbers",
        "0.5,maybe,1": r"'yes' contains text \('maybe' in row 1\) instead of numbers",
        "0.5,true,one": r"'n' mixes text and numbers \('one' in row 1, 2 in row 0\)",
    }
    for row, fault in faults.items():
        bad = read(tmp_path, f"x,yes,n\n0.5,false,2\n{row}\n1,true,1\n")
        with pytest.raises(TypeError, match=fault):
            encoding.transform(bad.table_for(encoding))


def test_a_category_without_values_in_training_takes_all(tmp_path):
    encoding = Encoding.fit(
        {"c": np.array([None, None]), "x": np.array([1.0, 2.0])}, categorical_features=["c"]
    )
    file = read(tmp_path, "c,x\n1,1\na,2\n")
    assert file.table_for(encoding)["c"].tolist() == ["1", "a"]


def test_a_word_for_missing_may_be_a_level_of_the_model(tmp_path):
    """As pandas has it with keep_default_na=False, or polars by default."""
    frame = pd.DataFrame({"porch": ["None", "open", "closed"] * 10})
    encoding = Encoding.fit(frame)
    file = read(tmp_path, "porch\nNone\nopen\n")
    assert file.table_for(encoding)["porch"].tolist() == ["None", "open"]
    assert file.table(["porch"])["porch"].tolist() == [None, "open"]


def test_booleans_as_outcomes(tmp_path):
    file = read(tmp_path, "x,y\n1,True\n2,\n3,False\n")
    y, rows = file.outcome("y")
    assert y.dtype == bool
    assert y.tolist() == [True, False]
    assert rows.tolist() == [0, 2]
    assert file.outcome("y", as_text=True)[0].tolist() == ["True", "False"]


def test_damaged_gzip(tmp_path):
    path = tmp_path / "d.csv.gz"
    good = gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)
    for place in range(0, len(good), 3):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        # Some bytes do not matter.
        with contextlib.suppress(FileError):
            read_data(str(path))
    path.write_bytes(good[:12] + b"\xff" * 20)
    with pytest.raises(FileError, match="damaged or not a CSV file"):
        read_data(str(path))


def test_gzip(tmp_path):
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.write("a,b\n1,2\n")
    assert read_data(str(path)).n_rows == 1


def test_description(tmp_path):
    file = read(tmp_path, "a,b,c,d,e\n1,x,,2020-01-05,inf\n2,y,,2020-01-03,1\n,x,,,2\n")
    table = read_table(file.table(list(file.columns)), "")
    taken_as = ["continuous", "categorical", "continuous", "date", "continuous"]
    assert [describe(table.column(j), kind) for j, kind in enumerate(taken_as)] == [
        "1 to 2; 1 missing",
        "2 levels: x, y",
        "no values; 3 missing",
        "2020-01-03 to 2020-01-05; 1 missing",
        "cannot be used",
    ]


def test_an_unclosed_quote_is_named(tmp_path):
    with pytest.raises(FileError, match="not a CSV file"):
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
    assert table["text"].tolist() == ["a", None, "b"]
    assert table["category"].tolist() == ["u", "v", "u"]
    columns = read_table(table, "")
    np.testing.assert_array_equal(columns.column(0).numbers(), [1, 2, np.nan])
    np.testing.assert_array_equal(columns.column(1).numbers(), [1, 0, np.nan])
    with pytest.raises(TypeError, match="'date' contains dates"):
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
