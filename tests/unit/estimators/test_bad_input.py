"""Bad and odd inputs: each has a documented error that names the culprit, or works.

Every case below must raise exactly the stated type, with every stated piece in its message, and
leave the estimator unfitted; odd but legal inputs must give finite predictions.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from obliquebart import ConstantOutcomeWarning, ObliqueBARTClassifier, ObliqueBARTRegressor

SMALL = {"n_trees": 5, "n_burn": 5, "n_draws": 5, "n_chains": 1, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (20, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(20)
LABELS = (X[:, 0] > 0).astype(int)


def with_value(table, row, column, value):
    table = np.array(table, dtype=object if isinstance(value, (str, dict, list)) else None)
    table[row, column] = value
    return table


def frame(**columns):
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], **columns})


def y_with(value, row=3):
    y = Y.copy()
    y[row] = value
    return y


def weights_with(value, row=4):
    w = np.ones(20)
    w[row] = value
    return w


# parameter, value, error, pieces of the message
PARAMETERS = [
    ("n_trees", 0, ValueError, "n_trees=0", "integer >= 1"),
    ("n_trees", -5, ValueError, "n_trees=-5", "integer >= 1"),
    ("n_trees", 10.0, TypeError, "n_trees=10.0", "not float"),
    ("n_trees", "200", TypeError, "n_trees='200'", "not str"),
    ("n_trees", True, TypeError, "n_trees=True", "not bool"),
    ("n_trees", None, TypeError, "n_trees=None", "integer >= 1"),
    ("n_trees", 2**40, ValueError, "n_trees=1099511627776", "out of range"),
    ("n_burn", -1, ValueError, "n_burn=-1", "integer >= 0"),
    ("n_burn", np.nan, TypeError, "n_burn=nan", "integer >= 0"),
    ("n_draws", 0, ValueError, "n_draws=0", "integer >= 1"),
    ("n_draws", 2**31 - 1, MemoryError, "2147483647 draws", "Lower n_draws"),
    ("n_thin", 0, ValueError, "n_thin=0", "integer >= 1"),
    ("n_chains", 0, ValueError, "n_chains=0", "integer >= 1"),
    ("n_chains", 2.5, TypeError, "n_chains=2.5", "integer"),
    ("alpha", 0.0, ValueError, "alpha=0.0", "(0, 1)"),
    ("alpha", 1.0, ValueError, "alpha=1.0", "(0, 1)"),
    ("alpha", np.nan, ValueError, "alpha=nan", "(0, 1)"),
    ("alpha", "0.9", TypeError, "alpha='0.9'", "a number in (0, 1)"),
    ("beta", -0.1, ValueError, "beta=-0.1", "[0, "),
    ("beta", np.inf, ValueError, "beta=inf", "[0, "),
    ("k", 0, ValueError, "k=0", "(0, inf)"),
    ("k", np.inf, ValueError, "k=inf", "(0, inf)"),
    ("k", 1e300, ValueError, "k=1e+300", "out of range for this y"),
    ("leaf_sd", -1.0, ValueError, "leaf_sd=-1.0", "(0, inf)"),
    ("leaf_sd", 1e-300, ValueError, "leaf_sd=1e-300", "out of range for this y"),
    ("leaf_sd", np.nan, ValueError, "leaf_sd=nan"),
    ("theta", 0.0, ValueError, "theta=0.0", "(0, 1]"),
    ("theta", 1.5, ValueError, "theta=1.5", "(0, 1]"),
    ("theta", [0.5], TypeError, "theta=[0.5]"),
    ("theta_prior", 3.0, TypeError, "theta_prior=3.0", "pair (a, b)"),
    ("theta_prior", (1.0, 2.0, 3.0), TypeError, "theta_prior=(1.0, 2.0, 3.0)", "pair (a, b)"),
    ("theta_prior", (1.0, -2.0), ValueError, "theta_prior[1]=-2.0", "(0, inf)"),
    ("theta_prior", (np.nan, 2.0), ValueError, "theta_prior[0]=nan"),
    ("theta_prior", "ab", TypeError, "theta_prior='ab'"),
    ("min_samples_leaf", -1, ValueError, "min_samples_leaf=-1", "integer >= 0"),
    ("min_samples_leaf", 21, ValueError, "min_samples_leaf=21", "20 training rows"),
    ("rules", "diagonal", ValueError, "rules='diagonal'", "'oblique', 'axis'"),
    ("rules", None, ValueError, "rules=None", "'oblique', 'axis'"),
    ("feature_scaling", "log", ValueError, "feature_scaling", "'range', 'rank', 'blend'"),
    ("p_change", 1.0, ValueError, "p_change=1.0", "[0, 1)"),
    ("p_change", -0.1, ValueError, "p_change=-0.1", "[0, 1)"),
    ("n_jobs", 0, ValueError, "n_jobs=0", "-1 for all cores"),
    ("n_jobs", 1.5, TypeError, "n_jobs=1.5", "None or an integer"),
    ("random_state", "seed", ValueError, "random_state='seed'", "RandomState"),
    ("random_state", -1, ValueError, "random_state=-1", "[0, 2^32)"),
    ("random_state", 2**32, ValueError, "random_state=4294967296", "[0, 2^32)"),
    ("progress", "yes", ValueError, "progress='yes'", "True, False, 'auto'"),
    ("progress", 1, ValueError, "progress=1", "True, False, 'auto'"),
    ("categorical_features", "b", ValueError, "categorical_features"),
    ("categorical_features", [7], ValueError, "7"),
    ("categorical_features", [True, False], ValueError, "categorical_features"),
    ("categorical_features", ["b"], ValueError, "categorical_features"),
]
REGRESSION_PARAMETERS = [
    ("nu", 0.0, ValueError, "nu=0.0", "(0, inf)"),
    ("nu", -3, ValueError, "nu=-3", "(0, inf)"),
    ("nu", 1e-200, ValueError, "nu=1e-200", "no usable prior"),
    ("sigma_quantile", 1.0, ValueError, "sigma_quantile=1.0", "(0, 1)"),
    ("sigma_quantile", np.nan, ValueError, "sigma_quantile=nan"),
    ("sigma", 0.0, ValueError, "sigma=0.0", "(0, inf)"),
    ("sigma", -1, ValueError, "sigma=-1"),
    ("sigma", 1e-200, ValueError, "sigma=1e-200", "standard deviation of y"),
    ("sigma", "1", TypeError, "sigma='1'"),
]

# name, table, error, pieces of the message
TABLES = [
    ("none", None, ValueError, "Expected 2D array"),
    ("number", 3.0, ValueError, "Expected 2D array"),
    ("one dimension", X[:, 0], ValueError, "Expected 2D array"),
    ("three dimensions", np.zeros((20, 2, 2)), ValueError, "dim 3"),
    ("no rows", np.empty((0, 3)), ValueError, "0 sample(s)"),
    ("no columns", np.empty((20, 0)), ValueError, "0 feature(s)"),
    ("frame without rows", frame().iloc[:0], ValueError, "0 sample(s)"),
    ("frame without columns", pd.DataFrame(index=range(20)), ValueError, "0 feature(s)"),
    ("ragged list", [[1.0, 2.0]] * 19 + [[1.0]], ValueError, "inhomogeneous"),
    ("infinite", with_value(X, 7, 1, np.inf), ValueError, "'x1'", "row 7", "NaN"),
    ("minus infinite", with_value(X, 2, 0, -np.inf), ValueError, "'x0'", "row 2"),
    ("infinite in a frame", frame(c=y_with(np.inf)), ValueError, "'c'", "row 3"),
    ("complex", X + 1j, ValueError, "Complex data not supported"),
    ("sparse", scipy.sparse.csr_matrix(X), TypeError, "parse"),
    ("sparse array", scipy.sparse.csr_array(X), TypeError, "parse"),
    ("text in an array", with_value(X, 5, 2, "abc"), TypeError, "'x2'", "'abc'", "row 5"),
    ("dictionary in an array", with_value(X, 5, 2, {}), TypeError, "'x2'", "row 5"),
    ("list in an array", frame(c=[[1, 2]] * 20), TypeError, "'c'", "nested"),
    ("dates", frame(d=pd.date_range("2020", periods=20)), TypeError, "'d'", "days since"),
    ("durations", frame(d=pd.to_timedelta(range(20), "h")), TypeError, "'d'", "seconds"),
    ("date objects", frame(d=[dt.date(2020, 1, 1)] * 20), TypeError, "'d'", "days since"),
    ("bytes", frame(d=[b"ab"] * 20), TypeError, "'d'", "ecode"),
    ("mixed types", frame(d=["a", 1] * 10), TypeError, "'d'", "text"),
    ("duplicate names", pd.DataFrame(X, columns=["a", "b", "a"]), ValueError, "a", "unique"),
    ("mixed names", pd.DataFrame(X, columns=["a", "b", 3]), TypeError, "string names"),
    (
        "free text",
        pd.DataFrame({"note": [f"remark {i}" for i in range(3000)]}),
        ValueError,
        "'note'",
        "free text",
    ),
    ("polars dates", pl.DataFrame({"d": [dt.date(2020, 1, 1)] * 20}), TypeError, "'d'"),
    ("polars lists", pl.DataFrame({"d": [[1, 2]] * 20}), TypeError, "'d'", "nested"),
    ("polars lazy", pl.DataFrame({"d": Y}).lazy(), TypeError, "lazy", "collect"),
    ("arrow struct", pa.table({"d": [{"u": 1}] * 20}), TypeError, "'d'", "nested"),
]

OUTCOMES = [
    ("none", None, ValueError, "requires y to be passed"),
    ("nan", y_with(np.nan), ValueError, "y contains NaN", "row 3"),
    ("infinite", y_with(np.inf), ValueError, "y contains infinity", "row 3"),
    ("pandas NA", pd.Series(Y).convert_dtypes().mask(Y > 0.3), ValueError, "y contains NaN"),
    ("too short", Y[:-1], ValueError, "20 in X, 19 in y"),
    ("too long", np.r_[Y, 0], ValueError, "20 in X, 21 in y"),
    ("two columns", np.c_[Y, Y], ValueError, "1d array", "one model per outcome"),
    ("number", 3.0, ValueError, "1d array"),
    ("text", ["a"] * 20, ValueError, "y must hold numbers", "ObliqueBARTClassifier"),
    ("numbers as text", Y.astype(str), ValueError, "y must hold numbers", "Convert it"),
    ("objects", [{}] * 20, ValueError, "y must hold numbers"),
    ("complex", Y + 1j, ValueError, "Complex data not supported"),
    ("dates", pd.date_range("2020", periods=20), TypeError, "datetime64", "days"),
    ("beyond float64's middle", y_with(1e305), ValueError, "1e+305", "larger unit"),
]
LABEL_CASES = [
    ("none", None, ValueError, "requires y to be passed"),
    ("continuous", Y, ValueError, "Unknown label type"),
    ("nan", np.where(LABELS > 0, np.nan, 1.0), ValueError, "y contains NaN"),
    ("infinite", np.where(LABELS > 0, np.inf, 1.0), ValueError, "y contains infinity"),
    ("missing text", ["a", None] * 10, ValueError, "y contains NaN", "row 1"),
    ("mixed", ["a", 1] * 10, ValueError, "mixes text", "astype(str)"),
    ("too short", LABELS[:-1], ValueError, "20 in X, 19 in y"),
    ("two columns", np.c_[LABELS, LABELS], ValueError, "1d array"),
]
WEIGHTS = [
    ("negative", weights_with(-1.0), "negative at row 4", "0 leaves the row out"),
    ("nan", weights_with(np.nan), "sample_weight contains NaN", "row 4"),
    ("infinite", weights_with(np.inf), "sample_weight contains infinity", "row 4"),
    ("all zero", np.zeros(20), "zero for every row"),
    ("too short", np.ones(19), "(19,)", "20 rows"),
    ("two columns", np.ones((20, 2)), "(20, 2)", "one weight a row"),
    ("text", ["heavy"] * 20, "sample_weight must hold numbers"),
    ("negative number", -1.0, "negative at row 0"),
]


def expect(error, pieces, call):
    """Call, and look for the error's exact type and every piece of its message."""
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error
    for piece in pieces:
        assert piece in str(caught.value)


