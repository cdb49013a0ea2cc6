"""Odd but legal inputs: they fit, and predictions are finite."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from helpers.small_inputs import LABELS, SMALL, X, Y, frame
from obliquebart import ConstantOutcomeWarning, ObliqueBARTClassifier, ObliqueBARTRegressor


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.array(X, dtype=dtype)


ODD = {
    "uint64": (1e18 * np.abs(X)).astype(np.uint64),
    "bool": X > 0,
    "array-like": ArrayLike(),
    "reversed view": X[:, ::-1],
    "matrix with one column": X[:, :1],
    "constant columns": np.ones((20, 2)),
    "missing values": np.where(X > 0.9, np.nan, X),
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
    "one level": frame(c=["u"] * 20),
    "empty text": frame(c=["", "v"] * 10),
    "only categories": pd.DataFrame({"c": ["u", "v"] * 10, "d": ["w", "x", "y", "z"] * 5}),
    "a level a row": frame(c=pd.Categorical(range(20))),
    "unused levels": frame(c=pd.Categorical(["u"] * 20, categories=["t", "u", "v"])),
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


@pytest.mark.filterwarnings("ignore:Ignoring columns")
def test_a_column_without_values_is_ignored():
    table = np.c_[X, np.full(20, np.nan)]
    with pytest.warns(UserWarning, match="'x3'"):
        model = ObliqueBARTRegressor(**SMALL).fit(table, Y)
    assert np.isfinite(model.predict(table)).all()


def test_read_only_memmap(tmp_path):
    X.tofile(tmp_path / "x.dat")
    x, y = np.memmap(tmp_path / "x.dat", dtype=X.dtype, shape=X.shape, mode="r"), Y.copy()
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


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e299])
def test_answers_do_not_depend_on_the_unit_of_the_outcome(unit):
    """Squares in the unit would be zero or infinite."""
    scale = 2.0 ** round(np.log2(unit))
    usual, other = (ObliqueBARTRegressor(**SMALL).fit(X, Y * each) for each in (1.0, scale))
    np.testing.assert_allclose(other.predict_noise(X), scale * usual.predict_noise(X), rtol=1e-12)
    for one, another in zip(usual.importance(X), other.importance(X), strict=True):
        assert another.share == pytest.approx(one.share)
        assert another.change == pytest.approx(scale * one.change, abs=0.0)


@pytest.mark.filterwarnings("ignore::obliquebart.ConstantOutcomeWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("noise", ["constant", "student_t"])
def test_a_constant_outcome_is_certain(noise):
    model = ObliqueBARTRegressor(**SMALL, noise=noise).fit(X, np.ones(20))
    assert model.log_score(X, np.ones(20)) == np.inf
    assert model.log_score(X, np.full(20, 2.0)) == -np.inf


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
    table = pd.DataFrame({"level": pd.Categorical(np.arange(2 * n_levels) % n_levels)})
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
