"""RandomRotation: scikit-learn's checks, the rotations, containers, names."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from obliquebart.estimators.rotation import RandomRotation

# The mark's cases as a list: older scikit-learn passes a generator, which pytest warns about.
CHECKS = parametrize_with_checks([RandomRotation(n_rotations=2, random_state=0)])


@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "a": rng.normal(size=30),
            "colour": pd.Categorical(rng.choice(["red", "blue"], size=30)),
            "b": rng.exponential(size=30),
        },
        index=np.arange(100, 130),
    )


def test_rotations_are_rotations():
    X = np.random.default_rng(0).normal(size=(20, 5))
    rotations = RandomRotation(n_rotations=40, random_state=3).fit(X).rotations_
    assert rotations.shape == (40, 5, 5)
    products = rotations @ rotations.transpose(0, 2, 1)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(5), (40, 5, 5)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotations), 1.0)


def test_rotations_are_uniform():
    """Of a uniform rotation in the plane the angle is uniform. False alarms: 1e-6 a seed."""
    X = np.random.default_rng(0).normal(size=(5, 2))
    rotations = RandomRotation(n_rotations=4000, random_state=5).fit(X).rotations_
    angles = np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0])
    assert stats.kstest(angles, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-6


def test_first_rotation_by_hand():
    X = np.array([[0.0, 30.0], [5.0, 20.0], [100.0, 10.0]])
    rotation = RandomRotation(n_rotations=2, random_state=0).fit(X)
    ranks = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    expected = np.hstack([ranks @ matrix.T for matrix in rotation.rotations_])
    np.testing.assert_allclose(rotation.transform(X), expected)


def test_distances_are_kept():
    X = np.random.default_rng(2).normal(size=(50, 6))
    rotated = RandomRotation(n_rotations=3, random_state=0).fit_transform(X)
    ranks = (stats.rankdata(X, axis=0) - 1) / 49
    for block in np.split(rotated, 3, axis=1):
        np.testing.assert_allclose(
            np.linalg.norm(block - block[0], axis=1),
            np.linalg.norm(ranks - ranks[0], axis=1),
            rtol=1e-5,
            atol=1e-6,
        )


def test_seed_decides():
    X = np.random.default_rng(2).normal(size=(10, 3))
    first, second, other = (
        RandomRotation(4, random_state=seed).fit_transform(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


def test_missing_number_is_the_middle_rank():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    rotation = RandomRotation(3, random_state=0).fit(X)
    np.testing.assert_allclose(
        rotation.transform([[np.nan, np.nan]]), rotation.transform([[1.0, 1.0]])
    )
    with_hole = np.array([[0.0, np.nan], [1.0, 0.0], [2.0, 2.0]])
    assert np.isfinite(RandomRotation(3).fit_transform(with_hole)).all()
    assert np.isfinite(RandomRotation(3).fit_transform(np.full((4, 2), np.nan))).all()


def test_outside_the_training_range_is_flat():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    rotation = RandomRotation(3, random_state=0).fit(X)
    np.testing.assert_allclose(
        rotation.transform([[-9.0, 1e300]]), rotation.transform([[0.0, 2.0]])
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_categories_pass_through(table, library):
    X = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "pyarrow": pa.Table.from_pandas(table, preserve_index=False),
    }[library]
    rotation = RandomRotation(2, random_state=0).fit(X)
    out = rotation.transform(X)
    assert isinstance(out, type(X))
    names = ["rotation0_0", "rotation0_1", "rotation1_0", "rotation1_1", "colour"]
    assert list(rotation.get_feature_names_out()) == names
    assert list(getattr(out, "column_names", getattr(out, "columns", None))) == names
    np.testing.assert_array_equal(np.asarray(out["colour"]), np.asarray(X["colour"]))
    numbers = RandomRotation(2, random_state=0).fit_transform(table[["a", "b"]].to_numpy())
    for j, name in enumerate(names[:-1]):
        np.testing.assert_array_equal(np.asarray(out[name]), numbers[:, j])
    if library == "pandas":
        assert (out.index == table.index).all()
        assert out["colour"].dtype == table["colour"].dtype


@pytest.mark.parametrize("given", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("wanted", ["pandas", "polars"])
def test_set_output(table, given, wanted):
    X = table
    if given != "pandas":
        X = pl.from_pandas(table) if given == "polars" else pa.Table.from_pandas(table)
        X = X.select(["a", "colour", "b"])
    rotation = RandomRotation(2, random_state=0).set_output(transform=wanted)
    out = rotation.fit_transform(X)
    assert isinstance(out, pd.DataFrame if wanted == "pandas" else pl.DataFrame)
    assert list(out.columns) == list(rotation.get_feature_names_out())
    assert out["colour"].to_list() == table["colour"].to_list()
    assert out["colour"].dtype == ("category" if wanted == "pandas" else pl.Categorical)
    with config_context(transform_output=wanted):
        assert isinstance(RandomRotation(2).fit_transform(X), type(out))
    only_numbers = RandomRotation(2, random_state=0).set_output(transform=wanted)
    assert list(only_numbers.fit_transform(table[["a", "b"]]).columns) == list(
        rotation.get_feature_names_out()[:-1]
    )


def test_array_with_categories():
    X = np.array([[0.0, 7, 3.0], [1.0, 8, 2.0], [2.0, 7, 1.0]])
    out = RandomRotation(2, random_state=0, categorical_features=[1]).fit_transform(X)
    assert out.shape == (3, 5)
    np.testing.assert_array_equal(out[:, -1], X[:, 1])
    mixed = X.astype(object)
    mixed[:, 1] = ["x", "y", "x"]
    out = RandomRotation(2, random_state=0, categorical_features=[1]).fit_transform(mixed)
    assert list(out[:, -1]) == ["x", "y", "x"]


def test_only_categories_and_one_number(table):
    only = RandomRotation(3, random_state=0).fit_transform(table[["colour"]])
    pd.testing.assert_frame_equal(only, table[["colour"]])
    one = RandomRotation(3, random_state=0).fit_transform(table[["a"]])
    assert one.shape == (30, 3)
    np.testing.assert_array_equal(one[:, 0], one[:, 2])


def test_inside_others(table):
    y = np.arange(30.0)
    columns = ColumnTransformer([("rotated", RandomRotation(2, random_state=0), ["a", "b"])])
    make_pipeline(columns, RandomForestRegressor(5, random_state=0)).fit(table, y).predict(table)
    pipeline = make_pipeline(
        RandomRotation(2, random_state=0), RandomForestRegressor(5, random_state=0)
    )
    assert clone(pipeline).fit(table[["a", "b"]], y).predict(table[["a", "b"]]).shape == (30,)


def test_pickle_and_refit(table):
    rotation = RandomRotation(2, random_state=0).fit(table)
    copy = pickle.loads(pickle.dumps(rotation))
    pd.testing.assert_frame_equal(copy.transform(table), rotation.transform(table))
    rotation.fit(table[["a", "b"]].to_numpy())
    assert not hasattr(rotation, "feature_names_in_")


@pytest.mark.parametrize("bad", [0, -1, 2.5, "three", None])
def test_bad_n_rotations(bad):
    with pytest.raises((TypeError, ValueError), match=r"n_rotations=.* must be an integer >= 1"):
        RandomRotation(bad).fit([[1.0, 2.0], [3.0, 4.0]])


def test_errors(table):
    with pytest.raises(NotFittedError):
        RandomRotation().transform(table)
    rotation = RandomRotation(2).fit(table)
    with pytest.raises(ValueError, match="feature names should match"):
        rotation.transform(table[["b", "colour", "a"]])
    with pytest.raises(ValueError, match="X has 1 features, but RandomRotation is expecting 3"):
        RandomRotation(2).fit(np.ones((4, 3))).transform(np.ones((4, 1)))
    with pytest.raises(ValueError, match="Column 'a' contains an infinite value in row 4"):
        RandomRotation(2).fit(table.assign(a=np.where(np.arange(30) == 4, np.inf, 0.0)))
    with pytest.raises(TypeError, match="Column 'colour' contains text"):
        RandomRotation(2, categorical_features=None).fit(table)