def expect_unfitted(model, error, pieces, *data, **options):
    expect(error, pieces, lambda: model.fit(*data, **options))
    assert not [name for name in vars(model) if name.endswith("_") and not name.endswith("__")]


def ids(cases):
    return [f"{case[0]}={case[1]!r}"[:50] for case in cases]


def names(cases):
    return [case[0] for case in cases]


@pytest.mark.parametrize(
    ("name", "value", "error", "pieces"),
    [(*c[:3], c[3:]) for c in PARAMETERS],
    ids=ids(PARAMETERS),
)
@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_parameters(estimator, name, value, error, pieces):
    y = Y if estimator is ObliqueBARTRegressor else LABELS
    expect_unfitted(estimator(**{**SMALL, name: value}), error, pieces, X, y)


@pytest.mark.parametrize(
    ("name", "value", "error", "pieces"),
    [(*c[:3], c[3:]) for c in REGRESSION_PARAMETERS],
    ids=ids(REGRESSION_PARAMETERS),
)
def test_parameters_of_the_noise(name, value, error, pieces):
    expect_unfitted(ObliqueBARTRegressor(**{**SMALL, name: value}), error, pieces, X, Y)


def test_p_perturb_with_p_change():
    model = ObliqueBARTRegressor(**SMALL, p_change=0.6, p_perturb=0.4)
    expect_unfitted(model, ValueError, ["p_perturb=0.4", "[0, 0.4)"], X, Y)


