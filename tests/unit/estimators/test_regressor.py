"""The regressor: errors and intervals, outcomes of any size, weights as precisions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from helpers.estimators import regressor
from obliquebart import ConstantOutcomeWarning, ObliqueBARTRegressor


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
    inside = fitted.predict_interval(x[test], 0.9)
    covered = (inside[:, 0] <= y[test]) & (y[test] <= inside[:, 1])
    # 100 rows: 0.9 +- 0.03; five standard errors are a false alarm in 1e-6.
    assert 0.75 < covered.mean() <= 1.0
    inside = fitted.predict_interval(x[test], 0.9, kind="mean")
    assert ((inside[:, 0] <= f[test]) & (f[test] <= inside[:, 1])).mean() > 0.6
    assert 0.7 < fitted.posterior_.trace["sigma"].mean() < 1.6


def test_uncertainty_methods_fit_together(friedman, fitted):
    x = friedman[0][:30]
    mean, std = fitted.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(x))
    narrow, wide = (fitted.predict_interval(x, c) for c in (0.5, 0.9))
    of_mean = fitted.predict_interval(x, 0.9, kind="mean")
    assert (std > 0).all()
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    assert (np.diff(of_mean) < np.diff(wide)).all()
    np.testing.assert_array_equal(fitted.predict_interval(x, 0.9, kind="outcome"), wide)
    np.testing.assert_array_equal(
        fitted.predict_quantile(x, 0.3, "outcome"), fitted.predict_quantile(x, 0.3)
    )
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


def test_diabetes_through_the_front_door():
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ObliqueBARTRegressor(
        n_trees=50, n_burn=200, n_draws=100, n_chains=2, random_state=0, progress=False
    )
    assert model.fit(x[:300], y[:300]).score(x[300:], y[300:]) > 0.35
