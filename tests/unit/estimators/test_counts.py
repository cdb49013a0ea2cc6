"""Counts: what an estimator promises beyond the others."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import nbinom, poisson

from helpers.estimators import count_regressor, regressor
from obliquebart import ConstantOutcomeWarning, ObliqueBARTCountRegressor, load, plots
from obliquebart.explain.evaluation import CountEvaluation, evaluate
from obliquebart.model.parameters import COUNT_SPREAD, LOG_DISPERSION

DISTRIBUTIONS = ("negative_binomial", "poisson")


@pytest.fixture(scope="module")
def counts():
    """Return a table, exposures, rates and counts with dispersion 0.5."""
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(400, 3))
    years = rng.uniform(0.5, 20.0, 400)
    rate = np.exp(1.5 * x[:, 0] + (x[:, 1] > 0.5))
    return x, years, rate, rng.poisson(years * rate * rng.gamma(2.0, size=400) / 2.0)


@pytest.fixture(scope="module")
def fitted(counts):
    x, years, _, y = counts
    model = count_regressor(n_trees=50, n_burn=300, n_draws=200)
    return model.fit(x[:300], y[:300], exposure=years[:300])


def test_rates_and_dispersion_are_learned(counts, fitted):
    x, years, rate, y = counts
    assert np.corrcoef(np.log(fitted.predict(x[300:])), np.log(rate[300:]))[0, 1] > 0.9
    assert 0.3 < fitted.posterior_.trace["dispersion"].mean() < 0.8
    assert 0.3 < fitted.score(x[300:], y[300:], exposure=years[300:]) < 0.9
    low, high = fitted.predict_interval(x[300:], exposure=years[300:]).T
    assert 0.82 < np.mean((low <= y[300:]) & (y[300:] <= high)) <= 1.0
    low, high = fitted.predict_interval(x[300:], kind="mean", exposure=years[300:]).T
    mean = (years * rate)[300:]
    assert np.mean((low <= mean) & (mean <= high)) > 0.8


def test_predictions_are_proportional_to_the_exposure(counts, fitted):
    x, years, *_ = counts
    np.testing.assert_allclose(fitted.predict(x, years), years * fitted.predict(x), rtol=1e-12)
    np.testing.assert_allclose(fitted.predict(x, 3), 3 * fitted.predict(x, 1.0), rtol=1e-12)
    one = fitted.predict_quantile(x, 0.3, "mean")
    np.testing.assert_allclose(fitted.predict_quantile(x, 0.3, "mean", years), years * one)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_outcomes_have_the_distribution_of_the_draws(counts, distribution):
    """Against SciPy's distributions, draw by draw, without any grouping."""
    x, years, _, y = counts
    model = count_regressor(distribution=distribution, n_burn=100, n_draws=200)
    model.fit(x, y, exposure=years)
    x, years, y = x[:20], years[:20], y[:20]
    mean = years * np.exp(model.posterior_.predict(x))
    of_draws = poisson(mean)
    if distribution == "negative_binomial":
        size = 1.0 / model.posterior_.trace["dispersion"].reshape(-1, 1)
        of_draws = nbinom(size, size / (size + mean))
    np.testing.assert_allclose(model.predict(x, years), mean.mean(axis=0), rtol=1e-5)
    probability = of_draws.pmf(y).mean(axis=0)
    assert np.isclose(model.log_score(x, y, exposure=years), np.log(probability).mean(), rtol=1e-6)
    found = model.predict_probability(x, [0, 3], years)
    np.testing.assert_allclose(found[:, 1], of_draws.pmf(3).mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(model.predict_probability(x, 0, years), found[:, 0])
    for level in (0.05, 0.5, 0.95):
        quantile = model.predict_quantile(x, level, exposure=years)
        np.testing.assert_array_equal(quantile, np.round(quantile))
        assert (of_draws.cdf(quantile).mean(axis=0) > level - 0.002).all()
        assert (of_draws.cdf(quantile - 1).mean(axis=0) < level + 0.002).all()
    drawn = model.sample_y(x, 4000, random_state=0, exposure=years)
    assert (drawn == np.round(drawn)).all()
    assert (drawn >= 0).all()
    se = drawn.std(axis=1) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=1) - mean.mean(axis=0)) < 5 * se).all()
    evaluation = evaluate(model, x, y, exposure=years)
    assert isinstance(evaluation, CountEvaluation)
    below, at_most = (of_draws.cdf(y - k).mean(axis=0) for k in (1, 0))
    assert ((below - 0.01 < evaluation.pit) & (evaluation.pit < at_most + 0.01)).all()
    variance = mean.var(axis=0, ddof=1) + of_draws.var().mean(axis=0)
    np.testing.assert_allclose(evaluation.sd, np.sqrt(variance), rtol=1e-6)