@pytest.mark.parametrize(
    ("table", "error", "pieces"), [(c[1], c[2], c[3:]) for c in TABLES], ids=names(TABLES)
)
@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_tables(estimator, table, error, pieces):
    n_rows = getattr(table, "shape", (20,))[0] if hasattr(table, "shape") else 20
    y = np.arange(n_rows) % 2
    expect_unfitted(estimator(**SMALL), error, pieces, table, y)


@pytest.mark.parametrize(
    ("y", "error", "pieces"), [(c[1], c[2], c[3:]) for c in OUTCOMES], ids=names(OUTCOMES)
)
def test_outcomes(y, error, pieces):
    expect_unfitted(ObliqueBARTRegressor(**SMALL), error, pieces, X, y)


@pytest.mark.parametrize(
    ("y", "error", "pieces"), [(c[1], c[2], c[3:]) for c in LABEL_CASES], ids=names(LABEL_CASES)
)
def test_labels(y, error, pieces):
    expect_unfitted(ObliqueBARTClassifier(**SMALL), error, pieces, X, y)


@pytest.mark.parametrize(
    ("weights", "pieces"), [(c[1], c[2:]) for c in WEIGHTS], ids=names(WEIGHTS)
)
@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_weights(estimator, weights, pieces):
    model = estimator(**SMALL)
    expect_unfitted(model, ValueError, pieces, X, LABELS, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "pieces"),
    [
        (weights_with(0.5), ["sample_weight is 0.5 at row 4", "whole numbers"]),
        (np.full(20, 1e12), ["sums to 2e+13", "common factor"]),
    ],
)
def test_weights_of_a_classifier(weights, pieces):
    model = ObliqueBARTClassifier(**SMALL)
    expect_unfitted(model, ValueError, pieces, X, LABELS, sample_weight=weights)


