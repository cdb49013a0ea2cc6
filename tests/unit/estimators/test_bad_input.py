"""Bad inputs: each has a documented error that names the culprit.

Every case below must raise exactly the stated type, with every stated piece in its message, and
leave the estimator unfitted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from helpers.small_inputs import LABELS, SMALL, X, Y, frame
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.table.problems import ColumnError
from obliquebart.validation import OutcomeError


def with_value(table, row, column, value):
    table = np.array(table, dtype=object if isinstance(value, (str, dict, list)) else None)
    table[row, column] = value
    return table


def y_with(value, row=3):
    y = Y.copy()
    y[row] = value
    return y


def masked(values, row):
    return np.ma.masked_array(values, mask=np.arange(20) == row)


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
    ("n_draws", "many", ValueError, "n_draws='many'", '"auto" or an integer >= 1'),
    ("n_draws", None, TypeError, "n_draws=None", "integer >= 1"),
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
    ("min_samples_leaf", 21, ValueError, "min_samples_leaf=21", "number of training rows (20)"),
    ("rules", "diagonal", ValueError, "rules='diagonal'", "'oblique', 'axis'"),
    ("rules", None, ValueError, "rules=None", "'oblique', 'axis'"),
    ("feature_scaling", "log", ValueError, "feature_scaling", "'range', 'rank', 'blend'"),
    ("p_change", 1.0, ValueError, "p_change=1.0", "[0, 1)"),
    ("p_change", -0.1, ValueError, "p_change=-0.1", "[0, 1)"),
    ("n_jobs", 0, ValueError, "n_jobs=0", "-1 for all cores"),
    ("n_jobs", 1.5, TypeError, "n_jobs=1.5", "None or an integer"),
    ("device", "gpu", ValueError, "device='gpu'", "'cpu', 'cuda', 'auto'"),
    ("device", None, ValueError, "device=None", "'cpu', 'cuda', 'auto'"),
    ("random_state", "seed", ValueError, "random_state='seed'", "RandomState"),
    ("random_state", -1, ValueError, "random_state=-1", "[0, 2^32)"),
    ("random_state", 2**32, ValueError, "random_state=4294967296", "[0, 2^32)"),
    ("progress", "yes", ValueError, "progress='yes'", "True, False, 'auto'"),
    ("progress", 1, ValueError, "progress=1", "True, False, 'auto'"),
    ("dates", "iso", ValueError, "dates='iso'", "None, 'auto'"),
    ("dates", True, ValueError, "dates=True", "None, 'auto'"),
    ("categorical_features", "b", ValueError, "categorical_features"),
    ("categorical_features", [7], ValueError, "7"),
    ("categorical_features", iter([0]), TypeError, "a list of column names, positions or"),
    ("categorical_features", [True, False], ValueError, "categorical_features"),
    ("categorical_features", ["b"], ValueError, "categorical_features"),
]
REGRESSION_PARAMETERS = [
    ("tree_df", 0, ValueError, "tree_df=0", "[0.1, 1e+06)"),
    ("tree_df", np.nan, ValueError, "tree_df=nan", "[0.1, 1e+06)"),
    ("tree_df", np.inf, ValueError, "tree_df=inf", "[0.1, 1e+06)"),
    ("tree_df", "auto", TypeError, "tree_df='auto'", "a number in [0.1, 1e+06)"),
    ("nu", 0.0, ValueError, "nu=0.0", "(0, inf)"),
    ("nu", -3, ValueError, "nu=-3", "(0, inf)"),
    ("nu", 1e-200, ValueError, "nu=1e-200", "no usable prior"),
    ("sigma_quantile", 1.0, ValueError, "sigma_quantile=1.0", "(0, 1)"),
    ("sigma_quantile", np.nan, ValueError, "sigma_quantile=nan"),
    ("sigma", 0.0, ValueError, "sigma=0.0", "(0, inf)"),
    ("sigma", -1, ValueError, "sigma=-1"),
    ("sigma", 1e-200, ValueError, "sigma=1e-200", "standard deviation of y"),
    ("sigma", "1", TypeError, "sigma='1'"),
    ("noise_df", 40, ValueError, "noise_df=40", "from 4 to 30, or math.inf"),
    ("noise_df", np.array([6, 6]), TypeError, "noise_df="),
]

# All kinds of bad tables are in unit/table/test_bad_tables.py; these are for the way there.
TABLES = [
    ("none", None, ValueError, "Expected 2D array"),
    ("no columns", pd.DataFrame(index=range(20)), ValueError, "0 feature(s)"),
    ("ragged list", [[1.0, 2.0]] * 19 + [[1.0]], ValueError, "inhomogeneous"),
    ("infinite", with_value(X, 7, 1, np.inf), ValueError, "'x1'", "row 7", "NaN"),
    ("sparse", scipy.sparse.csr_array(X), TypeError, "parse"),
    ("text in an array", with_value(X, 5, 2, "abc"), TypeError, "'x2'", "'abc'", "row 5"),
    ("dates", frame(d=pd.date_range("2020", periods=20)), TypeError, "'d'", "days since"),
    ("duplicate names", pd.DataFrame(X, columns=["a", "b", "a"]), ValueError, "a", "unique"),
    ("lazy", pl.DataFrame({"d": Y}).lazy(), TypeError, "lazy", "collect"),
    ("complex", X + 1j, ValueError, "Complex data not supported", "real and imaginary columns"),
]

OUTCOMES = [
    ("none", None, ValueError, "requires y to be passed"),
    ("nan", y_with(np.nan), ValueError, "y contains NaN", "row 3"),
    ("masked", masked(Y, 3), ValueError, "y contains NaN", "row 3"),
    ("masked whole number", masked(np.arange(20), 0), ValueError, "y contains NaN", "row 0"),
    ("infinite", y_with(np.inf), ValueError, "y contains infinity", "row 3"),
    ("pandas NA", pd.Series(Y).convert_dtypes().mask(Y > 0.3), ValueError, "y contains NaN"),
    ("too short", Y[:-1], ValueError, "20 in X, 19 in y"),
    ("too long", np.r_[Y, 0], ValueError, "20 in X, 21 in y"),
    ("two columns", np.c_[Y, Y], ValueError, "1d array", "one model per outcome"),
    ("number", 3.0, ValueError, "1d array"),
    ("text", ["a"] * 20, ValueError, "y must be numeric", "ObliqueBARTClassifier"),
    ("numbers as text", Y.astype(str), ValueError, "y must be numeric", "Convert it"),
    ("objects", [{}] * 20, ValueError, "y must be numeric"),
    ("complex", Y + 1j, ValueError, "Complex data not supported"),
    ("dates", pd.date_range("2020", periods=20), TypeError, "datetime64", "days"),
    ("beyond float64's middle", y_with(1e305), ValueError, "1e+305", "Rescale y"),
]
LABEL_CASES = [
    ("none", None, ValueError, "requires y to be passed"),
    ("continuous", Y, ValueError, "Unknown label type"),
    ("nan", np.where(LABELS > 0, np.nan, 1.0), ValueError, "y contains NaN"),
    ("masked", masked(LABELS, 4), ValueError, "y contains NaN", "row 4"),
    ("masked text", masked(["a", "b"] * 10, 5), ValueError, "y contains NaN", "row 5"),
    ("infinite", np.where(LABELS > 0, np.inf, 1.0), ValueError, "y contains infinity"),
    ("missing text", ["a", None] * 10, ValueError, "y contains NaN", "row 1"),
    ("mixed", ["a", 1] * 10, ValueError, "mixes text", "astype(str)"),
    ("too short", LABELS[:-1], ValueError, "20 in X, 19 in y"),
    ("two columns", np.c_[LABELS, LABELS], ValueError, "1d array"),
]
WEIGHTS = [
    ("negative", weights_with(-1.0), ValueError, "negative at row 4", "0 ignores the row"),
    ("nan", weights_with(np.nan), ValueError, "sample_weight contains NaN", "row 4"),
    ("masked", masked(np.ones(20), 6), ValueError, "sample_weight contains NaN", "row 6"),
    ("infinite", weights_with(np.inf), ValueError, "sample_weight contains infinity", "row 4"),
    ("all zero", np.zeros(20), ValueError, "zero for every row"),
    ("complex", np.ones(20) + 1j, ValueError, "sample_weight", "complex"),
    ("too short", np.ones(19), ValueError, "(19,)", "20 rows"),
    ("two columns", np.ones((20, 2)), ValueError, "(20, 2)", "one weight per row"),
    ("text", ["heavy"] * 20, ValueError, "sample_weight must be numeric"),
    ("numbers as text", ["1"] * 20, ValueError, "sample_weight must be numeric"),
    ("dates", np.full(20, "2020-01-01", "M8[D]"), ValueError, "sample_weight must be numeric"),
    ("durations", np.full(20, 1, "m8[D]"), ValueError, "sample_weight must be numeric"),
    ("too large a whole number", [10**400] * 20, ValueError, "sample_weight must be numeric"),
    ("next to nothing", weights_with(1e-280), ValueError, "1e-280 at row 4", "the weight 0"),
    ("negative number", -1.0, ValueError, "negative at row 0"),
]


def expect(error, pieces, call):
    """Call, and look for the error's exact type and every piece of its message."""
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error or issubclass(caught.type, (ColumnError, OutcomeError))
    for piece in pieces:
        assert piece in str(caught.value)


