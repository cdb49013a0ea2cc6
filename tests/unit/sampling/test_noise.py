"""The estimate of the noise from outcomes that short fits have not seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from obliquebart import ObliqueBARTRegressor
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.calibration import calibrate
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.parameters import NU_RANGE, Hyperparameters
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling import noise as module
from obliquebart.sampling.noise import (
    DEGREES_OF_FREEDOM,
    _Unseen,
    estimate_noise,
    tails_to_try,
)
from obliquebart.table import Encoding

GAUSSIAN = LIKELIHOODS["gaussian"]
# Also those whose short fits have normal noise instead of their own.
OF_NUMBERS = (
    *("gaussian", "learned_t", "varying_noise"),
    *("causal_gaussian", "causal_learned_t", "causal_varying_noise"),
)


def make_problem(y, x, weights=None):
    _, table = Encoding.fit_transform(
        x, categorical_features=None, feature_scaling="blend", rows=None, owner="test"
    )
    return TrainingProblem(table, GAUSSIAN.encode(y, weights))


def priors_of(problem, candidates=DEGREES_OF_FREEDOM, **parameters):
    p_cont = problem.table.p_cont
    return [
        calibrate(Hyperparameters(noise_df=df, **parameters).validated(), problem.outcome, p_cont)
        for df in candidates
    ]


def estimate(y, x, weights=None, candidates=DEGREES_OF_FREEDOM, n_jobs=None):
    """Estimate with fewer trees, and give sigma in the units of y."""
    problem = make_problem(y, x, weights)
    found = estimate_noise(problem, priors_of(problem, candidates, n_trees=50), n_jobs)
    return found and found._replace(sigma=found.sigma * problem.outcome.scale.sigma_unit)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 3))
    return x, 3 * x[:, 0] - 2 * x[:, 1], rng


@pytest.mark.parametrize("sd", [0.3, 2.0])
def test_normal_noise(table, sd):
    x, f, rng = table
    found = estimate(f + sd * rng.normal(size=400), x)
    assert found.df >= 10
    # Too little noise rather than too much, where f is uncertain.
    assert 0.6 * sd < found.sigma < 1.15 * sd


def test_heavy_tails(table):
    x, f, rng = table
    found = estimate(f + 0.5 * rng.standard_t(2.0, size=400), x)
    assert found.df == min(DEGREES_OF_FREEDOM)
    assert 0.3 < found.sigma < 0.8
    assert estimate(f + 0.5 * rng.standard_t(2.0, size=400), x, candidates=(20.0,)).df == 20.0


def test_a_row_counts_by_its_weight(table):
    x, f, rng = table
    weights = np.where(np.arange(400) % 2 == 0, 1.0, 16.0)
    y = f + rng.normal(size=400) / np.sqrt(weights)
    found = estimate(y, x, weights)
    assert 0.6 < found.sigma < 1.2
    # Without weights the noise has two sizes, so its tails look heavy.
    assert estimate(y, x).df < found.df


@pytest.mark.parametrize("n_rows", [60, 150])
def test_copies_of_a_row_tell_nothing_new(n_rows):
    """If they were in several folds, the noise of a row would be known from its copies."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n_rows, 4))
    y = 2 * x[:, 0] + 0.7 * rng.normal(size=n_rows)
    rows = rng.integers(0, n_rows, 2 * n_rows)
    found = estimate(y[rows], x[rows], candidates=(math.inf,))
    assert 0.5 < found.sigma < 1.0


def test_folds_of_different_rows_are_every_fifth(table, monkeypatch):
    x, f, _ = table
    seen = []

    def draws_at(_, held_out, rows, *_others):
        seen.append((held_out, rows))
        return np.zeros((1, len(held_out)))

    monkeypatch.setattr(module._ShortFits, "_draws_at", draws_at)
    estimate(f, x, candidates=(math.inf,))
    order = np.random.default_rng(0).permutation(400)
    for fold, (held_out, rows) in enumerate(seen):
        assert held_out.tolist() == np.sort(order[fold::5]).tolist()
        assert rows.tolist() == np.setdiff1d(order, held_out).tolist()
    seen.clear()
    twice = np.tile(np.arange(400), 2)
    estimate(f[twice], x[twice], candidates=(math.inf,))
    for held_out, rows in seen:
        assert not np.isin(held_out % 400, rows % 400).any()