# ------------------------------------------------------------------------------ at predict time


@pytest.fixture(scope="module")
def plain():
    return ObliqueBARTRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def named():
    table = frame(colour=pd.Categorical(["red", "blue"] * 10))
    return ObliqueBARTRegressor(**SMALL).fit(table, Y)


PREDICT_TABLES = [
    ("fewer columns", X[:, :2], ValueError, "X has 2 features", "expecting 3 features"),
    ("more columns", np.c_[X, X], ValueError, "X has 6 features", "expecting 3 features"),
    ("one dimension", X[0], ValueError, "Expected 2D array"),
    ("no rows", X[:0], ValueError, "0 sample(s)"),
    ("infinite", with_value(X, 7, 1, np.inf), ValueError, "'x1'", "row 7"),
    ("text", with_value(X, 7, 1, "a"), TypeError, "'x1'", "row 7"),
    ("sparse", scipy.sparse.csr_matrix(X), TypeError, "parse"),
    ("none", None, Exception),
]


@pytest.mark.parametrize(
    ("table", "error", "pieces"),
    [(c[1], c[2], c[3:]) for c in PREDICT_TABLES],
    ids=names(PREDICT_TABLES),
)
@pytest.mark.parametrize("method", ["predict", "predict_interval", "sample_y"])
def test_tables_at_predict(plain, method, table, error, pieces):
    if error is Exception:
        with pytest.raises((TypeError, ValueError)):
            getattr(plain, method)(table)
    else:
        expect(error, pieces, lambda: getattr(plain, method)(table))


