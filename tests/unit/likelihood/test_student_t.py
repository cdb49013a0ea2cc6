"""Student's t noise: its functions against SciPy, and its way through the package."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from helpers.arrays import assert_same
from helpers.estimators import OPTIONS
from helpers.student_t import DF, student_t_regressor
from obliquebart import ObliqueBARTRegressor, load
from obliquebart.exceptions import ModelFileError
from obliquebart.explain.evaluation import evaluate
from obliquebart.files.model_reader import read_model
from obliquebart.likelihood import LIKELIHOODS, Given
from obliquebart.likelihood.student_t import StudentT, cdf_even
from obliquebart.model.outcome import OutcomeScale
from obliquebart.model.parameters import Hyperparameters
from obliquebart.plots.traces import default_names
from obliquebart.posterior.diagnostics import diagnose
from obliquebart.report import report_html
from obliquebart.sampling import progress

GAUSSIAN, STUDENT_T = LIKELIHOODS["gaussian"], LIKELIHOODS["student_t"]
Z = np.concatenate([np.linspace(-30, 30, 301), [-1e9, -1e-9, 1e-9, 1e9]])


@pytest.mark.parametrize("df", [4.0, 6.0, 12.0, 30.0])
def test_the_functions_are_those_of_scipy(df):
    sigma, weights = np.array([[0.4], [2.0]]), np.full(len(Z), 3.0)
    noise = {"sigma": sigma, "df": np.full((2, 1), df)}
    given = Given(np.full((2, len(Z)), 0.7), noise, weights)
    expected = stats.t.logpdf(Z, df, 0.7, sigma / np.sqrt(3.0))
    np.testing.assert_allclose(STUDENT_T.log_density(Z, given), expected, rtol=1e-12)
    expected = stats.t.cdf(Z, df, 0.7, sigma)
    np.testing.assert_allclose(STUDENT_T.cdf(Z, given), expected, atol=1e-13)
    expected = np.broadcast_to(stats.t.var(df, 0.7, sigma), given.f.shape)
    np.testing.assert_allclose(STUDENT_T.variance(given), expected)


def test_degrees_of_freedom_may_differ_between_draws():
    df = np.array([[4.0], [10.0], [30.0]])
    np.testing.assert_allclose(cdf_even(Z, df), stats.t.cdf(Z, df), atol=1e-13)


def test_new_outcomes_follow_the_weights():
    f = np.zeros((1, 50_000))
    noise = {"sigma": np.array([[2.0]]), "df": np.array([[4.0]])}
    given = Given(f, noise, np.full(f.shape[1], 4.0))
    y = STUDENT_T.simulate(given, np.random.RandomState(0))
    # The chance of a false alarm is 1e-3; seeds are fixed.
    assert stats.kstest(y[0], stats.t(4.0).cdf).pvalue > 1e-3


def test_without_noise_the_distribution_is_a_step():
    given = Given(np.zeros((1, 3)), {"sigma": np.zeros((1, 1)), "df": np.full((1, 1), 4.0)})
    below = STUDENT_T.cdf(np.array([-1.0, 0.0, 1.0]), given)
    np.testing.assert_array_equal(below, [[0.0, 0.5, 1.0]])


def test_the_prior_has_the_degrees_of_freedom():
    outcome = STUDENT_T.encode(np.arange(5.0))
    parameters = Hyperparameters(noise_df=8).validated()
    prior = GAUSSIAN.noise_prior(parameters, outcome)
    assert (prior["likelihood"], prior["more"]) == ("student_t", {"df": 8.0})
    normal = GAUSSIAN.noise_prior(Hyperparameters().validated(), outcome)
    assert {name: prior[name] for name in normal} == normal
    assert not {"likelihood", "more"} & set(normal)


def test_the_engine_is_told_the_noise_in_its_units():
    noise = {"sigma": np.array([[3.0], [6.0]]), "df": np.full((2, 1), 4.0)}
    scale, df = STUDENT_T.core_noise(noise, OutcomeScale(scale=3.0))
    np.testing.assert_allclose(scale, [1.0, 2.0])
    np.testing.assert_array_equal(df, [4.0, 4.0])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(80, 2))
    return x, 50 + 20 * x[:, 0] + 3 * rng.standard_t(3, size=80), rng.uniform(0.5, 2.0, 80)


@pytest.fixture(scope="module")
def model(table):
    return student_t_regressor(**OPTIONS, random_state=1).fit(*table)


def test_the_posterior_knows_its_likelihood(model, table):
    posterior = model.posterior_
    assert isinstance(posterior.likelihood, StudentT)
    assert not isinstance(model._family, StudentT)
    assert (posterior.trace["df"] == DF).all()
    assert diagnose(posterior)["df"].fixed
    assert "df" not in default_names(posterior)
    assert set(evaluate(model, *table[:2]).scores()) >= {"RMSE", "R²"}
    assert "regression by oblique" in report_html(model, *table[:2])


def test_quantiles_of_the_engine_are_those_of_the_distribution(model, table, monkeypatch):
    posterior, levels = model.posterior_, (0.001, 0.05, 0.5, 0.99)
    columns = posterior.encode(table[0])
    of_engine = posterior.summarise(columns, levels, "outcome")
    monkeypatch.setattr(StudentT, "core_noise", lambda *_: None)
    of_cdf = posterior.summarise(columns, levels, "outcome")
    for ours, expected in zip(of_cdf, of_engine, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_predictions_use_heavy_tails(model, table):
    x, posterior = table[0], model.posterior_
    f, sigma = posterior.predict(x), posterior.trace["sigma"].reshape(-1, 1)
    low, high = model.predict_interval(x, 0.9, kind="outcome").T
    within = stats.t.cdf(high, DF, f, sigma) - stats.t.cdf(low, DF, f, sigma)
    np.testing.assert_allclose(within.mean(axis=0), 0.9, atol=1e-5)
    y = model.sample_y(x[:1], 20_000, random_state=0)
    # A false alarm in a thousand seeds, and the seed is fixed.
    pit = stats.t.cdf(y[0][:, None], DF, f[:, 0], sigma[:, 0]).mean(axis=1)
    assert stats.kstest(pit, "uniform").pvalue > 1e-3


def test_it_travels_through_a_file_and_goes_on(model, table, tmp_path):
    path = tmp_path / "model.obart"
    for include_data in (False, True):
        model.save(path, include_data=include_data)
        again = load(path)
        assert type(again) is ObliqueBARTRegressor
        assert again.posterior_.settings == model.posterior_.settings
        levels = (0.1, 0.9)
        for kind in ("mean", "outcome"):
            np.testing.assert_array_equal(
                again.posterior_.quantile(table[0], levels, kind),
                model.posterior_.quantile(table[0], levels, kind),
            )
    longer = student_t_regressor(**OPTIONS | {"n_draws": 35}, random_state=1).fit(*table)
    for more in (
        load(path).sample_more(10),
        model_without_data(model, path).sample_more(10, *table),
    ):
        assert_same(more.posterior_.trace, longer.posterior_.trace)


def model_without_data(model, path):
    model.save(path)
    return load(path)


def test_a_checkpoint_goes_on(table, tmp_path):
    path = tmp_path / "checkpoint"
    fits = [
        student_t_regressor(**OPTIONS, random_state=1).fit(
            *table, checkpoint=path, checkpoint_every=20
        )
        for _ in range(2)
    ]
    assert_same(fits[0].posterior_.trace, fits[1].posterior_.trace)


def changed_file(model, path, **changes):
    posterior = model.posterior_
    before = posterior.settings, posterior.trace
    posterior.settings = posterior.settings | {"more": changes.pop("more", {"df": DF})}
    posterior.trace = posterior.trace | changes
    try:
        model.save(path)
    finally:
        posterior.settings, posterior.trace = before
    return path.read_bytes()


def test_wrong_degrees_of_freedom_in_a_file_are_refused(model, tmp_path):
    path = tmp_path / "model.obart"
    with pytest.raises(ModelFileError, match="even number from 4 to 30"):
        read_model(changed_file(model, path, more={"df": 5.0}))
    with pytest.raises(ModelFileError, match="`more`"):
        read_model(changed_file(model, path, more={}))
    df = model.posterior_.trace["df"]
    with pytest.raises(ModelFileError, match=r"trace\.df"):
        read_model(changed_file(model, path, df=df + 2.0))


def test_only_sigma_is_on_the_progress_line(table, monkeypatch):
    shown = []

    class Recording(progress.FitProgress):
        def __init__(self, mode, n_sweeps=1, noise_units=None, title="", console=None):
            shown.append(noise_units)
            console = Console(file=io.StringIO())
            super().__init__(mode, n_sweeps, noise_units, title, console)

    monkeypatch.setattr("obliquebart.estimators.running.FitProgress", Recording)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    student_t_regressor(**OPTIONS | {"progress": True}, random_state=1).fit(*table)
    assert list(shown[-1]) == ["sigma"]
