"""Encoding: any table to arrays, missing values, scaling, errors, state."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import gzip
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from scipy import stats

from helpers.data import DATA, needs_data, records
from obliquebart.exceptions import DoubtfulColumnWarning
from obliquebart.table import FEATURE_SCALINGS, Encoding, UnseenLevelWarning
from obliquebart.table.scaling import MAX_KNOTS

UNSEEN = 0xFFFFFFFF


def encode(X, **options):
    return Encoding.fit_transform(X, **options)


def same(a, b):
    np.testing.assert_array_equal(a.x_cont, b.x_cont)
    np.testing.assert_array_equal(a.x_cat, b.x_cat)


# One table in every container: number, integer and boolean with holes, text, category.


def pandas_plain():
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, 3.5, 2.0],
            "count": [4, 2, 1, 2],
            "flag": [True, False, True, True],
            "text": ["b", None, "a", "b"],
            "group": pd.Categorical(["x", "z", None, "x"], categories=["z", "y", "x"]),
        }
    )


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
    with pytest.raises(TypeError, match=r"Column 'x1' holds text \('a' in row 0\).*categorical_f"):
        encode(np.array([[1, "a"], [3, "b"]], dtype=object))


@pytest.mark.parametrize(
    "chosen", [["count", "text"], [1, 3], [False, True, False, True, False], np.array([3, 1])]
)
def test_categorical_features(chosen):
    X = pandas_plain().drop(columns="group").assign(last=0.0)
    encoding, _ = encode(X, categorical_features=chosen)
    assert encoding.levels == {"count": [1, 2, 4], "text": ["a", "b", None]}


def test_categories_of_numbers_as_numbers():
    X = pd.DataFrame({"a": pd.Categorical([10, 30, None, 20])})
    np.testing.assert_array_equal(
        encode(X, categorical_features=None)[1].x_cont, [[-1, 1, np.nan, 0]]
    )


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


# Missing and unseen


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
    assert "the side with more training rows" in message
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
    assert "'name' has 60 different texts in 60 rows" in message
    assert "wave" not in message
    assert "shop" not in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoding.fit(X, categorical_features=["day", "name", "wave", "shop"])
        Encoding.fit(X.astype("category"))


def test_unseen_report_is_short():
    X = pd.DataFrame({f"c{j}": ["a", "b"] for j in range(9)})
    new = pd.DataFrame({f"c{j}": [f"u{i}" for i in range(99)] for j in range(9)})
    with pytest.warns(UnseenLevelWarning, match=r"\('u\d+', 'u\d+', 'u\d+', …\).*4 more columns"):
        Encoding.fit(X).transform(new)


@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
def test_column_without_values(scaling):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "none": [None] * 3, "nan": [np.nan] * 3})
    with pytest.warns(UserWarning, match="No value in training, so ignored: column 'none', 'nan'"):
        encoding, encoded = encode(X, feature_scaling=scaling)
    assert encoding.p_cont == 3
    np.testing.assert_array_equal(encoded.x_cont, [[-1, 0, 1], [0, 0, 0], [0, 0, 0]])
    new = pd.DataFrame({"a": [1.0], "none": ["anything"], "nan": [dt.date(2020, 1, 1)]})
    assert encoding.transform(new).x_cont.tolist() == [[-1], [0], [0]]


def test_category_without_values():
    X = pl.DataFrame({"c": pl.Series([None, None], dtype=pl.Categorical)})
    encoding, encoded = encode(X)
    assert encoding.levels == {"c": [None]}
    assert encoded.x_cat.tolist() == [[0, 0]]
    with pytest.warns(UnseenLevelWarning):
        encoding.transform(pl.DataFrame({"c": ["a"]}))


# Scaling


def column(values, scaling):
    values = np.asarray(values, dtype=np.float64)[:, None]
    encoding, encoded = encode(values, feature_scaling=scaling)
    return encoded.x_cont[0], lambda new: encoding.transform(np.reshape(new, (-1, 1))).x_cont[0]


def test_range_by_hand():
    scaled, again = column([2.0, 4.0, 10.0], "range")
    np.testing.assert_allclose(scaled, [-1, -0.5, 1])
    np.testing.assert_allclose(again([-6.0, 6.0, 18.0]), [-3, 0, 3])


def test_rank_by_hand():
    # counts 2, 1, 1: mid-ranks 1, 2.5, 3.5
    scaled, again = column([5.0, 1.0, 1.0, 100.0], "rank")
    np.testing.assert_allclose(scaled, [0.2, -1, -1, 1], rtol=1e-6)
    np.testing.assert_allclose(again([-7.0, 3.0, 52.5, 1e9]), [-1, -0.4, 0.6, 1], rtol=1e-6)


def test_blend_is_the_mean():
    values = np.random.default_rng(0).exponential(size=200)
    new = np.linspace(-2, values.max() + 3, 500)
    blend, by_range, by_rank = (
        column(values, scaling)[1](new) for scaling in ("blend", "range", "rank")
    )
    np.testing.assert_allclose(blend, (by_range + by_rank) / 2, atol=1e-6)


def test_joint_uses_one_range():
    X = np.array([[0.0, 100.0], [1.0, 300.0], [np.nan, 200.0]])
    np.testing.assert_allclose(
        encode(X, feature_scaling="joint")[1].x_cont,
        [[-1, -1 + 2 / 300, np.nan], [-1 / 3, 1, 1 / 3]],
        rtol=1e-6,
    )


def test_rank_is_the_mid_rank():
    values = np.random.default_rng(3).integers(0, 40, size=300).astype(float)
    ranks = stats.rankdata(values)
    expected = 2 * (ranks - ranks.min()) / (ranks.max() - ranks.min()) - 1
    np.testing.assert_allclose(column(values, "rank")[0], expected, atol=1e-6)


def test_many_distinct_values_need_few_knots():
    values = np.random.default_rng(4).standard_cauchy(size=20 * MAX_KNOTS)
    encoding, encoded = encode(values[:, None], feature_scaling="rank")
    assert len(encoding.columns[0].knots) <= MAX_KNOTS
    exact = 2 * (stats.rankdata(values) - 1) / (len(values) - 1) - 1
    assert np.abs(encoded.x_cont[0] - exact).max() < 2 / MAX_KNOTS
    assert len(json.dumps(encoding.to_state())) < 50 * MAX_KNOTS


EXTREMES = {
    "overflowing range": [1.7e308, -1.7e308, 0.0, 1.0],
    "huge": [1.7e308, 1.6e308, 1.65e308, 1.61e308],
    "tiny": [1e-300, 3e-300, 2e-300],
    "denormal": [5e-324, 0.0, 1e-323],
    "small among huge": [-1e300, 1.0, 2.0, 3.0, 1e300],
    "denormal among ones": [0.0, 1e-310, 1.0, 2.0],
    "narrow": [1.0, 1.0 + 2**-52, 1.0 + 2**-51],
    "one": [4.0],
    "constant": [4.0, 4.0, np.nan],
    "usual": [3.0, 1.0, 2.0, 2.0, -7.0],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES)
def test_scaling_is_monotone_and_finite(values, scaling):
    scaled, again = column(values, scaling)
    known = ~np.isnan(values)
    assert (np.isnan(scaled) == ~known).all()
    distinct = np.unique(np.asarray(values)[known])
    image = again(distinct)
    assert (np.diff(image) >= 0).all()
    if len(distinct) == 1:
        assert image.tolist() == [0.0]
    else:
        assert image[[0, -1]].tolist() == [-1.0, 1.0]
    largest = np.finfo(float).max
    probes = np.sort([-largest, -1.0, -5e-324, 0.0, 5e-324, 1.0, largest, *distinct])
    outside = again(probes)
    assert np.isfinite(outside).all()
    assert (np.diff(outside) >= 0).all()
    assert np.isnan(again([np.nan])).all()


def test_rank_keeps_what_range_merges():
    for name in ("narrow", "small among huge", "tiny", "denormal", "huge"):
        values = EXTREMES[name]
        assert len(np.unique(column(values, "rank")[0])) == len(values), name


@pytest.mark.parametrize("scaling", ["rank", "blend"])
def test_monotone_on_random_columns(scaling):
    rng = np.random.default_rng(11)
    for scale in (1e-150, 1.0, 1e200):
        values = np.round(rng.standard_t(1, size=6000), 3) * scale
        _, again = column(values, scaling)
        probes = np.sort(np.concatenate([values, rng.choice(values, 3000) * 1.0000001]))
        assert (np.diff(again(probes)) >= 0).all()


def test_scale_comes_from_training_rows_only():
    encoding = Encoding.fit([[0.0], [10.0]])
    assert encoding.transform([[5.0]]).x_cont.tolist() == [[0.0]]
    assert encoding.transform([[5.0], [20.0]]).x_cont.tolist() == [[0.0, 3.0]]


# Errors: the type, and a message that names column and remedy

BAD_TABLES = {
    "infinite": (np.array([[1.0, 2.0], [3.0, np.inf]]), ValueError, "'x1' holds an inf.* row 1"),
    "infinite, several": (
        pl.DataFrame({"a": [1.0, float("-inf"), float("inf")]}),
        ValueError,
        "'a' holds an infinite value in row 1 and in 1 more. Replace",
    ),
    "beyond double": (np.array([[10**400], [1]], dtype=object), ValueError, "'x0'.*Rescale"),
    "dates": (
        pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}),
        TypeError,
        "'d' holds dates or times. Turn it into",
    ),
    "polars date": (pl.DataFrame({"d": [dt.date(2020, 1, 1)]}), TypeError, "'d' holds dates"),
    "time of day": (pl.DataFrame({"d": [dt.time(1)]}), TypeError, "'d' holds dates or times"),
    "object dates": (
        pd.DataFrame({"d": [dt.date(2020, 1, 1)]}),
        TypeError,
        "'d' holds dates or times",
    ),
    "array of dates": (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "'x0' holds dates"),
    "durations": (pl.DataFrame({"d": [dt.timedelta(1)]}), TypeError, "'d' holds dur.*seconds"),
    "array of durations": (np.array([[1]], dtype="m8[D]"), TypeError, "'x0' holds durations"),
    "periods": (
        pd.DataFrame({"d": pd.period_range("2020", periods=2, freq="M")}),
        TypeError,
        "'d' holds values of type Period",
    ),
    "lists": (pl.DataFrame({"n": [[1, 2]]}), TypeError, "'n' holds nested.*Expand it"),
    "records": (pa.table({"n": [{"a": 1}]}), TypeError, "'n' holds nested"),
    "object lists": (pd.DataFrame({"n": [[1], [2]]}), TypeError, "'n' holds nested.*row 0"),
    "a dictionary": (np.array([[1.0, {}]], dtype=object), TypeError, "'x1'.*row 0"),
    "bytes": (pl.DataFrame({"b": [b"a"]}), TypeError, "'b' holds bytes. Decode"),
    "array of bytes": (np.array([[b"a"]]), TypeError, "'x0' holds bytes"),
    "complex array": (np.array([[1j]]), ValueError, "Complex data not supported"),
    "complex column": (pd.DataFrame({"z": [1j]}), TypeError, "'z' holds complex numbers"),
    "objects": (np.array([[object()]], dtype=object), TypeError, "'x0' holds values of type obj"),
    "free text": (
        pd.DataFrame({"t": [f"sentence number {i}" for i in range(3000)]}),
        ValueError,
        "'t' looks like free text: 3000 .*categorical_features",
    ),
    "text and numbers": (
        pd.DataFrame({"c": pd.Series(["a", 1, None], dtype=object)}),
        TypeError,
        "'c' mixes text and numbers .'a' in row 0, 1 in row 1.*all to text",
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
    "one-dimensional": (np.arange(3.0), ValueError, "Reshape your data"),
    "series": (pd.Series([1.0, 2.0]), ValueError, "Expected a 2-dimensional container"),
    "polars series": (pl.Series([1.0, 2.0]), ValueError, "Reshape your data"),
    "three-dimensional": (np.ones((2, 2, 2)), ValueError, "dim 3"),
    "number": (3.0, ValueError, "Expected 2D array"),
    "nothing": (None, ValueError, "Expected 2D array"),
    "sparse": (scipy.sparse.csr_matrix(np.eye(2)), TypeError, "Sparse data was passed"),
    "lazy": (pl.LazyFrame({"a": [1]}), TypeError, r"lazy frame.*X\.collect\(\)"),
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
    with pytest.raises(ValueError, match=f"Column 'x0' holds an infinite value in row {row}"):
        Encoding.fit(X, categorical_features=[0])


def test_free_text_declared_as_category():
    X = pd.DataFrame({"t": [f"sentence number {i}" for i in range(3000)]})
    assert Encoding.fit(X, categorical_features=["t"]).n_levels == [3000]
    assert Encoding.fit(X.astype("category")).n_levels == [3000]


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ("colour", ValueError, r"For one column write \['colour'\]"),
        (["b"], ValueError, "names 'b', but X has no such column. Its columns are 'a'"),
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
    with pytest.raises(ValueError, match=r"the columns of X have none\. Give positions"):
        Encoding.fit(np.ones((2, 2)), categorical_features=["a"])


@pytest.mark.parametrize("bad", ["minmax", "none", None, 1])
def test_bad_scaling(bad):
    with pytest.raises(ValueError, match="feature_scaling must be one of 'range', 'rank'"):
        Encoding.fit([[1.0]], feature_scaling=bad)


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
    with pytest.raises(TypeError, match=r"Column 'a' holds text \('q' in row 1\)"):
        encoding.transform(pd.DataFrame({"a": pd.Series([1, "q"], dtype=object), "c": ["x", "y"]}))
    with pytest.raises(TypeError, match="Column 'c' holds numbers, but its levels were text"):
        encoding.transform(pd.DataFrame({"a": [1.0], "c": [1]}))
    with pytest.warns(UnseenLevelWarning, match="missing"):
        encoding.transform(pd.DataFrame({"a": [1.0], "c": [np.nan]}))


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
    with pytest.warns(UserWarning, match="No value"):
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


# Real tables

DATA_SETS = [
    "regression/abalone",
    "regression/basketball",
    "regression/boston",
    "regression/labor",
    "regression/mpg",
    "regression/rice",
    "regression/servo",
    "regression/strikes",
    "classification/credit_approval",
    "classification/german_credit",
    "classification/seismic_bumps",
    "classification/spambase",
]


@needs_data
@pytest.mark.parametrize("name", DATA_SETS)
@pytest.mark.filterwarnings("ignore::obliquebart.exceptions.DoubtfulColumnWarning")
def test_csv_through_pandas_and_polars(name):
    about = records()[f"{name}.csv.gz"]
    categorical = about["categorical_columns"]
    path = DATA / f"{name}.csv.gz"
    by_pandas = pd.read_csv(path, dtype=dict.fromkeys(categorical, str), keep_default_na=False)
    text = gzip.decompress(path.read_bytes())
    by_polars = pl.read_csv(
        text, schema_overrides=dict.fromkeys(categorical, pl.String), infer_schema_length=None
    )
    frames = [by_pandas.drop(columns="target"), by_polars.drop("target")]
    frames.append(frames[1].to_arrow())
    for scaling in FEATURE_SCALINGS:
        results = [encode(frame, feature_scaling=scaling) for frame in frames]
        for encoding, encoded in results:
            assert (encoding.p_cont, encoding.p_cat) == (about["p_cont"], about["p_cat"])
            assert encoding.n_levels == list(about["categorical_n_levels"].values())
            same(encoded, results[0][1])
            assert encoding.to_state() == results[0][0].to_state()


def test_a_dictionary_of_columns_is_a_table():
    columns = {"a": np.array([1.0, 2.0, np.nan]), "b": np.array(["x", "y", None], dtype=object)}
    encoding, encoded = Encoding.fit_transform(columns)
    same_encoding, same = Encoding.fit_transform(pd.DataFrame(columns))
    assert encoding.kinds == same_encoding.kinds == ["continuous", "categorical"]
    assert encoding.levels == same_encoding.levels
    np.testing.assert_array_equal(encoded.x_cont, same.x_cont)
    np.testing.assert_array_equal(encoded.x_cat, same.x_cat)
    some = Encoding.fit_transform(columns, rows=np.array([0, 1]))[1]
    np.testing.assert_array_equal(some.x_cont, [[-1, 1]])
    with pytest.raises(ValueError, match=r"Column 'b' has shape \(2,\)"):
        encoding.transform({"a": np.zeros(3), "b": np.array(["x", "y"])})
    with pytest.raises(ValueError, match="0 sample"):
        encoding.transform({"a": np.zeros(0), "b": np.zeros(0)})