NAMED = frame(colour=pd.Categorical(["red", "blue"] * 10))


@pytest.mark.parametrize(
    ("table", "error", "pieces"),
    [
        (NAMED[["b", "a", "colour"]], ValueError, ["must be in the same order"]),
        (NAMED.rename(columns={"b": "z"}), ValueError, ["unseen at fit time", "- z", "- b"]),
        (NAMED[["a", "b"]], ValueError, ["now missing", "- colour"]),
        (NAMED.assign(d=1), ValueError, ["unseen at fit time", "- d"]),
        (NAMED.assign(colour=3), TypeError, ["'colour'", "numbers", "text"]),
        (NAMED.assign(a="high"), TypeError, ["'a'", "'high'"]),
    ],
    ids=["order", "renamed", "dropped", "added", "numbers for levels", "text for numbers"],
)
def test_frames_at_predict(named, table, error, pieces):
    expect(error, pieces, lambda: named.predict(table))


@pytest.mark.parametrize(
    ("call", "error", "pieces"),
    [
        (lambda m: m.predict_interval(X, 0.0), ValueError, ["coverage=0.0", "(0, 1)"]),
        (lambda m: m.predict_interval(X, 1.0), ValueError, ["coverage=1.0", "(0, 1)"]),
        (lambda m: m.predict_interval(X, 90), ValueError, ["coverage=90", "(0, 1)"]),
        (lambda m: m.predict_interval(X, np.nan), ValueError, ["coverage=nan"]),
        (lambda m: m.predict_interval(X, "0.9"), TypeError, ["coverage='0.9'"]),
        (lambda m: m.predict_interval(X, kind="y"), ValueError, ["kind='y'", "'mean', 'outcome'"]),
        (lambda m: m.predict_quantile(X, 1.5), ValueError, ["q=1.5", "[0, 1]"]),
        (lambda m: m.predict_quantile(X, []), ValueError, ["q=[]"]),
        (lambda m: m.predict_quantile(X, [0.5, np.nan]), ValueError, ["q=nan"]),
        (lambda m: m.predict_quantile(X, 0.0, "outcome"), ValueError, ["q=0.0", "(0, 1)"]),
        (lambda m: m.predict_quantile(X, [[0.5]]), ValueError, ["q=[[0.5]]"]),
        (lambda m: m.sample_y(X, 0), ValueError, ["n_samples=0", "integer >= 1"]),
        (lambda m: m.sample_y(X, 1.5), TypeError, ["n_samples=1.5"]),
        (lambda m: m.sample_y(X, 2**31 - 1), MemoryError, ["2147483647 draws at 20 rows"]),
        (lambda m: m.sample_y(X, random_state="x"), ValueError, ["random_state='x'"]),
    ],
)
def test_arguments_at_predict(plain, call, error, pieces):
    expect(error, pieces, lambda: call(plain))


# ------------------------------------------------------------------------------- odd but legal


def read_only_memmap(x, tmp_path):
    path = tmp_path / "x.dat"
    x.tofile(path)
    return np.memmap(path, dtype=x.dtype, shape=x.shape, mode="r")


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.array(X, dtype=dtype)