def test_a_row_that_hardly_counts_sets_no_scale(table):
    x, f, rng = table
    y = f + 0.3 * rng.normal(size=400)
    weights = np.ones(400)
    options = {"n_trees": 50, "n_chains": 2, "n_burn": 200, "n_draws": 100, "random_state": 0}
    usual = ObliqueBARTRegressor(**options).fit(x, y, weights).posterior_.trace["sigma"].mean()
    y[7], weights[7] = 1e6, 1e-12
    odd = ObliqueBARTRegressor(**options).fit(x, y, weights).posterior_.trace["sigma"].mean()
    assert odd == pytest.approx(usual, rel=0.25)


def test_few_rows_have_normal_noise():
    assert tails_to_try(module.FEWEST_ROWS_FOR_TAILS) == DEGREES_OF_FREEDOM
    assert tails_to_try(module.FEWEST_ROWS_FOR_TAILS - 1) == (math.inf,)
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (300, 2))
    y = x[:, 0] + 0.1 * rng.standard_t(1.0, 300)
    options = {"n_trees": 20, "n_chains": 2, "n_burn": 20, "n_draws": 20, "random_state": 0}
    for n, likelihood in ((200, "gaussian"), (300, "student_t")):
        model = ObliqueBARTRegressor(**options).fit(x[:n], y[:n])
        assert model.posterior_.settings["likelihood"] == likelihood


def test_tails_that_cost_predictions_are_not_chosen(table, monkeypatch):
    x, f, rng = table
    y = f + 0.5 * rng.standard_t(2.0, size=400)
    errors = iter([1.0, 2.0, 1.0])
    original = module._ShortFits.predict_folds

    def worse(self, settings):
        """Let the errors of the middle candidate be larger."""
        unseen = original(self, settings)
        return unseen._replace(y=unseen.f.mean(axis=0) + unseen.errors * next(errors))

    monkeypatch.setattr(module._ShortFits, "predict_folds", worse)
    assert estimate(y, x, candidates=(math.inf, 6.0, 10.0)).df == 10.0


def test_the_same_data_give_the_same_estimate(table):
    x, f, rng = table
    y = f + 0.3 * rng.normal(size=400)
    assert estimate(y, x) == estimate(y, x, n_jobs=2)


def test_too_few_rows_tell_nothing(table):
    x, f, _ = table
    n = module.FEWEST_ROWS
    assert estimate(f[: n - 1], x[: n - 1]) is None
    assert estimate(f[:n], x[:n]) is not None
    # All but one outcome are equal: there is a fold without any other.
    assert estimate(np.eye(1, 100)[0], x[:100]) is None
    # Copies are no further rows.
    copies = np.tile(np.arange(n - 1), 5)
    assert estimate(f[copies], x[copies]) is None
    problem = make_problem(f[:50], x[:50])
    assert estimate_noise(problem, priors_of(problem, n_trees=5, min_samples_leaf=45)) is None


def test_a_large_table_is_sampled(table, monkeypatch):
    x, f, rng = table
    monkeypatch.setattr(module, "MAX_ROWS", 50)
    seen = []

    def draws_at(_, held_out, *_others):
        seen.append(len(held_out))
        return np.zeros((1, len(held_out)))

    monkeypatch.setattr(module._ShortFits, "_draws_at", draws_at)
    estimate(f + rng.normal(size=400), x)
    assert seen == [10] * 5 * len(DEGREES_OF_FREEDOM)


def test_no_time_no_estimate(table):
    x, f, rng = table
    problem = make_problem(f + rng.normal(size=400), x)
    for seconds in (0.0, 0.01):
        assert estimate_noise(problem, priors_of(problem), seconds=seconds) is None


