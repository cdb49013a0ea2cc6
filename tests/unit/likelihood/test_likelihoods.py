"""Likelihoods: each agrees with itself, and a new one reaches every part of the package."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from obliquebart import ObliqueBARTRegressor, _core, load
from obliquebart.estimators import ESTIMATORS
from obliquebart.explain.evaluation import evaluate
from obliquebart.likelihood import LIKELIHOODS, Given
from obliquebart.likelihood.gaussian import Gaussian
from obliquebart.posterior.diagnostics import diagnose
from obliquebart.posterior.outcome_quantiles import grouped, outcome_quantiles
from obliquebart.report import report_html

NOISE = {"sigma": np.array([0.7]), "df": np.array([6.0]), "dispersion": np.array([0.5])}
COUNTS = ("poisson", "negative_binomial")


# The score of a class and the effect of a treatment are parts of posteriors for the engine.
@pytest.mark.parametrize("name", set(LIKELIHOODS) - {"class_score", "treatment_effect"})
def test_the_core_knows_the_name(name):
    assert LIKELIHOODS[name].name == name
    assert name in _core.LIKELIHOODS


def test_gaussian_density_integrates_to_its_distribution():
    gaussian, f, weights = LIKELIHOODS["gaussian"], np.array([1.5]), np.array([4.0])

    def density(y, weights=None):
        return np.exp(gaussian.log_density(np.array([y]), Given(f, NOISE, weights)))[0]

    assert integrate.quad(density, -9.0, 2.0)[0] == pytest.approx(
        gaussian.cdf(np.array([2.0]), Given(f, NOISE))[0]
    )
    expected = stats.norm(1.5, 0.35).pdf(1.2)
    assert density(1.2, weights) == pytest.approx(expected)


def test_probit_probabilities_sum_to_one():
    probit, given = LIKELIHOODS["probit"], Given(np.linspace(-3, 3, 7), {})
    one = np.exp(probit.log_density(np.ones(7), given))
    zero = np.exp(probit.log_density(np.zeros(7), given))
    np.testing.assert_allclose(one + zero, 1.0)
    np.testing.assert_allclose(one, probit.mean(given.f))
    # The step at a label counts half.
    np.testing.assert_allclose(probit.cdf(np.zeros(7), given), zero / 2)
    np.testing.assert_allclose(probit.cdf(np.ones(7), given), zero + one / 2)


# Classes in a dimension of their own are tested in files of their own.
@pytest.mark.parametrize("name", set(LIKELIHOODS) - {"ordinal", "softmax", "class_score"})
def test_new_outcomes_have_the_mean_and_follow_the_distribution(name):
    likelihood, f = LIKELIHOODS[name], np.full(20_000, 0.4)
    y = likelihood.simulate(Given(f, NOISE), np.random.RandomState(0))
    # Five standard errors: a false alarm in a million seeds.
    assert abs(y.mean() - likelihood.mean(f)[0]) < 5 * y.std() / np.sqrt(len(y))
    assert abs(likelihood.cdf(y, Given(f, NOISE)).mean() - 0.5) < 5 * 0.3 / np.sqrt(len(y))


@pytest.mark.parametrize("name", COUNTS)
def test_probabilities_of_counts(name):
    """Against SciPy, for small and large means, and next to no dispersion."""
    likelihood, y = LIKELIHOODS[name], np.array([0.0, 1.0, 7.0, 2000.0])
    for f, dispersion in ((-3.0, 2.0), (1.5, 1e-4), (7.6, 0.1), (7.6, 1e-8)):
        given = Given(np.full((1, 4), f), {"dispersion": np.array([[dispersion]])})
        expected = stats.poisson(np.exp(f))
        if name == "negative_binomial":
            expected = stats.nbinom(1 / dispersion, 1 / (1 + dispersion * np.exp(f)))
        np.testing.assert_allclose(
            likelihood.log_density(y, given)[0], expected.logpmf(y), rtol=1e-5
        )
        middle = expected.cdf(y) - 0.5 * expected.pmf(y)
        np.testing.assert_allclose(likelihood.cdf(y, given)[0], middle, rtol=1e-5, atol=1e-12)
        between = likelihood.cdf(y + 0.5, given)[0]
        np.testing.assert_allclose(between, expected.cdf(y), rtol=1e-5, atol=1e-12)
        assert (
            likelihood.cdf(np.array([-1.0, -0.5]), Given(given.f[:, :2], given.noise)) == 0
        ).all()
        np.testing.assert_allclose(likelihood.variance(given)[0], expected.var(), rtol=1e-6)


@pytest.mark.parametrize("name", COUNTS)
def test_groups_of_draws_keep_the_distribution(name):
    rng = np.random.default_rng(0)
    f = rng.normal([0.0, 3.0, 9.0], [1.0, 0.5, 0.3], size=(2000, 3))
    noise = {"dispersion": np.exp(rng.normal(-1.0, 0.5, size=(2000, 1)))}
    given = Given(f, noise if name == "negative_binomial" else {})
    likelihood = LIKELIHOODS[name]
    few = grouped(given)
    assert len(few.f) < 200
    for y in (0.0, 20.0, 8000.0):
        at_y = np.full(3, y)
        exact, ours = (likelihood.cdf(at_y, each).mean(axis=0) for each in (given, few))
        np.testing.assert_allclose(ours, exact, atol=2e-3)


def test_quantiles_by_the_distribution_are_those_of_the_engine(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(40, 2))
    y = 50 + 20 * x[:, 0] + rng.normal(size=40)
    model = ObliqueBARTRegressor(n_trees=10, n_burn=50, n_draws=50, n_chains=2, random_state=0)
    posterior = model.fit(x, y).posterior_
    columns, levels = posterior.encode(x), (0.05, 0.5, 0.99)
    of_engine = posterior.summarise(columns, levels, "outcome")
    monkeypatch.setattr(Gaussian, "core_noise", lambda *_: None)
    of_cdf = posterior.summarise(columns, levels, "outcome")
    for ours, expected in zip(of_cdf, of_engine, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_quantiles_of_labels_are_labels():
    f, levels = np.full((3, 2), [-1.0, 1.0]), (0.1, 0.5, 0.9)
    quantiles = outcome_quantiles(LIKELIHOODS["probit"], Given(f, {}), levels)
    # P(y = 1) is 0.16 and 0.84.
    np.testing.assert_allclose(quantiles, [[0, 0, 1], [0, 1, 1]], atol=1e-9)


def test_a_new_likelihood_is_one_class_and_one_registration(monkeypatch, tmp_path):
    class Ignored(Gaussian):
        """Outcomes say nothing, so that the draws are those of the prior."""

        name = "none"

    class PriorRegressor(ObliqueBARTRegressor):
        _family = Ignored()
        _saved_as = "PriorRegressor"

    monkeypatch.setitem(LIKELIHOODS, "none", PriorRegressor._family)
    monkeypatch.setitem(ESTIMATORS, "PriorRegressor", PriorRegressor)
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(60, 2))
    y = 100 + 10 * x[:, 0]
    model = PriorRegressor(n_trees=20, n_burn=20, n_draws=400, n_chains=2, random_state=0).fit(x, y)
    # Prior draws of f have nothing to do with y.
    assert abs(np.corrcoef(model.predict(x), y)[0, 1]) < 0.9
    assert model.predict(x, return_std=True)[1].mean() > 0.3 * y.std()
    assert diagnose(model.posterior_)["sigma"].mean > 0
    assert np.isfinite(model.sample_y(x, 3, random_state=0)).all()
    assert set(evaluate(model, x, y).scores()) >= {"RMSE", "R²"}
    assert "regression by oblique" in report_html(model, x, y)
    model.save(tmp_path / "prior.obart")
    again = load(tmp_path / "prior.obart")
    assert type(again) is PriorRegressor
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    np.testing.assert_array_equal(
        again.sample_more(5, x, y).predict(x), model.sample_more(5).predict(x)
    )
