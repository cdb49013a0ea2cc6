"""Levels of categories: any number of them, missing and unseen ones."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers.tables import encode, same
from obliquebart.exceptions import DoubtfulColumnWarning
from obliquebart.table import Encoding, UnseenLevelWarning
from obliquebart.table.levels import LevelTable

UNSEEN = 0xFFFFFFFF


def test_number_levels_agree_across_types():
    encoding, encoded = encode(np.array([[3], [1], [2]]), categorical_features=[0])
    for X in (
        np.array([[3.0], [1.0], [2.0]]),
        np.array([[3], [1], [2]], dtype=np.int8),
        np.array([[3], [1.0], [2]], dtype=object),
    ):
        same(encoding.transform(X), encoded)
    with pytest.warns(UserWarning, match="X has feature names, but Encoding was fitted without"):
        same(encoding.transform(pd.DataFrame({"a": pd.Categorical([3, 1, 2])})), encoded)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_identifiers_stay_apart(dtype):
    X = np.array([[2**63 - 1], [2**63 - 2], [5]]).astype(dtype)
    assert encode(X, categorical_features=[0])[1].x_cat.tolist() == [[2, 1, 0]]
    assert encode(X[:2], categorical_features=[0])[0].levels == {"x0": [2**63 - 2, 2**63 - 1]}
    last = np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64)
    assert encode(last, categorical_features=[0])[0].levels == {"x0": [2**64 - 2, 2**64 - 1]}


def test_narrow_integers():
    X = np.array([[-128], [127], [0], [127]], dtype=np.int8)
    encoding, encoded = encode(X, categorical_features=[0])
    assert encoding.levels == {"x0": [-128, 0, 127]}
    assert encoded.x_cat.tolist() == [[0, 2, 1, 2]]


def test_other_categories_by_their_text():
    X = pd.DataFrame(
        {
            "bin": pd.cut([0.5, 1.5, 0.6], [0, 1, 2]),
            "day": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01"])),
        }
    )
    encoding, encoded = encode(X)
    assert encoding.levels["bin"] == ["(0, 1]", "(1, 2]"]
    assert encoded.x_cat.tolist() == [[0, 1, 0], [0, 1, 0]]
    same(encoding.transform(X), encoded)


@pytest.mark.parametrize("n_levels", [2, 33, 500, 5000])
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "numpy"])
def test_many_levels(n_levels, library):
    rng = np.random.default_rng(n_levels)
    codes = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, size=4 * n_levels)])
    rng.shuffle(codes)
    names = np.array([f"level {i:06d}" for i in range(n_levels)], dtype=object)
    X = pd.DataFrame({"c": names[codes]})
    X = {
        "pandas": X,
        "polars": pl.DataFrame({"c": names[codes].tolist()}),
        "arrow": pa.table({"c": names[codes].tolist()}),
        "numpy": X.to_numpy(dtype=object),
    }[library]
    encoding, encoded = encode(X, categorical_features=[0])
    assert encoding.n_levels == [n_levels]
    np.testing.assert_array_equal(encoded.x_cat[0], codes)


def test_a_million_levels():
    values = np.random.default_rng(0).permutation(10**6)
    encoding, encoded = encode(values[:, None] * 1000, categorical_features=[0])
    assert encoding.n_levels == [10**6]
    np.testing.assert_array_equal(encoded.x_cat[0], values)


def test_missing_category_is_a_level_of_its_own():
    encoding, encoded = encode(pd.DataFrame({"c": ["b", None, "a"]}))
    assert encoding.levels == {"c": ["a", "b", None]}
    assert encoded.x_cat.tolist() == [[1, 2, 0]]


def test_unseen_levels_are_reported_once():
    X = pd.DataFrame({"c": ["a", "b"], "d": [1, 2], "x": [0.0, 1.0]})
    encoding = Encoding.fit(X, categorical_features=["c", "d"])
    new = pd.DataFrame({"c": ["q", "a", None, "q"], "d": [3, 1, 4, 5], "x": 0.5})
    with pytest.warns(UnseenLevelWarning) as caught:
        encoded = encoding.transform(new)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "column 'c' in 3 rows ('q', missing)" in message
    assert "column 'd' in 3 rows (3, 4, 5)" in message
    assert "the branch with more training rows" in message
    assert encoded.x_cat.tolist() == [[UNSEEN, 0, UNSEEN, UNSEEN], [UNSEEN, 0, UNSEEN, UNSEEN]]


def test_doubtful_text_columns_are_named():
    days = pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")
    X = pd.DataFrame(
        {
            "day": days,
            "name": [f"row {i}" for i in range(60)],
            "wave": ["2024-01-01", "2024-07-01"] * 30,
            "shop": ["a", "b", "c"] * 20,
        }
    )
    with pytest.warns(DoubtfulColumnWarning) as caught:
        Encoding.fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert "'day' looks like dates" in message
    assert "'name' has 60 distinct values in 60 rows. That is more than one for every" in message
    assert "wave" not in message
    assert "shop" not in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoding.fit(X, categorical_features=["day", "name", "wave", "shop"])
        Encoding.fit(X.astype("category"))


@pytest.mark.parametrize(
    "name", ["rownames", "ID", "index", "row", "row_id", "RowId", "row_num", "Unnamed: 0"]
)
def test_row_numbers_are_named(name):
    numbers = np.random.default_rng(0).permutation(20) + 1
    with pytest.warns(DoubtfulColumnWarning) as caught:
        Encoding.fit(pd.DataFrame({name: numbers, "a": np.linspace(0, 1, 20)}))
    assert str(caught[0].message) == f"Column {name!r} seems to number the rows; drop it."


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", np.arange(1990, 2020)),
        ("width", np.arange(30)),
        ("rows_of_seats", np.arange(30)),
        ("id", np.arange(19)),
        ("id", np.arange(30) // 2),
        ("index", np.linspace(0, 1, 30)),
        ("id", np.append(np.arange(29.0), np.nan)),
    ],
)
def test_other_numbers_are_not(name, values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoding.fit(pd.DataFrame({name: values}))


@pytest.mark.parametrize(
    ("values", "has_missing", "words"),
    [
        (["a", "b"], False, "2 levels"),
        (["a"], True, "1 level and missing values"),
        ([], True, "missing values only"),
    ],
)
def test_levels_are_counted_without_the_missing_one(values, has_missing, words):
    assert LevelTable(values, has_missing).in_words() == words


def test_unseen_report_is_short():
    X = pd.DataFrame({f"c{j}": ["a", "b"] for j in range(9)})
    new = pd.DataFrame({f"c{j}": [f"u{i}" for i in range(99)] for j in range(9)})
    with pytest.warns(UnseenLevelWarning, match=r"\('u\d+', 'u\d+', 'u\d+', …\).*4 more columns"):
        Encoding.fit(X).transform(new)


def test_category_without_values():
    X = pl.DataFrame({"c": pl.Series([None, None], dtype=pl.Categorical)})
    encoding, encoded = encode(X)
    assert encoding.levels == {"c": [None]}
    assert encoded.x_cat.tolist() == [[0, 0]]
    with pytest.warns(UnseenLevelWarning):
        encoding.transform(pl.DataFrame({"c": ["a"]}))
