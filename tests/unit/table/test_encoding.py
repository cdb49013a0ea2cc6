"""Encoding: any table to arrays, and its state."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers.tables import encode, pandas_plain, same
from obliquebart.table import FEATURE_SCALINGS, Encoding

# One table in every container: number, integer and boolean with holes, text, category.


def pandas_object():
    return pandas_plain().astype({"text": object, "flag": object, "number": object})


def pandas_nullable():
    return pandas_plain().astype(
        {"number": "Float64", "count": "Int64", "flag": "boolean", "text": "string"}
    )


def pandas_arrow():
    types = {"number": pa.float64(), "count": pa.int32(), "flag": pa.bool_(), "text": pa.string()}
    return pandas_plain().astype({name: pd.ArrowDtype(kind) for name, kind in types.items()})


def polars_plain():
    return pl.DataFrame(
        {
            "number": [1.5, None, 3.5, 2.0],
            "count": [4, 2, 1, 2],
            "flag": [True, False, True, True],
            "text": ["b", None, "a", "b"],
            "group": pl.Series(["x", "z", None, "x"], dtype=pl.Categorical),
        },
        strict=False,
    )


def polars_enum():
    return polars_plain().with_columns(
        pl.Series("group", ["x", "z", None, "x"], dtype=pl.Enum(["y", "z", "x"])),
        pl.Series("number", [1.5, float("nan"), 3.5, 2.0]),
    )


def arrow_plain():
    return polars_plain().to_arrow()


def arrow_chunked():
    table = arrow_plain()
    return pa.concat_tables([table.slice(0, 1), table.slice(1)])


CONTAINERS = [
    pandas_plain,
    pandas_object,
    pandas_nullable,
    pandas_arrow,
    polars_plain,
    polars_enum,
    arrow_plain,
    arrow_chunked,
]


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_agree(container):
    encoding, encoded = encode(container())
    assert encoding.names == ["number", "count", "flag", "text", "group"]
    assert list(encoding.feature_names_in_) == encoding.names
    assert encoding.kinds == ["continuous"] * 3 + ["categorical"] * 2
    assert (encoding.p_cont, encoding.p_cat, encoding.n_levels) == (3, 2, [3, 3])
    assert encoding.levels == {"text": ["a", "b", None], "group": ["x", "z", None]}
    np.testing.assert_array_equal(
        encoded.x_cont,
        np.array([[-1, np.nan, 1, -0.5], [1, -1 / 3, -1, -1 / 3], [1, -1, 1, 1]], dtype=np.float32),
    )
    np.testing.assert_array_equal(encoded.x_cat, [[1, 2, 0, 1], [0, 1, 2, 0]])
    assert encoded.x_cont.dtype == np.float32
    assert encoded.x_cat.dtype == np.uint32
    assert encoded.x_cont.flags.c_contiguous
    assert encoded.x_cat.flags.c_contiguous
    for other in CONTAINERS:
        same(encoding.transform(other()), encoded)


@pytest.mark.parametrize("container", CONTAINERS)
def test_chosen_rows(container):
    rows = np.array([0, 2])
    _, chosen = encode(container(), rows=rows, feature_scaling="blend")
    _, cut = encode(pandas_plain().iloc[rows], feature_scaling="blend")
    same(chosen, cut)


def test_rows_left_out_are_not_looked_at():
    X = pd.DataFrame({"a": [1.0, np.inf, 2.0], "c": ["x", "y", "z"]}, index=[7, 7, 7])
    encoding, encoded = encode(X, rows=np.array([0, 2]))
    assert encoding.levels == {"c": ["x", "z"]}
    assert encoded.x_cont.tolist() == [[-1.0, 1.0]]
    with pytest.raises(ValueError, match="in row 1"):
        encode(X, rows=np.array([1, 2]))


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X,
        np.asfortranarray,
        lambda X: X.astype(object),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.uint64),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.ma.masked_array(X),
        lambda X: pd.DataFrame(X),
        lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float)),
    ],
)
def test_array_dtypes_and_layouts(make):
    X = np.array([[1.0, 5.0, 2.0], [4.0, 6.0, 3.0], [2.0, 5.0, 3.0]])
    expected = encode(X, categorical_features=[2])
    encoding, encoded = encode(make(X), categorical_features=[2])
    same(encoded, expected[1])
    assert encoding.levels == {encoding.names[2]: [2, 3]}
    assert not hasattr(encoding, "feature_names_in_")
    same(expected[0].transform(make(X)), expected[1])


def test_read_only_memmap(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    same(encode(mapped)[1], encode(X)[1])


def test_masked_values_are_missing():
    X = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert np.isnan(encode(X)[1].x_cont[1, 0])
    whole = np.array([[1.0, np.nan], [3.0, 4.0]])
    columns = {"a": X[:, 0], "b": X[:, 1]}
    objects = X.astype(object)
    for masked in (list(X), tuple(X), [X[0], [3, 4]], objects, list(objects), columns):
        same(encode(masked)[1], encode(whole)[1])


def test_lists_keep_numbers_beside_text():
    encoding, encoded = encode([["a", 1], ["b", 2.5]], categorical_features=[0])
    assert encoding.levels == {"x0": ["a", "b"]}
    assert encoded.x_cont.tolist() == [[-1.0, 1.0]]


def test_object_columns_of_numbers():
    X = pd.DataFrame({"a": [1, decimal.Decimal("2.5"), None, True, pd.NA]}, dtype=object)
    encoding, encoded = encode(X)
    assert encoding.kinds == ["continuous"]
    np.testing.assert_array_equal(encoded.x_cont, [[-1, 1, np.nan, -1, np.nan]])


def test_auto_in_an_array_is_none():
    assert encode(np.array([[1, 2], [3, 4]]))[0].p_cat == 0
    with pytest.raises(
        TypeError, match=r"Column 'x1' contains text \('a' in row 0\).*categorical_f"
    ):
        encode(np.array([[1, "a"], [3, "b"]], dtype=object))


@pytest.mark.parametrize(
    "chosen", [["count", "text"], [1, 3], [False, True, False, True, False], np.array([3, 1])]
)
def test_categorical_features(chosen):
    X = pandas_plain().drop(columns="group").assign(last=0.0)
    encoding, _ = encode(X, categorical_features=chosen)
    assert encoding.levels == {"count": [1, 2, 4], "text": ["a", "b", None]}


def test_names_and_positions_add_to_what_is_found():
    X = pandas_plain()
    for chosen in (["count"], [1], np.array([1]), [], "auto"):
        encoding, _ = encode(X, categorical_features=chosen)
        found = ["text", "group"] if len(chosen) != 1 else ["count", "text", "group"]
        assert list(encoding.levels) == found
    mask = [False, True, False, True, False]
    with pytest.raises(TypeError, match=r"'group' contains text .*list it in categorical_features"):
        encode(X, categorical_features=mask)
    assert list(encode(X.drop(columns="group"), categorical_features=mask[:4])[0].levels) == [
        *("count", "text")
    ]
    with pytest.raises(TypeError, match="2 columns cannot be used"):
        encode(X, categorical_features=None)


def test_categories_of_numbers_as_numbers():
    X = pd.DataFrame({"a": pd.Categorical([10, 30, None, 20])})
    np.testing.assert_array_equal(
        encode(X, categorical_features=None)[1].x_cont, [[-1, 1, np.nan, 0]]
    )


@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
def test_column_without_values(scaling):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "none": [None] * 3, "nan": [np.nan] * 3})
    with pytest.warns(UserWarning, match="Ignoring columns without any value: 'none', 'nan'"):
        encoding, encoded = encode(X, feature_scaling=scaling)
    assert encoding.p_cont == 3
    np.testing.assert_array_equal(encoded.x_cont, [[-1, 0, 1], [0, 0, 0], [0, 0, 0]])
    new = pd.DataFrame({"a": [1.0], "none": ["anything"], "nan": [dt.date(2020, 1, 1)]})
    assert encoding.transform(new).x_cont.tolist() == [[-1], [0], [0]]


# State


@pytest.fixture(params=FEATURE_SCALINGS)
def fitted(request):
    return Encoding.fit(pandas_plain(), feature_scaling=request.param, owner="Owner")


def test_state_is_json(fitted):
    state = fitted.to_state()
    text = json.dumps(state, allow_nan=False)
    again = Encoding.from_state(json.loads(text))
    assert json.dumps(again.to_state()) == text
    same(again.transform(pandas_plain()), fitted.transform(pandas_plain()))
    assert again.levels == fitted.levels
    assert again.owner == "Owner"


def test_state_of_an_empty_column_and_large_levels():
    X = pd.DataFrame({"none": [np.nan] * 2, "id": [2**60, 10**400]}, dtype=object)
    with pytest.warns(UserWarning, match="Ignoring columns"):
        encoding = Encoding.fit(X, categorical_features=["id"])
    text = json.dumps(encoding.to_state(), allow_nan=False)
    assert Encoding.from_state(json.loads(text)).levels == encoding.levels


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies(fitted, duplicate):
    same(duplicate(fitted).transform(pandas_plain()), fitted.transform(pandas_plain()))


DAMAGES = {
    "version": lambda s: s.update(version=99),
    "no columns": lambda s: s.pop("columns"),
    "too few columns": lambda s: s["columns"].pop(),
    "too few names": lambda s: s["names"].pop(),
    "kind": lambda s: s["kinds"].__setitem__(0, "ordinal"),
    "kinds swapped": lambda s: s["kinds"].reverse(),
    "limits": lambda s: s["columns"][0].update(low=9.0, high=1.0),
    "limit infinite": lambda s: s["columns"][0].update(low=float("-inf")),
    "limit is text": lambda s: s["columns"][0].update(low="low"),
    "one limit": lambda s: s["columns"][0].update(low=None),
    "share": lambda s: s["columns"][0].update(range_share=0.3),
    "knots not sorted": lambda s: s["columns"][0]["knots"].reverse(),
    "knots cut": lambda s: s["columns"][0]["knots"].pop(),
    "no knots": lambda s: s["columns"][0].update(knots=[], heights=[]),
    "knots not numbers": lambda s: s["columns"][0].update(knots=[None, 1.0, 2.0]),
    "heights": lambda s: s["columns"][0]["heights"].__setitem__(-1, 7.0),
    "levels not sorted": lambda s: s["columns"][3]["values"].reverse(),
    "levels twice": lambda s: s["columns"][3].update(values=["a", "a"]),
    "levels mixed": lambda s: s["columns"][3].update(values=["a", 1]),
    "level infinite": lambda s: s["columns"][3].update(values=[float("inf")]),
    "levels a string": lambda s: s["columns"][3].update(values="abc"),
    "no level": lambda s: s["columns"][3].update(values=[], has_missing=False),
    "flag": lambda s: s["columns"][3].update(has_missing=1),
    "scaling": lambda s: s.update(feature_scaling="minmax"),
    "not a dictionary": lambda s: s["columns"].__setitem__(0, [1, 2]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_state(damage):
    state = Encoding.fit(pandas_plain(), feature_scaling="rank").to_state()
    state = json.loads(json.dumps(state))
    damage(state)
    with pytest.raises(ValueError, match="The stored encoding is damaged"):
        Encoding.from_state(state)


def test_a_dictionary_of_columns_is_a_table():
    columns = {"a": np.array([1.0, 2.0, np.nan]), "b": np.array(["x", "y", None], dtype=object)}
    encoding, encoded = Encoding.fit_transform(columns)
    same_encoding, expected = Encoding.fit_transform(pd.DataFrame(columns))
    assert encoding.kinds == same_encoding.kinds == ["continuous", "categorical"]
    assert encoding.levels == same_encoding.levels
    same(encoded, expected)
    some = Encoding.fit_transform(columns, rows=np.array([0, 1]))[1]
    np.testing.assert_array_equal(some.x_cont, [[-1, 1]])
    with pytest.raises(ValueError, match=r"Column 'b' has shape \(2,\)"):
        encoding.transform({"a": np.zeros(3), "b": np.array(["x", "y"])})
    with pytest.raises(ValueError, match="0 sample"):
        encoding.transform({"a": np.zeros(0), "b": np.zeros(0)})
