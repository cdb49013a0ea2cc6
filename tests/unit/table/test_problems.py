"""Columns that cannot be used: all of them are named at once, with what to do about each."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from obliquebart import ObliqueBARTRegressor, RandomRotation
from obliquebart.exceptions import DoubtfulColumnWarning
from obliquebart.table import FEATURE_SCALINGS, Encoding
from obliquebart.table.problems import ColumnError, ColumnTypeError, ColumnValueError

N = 1500


def bad_frame():
    return pl.DataFrame(
        {
            "fine": np.arange(N),
            "start": [dt.date(2020, 1, 1)] * N,
            "end": [dt.datetime(2020, 1, 1)] * N,
            "took": [dt.timedelta(1)] * N,
            "note": [f"word {i}" for i in range(N)],
            "large": [float("inf")] * N,
        }
    )


@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
def test_all_bad_columns_are_named_at_once(scaling):
    with pytest.raises(TypeError) as caught:
        Encoding.fit(bad_frame(), feature_scaling=scaling)
    lines = str(caught.value).splitlines()
    expected = [
        "columns cannot be used:",
        "- 'start', 'end' contain dates. Set dates=\"auto\"",
        "- 'took' contains durations. Convert",
        "- 'large' contains an infinite value in row 0 and in 1499 more. Replace",
    ]
    if scaling != "joint":
        # There the range of all numbers is needed first.
        expected.insert(3, "- 'note' looks like free text: 1500 distinct values in 1500 rows. Drop")
    assert len(lines) == len(expected)
    assert all(piece in line for piece, line in zip(expected, lines, strict=True))
    assert "fine" not in str(caught.value)


def test_a_single_bad_column_is_a_sentence():
    with pytest.raises(
        ValueError, match=r"^Column 'large' contains an infinite value in row 0 and"
    ):
        Encoding.fit(bad_frame().select("fine", "large"))


def test_all_bad_columns_of_a_later_table():
    encoding = Encoding.fit(pl.DataFrame({"a": [1.0, 2.0], "b": [1, 2], "c": ["x", "y"]}))
    new = pl.DataFrame({"a": ["q", "r"], "b": [dt.date(2020, 1, 1)] * 2, "c": [1, 2]})
    with pytest.raises(TypeError) as caught:
        encoding.transform(new)
    message = str(caught.value)
    assert message.startswith("3 columns cannot be used:")
    assert message.count("Convert the column to the type it had in fit.") == 3
    assert "categorical_features" not in message
    assert "dates=" not in message


def test_rotations_name_all_bad_columns():
    with pytest.raises(TypeError, match="'start', 'end' contain dates"):
        RandomRotation(2).fit(bad_frame())


@pytest.mark.parametrize("kind", [ColumnTypeError, ColumnValueError])
def test_errors_travel_between_processes(kind):
    with pytest.raises(ColumnError) as caught:
        Encoding.fit(bad_frame() if kind is ColumnTypeError else bad_frame().select("large"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is kind
    assert str(again) == str(caught.value)


def test_text_in_an_array_may_come_from_a_pipeline():
    with pytest.raises(ColumnTypeError, match=r'set_output\(transform="pandas"\)'):
        Encoding.fit(np.array([["a", 1.0], ["b", 2.0]], dtype=object))
    with pytest.raises(ColumnTypeError) as caught:
        Encoding.fit(pd.DataFrame({"c": ["a", "b"]}), categorical_features=None)
    assert "set_output" not in str(caught.value)


def test_warnings_travel_between_processes():
    warning = DoubtfulColumnWarning(["Column 'a' looks like dates."], ["id"])
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)
    assert "Column 'id' seems to number the rows" in str(warning)
    assert "categorical_features" in str(warning)
    other = DoubtfulColumnWarning(["Column 'a' looks like dates."], other_dates=True)
    assert str(pickle.loads(pickle.dumps(other))) == str(other) != str(warning)


# 1e308 and complex numbers

BIG = np.array([[1e308, 1.0], [-1e308, 2.0], [1.7e308, 3.0], [0.0, 4.0]])


@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
@pytest.mark.parametrize(
    "make", [np.asarray, pd.DataFrame, pl.DataFrame, lambda X: X.astype(object), np.ndarray.tolist]
)
def test_huge_numbers_are_finite(make, scaling):
    X = make(BIG)
    encoding, encoded = Encoding.fit_transform(X, feature_scaling=scaling)
    assert np.isfinite(encoded.x_cont).all()
    assert (np.abs(encoded.x_cont) <= 1).all()
    assert np.isfinite(encoding.transform(make(BIG / 2)).x_cont).all()
    small, _ = Encoding.fit_transform(make(BIG / 1e308), feature_scaling=scaling)
    assert np.isfinite(small.transform(X).x_cont).all()


def test_a_number_beyond_double_precision_is_not_called_infinite():
    X = np.array([[1.0], [2.0]], dtype=np.longdouble) * np.longdouble("1e308") * 10
    if np.isinf(X).any():
        pytest.skip("long doubles are doubles here")
    with pytest.raises(
        ValueError, match=r"'x0' contains a number outside the range .* in row 0\. Rescale"
    ):
        Encoding.fit(X)


@pytest.mark.parametrize(
    "X",
    [
        np.full((1000, 3), 1j),
        np.full((1000, 3), 1j).tolist(),
        np.full((1000, 3), 1j, dtype=object),
        {"a": np.full(1000, 1j)},
        pd.DataFrame(np.full((1000, 3), 1j)),
    ],
)
def test_complex_tables_are_refused_in_few_words(X):
    with pytest.raises((ValueError, TypeError), match="Complex data not supported") as caught:
        ObliqueBARTRegressor().fit(X, np.arange(1000.0))
    assert len(str(caught.value)) < 300
