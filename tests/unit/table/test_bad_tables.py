"""Tables that cannot be encoded: the type of the error, and a message with column and remedy."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from helpers.tables import same
from obliquebart.table import Encoding, UnseenLevelWarning

BAD_TABLES = {
    "infinite": (np.array([[1.0, 2.0], [3.0, np.inf]]), ValueError, "'x1' contains an inf.* row 1"),
    "infinite, several": (
        pl.DataFrame({"a": [1.0, float("-inf"), float("inf")]}),
        ValueError,
        "'a' contains an infinite value in row 1 and in 1 more. Replace",
    ),
    "beyond double": (np.array([[10**400], [1]], dtype=object), ValueError, "'x0'.*Rescale"),
    "dates": (
        pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}),
        TypeError,
        "'d' contains dates. Set dates=\"auto\"",
    ),
    "polars date": (pl.DataFrame({"d": [dt.date(2020, 1, 1)]}), TypeError, "'d' contains dates"),
    "time of day": (
        pl.DataFrame({"d": [dt.time(1)]}),
        TypeError,
        "'d' contains times of.*midnight",
    ),
    "object dates": (
        pd.DataFrame({"d": [dt.date(2020, 1, 1)]}),
        TypeError,
        "'d' contains dates. Set",
    ),
    "array of dates": (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "'x0' contains dates"),
    "durations": (pl.DataFrame({"d": [dt.timedelta(1)]}), TypeError, "'d' contains dur.*seconds"),
    "array of durations": (np.array([[1]], dtype="m8[D]"), TypeError, "'x0' contains durations"),
    "periods": (
        pd.DataFrame({"d": pd.period_range("2020", periods=2, freq="M")}),
        TypeError,
        "'d' contains values of type Period",
    ),
    "lists": (pl.DataFrame({"n": [[1, 2]]}), TypeError, "'n' contains nested.*Expand nested"),
    "records": (pa.table({"n": [{"a": 1}]}), TypeError, "'n' contains nested"),
    "object lists": (pd.DataFrame({"n": [[1], [2]]}), TypeError, "'n' contains nested.*row 0"),
    "a dictionary": (np.array([[1.0, {}]], dtype=object), TypeError, "'x1'.*row 0"),
    "bytes": (pl.DataFrame({"b": [b"a"]}), TypeError, "'b' contains bytes. Decode"),
    "array of bytes": (np.array([[b"a"]]), TypeError, "'x0' contains bytes"),
    "complex array": (np.array([[1j]]), ValueError, "Complex data not supported"),
    "complex column": (pd.DataFrame({"z": [1j]}), TypeError, "'z' contains complex numbers"),
    "objects": (
        np.array([[object()]], dtype=object),
        TypeError,
        "'x0' contains values of type obj",
    ),
    "free text": (
        pd.DataFrame({"t": [f"sentence number {i}" for i in range(3000)]}),
        ValueError,
        "'t' looks like free text: 3000 .*categorical_features",
    ),
    "text and numbers": (
        pd.DataFrame({"c": pd.Series(["a", 1, None], dtype=object)}),
        TypeError,
        "'c' mixes text and numbers .'a' in row 0, 1 in row 1.*for example all to text",
    ),
    "mixed categories": (
        pd.DataFrame({"c": pd.Categorical(["a", 1])}),
        TypeError,
        "'c' mixes categories of different types .int, str",
    ),
    "duplicate names": (
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        ValueError,
        "names must be unique.*: a. Rename",
    ),
    "duplicate names, arrow": (
        pa.table([[1], [2]], names=["a", "a"]),
        ValueError,
        "names must be unique",
    ),
    "names of two types": (
        pd.DataFrame([[1, 2]], columns=["a", 1]),
        TypeError,
        "only supported if all input features have string names",
    ),
    "a single value": ({"RI": 1}, ValueError, r"'RI' is a single value.*\{'RI': \[1.0\]\}"),
    "one-dimensional": (np.arange(3.0), ValueError, "Reshape your data"),
    "series": (pd.Series([1.0, 2.0]), ValueError, "Expected a 2-dimensional container"),
    "polars series": (pl.Series([1.0, 2.0]), ValueError, "Reshape your data"),
    "three-dimensional": (np.ones((2, 2, 2)), ValueError, "dim 3"),
    "number": (3.0, ValueError, "Expected 2D array"),
    "nothing": (None, ValueError, "Expected 2D array"),
    "sparse": (scipy.sparse.csr_matrix(np.eye(2)), TypeError, "Sparse data was passed"),
    "lazy": (pl.LazyFrame({"a": [1]}), TypeError, r"lazy data frame.*X\.collect\(\)"),
    "no rows": (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
    "no rows, polars": (pl.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
    "no columns": (np.empty((3, 0)), ValueError, r"0 feature\(s\)"),
    "empty frame": (pd.DataFrame(), ValueError, r"0 sample\(s\)"),
}


@pytest.mark.parametrize(("X", "error", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(X, error, message):
    with pytest.raises(error, match=message):
        Encoding.fit(X, owner="Owner")


@pytest.mark.parametrize(
    ("X", "row"),
    [
        (np.array([[1.0], [np.inf]]), 1),
        (np.array([[np.inf], [1]], dtype=object), 0),
        (pl.DataFrame({"x0": [0.0, None, float("inf")]}), 2),
    ],
)
def test_infinite_level(X, row):
    with pytest.raises(ValueError, match=f"Column 'x0' contains an infinite value in row {row}"):
        Encoding.fit(X, categorical_features=[0])


def test_free_text_declared_as_category():
    X = pd.DataFrame({"t": [f"sentence number {i}" for i in range(3000)]})
    assert Encoding.fit(X, categorical_features=["t"]).n_levels == [3000]
    assert Encoding.fit(X.astype("category")).n_levels == [3000]


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ("colour", ValueError, r"For one column write \['colour'\]"),
        (["b"], ValueError, "contains 'b', which X does not have. Its columns are 'a'"),
        ([1], ValueError, "position 1, but the columns of X are numbered 0 to 0"),
        ([-1], ValueError, "position -1"),
        ([True, False], ValueError, "2 booleans, but X has 1 columns"),
        (["a", 0], TypeError, r"only names, only positions or only booleans.*\['int', 'str'\]"),
        ([0.0], TypeError, "only names, only positions"),
        (3, TypeError, "must be 'auto', None, or a list"),
    ],
)
def test_bad_categorical_features(chosen, error, message):
    with pytest.raises(error, match=message):
        Encoding.fit(pd.DataFrame({"a": [1.0, 2.0]}), categorical_features=chosen)


def test_names_for_an_array():
    with pytest.raises(ValueError, match=r"X has no column names\. Use positions"):
        Encoding.fit(np.ones((2, 2)), categorical_features=["a"])


def test_columns_are_checked():
    X = pd.DataFrame({"a": [1.0, 2.0], "c": ["x", "y"]})
    encoding = Encoding.fit(X, owner="ObliqueBARTRegressor")
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        encoding.transform(X[["c", "a"]])
    with pytest.raises(ValueError, match="yet now missing:\n- c"):
        encoding.transform(X[["a"]])
    with pytest.raises(ValueError, match="unseen at fit time:\n- b"):
        encoding.transform(pl.DataFrame({"a": [1.0], "c": ["x"], "b": [1]}))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but ObliqueBARTR"):
        same(encoding.transform(X.to_numpy(dtype=object)), encoding.transform(X))
    unnamed = Encoding.fit(np.ones((3, 4)), owner="ObliqueBARTRegressor")
    message = "X has 3 features, but ObliqueBARTRegressor is expecting 4 features as input"
    with pytest.raises(ValueError, match=message):
        unnamed.transform(np.ones((3, 3)))


def test_types_are_checked():
    encoding = Encoding.fit(pd.DataFrame({"a": [1.0, 2.0], "c": ["x", "y"]}))
    with pytest.raises(TypeError, match=r"Column 'a' contains text \('q' in row 1\)"):
        encoding.transform(pd.DataFrame({"a": pd.Series([1, "q"], dtype=object), "c": ["x", "y"]}))
    with pytest.raises(TypeError, match="Column 'c' contains numbers, but contained text"):
        encoding.transform(pd.DataFrame({"a": [1.0], "c": [1]}))
    with pytest.warns(UnseenLevelWarning, match="missing"):
        encoding.transform(pd.DataFrame({"a": [1.0], "c": [np.nan]}))