def test_an_interrupt_is_not_lost(table, monkeypatch):
    x, f, _ = table
    original = module.run

    def interrupted(*given, **options):
        return original(*given, **options)._replace(ending="interrupted")

    monkeypatch.setattr(module, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ObliqueBARTRegressor(n_trees=5, n_burn=5, n_draws=5).fit(x, f)


@pytest.mark.parametrize("df", [6.0, math.inf])
def test_density(df):
    rng = np.random.default_rng(1)
    f, y, w = rng.normal(size=(7, 5)), rng.normal(size=5), rng.uniform(0.5, 2, 5)
    name, distribution = ("gaussian", stats.norm) if math.isinf(df) else ("student_t", stats.t(df))
    density = distribution.pdf((y - f) * np.sqrt(w) / 0.7) * np.sqrt(w) / 0.7
    found = _Unseen(y, f, w).log_densities(LIKELIHOODS[name], 0.7, df)
    np.testing.assert_allclose(found, np.log(density.mean(axis=0)))


def test_the_prior_is_centred_on_the_estimate():
    rng = np.random.default_rng(2)
    for n, nu in ((50, NU_RANGE[0]), (500, 50.0), (10_000, NU_RANGE[1])):
        outcome = GAUSSIAN.encode(rng.normal(size=n))
        prior = GAUSSIAN.noise_prior(Hyperparameters().validated(), outcome, NoiseEstimate(0.3, 6))
        assert prior["nu"] == nu
        assert (prior["likelihood"], prior["more"]) == ("student_t", {"df": 6})
        median = stats.invgamma(nu / 2, scale=nu * prior["lambda_"] / 2).median()
        assert math.sqrt(median) == pytest.approx(0.3)
    given = Hyperparameters(nu=7.0, noise_df=math.inf).validated()
    prior = GAUSSIAN.noise_prior(given, outcome, NoiseEstimate(0.3, 6))
    assert prior["nu"] == 7.0
    assert "likelihood" not in prior


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({}, True),
        ({"nu": 5.0}, True),
        ({"noise_df": 6.0}, True),
        ({"sigma": 1.0}, False),
        ({"sigma_quantile": 0.9}, False),
        ({"prior": "paper"}, False),
    ],
)
def test_who_says_how_large_the_noise_is_needs_no_estimate(parameters, wanted):
    checked = Hyperparameters(**parameters).validated()
    for name in OF_NUMBERS:
        assert LIKELIHOODS[name].wants_noise(checked) is wanted, name
    assert not LIKELIHOODS["probit"].wants_noise(checked)


@pytest.mark.parametrize("noise", ["constant", "student_t", "varying"])
def test_every_kind_of_noise_is_estimated_and_its_rules_chosen(noise):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = np.sin(6 * X[:, 0]) + 2 * X[:, 1] + 0.05 * rng.normal(size=100)
    short = {"n_trees": 20, "n_burn": 20, "n_draws": 10, "n_chains": 1, "progress": False}
    model = ObliqueBARTRegressor(noise=noise, random_state=0, **short).fit(X, y)
    assert model.soft_
    assert model.posterior_.settings["nu"] == 10.0  # a tenth of the rows


def test_nu_says_how_much_an_estimate_counts_but_does_not_change_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = X[:, 0] + 0.05 * rng.normal(size=100)
    short = {"n_trees": 20, "n_burn": 20, "n_draws": 10, "n_chains": 1, "progress": False}

    def median_sigma(nu):
        model = ObliqueBARTRegressor(nu=nu, random_state=0, **short).fit(X, y)
        settings = model.posterior_.settings
        ratio = settings["nu"] / stats.chi2.ppf(0.5, settings["nu"])
        return math.sqrt(settings["lambda_"] * ratio), model.soft_

    usual, is_soft = median_sigma(None)
    for nu in (0.5, 10.0, 300.0):
        assert median_sigma(nu) == (pytest.approx(usual), is_soft)


@pytest.mark.parametrize("df", [5, 2, 32, 6.5, -4, math.nan])
def test_degrees_of_freedom_are_even(df):
    with pytest.raises(ValueError, match="noise_df"):
        Hyperparameters(noise_df=df).validated()


def soft_priors_of(problem, **parameters):
    return priors_of(problem, (math.inf,), n_trees=20, soft=True, **parameters)


