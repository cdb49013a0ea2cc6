"""What a scikit-learn user expects: conformity, tables, weights, uncertainty, composition."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from obliquebart import (
    ConstantOutcomeWarning,
    ObliqueBARTClassifier,
    ObliqueBARTRegressor,
    UnseenLevelWarning,
)

OPTIONS = {"n_trees": 20, "n_burn": 50, "n_draws": 25, "n_chains": 2, "progress": False}


def regressor(**more):
    return ObliqueBARTRegressor(**{**OPTIONS, "random_state": 0, **more})


def classifier(**more):
    return ObliqueBARTClassifier(**{**OPTIONS, "random_state": 0, **more})


# ---------------------------------------------------------------------------------- conformity

EXPECTED_FAILURES = {
    "ObliqueBARTRegressor": {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight is a precision here (variance sigma^2 / w), not a number of repetitions"
        ),
    },
    "ObliqueBARTClassifier": {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight is a number of repetitions, but rows in another order give other draws of "
            "the same posterior"
        ),
    },
}


CHECKS = parametrize_with_checks(
    [
        ObliqueBARTRegressor(n_trees=20, n_burn=60, n_draws=40, n_chains=1, progress=False),
        ObliqueBARTClassifier(n_trees=20, n_burn=60, n_draws=40, n_chains=1, progress=False),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator).__name__],
)


# Older releases of scikit-learn hand over a generator, which pytest 9 warns of.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::obliquebart.ConstantOutcomeWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_at_most_two_checks_are_expected_to_fail():
    assert all(len(checks) <= 2 for checks in EXPECTED_FAILURES.values())


# ---------------------------------------------------------------------------------- regression


@pytest.fixture(scope="module")
def friedman():
    rng = np.random.default_rng(5)
    x = rng.uniform(size=(400, 6))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, f + 5 * x[:, 4], f + 5 * x[:, 4] + rng.standard_normal(400)


@pytest.fixture(scope="module")
def fitted(friedman):
    x, _, y = friedman
    model = ObliqueBARTRegressor(
        n_trees=50, n_burn=500, n_draws=250, n_chains=2, n_jobs=2, random_state=0, progress=False
    )
    return model.fit(x[:300], y[:300])


def test_regression_beats_a_line_and_knows_its_error(friedman, fitted):
    x, f, y = friedman
    line = LinearRegression().fit(x[:300], y[:300])
    test = slice(300, 400)
    assert fitted.score(x[test], y[test]) > line.score(x[test], y[test]) + 0.03
    inside = fitted.predict_interval(x[test], 0.9, kind="outcome")
    covered = (inside[:, 0] <= y[test]) & (y[test] <= inside[:, 1])
    # 100 rows: 0.9 +- 0.03; five standard errors are a false alarm in 1e-6.
    assert 0.75 < covered.mean() <= 1.0
    inside = fitted.predict_interval(x[test], 0.9)
    assert ((inside[:, 0] <= f[test]) & (f[test] <= inside[:, 1])).mean() > 0.6
    assert 0.7 < fitted.posterior_.trace["sigma"].mean() < 1.6


def test_uncertainty_methods_fit_together(friedman, fitted):
    x = friedman[0][:30]
    mean, std = fitted.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(x))
    narrow, wide = (fitted.predict_interval(x, c) for c in (0.5, 0.9))
    outcome = fitted.predict_interval(x, 0.9, kind="outcome")
    assert (std > 0).all()
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    assert (np.diff(outcome) > np.diff(wide)).all()
    # (1 - 0.9) / 2 is not 0.05 to the last bit.
    np.testing.assert_allclose(fitted.predict_quantile(x, [0.05, 0.95]), wide, rtol=1e-14)
    np.testing.assert_array_equal(fitted.predict_quantile(x, 0.25), narrow[:, 0])
    assert fitted.predict_quantile(x, 0.25).shape == (30,)
    assert fitted.predict_quantile(x, [0.25]).shape == (30, 1)


def test_axis_rules_are_axis_aligned(friedman):
    x, _, y = friedman
    axis = regressor(rules="axis").fit(x, y).posterior_.trace["axis_share"]
    oblique = regressor().fit(x, y).posterior_.trace["axis_share"]
    assert np.nanmin(axis) == 1.0
    assert np.nanmean(oblique) < 0.95


@pytest.mark.parametrize("exponent", [-150, -20, 20, 150])
def test_outcomes_of_any_magnitude(friedman, exponent):
    x, _, y = friedman
    factor = 10.0**exponent
    plain, scaled = regressor().fit(x, y), regressor().fit(x, factor * y)
    # 10^e is no power of two, so the standardised outcomes agree to rounding only; a power of two
    # gives the same bits.
    assert np.isfinite(scaled.predict(x)).all()
    assert np.corrcoef(scaled.predict(x), plain.predict(x))[0, 1] > 0.98
    assert scaled.predict_interval(x, kind="outcome").shape == (400, 2)
    assert np.isfinite(scaled.sample_y(x, random_state=0)).all()
    power = np.ldexp(1.0, 3 * exponent)
    exact = regressor().fit(x, power * y)
    np.testing.assert_array_equal(exact.predict(x), power * plain.predict(x))


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e12])
def test_outcomes_far_from_zero(friedman, offset):
    x, _, y = friedman
    model = regressor().fit(x, y + offset)
    assert np.corrcoef(model.predict(x) - offset, y)[0, 1] > 0.7


def test_constant_outcome_is_a_constant():
    x = np.random.default_rng(0).uniform(size=(20, 3))
    with pytest.warns(ConstantOutcomeWarning, match="All 20 outcomes in y are equal"):
        model = regressor().fit(x, np.full(20, 0.1))
    mean, std = model.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, 0.1)
    np.testing.assert_array_equal(std, 0.0)
    np.testing.assert_array_equal(model.predict_interval(x, kind="outcome"), 0.1)
    np.testing.assert_array_equal(model.sample_y(x, 3), 0.1)
    assert model.posterior_.predict(x).shape == (50, 20)
    assert pickle.loads(pickle.dumps(model)).predict(x)[0] == 0.1


def test_one_row_is_a_constant():
    with pytest.warns(ConstantOutcomeWarning, match="All 1 outcomes"):
        model = regressor().fit([[1.0, 2.0]], [7.0])
    np.testing.assert_array_equal(model.predict([[0.0, 0.0], [1.0, 2.0]]), 7.0)


def test_two_rows_and_duplicated_rows():
    assert np.isfinite(regressor().fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]])).all()
    x = np.zeros((40, 2))
    model = regressor().fit(x, np.arange(40.0))
    assert abs(model.predict(x[:1])[0] - 19.5) < 8


def test_constant_column_is_harmless(friedman):
    x, _, y = friedman
    with_constant = np.column_stack([x, np.full(len(x), 3.0)])
    assert regressor().fit(with_constant, y).score(with_constant, y) > 0.5


# ------------------------------------------------------------------------------------- weights


def test_zero_weight_is_the_same_as_leaving_the_row_out(friedman):
    x, _, y = friedman
    w = np.ones(len(y))
    w[::3] = 0
    wild, far = y.copy(), x.copy()
    wild[::3] = 1e9
    far[::3] = -1e6
    kept = w > 0
    weighted = regressor().fit(far, wild, sample_weight=w)
    left_out = regressor().fit(x[kept], y[kept])
    np.testing.assert_array_equal(weighted.predict(x), left_out.predict(x))
    some = np.where(kept, 1.0 + (np.arange(len(y)) % 2), 0)
    weighted = regressor().fit(far, wild, sample_weight=some)
    left_out = regressor().fit(x[kept], y[kept], sample_weight=some[kept])
    np.testing.assert_array_equal(weighted.predict(x), left_out.predict(x))


def test_unit_weights_change_nothing(friedman):
    x, _, y = friedman
    plain, ones = regressor().fit(x, y), regressor().fit(x, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(plain.predict(x), ones.predict(x))
    np.testing.assert_array_equal(plain.predict(x), regressor().fit(x, y, 1).predict(x))


def test_heavy_rows_win():
    x = np.zeros((100, 1))
    y = np.repeat([0.0, 10.0], 50)
    model = regressor().fit(x, y, sample_weight=np.where(y > 5, 1000.0, 1.0))
    assert model.predict(x[:1])[0] > 9


def test_weights_recover_sigma():
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (2000, 1)), rng.choice([0.25, 1.0, 4.0], 2000)
    y = x[:, 0] + 3 * rng.standard_normal(2000) / np.sqrt(w)
    model = regressor(n_burn=200, n_draws=200).fit(x, y, sample_weight=w)
    # sd(sigma) is about 3 / sqrt(2 n) = 0.047; five of them.
    assert abs(model.posterior_.trace["sigma"].mean() - 3) < 0.25


def test_score_takes_weights(friedman, fitted):
    x, _, y = friedman
    w = (np.arange(len(y)) < 50).astype(float)
    assert fitted.score(x, y, sample_weight=w) == pytest.approx(fitted.score(x[:50], y[:50]))


def test_classifier_weights_repeat_rows():
    x, y = load_iris(return_X_y=True)
    y = y == 1
    w = np.arange(150) % 3
    weighted = classifier().fit(x, y, sample_weight=w)
    repeated = classifier().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.predict_proba(x), repeated.predict_proba(x))
    frame = pd.DataFrame(x, columns=list("abcd"))
    weighted = classifier().fit(frame, y, sample_weight=w)
    np.testing.assert_array_equal(weighted.predict_proba(frame), repeated.predict_proba(x))


# ------------------------------------------------------------------------------ classification


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([3.0, 7.0]),
        np.array([3, 7], dtype=object),
        np.array(["a", "é"]),
    ],
)
def test_two_classes_of_any_label(iris, labels):
    x, y = iris
    y = labels[(y == 2).astype(int)]
    model = classifier().fit(x, y)
    assert model.classes_.tolist() == labels.tolist()
    assert set(model.predict(x).tolist()) <= set(labels.tolist())
    assert np.mean(model.predict(x) == y) > 0.9
    proba = model.predict_proba(x)
    assert proba.shape == (150, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    draws = model.predict_proba(x, return_draws=True)
    assert draws.shape == (50, 150, 2)
    np.testing.assert_allclose(draws.mean(axis=0), proba, atol=1e-6)


@pytest.mark.parametrize("names", [None, np.array(["setosa", "versicolor", "virginica"])])
def test_three_classes_one_against_the_rest(iris, names):
    x, y = iris
    y = y if names is None else names[y]
    model = classifier().fit(x, y)
    assert model.score(x, y) > 0.9
    proba = model.predict_proba(x)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    draws = model.predict_proba(x, return_draws=True)
    np.testing.assert_allclose(draws.mean(axis=0), proba)
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    interval = model.predict_interval(x, 0.8)
    np.testing.assert_allclose(interval[..., 0], np.quantile(draws, 0.1, axis=0))
    assert len(model.posteriors_) == 3
    assert not hasattr(model, "posterior_")
    with pytest.raises(AttributeError, match="list posteriors_"):
        model.posterior_  # noqa: B018


def test_intervals_of_two_classes_mirror_each_other(iris):
    x, y = iris
    model = classifier().fit(x, y == 1)
    interval = model.predict_interval(x, 0.9)
    assert interval.shape == (150, 2, 2)
    np.testing.assert_allclose(interval[:, 0], 1 - interval[:, 1, ::-1])
    draws = model.predict_proba(x, return_draws=True)[:, :, 1]
    np.testing.assert_allclose(interval[:, 1, 1], np.quantile(draws, 0.95, axis=0), atol=1e-6)
    assert ((interval >= 0) & (interval <= 1)).all()


def test_separable_classes_stay_finite():
    x = np.linspace(-1, 1, 200).reshape(-1, 1)
    model = classifier(k=0.01, n_burn=200).fit(x, x[:, 0] > 0)
    proba = model.predict_proba(x)
    assert np.isfinite(proba).all()
    assert model.score(x, x[:, 0] > 0) > 0.98


def test_rare_class():
    x = np.linspace(-1, 1, 300).reshape(-1, 1)
    y = np.zeros(300, int)
    y[5] = 1
    proba = classifier().fit(x, y).predict_proba(x)
    assert proba[:, 1].mean() < 0.1


def test_one_class_is_certain():
    x = np.zeros((5, 2))
    with pytest.warns(ConstantOutcomeWarning, match=r"one class only \('a'\)"):
        model = classifier().fit(x, ["a"] * 5)
    assert model.predict(x).tolist() == ["a"] * 5
    np.testing.assert_array_equal(model.predict_proba(x), np.ones((5, 1)))
    np.testing.assert_array_equal(model.predict_interval(x), np.ones((5, 1, 2)))
    assert model.predict_proba(x, return_draws=True).shape == (50, 5, 1)
    assert model.posteriors_ == []


# -------------------------------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(1, 9, 200),
            "colour": rng.choice(["red", "green", "blue"], 200),
            "flag": rng.uniform(size=200) < 0.5,
            "count": rng.integers(0, 9, 200),
        }
    )
    frame["grade"] = pd.Categorical(rng.choice(["low", "high"], 200))
    y = frame["size"] + 5 * (frame["colour"] == "red") + rng.standard_normal(200)
    return frame, y


def test_containers_give_the_same_draws(mixed):
    frame, y = mixed
    tables = {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "arrow-backed": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
    }
    expected = regressor().fit(frame, y).predict(frame)
    for name, table in tables.items():
        model = regressor().fit(table, y)
        np.testing.assert_array_equal(model.predict(table), expected, err_msg=name)
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert model.n_features_in_ == 5


@pytest.mark.parametrize(
    "convert",
    [list, np.asarray, pl.Series, pa.array, lambda y: y.convert_dtypes(), lambda y: y.to_frame()],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_outcomes_in_any_container(mixed, convert):
    frame, y = mixed
    expected = regressor().fit(frame, y).predict(frame)
    np.testing.assert_array_equal(regressor().fit(frame, convert(y)).predict(frame), expected)


def test_weights_in_any_container(mixed):
    frame, y = mixed
    w = pd.Series(np.arange(200) % 4)
    expected = regressor().fit(frame, y, w.to_numpy()).predict(frame)
    for weights in (w, w.tolist(), pl.Series(w), w.convert_dtypes()):
        np.testing.assert_array_equal(regressor().fit(frame, y, weights).predict(frame), expected)


def test_unseen_levels_are_reported(mixed):
    frame, y = mixed
    model = regressor().fit(frame, y)
    new = frame.head(3).assign(colour=["red", "mauve", "blue"])
    with pytest.warns(UnseenLevelWarning, match="'colour' in 1 row"):
        assert np.isfinite(model.predict(new)).all()


def test_missing_values_are_native(mixed):
    frame, y = mixed
    holes = frame.copy()
    holes.loc[::7, "size"] = np.nan
    holes.loc[::5, "colour"] = None
    model = regressor().fit(holes, y)
    assert np.isfinite(model.predict(holes)).all()
    assert model.score(holes, y) > 0.5
    assert np.isfinite(
        regressor().fit(frame.assign(colour="x"), y).predict(frame.assign(colour="x", size=np.nan))
    ).all()


def test_refit_forgets_the_old_names(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    model = regressor().fit(numbers, y)
    assert hasattr(model, "feature_names_in_")
    model.fit(numbers.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("scaling", ["range", "rank", "blend", "joint"])
def test_every_scaling_fits(friedman, scaling):
    x, _, y = friedman
    assert regressor(feature_scaling=scaling).fit(x, y).score(x, y) > 0.5


# --------------------------------------------------------------------------------- composition


def test_a_failed_fit_leaves_nothing_behind(friedman):
    x, _, y = friedman
    model = regressor(k=-1)
    with pytest.raises(ValueError, match="k=-1"):
        model.fit(x, y)
    with pytest.raises(NotFittedError):
        model.predict(x)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_failed_refit_leaves_the_old_fit(friedman):
    x, _, y = friedman
    model = regressor().fit(x, y)
    before = model.predict(x)
    for bad in (np.full_like(y, np.nan), y[:5]):
        with pytest.raises(ValueError, match="y"):
            model.fit(x[:, :2], bad)
    np.testing.assert_array_equal(model.predict(x), before)


def test_clone_and_params():
    model = regressor(k=3.5, theta_prior=(1.0, 2.0))
    assert clone(model).get_params() == model.get_params()
    assert "k=3.5" in repr(model)


def test_random_state_instance_moves_on(friedman):
    x, _, y = friedman
    state = np.random.RandomState(0)
    one, two = (regressor(random_state=state).fit(x, y).predict(x) for _ in range(2))
    assert not np.array_equal(one, two)


def test_works_inside_scikit_learn(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    pipeline = make_pipeline(StandardScaler(), regressor())
    assert cross_val_score(pipeline, numbers, y, cv=2).min() > 0
    columns = make_column_transformer(
        (StandardScaler(), ["size", "count"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    assert make_pipeline(columns, regressor()).fit(frame, y).score(frame, y) > 0.5
    search = GridSearchCV(regressor(), {"k": [1.0, 5.0]}, cv=2).fit(frame, y)
    assert search.best_params_["k"] in (1.0, 5.0)
    assert cross_val_predict(regressor(), frame, y, cv=2).shape == (200,)
    voting = VotingRegressor([("bart", regressor()), ("line", LinearRegression())])
    assert voting.fit(numbers, y).predict(numbers).shape == (200,)


def test_inspection(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    model = regressor().fit(numbers, y)
    importance = permutation_importance(model, numbers, y, n_repeats=2, random_state=0)
    assert importance.importances_mean[0] > importance.importances_mean[1]
    display = PartialDependenceDisplay.from_estimator(model, numbers, ["size"], grid_resolution=5)
    assert display.axes_.size == 1


def test_classifiers_compose(iris):
    x, y = iris
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(x, y == 1)
    assert calibrated.predict_proba(x).shape == (150, 2)
    voting = VotingClassifier([("a", classifier()), ("b", classifier(rules="axis"))], voting="soft")
    assert voting.fit(x, y).score(x, y) > 0.9


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_give_the_same(friedman, n_jobs):
    x, _, y = friedman
    scores = cross_val_score(regressor(n_jobs=2), x, y, cv=3, n_jobs=n_jobs)
    np.testing.assert_array_equal(scores, cross_val_score(regressor(), x, y, cv=3))


def test_fork_after_a_fit():
    """A forked child can fit too: no thread pool of the parent is needed."""
    script = """
import os, numpy as np
from obliquebart import ObliqueBARTRegressor
x = np.random.default_rng(0).uniform(size=(100, 2))
model = ObliqueBARTRegressor(n_trees=10, n_burn=10, n_draws=10, n_jobs=2, random_state=0)
expected = model.fit(x, x[:, 0]).predict(x)
child = os.fork()
if child == 0:
    same = np.array_equal(model.fit(x, x[:, 0]).predict(x), expected)
    os._exit(0 if same else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_diabetes_through_the_front_door():
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ObliqueBARTRegressor(
        n_trees=50, n_burn=200, n_draws=100, n_chains=2, random_state=0, progress=False
    )
    assert model.fit(x[:300], y[:300]).score(x[300:], y[300:]) > 0.35
