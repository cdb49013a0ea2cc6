"""Cells of a CSV file are what `pandas.read_csv` says, whatever they hold."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

from obliquebart.cli.cells import MISSING, TextColumn, TypedColumn
from obliquebart.table.frames import read_table

CELLS = {
    "numbers": ["1", "2.5", "-3e2", ".5", "5.", "+5", "1E5"],
    "integers": ["1", "-2", "007"],
    "identifiers": ["12345678901234567", "12345678901234568"],
    "large integers": ["18446744073709551615", "1"],
    "padded numbers": [" 1 ", "2", "\t3"],
    "missing numbers": ["1", "", "NA"],
    "words for missing": ["2.5", *sorted(MISSING)],
    "nothing": ["", "NaN", "null"],
    "infinite": ["1", "inf", "-Infinity"],
    "underflow": ["1e-400", "1e308"],
    "other words for missing": ["1.0", "NAN"],
    "padded words for missing": ["1", " NA"],
    "underscores": ["1_000", "2"],
    "other scripts": ["\u0663", "2"],
    "no numbers": ["1e", "--", ".", "1.2.3", "0x10"],
    "text": ["1", "x", ""],
    "padded text": ["WD ", "WD", " New"],
    "spaces": ["  ", "2"],
    "booleans": ["True", "False", "True"],
    "other booleans": ["true", "FALSE", "TRUE", "false"],
    "missing booleans": ["True", "", "False", "NA"],
    "padded booleans": [" True", "False "],
    "booleans and numbers": ["True", "False", "1"],
    "booleans and text": ["True", "maybe"],
    "yes and no": ["yes", "no"],
    "dates": ["2020-01-01", "2020-01-02", "NA"],
    "levels and text": ["1.0", "1", "one"],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_cells_are_those_of_pandas(cells):
    text = "a,b\n" + "".join(f"{cell},0\n" for cell in cells)
    expected = pd.read_csv(io.StringIO(text))["a"]
    values = TextColumn(cells, ".").values()
    same_values(values, expected)
    ours, theirs = (read_table({"a": v}, "").column(0) for v in (values, expected.to_numpy()))
    assert ours.kind == theirs.kind


def same_values(values, expected):
    given = [None if pd.isna(value) else value for value in expected.tolist()]
    ours = [None if value != value else value for value in values.tolist()]
    assert ours == given
    assert [type(value) for value in ours] == [type(value) for value in given]


@pytest.mark.parametrize("cells", [["1,5", "3"], ["1,5", "2.5"], ["1,5", "NA", "x"]])
def test_decimal_commas_are_those_of_pandas(cells):
    text = "a;b\n" + "".join(f"{cell};0\n" for cell in cells)
    expected = pd.read_csv(io.StringIO(text), sep=";", decimal=",")["a"]
    same_values(TextColumn(cells, ",").values(), expected)


# Cells of a column that must be numeric, and what is made of them.
NUMBERS = {
    "numbers": (["1", "2.5", ""], [1.0, 2.5, None]),
    "one word": (["0.5", "2", "oops", "NA"], [0.5, 2, "oops", None]),
    "underscores": (["1", "1_000"], [1, "1_000"]),
    "other words for missing": (["1", "NAN"], [1, "NAN"]),
    "large integers": (["18446744073709551615", "x"], [18446744073709551615, "x"]),
    "booleans": (["true", "False", ""], [True, False, None]),
    "booleans and text": (["false", "True", "maybe"], [False, True, "maybe"]),
    "booleans and numbers": (["0.5", "1", "True"], [0.5, 1, "True"]),
    "all three": (["0.5", "True", "maybe"], [0.5, True, "maybe"]),
    "only text": (["a", "b", ""], ["a", "b", None]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_only_what_is_no_number_is_text(case):
    cells, expected = NUMBERS[case]
    given = [None if value != value else value for value in TextColumn(cells, ".").numbers()]
    assert given == expected
    assert [type(value) is str for value in given] == [type(value) is str for value in expected]
    assert TextColumn(["1,5", "2.5"], ",").numbers().tolist() == [1.5, "2.5"]


def test_what_was_written_is_kept():
    cells = ["007", " a ", "", "1.50"]
    assert TextColumn(cells, ".").as_written().tolist() == cells


def test_parquet_keeps_large_identifiers():
    series = read_series(pl.Series([2**60, 2**60 + 1, None]))
    assert series.values().tolist() == [2**60, 2**60 + 1, None]
    assert read_series(pl.Series([2**60])).values().dtype == np.int64
    assert read_series(pl.Series([True, None])).values().tolist() == [True, None]


def read_series(series):
    import narwhals.stable.v2 as nw

    return TypedColumn(nw.from_native(series, series_only=True))
