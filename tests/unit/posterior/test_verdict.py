"""The verdict: its tiers, its words, and what it says of real fits."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn.exceptions
from sklearn.datasets import make_friedman1

from helpers import small_models
from obliquebart import (
    ConvergenceWarning,
    ObliqueBARTClassifier,
    ObliqueBARTRegressor,
    load,
)
from obliquebart.posterior.convergence import Convergence
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.posterior.verdict import NO_ROWS, Evidence, examine, reach_verdict
from obliquebart.sampling.run import run

FINE = Convergence(
    mc_share=0.004, between_share=0.0, rhat_f=1.03, scale_rhat={"sigma": 1.3}, mcse=0.02
)
SETTINGS = {"p_change": 0.2, "p_perturb": 0.3, "min_samples_leaf": 1, "sigma_fixed": False}


def evidence(convergence=FINE, **changes):
    given = Evidence(
        convergence=convergence,
        error=0.02,
        n_chains=8,
        n_burn=500,
        n_draws=500,
        n_thin=1,
        settings=SETTINGS,
        predicted="Predictions",
        label="",
    )
    return given._replace(**changes)


def test_fine():
    verdict = reach_verdict([evidence()])
    assert str(verdict) == (
        "Fine for predictions. Predictions are within about ±0.04 of what an infinitely long run "
        "would give."
    )
    assert (verdict.tier, verdict.more_draws, verdict.seconds) == ("fine", None, None)


@pytest.mark.parametrize(
    ("change", "more"),
    [
        # Twice the share: six times as many draws, to be safe; rounded up to one digit.
        ({"mc_share": 0.02}, 3000),
        # (1.2² - 1) / (1.1² - 1) = 2.095
        ({"rhat_f": 1.2}, 3000),
        # (1.8² - 1) / (1.5² - 1) = 1.792
        ({"scale_rhat": {"sigma": 1.0, "leaf_sd": 1.8}}, 3000),
        # 3.6 times as many are 1300 more.
        ({"mc_share": 0.012}, 2000),
    ],
)
def test_more_draws(change, more):
    verdict = reach_verdict([evidence(FINE._replace(**change), n_thin=2)], 90.0)
    assert verdict.tier == "more"
    assert verdict.more_draws == more
    # 500 + 500 * 2 sweeps took 90 s.
    np.testing.assert_allclose(verdict.seconds, 90.0 * 2 * more / 1500)
    assert verdict.headline == "More draws would help."
    assert f"sample_more({more}) should be enough" in str(verdict)


def test_advice_is_for_the_place_where_it_is_read():
    slow = [evidence(FINE._replace(mc_share=0.02), n_thin=2)]
    words = str(reach_verdict(slow, 90.0, "command line"))
    assert "sample_more" not in words
    # 500 + 500 * 2 sweeps took 90 s, and 3500 * 2 + 500 take five times as long.
    again = "--n-burn 500 --n-draws 3500 --set n_thin=2 should be enough; it takes about 8 min"
    assert f"Fitting again with {again}." in words
    page = str(reach_verdict(slow, None, "page"))
    assert "Fitting again with n_burn=500, n_draws=3500, n_thin=2 should be enough." in page
    paper = {**SETTINGS, "p_change": 0.0, "p_perturb": 0.0}
    apart = evidence(FINE._replace(rhat_f=2.0), settings=paper)
    words = str(reach_verdict([apart], None, "command line"))
    assert "a longer run (--n-burn 2000 --n-draws 500 --set n_thin=4)" in words
    assert "more moves (--set p_change=0.2 --set p_perturb=0.3)" in words
    assert "more chains (--n-chains 16)" in words
    assert "increase --n-draws" in str(reach_verdict([evidence(n_draws=2)], None, "command line"))


def test_time_is_said_in_words():
    slow = FINE._replace(mc_share=0.02)
    for seconds, words in ((0.1, "1 s"), (14.0, "42 s"), (100.0, "5 min"), (7000.0, "6 h")):
        assert f"about {words}." in str(reach_verdict([evidence(slow)], seconds))
    assert "about ±" in str(reach_verdict([evidence(slow)]))
    assert "takes" not in str(reach_verdict([evidence(slow)]))


@pytest.mark.parametrize("change", [{"mc_share": 0.06}, {"rhat_f": 1.4}])
def test_chains_that_disagree(change):
    verdict = reach_verdict([evidence(FINE._replace(**change))], 30.0)
    assert verdict.tier == "apart"
    assert str(verdict) == (
        "The chains disagree. They have found different explanations of the data. Predictions, "
        "averaged over all chains, are within about ±0.04 of what an infinitely long run would "
        "give. Intervals of f may be too narrow. Try a longer run (n_burn=2000, n_draws=500, "
        "n_thin=4, about 2 min), larger leaves (min_samples_leaf=5), a prior with more noise "
        "(sigma_quantile=0.9) or "
        "more chains (n_chains=16)."
    )


def test_remedies_are_those_that_are_left():
    apart = FINE._replace(rhat_f=2.0)
    paper = {**SETTINGS, "p_change": 0.0, "p_perturb": 0.0}
    assert "p_change=0.2, p_perturb=0.3" in str(reach_verdict([evidence(apart, settings=paper)]))
    soft = {**SETTINGS, "soft": True}
    assert "hard rules (soft=False)" in str(reach_verdict([evidence(apart, settings=soft)]))
    command = reach_verdict([evidence(apart, settings=soft)], place="command line")
    assert "hard rules (--no-soft)" in str(command)
    scaled = evidence(apart, settings={**SETTINGS, "tree_df": 2.0})
    assert "trees of one scale (tree_df=None)" in str(reach_verdict([scaled]))
    command = reach_verdict([scaled], place="command line")
    assert "trees of one scale (--set tree_df=None)" in str(command)
    done = {**SETTINGS, "min_samples_leaf": 5, "sigma_fixed": True}
    text = str(reach_verdict([evidence(apart, settings=done)]))
    assert (
        "Try a longer run (n_burn=2000, n_draws=500, n_thin=4) or more chains (n_chains=16)."
        in text
    )
    alone = str(reach_verdict([evidence(apart, settings=done, n_chains=1)]))
    assert "Try a longer run (n_burn=2000, n_draws=500, n_thin=4). A single chain" in alone
    assert "n_chains=8" in alone


@pytest.mark.parametrize("short", [{"n_burn": 0}, {"n_burn": 5, "n_draws": 5}, {"n_draws": 99}])
def test_a_trial_run_is_not_just_made_longer(short):
    apart = FINE._replace(rhat_f=2.0)
    text = str(reach_verdict([evidence(apart, **short)], 1.0))
    assert 'Try a longer run (n_draws="auto" and the default n_burn), larger leaves' in text


def test_few_draws_of_many_sweeps_are_no_trial():
    text = str(reach_verdict([evidence(FINE._replace(rhat_f=2.0), n_draws=25, n_thin=20)]))
    assert "n_burn=2000, n_draws=25, n_thin=80" in text


def test_it_is_shown_in_words():
    verdict = reach_verdict([evidence(FINE._replace(mc_share=0.02))], 90.0)
    assert repr(verdict) == str(verdict)
    assert f"<p>{verdict}</p>" in verdict._repr_html_()
    assert verdict.tier == "more"


def test_the_worst_class_is_named():
    of = {"predicted": "Probabilities", "error": 0.011}
    verdict = reach_verdict(
        [
            evidence(label="a against the rest", **of),
            evidence(FINE._replace(mc_share=0.02), label="b against the rest", **of),
            evidence(FINE._replace(mc_share=0.03, scale_rhat={}), label="c against the rest", **of),
        ]
    )
    assert verdict.sentences[0] == (
        "Probabilities are within about ±0.022 of what an infinitely long run would give, least "
        "certain for class c."
    )


@pytest.mark.parametrize(("n_draws", "words"), [(1, "One draw per chain is"), (3, "3 draws are")])
def test_too_few_to_tell(n_draws, words):
    nothing = Convergence(math.nan, math.nan, math.nan, {"sigma": math.nan}, math.nan)
    verdict = reach_verdict([evidence(nothing, n_draws=n_draws, error=math.nan)])
    assert verdict.tier == "more"
    assert verdict.more_draws is None
    assert words in str(verdict)
    assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["error"] is None


# ---- real fits -----------------------------------------------------------------------------------


def test_evidence_of_a_regression():
    model = small_models.regressor()
    table = model._fitted.training.table
    found = examine(model.posterior_, table)
    assert found.error == found.convergence.mcse > 0
    assert set(found.convergence.scale_rhat) == {"sigma", "leaf_sd"}
    assert (found.n_chains, found.n_burn, found.n_draws) == (2, 150, 100)


def test_errors_of_labels_are_those_of_probabilities():
    model = small_models.classifier()
    found = examine(model.posterior_, model._fitted.training.table)
    # phi(0) = 0.399: a probability moves less than its probit.
    assert 0 < found.error < 0.4 * found.convergence.mcse
    assert found.predicted == "Probabilities"


def test_the_error_is_the_distance_to_long_chains():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    options = {"n_trees": 50, "n_jobs": 1, "random_state": 0, "progress": False}
    model = ObliqueBARTRegressor(**options, n_burn=200, n_draws=200).fit(X[:200], y[:200])
    long = ObliqueBARTRegressor(**{**options, "random_state": 1}, n_burn=1000, n_draws=2000)
    distance = model.predict(X[200:]) - long.fit(X[:200], y[:200]).predict(X[200:])
    error = model.summary().verdict.error
    assert 0.5 < math.sqrt((distance**2).mean()) / error < 2.0


def test_a_good_fit_says_nothing(rng):
    X = rng.uniform(size=(100, 2))
    y = X[:, 0] + rng.normal(size=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ObliqueBARTRegressor(n_trees=20, n_jobs=1, random_state=0).fit(X, y)
    assert model.summary().verdict.tier == "fine"


def test_fit_warns_at_the_line_of_the_user():
    X, y = make_friedman1(200, noise=0.1, random_state=0)
    model = ObliqueBARTRegressor(n_trees=50, n_burn=10, n_draws=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"The chains disagree\. .* Try a longer") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert issubclass(ConvergenceWarning, sklearn.exceptions.ConvergenceWarning)
    assert str(caught[0].message).startswith(str(model.summary().verdict)[:100])
    with pytest.warns(ConvergenceWarning, match="The chains disagree"):
        model.sample_more(5)


def test_what_cannot_be_judged_is_not_warned_about():
    X, y = make_friedman1(100, noise=0.1, random_state=0)
    options = {"n_trees": 20, "n_burn": 1, "random_state": 0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ObliqueBARTRegressor(**options, n_draws=3).fit(X, y)
    assert "too few to judge" in str(model.summary())


@pytest.mark.filterwarnings("error:The chains disagree")
def test_an_interrupted_fit_is_not_judged(monkeypatch):
    X, y = make_friedman1(200, noise=0.1, random_state=0)
    model = ObliqueBARTRegressor(n_trees=50, n_burn=10, n_draws=20, random_state=0)

    def stopped(request, *options):
        schedule = replace(request.schedule, n_draws=8)
        return run(request._replace(schedule=schedule), *options)._replace(ending="interrupted")

    monkeypatch.setattr("obliquebart.posterior.rounds.run", stopped)
    with pytest.raises(KeyboardInterrupt, match="keeps 8 of 20 draws"):
        model.fit(X, y)
    assert model.summary().verdict.tier == "apart"


def test_summary_of_a_model_knows_its_rows_and_its_pace(tmp_path):
    X, _ = small_models.mixed_table()
    model = small_models.regressor()
    summary = model.summary(rows=2)
    assert isinstance(summary, ModelSummary)
    assert str(summary.verdict) == str(model.summary(X).verdict)
    assert str(summary).startswith(str(summary.verdict))
    assert summary["f[149]"].mean == pytest.approx(model.predict(X)[149])
    assert json.loads(json.dumps(summary.to_dict(), allow_nan=False))["verdict"]["error"] > 0
    assert model._fitted.seconds > 0
    model.save(tmp_path / "model.obart")
    loaded = load(tmp_path / "model.obart")
    assert loaded.summary().verdict is None
    assert NO_ROWS in str(loaded.summary())
    assert loaded.summary(X).verdict.tier == summary.verdict.tier
    assert loaded._fitted.seconds is None


def test_summary_of_several_classes():
    model, X, _ = small_models.three_classes()
    summary = model.summary(X, rows=1)
    assert list(summary.diagnostics) == ["setosa", "versicolor", "virginica"]
    assert "least certain for class " in summary.verdict.sentences[0]
    lines = str(summary).splitlines()
    assert lines[0] == str(summary.verdict)
    worst = max(summary.diagnostics["setosa"], key=lambda q: q.rhat)
    shown = [line for line in lines if line.startswith("setosa")]
    assert len(shown) == 3
    assert f" {worst.name} " in shown[0]
    assert len(lines) < 20
    with pytest.raises(KeyError, match="diagnostics"):
        summary["leaf_sd"]


@pytest.mark.filterwarnings("ignore:y contains only one class")
def test_summary_of_one_class():
    X = np.linspace(0, 1, 20).reshape(-1, 1)
    model = ObliqueBARTClassifier(**small_models.OPTIONS).fit(X, np.full(20, "only"))
    assert model.summary().verdict is None


def test_a_resumed_fit_does_not_know_its_pace(tmp_path):
    X, y = small_models.mixed_table()
    options = {**small_models.OPTIONS, "n_burn": 5, "n_draws": 8}
    model = ObliqueBARTRegressor(**options).fit(X, y, checkpoint=tmp_path / "chains")
    assert model._fitted.seconds is None
    assert model.sample_more(1)._fitted.seconds is None
