"""The survival estimator: predictions, censoring, files, bad input, scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.survival import intervals, right_censored, simulated_times, structured, survival_model
from obliquebart import ConstantOutcomeWarning, ObliqueBARTSurvival, load
from obliquebart.explain.evaluation import evaluate
from obliquebart.explain.survival import kaplan_meier
from obliquebart.model.times import read_times

X, Y = right_censored()


@pytest.fixture(scope="module", params=["log_normal", "log_logistic"])
def model(request):
    return survival_model(distribution=request.param).fit(X, Y)


# ---- predictions ---------------------------------------------------------------------------------


def test_risk_is_minus_the_log_of_the_median_time(model):
    risk = model.predict(X)
    np.testing.assert_allclose(risk, -model.posterior_.mean(X))
    assert np.corrcoef(risk, X[:, 0])[0, 1] < -0.9
    assert model.score(X, Y) > 0.75


def test_quantiles_intervals_and_survival_agree(model):
    quantiles = model.predict_quantile(X[:5], [0.1, 0.5, 0.9])
    np.testing.assert_allclose(model.predict_median(X[:5]), quantiles[:, 1])
    np.testing.assert_allclose(model.predict_interval(X[:5], 0.8), quantiles[:, [0, 2]])
    for row, times in enumerate(quantiles):
        found = model.predict_survival_function(X[[row]], times, return_array=True)
        np.testing.assert_allclose(found[0], [0.9, 0.5, 0.1], atol=1e-5)
    narrow = model.predict_interval(X[:5], 0.8, kind="median")
    assert (np.diff(narrow) < np.diff(quantiles[:, [0, 2]])).all()


def test_survival_functions_and_their_bands(model):
    times = [0.5, 2.0, 9.0]
    mean = model.predict_survival_function(X[:4], times, return_array=True)
    band = model.predict_survival_interval(X[:4], times)
    assert mean.shape == (4, 3)
    assert band.shape == (4, 3, 2)
    assert (np.diff(mean) < 0).all()
    assert ((band[..., 0] <= mean) & (mean <= band[..., 1])).all()
    curves = model.predict_survival_function(X[:4], times)
    assert curves.shape == (4,)
    np.testing.assert_array_equal(curves[1](np.array(times)), mean[1])
    np.testing.assert_array_equal(curves[1].x, times)
    assert curves[1](0.0) == 1.0
    default = model.predict_survival_function(X[:1])[0]
    assert default.x[-1] == pytest.approx(Y["time"].max())
    assert default.domain == (0.0, default.x[-1])


def test_new_times_follow_the_predicted_distribution(model):
    draws = model.sample_y(X[:3], 4000, random_state=0)
    assert (draws > 0).all()
    low, high = model.predict_interval(X[:3], 0.8).T
    inside = ((low[:, None] < draws) & (draws < high[:, None])).mean(axis=1)
    # Five standard errors, and joint draws of 50 ensembles.
    assert np.abs(inside - 0.8).max() < 0.05


def test_the_log_score_is_the_mean_density_of_times():
    model = survival_model(distribution="log_normal").fit(X, Y)
    f, sigma = model.posterior_.predict(X[:1]), model.posterior_.trace["sigma"].reshape(-1, 1)
    z = (np.log(3.0) - f) / sigma
    expected = np.log(np.mean(np.exp(-0.5 * z**2) / (sigma * np.sqrt(2 * np.pi) * 3.0)))
    found = model.log_score(X[:1], structured([True], np.array([3.0])))
    assert found == pytest.approx(expected)
    censored = model.log_score(X[:1], structured([False], np.array([3.0])))
    survival = model.predict_survival_function(X[:1], [3.0], return_array=True)
    assert censored == pytest.approx(np.log(survival[0, 0]))
    both = structured([True, False], np.array([3.0, 3.0]))
    weighted = model.log_score(X[[0, 0]], both, sample_weight=[3, 1])
    assert weighted == pytest.approx(0.75 * expected + 0.25 * censored)


def test_auto_chooses_by_unseen_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(600, 1))
    for name, e in (
        ("log_normal", rng.uniform(-2, 2, 600)),
        ("log_logistic", rng.logistic(size=600)),
    ):
        y = structured(np.ones(600, bool), np.exp(x[:, 0] + 0.5 * e))
        model = survival_model(n_trees=5).fit(x, y)
        assert model.distribution_ == name
        assert model.posterior_.likelihood.name == name


@pytest.mark.parametrize("distribution", ["log_normal", "log_logistic"])
def test_all_kinds_of_censoring_tell_the_times(distribution):
    x, y = intervals(240)
    model = survival_model(distribution=distribution).fit(x, y)
    error = np.log(model.predict_median(x)) - 1.0 - 2.0 * x[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.3
    assert model.score(x, y) > 0.8
    frame = pd.DataFrame({name: y[name] for name in ("lower", "upper")})
    again = survival_model(distribution=distribution).fit(x, frame)
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


def test_censored_times_are_not_taken_for_events():
    x, time, end = simulated_times(400)
    seen, event = np.minimum(time, end / 2), time <= end / 2
    options = {"distribution": "log_normal", "n_trees": 50}
    model = survival_model(**options).fit(x, structured(event, seen))
    naive = survival_model(**options).fit(x, structured(np.ones(400, bool), seen))
    truth = 1.0 + 2.0 * x[:, 0]
    ours, theirs = (np.abs(-each.predict(x) - truth).mean() for each in (model, naive))
    assert ours < 0.6 * theirs


def test_weights_repeat_rows():
    weights = np.arange(len(Y)) % 3
    rows = np.repeat(np.arange(len(Y)), weights)
    model = survival_model(distribution="log_normal").fit(X, Y, sample_weight=weights)
    again = survival_model(distribution="log_normal").fit(X[rows], Y[rows])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    with pytest.raises(ValueError, match=r"whole numbers.*row 0 has 0\.5"):
        model.fit(X, Y, sample_weight=np.full(len(Y), 0.5))


def test_copies_of_weighted_rows_do_not_hide_the_noise():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(120, 4))
    y = np.c_[np.arange(120) % 5 > 0, np.exp(2 * x[:, 0] + 0.7 * rng.normal(size=120))]
    model = survival_model(distribution="log_normal")
    model.fit(x, y, sample_weight=rng.integers(1, 4, 120))
    settings = model.posterior_.settings
    ratio = settings["nu"] / chi2.ppf(0.5, settings["nu"])
    median = np.sqrt(settings["lambda_"] * ratio) * model._fitted.training.outcome.scale.scale
    # The centre of the prior; it was 0.2 while copies were in several folds.
    assert 0.5 < median < 1.0


def test_a_constant_time():
    y = structured(np.ones(10, bool), np.full(10, 2.5))
    with pytest.warns(ConstantOutcomeWarning, match="equal and observed"):
        model = survival_model().fit(X[:10], y)
    np.testing.assert_allclose(model.predict_median(X[:3]), 2.5)
    found = model.predict_survival_function(X[:1], [2.0, 3.0], return_array=True)
    np.testing.assert_array_equal(found, [[1.0, 0.0]])


# ---- evaluation ----------------------------------------------------------------------------------


def test_kaplan_meier_is_that_of_lifelines():
    """Freireich's leukaemia data, treated; the numbers are those of lifelines 0.30."""
    time = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    event = np.arange(21) < 9
    times = read_times(structured(event, np.array(time, float)), 21)
    found = kaplan_meier(times, np.array([5.0, 6.0, 8.0, 12.0, 20.0, 23.0, 30.0, 35.0, 36.0]))
    expected = [1.0, 0.85714286, 0.80672269, 0.75294118, 0.62745098, 0.44817927, 0.44817927]
    np.testing.assert_allclose(found, [*expected, 0.44817927, np.nan])


