"""noise="student_t": tails that are learned."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from helpers.estimators import regressor
from obliquebart import ConstantOutcomeWarning, ModelFileError, load, plots
from obliquebart.explain.evaluation import evaluate
from obliquebart.files import model_file
from obliquebart.files.container import Contents, pack, unpack
from obliquebart.files.model_reader import ALIKE_SCHEMA, FORMAT, HARD_SCHEMA, read_model
from obliquebart.likelihood.student_t import DF_GRID, DF_RATE
from obliquebart.report import report_html


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(150, 3))
    f = 10 * X[:, 0]
    y = f + rng.normal(size=150)
    y[::15] += 15.0 * rng.choice([-1, 1], 10)
    return X, y, f


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return regressor(noise="student_t", n_draws=100).fit(X, y)


@pytest.fixture(scope="module")
def mild(data):
    """A model of noise without outliers, whose tails are uncertain."""
    X, _, f = data
    y = f + np.random.default_rng(2).normal(size=len(f))
    return regressor(noise="student_t", n_draws=100).fit(X, y)


def test_outliers_leave_f_alone(data, model):
    X, y, f = data
    normal = regressor(noise_df=math.inf, n_draws=100).fit(X, y)
    error, of_normal = (np.sqrt(np.mean((m.predict(X) - f) ** 2)) for m in (model, normal))
    assert error < 0.9 * of_normal
    assert model.posterior_.trace["df"].mean() < 8
    assert model.posterior_.trace["sigma"].mean() < 0.6 * normal.posterior_.trace["sigma"].mean()


def test_degrees_of_freedom_are_on_the_grid(model, mild):
    df = mild.posterior_.trace["df"]
    assert set(np.unique(df)) <= set(DF_GRID)
    assert len(np.unique(df)) > 3
    assert df.mean() > model.posterior_.trace["df"].mean() + 5
    assert model.posterior_.settings["likelihood"] == "learned_t"
    assert model.posterior_.settings["more"] == {"df_rate": DF_RATE}
    assert "df" in str(model.summary())
    assert "df" in plots.traces.default_names(model.posterior_)


def test_quantiles_are_those_of_the_mixture(data, mild):
    """Against SciPy, with the degrees of freedom of each draw."""
    X, _, _ = data
    posterior = mild.posterior_
    quantiles = mild.predict_quantile(X[:5], [0.01, 0.5, 0.95])
    f = posterior.predict(X[:5])
    sigma, df = (posterior.trace[name].reshape(-1, 1) for name in ("sigma", "df"))
    for j, q in enumerate((0.01, 0.5, 0.95)):
        below = stats.t.cdf(quantiles[:, j], df, f, sigma).mean(axis=0)
        np.testing.assert_allclose(below, q, rtol=1e-3)


def test_everything_that_needs_the_noise(data, model, tmp_path):
    X, y, _ = data
    assert np.isfinite(model.sample_y(X, 5, random_state=0)).all()
    assert 0.8 < evaluate(model, X, y).scores()["in 90% interval"] <= 1
    page = report_html(model, X, y)
    assert "df" in page
    model.save(tmp_path / "m.obart")
    again = load(tmp_path / "m.obart")
    assert again.noise == "student_t"
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(
        again.sample_more(5, X, y).predict(X),
        regressor(noise="student_t", n_draws=100).fit(X, y).sample_more(5).predict(X),
    )


def test_files_have_degrees_of_freedom_that_exist(model):
    contents = unpack(model_file.to_bytes(model._fitted, {}), FORMAT, (HARD_SCHEMA, ALIKE_SCHEMA))
    arrays = dict(contents.arrays)
    arrays["posterior.0.trace.df"] = np.full_like(arrays["posterior.0.trace.df"], 5.0)
    with pytest.raises(ModelFileError, match="noise that is out of range"):
        read_model(pack(Contents(contents.header, arrays)))


def test_given_degrees_of_freedom_are_not_learned(data):
    X, y, _ = data
    given = regressor(noise="student_t", noise_df=6, n_draws=5).fit(X, y)
    assert given.posterior_.settings["likelihood"] == "student_t"
    plain = regressor(noise_df=6, n_draws=5).fit(X, y)
    np.testing.assert_array_equal(given.predict(X), plain.predict(X))


def test_a_constant_has_no_tails(data):
    X, _, _ = data
    with pytest.warns(ConstantOutcomeWarning):
        model = regressor(noise="student_t").fit(X, np.full(len(X), 3.0))
    np.testing.assert_array_equal(model.predict_interval(X), 3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "normal"}, "noise='normal' must be one of 'constant', 'student_t'"),
        ({"noise": "student_t", "noise_df": math.inf}, "noise_df=math.inf is normal noise"),
        ({"noise": None}, "noise=None"),
    ],
)
def test_noise_that_does_not_exist(data, options, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        regressor(**options).fit(X, y)


def test_sigma_may_be_given(data):
    X, y, _ = data
    model = regressor(noise="student_t", sigma=1.0, n_draws=5).fit(X, y)
    np.testing.assert_allclose(model.posterior_.trace["sigma"], 1.0)