def expect_unfitted(model, error, pieces, *data, **options):
    expect(error, pieces, lambda: model.fit(*data, **options))
    assert not [name for name in vars(model) if name.endswith("_") and not name.endswith("__")]


def cases(listed):
    """Give (value, error, pieces) under the name that stands before them."""
    return [pytest.param(value, error, words, id=name) for name, value, error, *words in listed]


def settings(listed):
    """Give ({name: value}, error, pieces)."""
    return [
        pytest.param({name: value}, error, words, id=f"{name}={value!r}"[:50])
        for name, value, error, *words in listed
    ]


ESTIMATORS = {ObliqueBARTRegressor: Y, ObliqueBARTClassifier: LABELS}


@pytest.mark.parametrize(("parameter", "error", "pieces"), settings(PARAMETERS))
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters(estimator, parameter, error, pieces):
    expect_unfitted(estimator(**SMALL | parameter), error, pieces, X, ESTIMATORS[estimator])


@pytest.mark.parametrize(("parameter", "error", "pieces"), settings(REGRESSION_PARAMETERS))
def test_parameters_of_the_noise(parameter, error, pieces):
    expect_unfitted(ObliqueBARTRegressor(**SMALL | parameter), error, pieces, X, Y)


def test_p_perturb_with_p_change():
    model = ObliqueBARTRegressor(**SMALL, p_change=0.6, p_perturb=0.4)
    expect_unfitted(model, ValueError, ["p_perturb=0.4", "[0, 0.4)"], X, Y)