def test_an_exposure_may_be_a_column(counts, tmp_path):
    x, years, _, y = counts
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    as_column = frame.assign(years=years)[["a", "years", "b", "c"]]
    apart = count_regressor().fit(frame, y, exposure=years)
    model = count_regressor().fit(as_column, y, exposure="years")
    np.testing.assert_array_equal(model.predict(as_column), apart.predict(frame, years))
    np.testing.assert_array_equal(model.predict(frame, 2.0), apart.predict(frame, 2.0))
    assert model.score(as_column, y) == apart.score(frame, y, exposure=years)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert [row.column for row in model.importance(as_column)] == [
        row.column for row in apart.importance(frame)
    ]
    model.save(tmp_path / "m")
    for again in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(as_column), model.predict(as_column))
        np.testing.assert_array_equal(
            again.predict(pl.from_pandas(as_column)), model.predict(as_column)
        )
        longer = again.sample_more(5, as_column, y)
        assert longer.posterior_.n_draws == 30
    assert set(evaluate(model, as_column, y).scores()) >= {"D²", "log score", "MAE"}
    with pytest.raises(ValueError, match="no column 'years'"):
        model.predict(frame)
    with pytest.raises(ValueError, match="no column 'months'"):
        count_regressor().fit(frame, y, exposure="months")


@pytest.mark.parametrize("weight", [1e-6, 1e12])
def test_weights_that_sums_cannot_hold_are_refused(counts, weight):
    x, years, _, y = counts
    weights = np.r_[1.0, weight, np.ones(len(y) - 2)]
    with pytest.raises(ValueError, match=re.escape(f"sample_weight is {weight:g} at row 1.")):
        count_regressor().fit(x, y, weights, exposure=years)


def test_weights_of_one_and_zero(counts):
    """Other weights are tested with the exact posterior."""
    x, years, _, y = counts
    model = count_regressor().fit(x[:200], y[:200], exposure=years[:200])
    weighted = count_regressor().fit(x, y, (np.arange(400) < 200).astype(int), exposure=years)
    np.testing.assert_array_equal(weighted.predict(x), model.predict(x))
    doubled = count_regressor().fit(x[:200], y[:200], np.full(200, 2), exposure=years[:200])
    assert not np.array_equal(doubled.predict(x), model.predict(x))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_extreme_counts_and_exposures(distribution):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(150, 2))
    exposure = 10.0 ** rng.uniform(-6, 6, 150)
    y = rng.poisson(np.minimum(exposure, 1e6) * (1 + x[:, 0]))
    model = count_regressor(distribution=distribution).fit(x, y, exposure=exposure)
    assert np.isfinite(model.predict(x, exposure)).all()
    assert np.isfinite(model.log_score(x, y, exposure=exposure))
    low, high = model.predict_interval(x, exposure=exposure).T
    assert (low >= 0).all()
    assert (low <= high).all()
    zeros = np.where(rng.uniform(size=150) < 0.98, 0, 400)
    model = count_regressor(distribution=distribution).fit(x, zeros)
    assert np.isfinite(model.log_score(x, zeros))
    assert (model.predict(x) > 0).all()


def test_one_large_outlier_and_equal_counts():
    x = np.linspace(0, 1, 40).reshape(-1, 1)
    y = np.ones(40, int)
    model = count_regressor().fit(x, y)
    assert 0.5 < model.predict(x).mean() < 1.5
    assert model.predict_interval(x, kind="mean").std() > 0
    y[7] = 1_000_000
    assert np.isfinite(count_regressor().fit(x, y).predict(x)).all()


def test_zeros_only_come_with_a_warning():
    x = np.linspace(0, 1, 40).reshape(-1, 1)
    with pytest.warns(ConstantOutcomeWarning, match="All 40 counts in y are 0"):
        model = count_regressor().fit(x, np.zeros(40))
    assert (model.predict(x) > 0).all()
    assert model.predict(x).mean() < 0.1
    assert np.isnan(model.score(x, np.zeros(40)))


