"""Fits with soft rules: smooth functions, and the same model back from files."""

from __future__ import annotations

import math
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from obliquebart import (
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
    load,
)
from obliquebart.directions import Axis, Sparse
from obliquebart.estimators import base, running
from obliquebart.explain.trees import Split, walk
from obliquebart.model import parameters
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.parameters import RUN_LENGTHS, SweepCost
from obliquebart.posterior import rounds
from obliquebart.posterior.convergence import Convergence
from obliquebart.sampling.noise import estimate_noise

SHORT = {"n_trees": 15, "n_burn": 60, "n_draws": 25, "n_chains": 2, "random_state": 0}
PLAIN_NOISE = {"nu": 3.0, "sigma_quantile": 0.9}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


@cache
def waves(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Return two numbers, one of them with missing values, and a category; y is smooth in both."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(size=n), "b": rng.uniform(size=n)})
    frame["town"] = np.where(np.arange(n) % 3 == 0, "here", "there")
    y = np.sin(6 * frame["a"]) + frame["b"] ** 2 + 0.5 * (frame["town"] == "here")
    frame["b"] = frame["b"].where(np.arange(n) % 9 != 0)
    return frame, (y + 0.05 * rng.normal(size=n)).to_numpy()


def regressor(**parameters) -> ObliqueBARTRegressor:
    return ObliqueBARTRegressor(**SHORT | PLAIN_NOISE | {"soft": True} | parameters)


@cache
def fitted() -> ObliqueBARTRegressor:
    return regressor().fit(*waves())


def n_jumps(model) -> int:
    """Return how often draws of f jump between neighbours on a fine grid."""
    grid = pd.DataFrame({"a": np.linspace(0.1, 0.9, 4001), "b": 0.5, "town": "here"})
    return int((np.abs(np.diff(model.posterior_.predict(grid), axis=1)) > 0.02).sum())


def test_draws_of_f_are_smoother():
    hard = regressor(soft=False).fit(*waves())
    assert n_jumps(hard) > 100
    # Some rules are nearly hard, and more so after few sweeps.
    assert n_jumps(fitted()) < 0.5 * n_jumps(hard)


def test_hard_rules_have_no_width():
    hard = regressor(soft=False).fit(*waves())
    assert len(hard.posterior_.draws.to_arrays()["width"]) == 0


def test_short_fits_choose_by_default_for_numbers_only():
    assert ObliqueBARTRegressor().soft == "auto"
    for other in (ObliqueBARTClassifier, ObliqueBARTSurvival, ObliqueBARTCausal):
        assert other().soft is False


def test_the_paper_has_hard_rules():
    X, y = waves()
    model = ObliqueBARTRegressor(**SHORT, prior="paper").fit(X, y)
    assert model.soft == "auto"
    assert not model.soft_
    with pytest.raises(ValueError, match="leave soft=True out"):
        ObliqueBARTRegressor(**SHORT, soft=True, prior="paper").fit(X, y)


def test_widths_of_rules_differ():
    widths = fitted().posterior_.draws.to_arrays()["width"]
    assert len(np.unique(widths)) > 50
    assert widths.min() < 0.5 < widths.max()


def test_trees_say_how_soft_their_rules_are():
    model, (X, _) = fitted(), waves()
    trees = [model.posterior_.tree(-1, number, X) for number in range(15)]
    rules = [node for tree in trees for node in walk(tree.root) if isinstance(node, Split)]
    continuous = [node.rule for node in rules if "town" not in node.columns]
    assert continuous
    assert sum("(soft, " in rule for rule in continuous) > 0.8 * len(continuous)
    assert not any("(soft, " in node.rule for node in rules if "town" in node.columns)
    assert all(sum(leaf.n_rows for leaf in tree.leaves) == len(X) for tree in trees)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"rules": "axis"}, {"directions": [Sparse(), Axis()]}, {"noise": "varying"}],
    ids=str,
)
def test_files_and_checkpoints_go_on_bit_for_bit(parameters, tmp_path):
    X, y = waves()
    whole = regressor(**parameters, n_draws=20).fit(X, y)
    part = regressor(**parameters, n_draws=12).fit(X, y)
    part.save(tmp_path / "model.obart", include_data=True)
    again = load(tmp_path / "model.obart")
    assert again.soft is True
    np.testing.assert_array_equal(again.predict(X), part.predict(X))
    np.testing.assert_array_equal(again.sample_more(8).predict(X), whole.predict(X))
    copy = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copy.sample_more(8, X, y).predict(X), whole.predict(X))
    for name, values in whole.posterior_.trace.items():
        np.testing.assert_array_equal(copy.posterior_.trace[name], values, err_msg=name)
    options = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 15}
    for _ in range(2):
        model = clone(whole).fit(X, y, **options)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_a_checkpoint_of_hard_rules_is_another_fit(tmp_path):
    from obliquebart import ModelFileError

    regressor().fit(*waves(), checkpoint=tmp_path / "c")
    with pytest.raises(ModelFileError, match="made with soft=True, not False"):
        regressor(soft=False).fit(*waves(), checkpoint=tmp_path / "c")