def test_an_evaluation_counts_censored_rows(model):
    x, y = right_censored(600, seed=1)
    found = evaluate(model, x, y)
    assert found.scores()["concordance"] == pytest.approx(model.score(x, y))
    assert found.scores()["log score"] == pytest.approx(model.log_score(x, y))
    assert found.coverage_at(0.9) == pytest.approx(0.9, abs=0.08)
    np.testing.assert_allclose(found.shares(np.array([-1.0, 0.3, 1.0])).sum(), 600)
    assert [curve.n_rows for curve in found.curves] == [200, 200, 200]
    # The rows with the lowest risk live longest.
    assert (found.curves[0].predicted > found.curves[2].predicted).all()


def test_limits_are_spread_over_their_probabilities():
    x, y = intervals(200)
    found = evaluate(survival_model().fit(x, y), x, y)
    assert found.n_events == 150
    assert 0.8 < found.coverage_at(0.9) <= 1.0


# ---- files, more draws ---------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["log_normal", "log_logistic"])
def test_files_pickles_checkpoints_and_more_draws(distribution, tmp_path):
    x, y = intervals()
    model = survival_model(distribution=distribution).fit(x, y, target_name="days")
    model.save(tmp_path / "m.obart", include_data=True)
    again = load(tmp_path / "m.obart")
    assert type(again) is ObliqueBARTSurvival
    assert again.get_params() == model.get_params()
    assert again.target_name_ == "days"
    for method in ("predict", "predict_median", "predict_interval"):
        expected = getattr(model, method)(x)
        np.testing.assert_array_equal(getattr(again, method)(x), expected)
        np.testing.assert_array_equal(
            getattr(pickle.loads(pickle.dumps(model)), method)(x), expected
        )
    longer = survival_model(distribution=distribution, n_draws=35).fit(x, y).predict(x)
    np.testing.assert_array_equal(again.sample_more(10).predict(x), longer)
    other = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="y differs"):
        other.sample_more(10, x, y[::-1])
    np.testing.assert_array_equal(other.sample_more(10, x, y).predict(x), longer)
    path = tmp_path / "checkpoint"
    part = survival_model(distribution=distribution, n_draws=35)
    part.fit(x, y, checkpoint=path, checkpoint_every=7)
    np.testing.assert_array_equal(part.fit(x, y, checkpoint=path).predict(x), longer)