@pytest.mark.parametrize(("table", "error", "pieces"), cases(TABLES))
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_tables(estimator, table, error, pieces):
    expect_unfitted(estimator(**SMALL), error, pieces, table, LABELS)


@pytest.mark.parametrize(("y", "error", "pieces"), cases(OUTCOMES))
def test_outcomes(y, error, pieces):
    expect_unfitted(ObliqueBARTRegressor(**SMALL), error, pieces, X, y)


@pytest.mark.parametrize(("y", "error", "pieces"), cases(LABEL_CASES))
def test_labels(y, error, pieces):
    expect_unfitted(ObliqueBARTClassifier(**SMALL), error, pieces, X, y)


@pytest.mark.parametrize(("weights", "error", "pieces"), cases(WEIGHTS))
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights(estimator, weights, error, pieces):
    expect_unfitted(estimator(**SMALL), error, pieces, X, LABELS, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "pieces"),
    [
        (np.full(20, 1e12), ["sums to 2e+13", "2^31"]),
        (np.linspace(0.5, 2e6, 20), ["contains 2e+06", "not an integer", "1048576"]),
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
    ("none", None, ValueError, "Expected 2D array"),
]


@pytest.mark.parametrize(("table", "error", "pieces"), cases(PREDICT_TABLES))
@pytest.mark.parametrize("method", ["predict", "predict_interval", "sample_y"])
def test_tables_at_predict(plain, method, table, error, pieces):
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
        (lambda m: m.predict_quantile(X, 1.5, "mean"), ValueError, ["q=1.5", "[0, 1]"]),
        (lambda m: m.predict_quantile(X, []), ValueError, ["q=[]"]),
        (lambda m: m.predict_quantile(X, [0.5, np.nan]), ValueError, ["q=nan"]),
        (lambda m: m.predict_quantile(X, 0.0), ValueError, ["q=0.0", "(0, 1)"]),
        (lambda m: m.predict_quantile(X, [[0.5]]), ValueError, ["q=[[0.5]]"]),
        (lambda m: m.sample_y(X, 0), ValueError, ["n_samples=0", "integer >= 1"]),
        (lambda m: m.sample_y(X, 1.5), TypeError, ["n_samples=1.5"]),
        (lambda m: m.sample_y(X, 2**31 - 1), MemoryError, ["2147483647 draws at 20 rows"]),
        (lambda m: m.sample_y(X, random_state="x"), ValueError, ["random_state='x'"]),
    ],
)
def test_arguments_at_predict(plain, call, error, pieces):
    expect(error, pieces, lambda: call(plain))