def test_rounds_of_an_automatic_run():
    """A second round begins without draws, but with soft trees."""
    X, y = waves(60)
    model = regressor(n_draws="auto", n_burn=20, n_trees=5).fit(X, y, max_seconds=3)
    assert model.posterior_.schedule.n_burn > 20
    assert np.isfinite(model.predict(X)).all()


def test_threads_make_no_difference():
    X, y = waves()
    other = regressor(n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(other.predict(X), fitted().predict(X))


def test_short_fits_that_estimate_the_noise_are_soft(monkeypatch):
    seen = []

    def estimate(_, priors, *__):
        seen.extend(priors)

    monkeypatch.setattr(running, "estimate_noise", estimate)
    X, y = waves()
    ObliqueBARTRegressor(**SHORT, soft=True).fit(X, y)
    ObliqueBARTRegressor(**SHORT, soft=True, noise="varying").fit(X, y)
    ObliqueBARTCausal(**SHORT, soft=True, propensity=None).fit(X, y, np.arange(len(X)) % 2)
    assert [prior.soft for prior in seen] == [True] * 3
    ObliqueBARTRegressor(**SHORT, soft=False).fit(X, y)
    assert not seen[-1].soft


@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"noise_df": 6}, {"noise": "varying"}])
def test_short_fits_choose_the_rules(monkeypatch, parameters, is_soft):
    X, y = waves()
    chosen = ObliqueBARTRegressor(**SHORT, soft=is_soft, **parameters).fit(X, y)

    def estimate(problem, priors, n_jobs, seconds, soft_priors):
        assert [prior.soft for prior in (*priors, *soft_priors)] == [False, True]
        return estimate_noise(problem, soft_priors if is_soft else priors, n_jobs, seconds)

    monkeypatch.setattr(running, "estimate_noise", estimate)
    model = ObliqueBARTRegressor(**SHORT, soft="auto", **parameters).fit(X, y)
    assert model.soft_ is is_soft
    assert model.soft == "auto"
    np.testing.assert_array_equal(model.predict(X), chosen.predict(X))


def test_short_fits_choose_the_rules_of_other_outcomes(monkeypatch, tmp_path):
    def estimate(_, priors, _jobs, _seconds, soft_priors):
        seen.append([prior.soft for prior in (*priors, *soft_priors)])
        return NoiseEstimate(0.3, math.inf, priors[0].likelihood, is_soft=True)

    monkeypatch.setattr(running, "estimate_noise", estimate)
    X, y = waves()
    times = pd.DataFrame({"event": np.arange(len(X)) % 3 > 0, "time": np.exp(y)})
    seen: list[list[bool]] = []
    survival = ObliqueBARTSurvival(**SHORT, soft="auto").fit(X, times)
    causal = ObliqueBARTCausal(**SHORT, soft="auto", propensity=None)
    causal.fit(X, y, np.arange(len(X)) % 2)
    assert survival.soft_
    assert causal.soft_
    assert seen == [[False, False, True, True], [False, True]]
    causal.save(tmp_path / "m.obart")
    again = load(tmp_path / "m.obart")
    assert (again.soft, again.soft_) == ("auto", True)


def test_rules_are_hard_where_short_fits_have_no_choice(monkeypatch, tmp_path):
    X, y = waves()
    model = ObliqueBARTClassifier(**SHORT, soft="auto").fit(X, y > 0)
    assert not model.soft_
    model.save(tmp_path / "m.obart")
    assert load(tmp_path / "m.obart").soft == "auto"
    monkeypatch.setattr(base, "MOST_ROWS_OF_AUTO", len(X) - 1)
    assert not ObliqueBARTRegressor(**SHORT, soft="auto").fit(X, y).soft_


@pytest.mark.parametrize("case", ["given noise", "only categories"])
def test_no_short_fits_with_soft_rules_where_there_is_nothing_to_choose(monkeypatch, case):
    def estimate(_, __, ___, ____, soft_priors=()):
        assert not soft_priors

    monkeypatch.setattr(running, "estimate_noise", estimate)
    X, y = waves()
    given = PLAIN_NOISE if case == "given noise" else {}
    model = ObliqueBARTRegressor(**SHORT, **given)
    assert not model.fit(X if given else X[["town"]], y).soft_


def test_a_constant_outcome():
    X, _ = waves()
    with pytest.warns(UserWarning, match="constant"):
        model = regressor().fit(X, np.ones(len(X)))
    assert (model.predict(X) == 1.0).all()