def test_files_with_wrong_limits_are_refused(tmp_path):
    from obliquebart.files.container import Contents, pack, unpack
    from obliquebart.files.model_file import FORMAT, HARD_SCHEMA
    from obliquebart.files.model_reader import read_model

    x, y = intervals(40)
    survival_model().fit(x, y).save(tmp_path / "m.obart", include_data=True)
    contents = unpack((tmp_path / "m.obart").read_bytes(), FORMAT, (HARD_SCHEMA,))
    arrays = dict(contents.arrays)
    arrays["training.more.0"] = np.asarray(arrays["training.more.0"]) - 10.0
    with pytest.raises(Exception, match="outcomes are out of range"):
        read_model(pack(Contents(contents.header, arrays)))


def test_arviz_has_both_limits(model):
    pytest.importorskip("arviz")
    data = model.to_arviz(X[:6], Y[:6], random_state=0)
    observed = data["observed_data"]
    np.testing.assert_allclose(observed["lower"], np.log(Y["time"][:6]))
    assert (np.isinf(observed["upper"]) == ~Y["event"][:6]).all()
    log_likelihood = np.asarray(data["log_likelihood"]["y"]).reshape(-1, 6)
    expected = np.log(np.exp(log_likelihood).mean(axis=0)).mean()
    assert model.log_score(X[:6], Y[:6]) == pytest.approx(expected)


def test_importance_effects_and_summary_are_of_log_times(model):
    assert model.importance()[0].column == "x0"
    effect = model.effects(X, "x0", n_points=3)
    assert effect.quantity() == "average predicted log time"
    assert effect.mean[-1] - effect.mean[0] == pytest.approx(2.0, abs=0.5)
    assert "Predicted log times are within" in str(model.summary().verdict)
    assert "the time until an event" in model._repr_html_()


# ---- bad input -----------------------------------------------------------------------------------