def levels_frame(n_levels, n_rows=None):
    n_rows = n_rows or 2 * n_levels
    return pd.DataFrame({"level": pd.Categorical(np.arange(n_rows) % n_levels)})


ODD = {
    "Fortran order": np.asfortranarray(X),
    "float16": X.astype(np.float16),
    "float32": X.astype(np.float32),
    "longdouble": X.astype(np.longdouble),
    "big endian": X.astype(">f8"),
    "int8": (100 * X).astype(np.int8),
    "uint64": (1e18 * np.abs(X)).astype(np.uint64),
    "bool": X > 0,
    "objects": X.astype(object),
    "list of lists": X.tolist(),
    "array-like": ArrayLike(),
    "reversed view": X[:, ::-1],
    "strided view": np.repeat(X, 2, axis=0)[::2],
    "matrix with one column": X[:, :1],
    "constant columns": np.ones((20, 2)),
    "missing values": with_value(X, 3, 1, np.nan),
    "a row of missing values": np.where(np.arange(20)[:, None] == 5, np.nan, X),
    "huge values": X * 1e300,
    "tiny values": X * 1e-300,
    "values of both kinds": X * [1e300, 1.0, 1e-300],
    "the whole range of float64": np.where(X > 0, 1.7e308, -1.7e308),
    "denormal range": np.where(X > 0, 5e-324, 0.0),
    "more columns than rows": np.tile(X, (1, 40)),
    "decimals": frame(c=[Decimal(i) for i in range(20)]),
    "fractions": frame(c=[Fraction(i, 3) for i in range(20)]),
    "integer names": pd.DataFrame(X),
    "odd names": pd.DataFrame(X, columns=["", " ", "é\n"]),
    "odd index": frame().set_index(pd.Index(["k"] * 20)),
    "booleans": frame(c=X[:, 0] > 0),
    "nullable with NA": frame(c=pd.array([1, None] * 10, dtype="Int64")),
    "text with missing": frame(c=["u", None] * 10),
    "one level": frame(c=["u"] * 20),
    "empty text": frame(c=["", "v"] * 10),
    "only categories": pd.DataFrame({"c": ["u", "v"] * 10, "d": ["w", "x", "y", "z"] * 5}),
    "a level a row": frame(c=pd.Categorical(range(20))),
    "unused levels": frame(c=pd.Categorical(["u"] * 20, categories=["t", "u", "v"])),
    "polars with null": pl.DataFrame({"a": [1.0, None] * 10, "b": ["u", None] * 10}),
    "arrow dictionary": pa.table({"a": pa.array(["u", "v"] * 10).dictionary_encode()}),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_odd_tables_work(estimator, name):
    table = ODD[name]
    y = Y if estimator is ObliqueBARTRegressor else LABELS
    model = estimator(**SMALL).fit(table, y)
    assert np.isfinite(model.predict(table)).all()
    assert np.isfinite(model.predict_interval(table)).all()


@pytest.mark.filterwarnings("ignore:No value in training")
def test_a_column_without_values_is_ignored():
    table = np.c_[X, np.full(20, np.nan)]
    with pytest.warns(UserWarning, match="'x3'"):
        model = ObliqueBARTRegressor(**SMALL).fit(table, Y)
    assert np.isfinite(model.predict(table)).all()


def test_read_only_memmap(tmp_path):
    x, y = read_only_memmap(X, tmp_path), Y.copy()
    y.flags.writeable = False
    model = ObliqueBARTRegressor(**SMALL).fit(x, y)
    np.testing.assert_array_equal(
        model.predict(x), ObliqueBARTRegressor(**SMALL).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_inputs_are_not_changed(estimator):
    table, y, w = frame(c=["u", "v"] * 10), LABELS.copy(), np.arange(20) % 3
    copies = table.copy(deep=True), y.copy(), w.copy()
    estimator(**SMALL).fit(table, y, sample_weight=w).predict(table)
    pd.testing.assert_frame_equal(table, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    np.testing.assert_array_equal(w, copies[2])


@pytest.mark.parametrize(
    "y",
    [
        Y * 1e-300,
        Y * 1e299,
        Y.astype(np.float16),
        (100 * Y).astype(np.int8),
        Y > 0,
        [Decimal(i) for i in range(20)],
        np.where(np.arange(20) == 0, 1e15, 0.0),
        np.where(np.arange(20) == 0, 5e-324, 0.0),
        1e15 + np.arange(20.0),
    ],
    ids=["tiny", "huge", "float16", "int8", "bool", "decimal", "outlier", "denormal", "far"],
)
def test_odd_outcomes_work(y):
    model = ObliqueBARTRegressor(**SMALL).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.predict_interval(X, kind="outcome")).all()
    assert np.isfinite(model.sample_y(X, 2, random_state=0)).all()


@pytest.mark.parametrize(
    "weights",
    [
        np.full(20, 1e300),
        np.full(20, 1e-300),
        np.r_[1e200, np.ones(19)],
        np.r_[1e-200, np.ones(19)],
    ],
    ids=["huge", "tiny", "one huge", "one tiny"],
)
def test_odd_weights_work(weights):
    model = ObliqueBARTRegressor(**SMALL).fit(X, Y, sample_weight=weights)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.posterior_.trace["sigma"]).all()


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::obliquebart.ConstantOutcomeWarning")
def test_few_rows(n_rows):
    for estimator in (ObliqueBARTRegressor, ObliqueBARTClassifier):
        model = estimator(**SMALL).fit(X[:n_rows], LABELS[:n_rows])
        assert np.isfinite(model.predict(X)).all()


def test_all_but_one_row_left_out():
    w = np.zeros(20)
    w[3] = 2.0
    with pytest.warns(ConstantOutcomeWarning, match="All 1 outcomes"):
        model = ObliqueBARTRegressor(**SMALL).fit(X, Y, sample_weight=w)
    np.testing.assert_array_equal(model.predict(X), Y[3])


@pytest.mark.parametrize("n_levels", [2, 31, 32, 33, 500, 10_000])
def test_many_levels(n_levels):
    table = levels_frame(n_levels)
    model = ObliqueBARTRegressor(**SMALL).fit(table, np.arange(len(table)) % 7)
    assert np.isfinite(model.predict(table)).all()


def test_a_million_levels():
    table = pd.DataFrame({"level": np.arange(1_000_000), "x": np.linspace(0, 1, 1_000_000)})
    model = ObliqueBARTRegressor(
        n_trees=2, n_burn=1, n_draws=2, n_chains=1, categorical_features=["level"]
    )
    model.fit(table, table["x"])
    assert np.isfinite(model.predict(table.head(10))).all()


@pytest.mark.parametrize(
    "options",
    [
        {"min_samples_leaf": 0},
        {"min_samples_leaf": 20},
        {"theta": 1.0},
        {"theta": 1e-12},
        {"theta_prior": (1e-6, 1e6)},
        {"theta_prior": [1, 1]},
        {"theta_prior": np.array([2.0, 3.0])},
        {"alpha": 1e-12},
        {"alpha": 1 - 1e-12, "beta": 0.0},
        {"n_trees": 1},
        {"n_burn": 0},
        {"n_draws": 1},
        {"n_trees": np.int64(7), "alpha": np.float32(0.5)},
        {"sigma": 1e-5},
        {"sigma": 1e5},
        {"nu": 1000.0},
        {"nu": 0.5},
        {"sigma_quantile": 1 - 1e-9},
        {"k": 1e-3},
        {"k": 1e3},
        {"rules": "axis", "min_samples_leaf": 0},
        {"p_change": 0.3, "p_perturb": 0.3},
        {"n_jobs": 50},
        {"random_state": np.random.RandomState(0)},
    ],
    ids=repr,
)
def test_odd_parameters_work(options):
    model = ObliqueBARTRegressor(**{**SMALL, **options}).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.posterior_.trace["sigma"]).all()


def test_the_matrix_is_large():
    bad = (PARAMETERS, REGRESSION_PARAMETERS, TABLES, OUTCOMES, LABEL_CASES, WEIGHTS)
    assert sum(map(len, bad)) + len(PREDICT_TABLES) + len(ODD) >= 80