def test_soft_rules_are_chosen_where_f_is_smooth():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (120, 2))
    problem = make_problem(np.sin(3 * x[:, 0]) + 0.02 * rng.normal(size=120), x)
    hard = priors_of(problem, (math.inf,), n_trees=20)
    found = estimate_noise(problem, hard, 1, None, soft_priors_of(problem))
    assert found.is_soft
    assert found == estimate_noise(problem, soft_priors_of(problem), 1)
    assert not estimate_noise(problem, hard, 1).is_soft


@pytest.mark.parametrize(
    ("gain", "spread", "error", "expected"),
    [
        (0.02, 0.0, 1.0, True),
        (-0.02, 0.0, 1.0, False),
        (-0.02, 0.1, 1.0, False),  # a standard error of 0.016
        (-0.02, 0.2, 1.0, True),  # of 0.032
        (0.5, 0.0, 1.1, False),
    ],
)
def test_soft_rules_must_be_no_worse(monkeypatch, gain, spread, error, expected):
    """They must not make outcomes less likely, by more than chance, nor cost predictions."""
    x = np.linspace(-1, 1, 40)[:, None]
    problem = make_problem(x[:, 0], x)

    def tried(_, settings):
        noise = NoiseEstimate(0.5, math.inf, settings.likelihood, settings.soft)
        gains = gain + spread * np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
        return module._Candidate(noise, gains * settings.soft, 1 + (error - 1) * settings.soft)

    monkeypatch.setattr(module, "_try", tried)
    hard = priors_of(problem, (math.inf,), n_trees=20)
    found = estimate_noise(problem, hard, 1, None, soft_priors_of(problem))
    assert found.is_soft == expected


def test_soft_rules_have_the_tails_that_were_chosen(monkeypatch):
    x = np.linspace(-1, 1, 40)[:, None]
    problem = make_problem(x[:, 0], x)
    seen = []

    def tried(_, settings):
        df = settings.more.get("df", math.inf)
        seen.append((df, settings.soft))
        noise = NoiseEstimate(0.5, df, settings.likelihood, settings.soft)
        return module._Candidate(noise, np.full(40, float(df == 10.0) - settings.soft), 1.0)

    monkeypatch.setattr(module, "_try", tried)
    soft = priors_of(problem, soft=True)
    assert estimate_noise(problem, priors_of(problem), 1, None, soft).df == 10.0
    assert seen == [(6.0, False), (10.0, False), (math.inf, False), (10.0, True)]


def test_no_time_left_for_soft_rules(monkeypatch):
    x = np.linspace(-1, 1, 40)[:, None]
    problem = make_problem(x[:, 0], x)

    def tried(_, settings):
        noise = NoiseEstimate(0.5, math.inf, settings.likelihood)
        return None if settings.soft else module._Candidate(noise, np.zeros(40), 1.0)

    monkeypatch.setattr(module, "_try", tried)
    hard = priors_of(problem, (math.inf,), n_trees=20)
    found = estimate_noise(problem, hard, 1, None, soft_priors_of(problem))
    assert found is not None
    assert not found.is_soft


@pytest.mark.parametrize(("seconds", "expected"), [(3.5, 1), (5.0, 2), (None, 2)])
def test_soft_rules_are_tried_only_if_there_is_time(monkeypatch, seconds, expected):
    """Those with hard rules take a second here, so that soft ones are expected to take three."""
    x = np.linspace(-1, 1, 40)[:, None]
    problem = make_problem(x[:, 0], x)
    tried = []
    monkeypatch.setattr(module.time, "monotonic", lambda: float(len(tried)))

    def one(_, settings):
        tried.append(settings.soft)
        noise = NoiseEstimate(0.5, math.inf, settings.likelihood, settings.soft)
        return module._Candidate(noise, np.full(40, float(settings.soft)), 1.0)

    monkeypatch.setattr(module, "_try", one)
    hard = priors_of(problem, (math.inf,), n_trees=20)
    found = estimate_noise(problem, hard, 1, seconds, soft_priors_of(problem))
    assert len(tried) == expected
    assert found.is_soft == (expected == 2)