LEFT = pd.DataFrame({"lower": np.zeros(len(Y)), "upper": Y["time"]})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (structured(np.zeros(len(Y), bool), Y["time"]), r"No event was observed.*~event"),
        (LEFT, "All rows are censored on the left"),
        (structured(Y["event"], np.zeros(len(Y))), "must be positive, but it is 0 at row 0"),
        (Y["time"], "two columns"),
        (Y[:-1], "inconsistent numbers of rows"),
        (None, "y is None"),
    ],
)
def test_outcomes_that_cannot_be_fitted(y, message):
    with pytest.raises(ValueError, match=message):
        survival_model().fit(X, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict_survival_function(X, times=[2.0, 1.0]), "increasing"),
        (lambda m: m.predict_survival_function(X, times=[0.0, 1.0]), "positive"),
        (lambda m: m.predict_survival_function(X, times=[]), "increasing"),
        (lambda m: m.predict_survival_function(X, times=["a"]), "must be numbers"),
        (lambda m: m.predict_survival_interval(X, coverage=1.5), "coverage=1.5"),
        (lambda m: m.predict_quantile(X, 0.5, kind="mean"), "kind='mean' must be one of"),
        (lambda m: m.predict_quantile(X, 1.0), "q="),
        (lambda m: m.set_params(distribution="weibull").fit(X, Y), "distribution='weibull'"),
    ],
)
def test_arguments_that_are_wrong(call, message):
    model = survival_model(distribution="log_normal").fit(X, Y)
    with pytest.raises(ValueError, match=message):
        call(model)


def test_few_rows():
    model = survival_model().fit(X[:5], Y[:5])
    assert model.distribution_ == "log_normal"
    assert np.isfinite(model.predict_median(X)).all()


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e200])
def test_times_in_any_unit(unit):
    """Log times are shifted; standardising rounds, so predictions agree but for that."""
    y = structured(Y["event"], Y["time"] * unit)
    options = {"distribution": "log_normal", "n_trees": 10}
    found = survival_model(**options).fit(X, y).predict_median(X)
    expected = survival_model(**options).fit(X, Y).predict_median(X)
    assert np.median(np.abs(np.log(found / unit / expected))) < 0.2


# ---- scikit-learn --------------------------------------------------------------------------------


def times_from_numbers(y):
    """Take numbers or labels for times, every third of them censored."""
    numbers = np.asarray(y)
    if y is None or numbers.ndim != 1 or len(numbers) == 0:
        return y
    if numbers.dtype.kind not in "biuf":
        numbers = np.unique(numbers.astype(str), return_inverse=True)[1]
    if not np.isfinite(numbers).all():
        return y
    return structured(np.arange(len(numbers)) % 3 < 2, 1.0 + numbers.astype(float) - numbers.min())


class FromNumbers(ObliqueBARTSurvival):
    """Takes the y of scikit-learn's checks."""

    def fit(self, X, y, sample_weight=None, **options):
        return super().fit(X, times_from_numbers(y), sample_weight, **options)

    def score(self, X, y):
        return super().score(X, times_from_numbers(y))


SKIPPED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a weight is a number of repetitions, but rows in another order give other draws of the "
        "same posterior"
    ),
    "check_supervised_y_2d": "two columns are what y should have",
}
CHECKS = parametrize_with_checks(
    [FromNumbers(distribution="log_normal", n_trees=20, n_burn=60, n_draws=40, n_chains=1)],
    expected_failed_checks=lambda _: SKIPPED,
)


@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::obliquebart.ConstantOutcomeWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_works_inside_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), survival_model(distribution="log_normal"))
    assert cross_val_score(pipeline, X, Y, cv=2).min() > 0.7
    search = GridSearchCV(survival_model(n_trees=5), {"distribution": ["log_normal"]}, cv=2)
    assert search.fit(X, Y).best_score_ > 0.7
    assert clone(pipeline).get_params()["obliquebartsurvival__distribution"] == "log_normal"


def test_a_fit_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        survival_model(n_draws=3).fit(X, Y).predict_interval(X)