X = np.linspace(0, 1, 20).reshape(-1, 1)
Y = np.arange(20)
BAD = {
    "negative": ({"y": np.where(Y == 3, -1, Y)}, "y is negative at row 3 (-1)"),
    "fraction": ({"y": np.where(Y == 4, 0.5, Y)}, "not a whole number at row 4 (0.5)"),
    "huge": ({"y": np.where(Y == 4, 2e9, Y)}, "too large at row 4"),
    "missing": ({"y": np.where(Y == 5, np.nan, Y)}, "y contains NaN (row 5)"),
    "text": ({"y": np.array(["a"] * 20)}, "y must be numeric"),
    "short": ({"y": Y[:5]}, "20 in X, 5 in y"),
    "zero exposure": ({"exposure": np.where(Y == 2, 0.0, 1.0)}, "exposure is 0 at row 2"),
    "negative exposure": ({"exposure": np.where(Y == 2, -1.0, 1.0)}, "exposure is -1 at row 2"),
    "missing exposure": ({"exposure": np.where(Y == 2, np.nan, 1.0)}, "exposure contains NaN"),
    "masked exposure": (
        {"exposure": np.ma.masked_array(np.ones(20), np.arange(20) == 2)},
        "exposure contains NaN (row 2)",
    ),
    "masked": ({"y": np.ma.masked_array(Y, np.arange(20) == 5)}, "y contains NaN (row 5)"),
    "tiny exposure": ({"exposure": np.where(Y == 2, 1e-12, 1.0)}, "use other units"),
    "short exposure": ({"exposure": np.ones(3)}, "exposure has shape (3,)"),
    "text exposure": ({"exposure": np.array(["a"] * 20)}, "exposure must be numeric"),
    "column of an array": ({"exposure": "years"}, "X has no column 'years'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    given, message = BAD[case]
    model = count_regressor()
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, given.get("y", Y), exposure=given.get("exposure"))
    assert not hasattr(model, "posterior_")


def test_bad_parameters_and_arguments(fitted, counts):
    x, *_ = counts
    with pytest.raises(ValueError, match="distribution='gamma' must be one of"):
        count_regressor(distribution="gamma").fit(X, Y)
    with pytest.raises(ValueError, match="exposure has shape"):
        fitted.predict(x, exposure=[1.0, 2.0])
    with pytest.raises(TypeError, match=r"counts=1\.5"):
        fitted.predict_probability(x, 1.5)
    with pytest.raises(TypeError, match="only counts have them"):
        evaluate(regressor().fit(X, Y), X, Y, exposure=2.0)


def test_pictures_and_trees(fitted, counts):
    x, years, _, y = counts
    evaluation = evaluate(fitted, x[300:], y[300:], exposure=years[300:])
    for draw in (plots.fit, plots.residuals, plots.calibration, plots.coverage):
        assert draw(evaluation).has_data()
    plots.trace(fitted)


def test_a_leaf_shows_what_it_adds_to_f(counts):
    x, _, _, y = counts
    posterior = count_regressor(n_trees=1, n_draws=5).fit(x, y).posterior_
    f = posterior.predict(x)[0] - posterior.settings["offset"]
    leaves = [leaf.output for leaf in posterior.tree(0, 0).leaves]
    np.testing.assert_allclose(sorted(leaves), np.unique(f), rtol=1e-5)


def test_effects_are_rates(fitted, counts):
    x, _, rate, _ = counts
    effect = fitted.effects(x, 0, n_points=5)
    assert effect.mean.min() > 0
    assert effect.mean[-1] > 1.5 * effect.mean[0]
    assert abs(fitted.predict(x).mean() / rate.mean() - 1) < 0.3


def test_arviz_groups(fitted, counts):
    pytest.importorskip("arviz")
    x, years, _, y = counts
    data = fitted.to_arviz(x[:5], y[:5], exposure=years[:5], random_state=0)
    given = np.asarray(data["log_likelihood"]["y"])
    mean = years[:5] * np.exp(fitted.posterior_.predict(x[:5]))
    size = 1.0 / fitted.posterior_.trace["dispersion"].reshape(-1, 1)
    wanted = nbinom(size, size / (size + mean)).logpmf(y[:5])
    np.testing.assert_allclose(given.reshape(wanted.shape), wanted, rtol=1e-6)
    assert "dispersion" in data["posterior"]


def test_the_docstring_states_the_numbers():
    text = " ".join(str(ObliqueBARTCountRegressor.__doc__).split())
    assert f"limited to the range {COUNT_SPREAD[0]:g} to {COUNT_SPREAD[1]:g}" in text
    mean, sd = LOG_DISPERSION
    assert f"normal prior with mean {mean:g} and standard deviation {sd:g}" in text