def test_every_estimator_of_normal_leaves_has_soft_rules(tmp_path):
    X, y = waves()
    options = {**SHORT, "soft": True}
    kinds = np.digitize(y, [0.0, 1.0])
    times = np.column_stack([np.arange(len(y)) % 4 > 0, np.exp(y)])
    for model, outcome in (
        (ObliqueBARTClassifier(**options), y > 0.5),
        (ObliqueBARTClassifier(**options, link="logit"), y > 0.5),
        (ObliqueBARTClassifier(**options), kinds),
        (ObliqueBARTClassifier(**options, multiclass="one_vs_rest"), kinds),
        (ObliqueBARTClassifier(**options, ordered=[0, 1, 2]), kinds),
        (ObliqueBARTSurvival(**options), times),
        (ObliqueBARTSurvival(**options, distribution="log_normal"), times),
        (ObliqueBARTRegressor(**options, noise="student_t"), y),
    ):
        model.fit(X, outcome)
        for posterior in model._fitted.posteriors:
            for draws in posterior.ensembles:
                assert len(draws.to_arrays()["width"]) > 0
        model.save(tmp_path / "m", include_data=True)
        again = load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        again.sample_more(3)


def test_effects_are_soft_too(tmp_path):
    X, y = waves()
    arm = (np.random.default_rng(1).uniform(size=len(y)) < 0.5).astype(int)
    model = ObliqueBARTCausal(**SHORT, soft=True).fit(X, y + arm * X["a"], arm)
    outcome, effect = (draws.to_arrays()["width"] for draws in model.posterior_.ensembles)
    assert len(outcome) > 0
    assert len(effect) > 0
    propensity = model._fitted.design.propensity.posteriors[0]
    assert len(propensity.draws.to_arrays()["width"]) == 0
    assert 0.0 < model.ate().mean < 1.0
    model.save(tmp_path / "m", include_data=True)
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.effect(X), model.effect(X))
    np.testing.assert_array_equal(again.sample_more(3).effect(X), model.sample_more(3).effect(X))


def test_counts_have_no_soft_rules():
    with pytest.raises(TypeError, match="soft"):
        ObliqueBARTCountRegressor(soft=True)


def test_rows_on_a_cluster_are_refused():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.random.default_rng(0).normal(size=(40, 2)))
    with pytest.raises(TypeError, match=r"soft=True needs the whole table in memory: pass X\.comp"):
        regressor().fit(X, np.arange(40.0))


# ---- how long a run may be -----------------------------------------------------------------------


def test_soft_fits_count_the_sweeps_of_soft_rules(monkeypatch):
    on_the_way = rounds.ChainsConvergence(Convergence(0.023, 0.0, 1.04, {}, 0.1), [])
    monkeypatch.setattr(rounds, "measure_chains", lambda *_: on_the_way)
    monkeypatch.setattr(parameters, "AUTO_SECONDS", 0.05)
    n_sweeps = [
        regressor(n_draws="auto", n_burn=50, soft=soft).fit(*waves()).posterior_.schedule.n_sweeps
        for soft in (False, True)
    ]
    assert n_sweeps[1] < n_sweeps[0]


def test_soft_rules_have_fewer_sweeps():
    length = RUN_LENGTHS["regression"]
    hard, soft = (length.max_sweeps(SweepCost(1000, 200, 1, is_soft)) for is_soft in (False, True))
    assert length.first_round().n_sweeps < soft < hard / 2


# ---- next to no noise ----------------------------------------------------------------------------


def few_distinct_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "a binary column":
        x = (rng.normal(size=(200, 1)) > 0).astype(float)
        return x, x[:, 0]
    if name == "five rows, forty times each":
        x = np.repeat(rng.normal(size=(5, 3)), 40, axis=0)
        return x, 3 * x[:, 0]
    x = rng.integers(0, 3, (300, 2)).astype(float)
    noise = 1e-4 if name == "a grid with little noise" else 0.0
    return x, x[:, 0] + x[:, 1] ** 2 + noise * rng.normal(size=300)


@pytest.mark.parametrize(
    "name",
    [
        *("a binary column", "five rows, forty times each"),
        *("a grid", "a grid with little noise"),
    ],
)
def test_leaves_that_share_the_same_rows_without_noise(name):
    """Shares of few distinct rows are collinear, and rounding errors over sigma^2 must not show."""
    X, y = few_distinct_rows(name)
    lengths = {"n_burn": 300, "n_draws": 50, "n_chains": 2, "random_state": 0, "progress": False}
    model = ObliqueBARTRegressor(soft=True, n_trees=20, **lengths).fit(X, y)
    assert model.score(X, y) > 0.9999
    assert np.abs(model.posterior_.predict(X)).max() < 1.5 * np.abs(y).max()
