"""Fits whose trees have scales of their own: sharp signals, and the same model back."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from helpers.command_line import QUICK, run
from obliquebart import (
    ModelFileError,
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
    load,
)
from obliquebart.estimators import running
from obliquebart.files.model_file import to_bytes

SHORT = {"n_trees": 15, "n_burn": 60, "n_draws": 20, "n_chains": 2, "random_state": 0}
PLAIN_NOISE = {"nu": 3.0, "sigma_quantile": 0.9}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


def corner(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with missing values and a category, and an outcome with one large effect."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(n, 3)), columns=["a", "b", "c"])
    y = 5.0 * ((frame["a"] > 0.7) & (frame["b"] > 0.6)) + frame["c"] + 0.05 * rng.normal(size=n)
    frame["c"] = frame["c"].where(np.arange(n) % 9 != 0)
    frame["town"] = np.where(np.arange(n) % 3 == 0, "here", "there")
    return frame, y.to_numpy()


def regressor(**parameters) -> ObliqueBARTRegressor:
    given = {"soft": False, "tree_df": 2.0, **parameters}
    return ObliqueBARTRegressor(**SHORT | PLAIN_NOISE | given)


def test_a_few_trees_have_the_large_effects():
    """The largest scale stands out, which means that a few trees do most of the work."""
    X, y = corner(200)
    more = {"n_burn": 300, "n_draws": 100, "n_trees": 50}
    scaled, alike = (regressor(tree_df=df, **more).fit(X, y) for df in (1.0, None))
    for state in scaled._fitted.posteriors[0].states:
        scales = np.asarray(state["tree_scales"])
        assert scales.max() > 5 * np.median(scales)
    assert scaled.posterior_.has_tree_scales
    assert not alike.posterior_.has_tree_scales


@pytest.mark.parametrize(
    "parameters",
    [
        *({}, {"soft": True}, {"noise": "varying"}, {"noise": "student_t"}, {"rules": "axis"}),
        {"leaf_sd": 0.5},
    ],
    ids=str,
)
def test_files_and_checkpoints_go_on_bit_for_bit(parameters, tmp_path):
    X, y = corner()
    whole = regressor(**parameters).fit(X, y)
    part = regressor(**parameters, n_draws=12).fit(X, y)
    part.save(tmp_path / "model.obart", include_data=True)
    again = load(tmp_path / "model.obart")
    assert again.tree_df == 2.0
    np.testing.assert_array_equal(again.predict(X), part.predict(X))
    np.testing.assert_array_equal(again.sample_more(8).predict(X), whole.predict(X))
    copy = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copy.sample_more(8, X, y).predict(X), whole.predict(X))
    options = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 15}
    for _ in range(2):
        model = clone(whole).fit(X, y, **options)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_a_checkpoint_of_trees_that_are_alike_is_another_fit(tmp_path):
    regressor().fit(*corner(), checkpoint=tmp_path / "c")
    for tree_df in (None, 3.0):
        with pytest.raises(ModelFileError, match=f"made with tree_df=2.0, not {tree_df}"):
            regressor(tree_df=tree_df).fit(*corner(), checkpoint=tmp_path / "c")


@pytest.mark.parametrize("soft", [False, True])
def test_threads_make_no_difference(soft):
    X, y = corner()
    one, four = (regressor(soft=soft, n_jobs=n).fit(X, y) for n in (1, 4))
    assert to_bytes(one._fitted, {}) == to_bytes(four._fitted, {})


def test_whole_numbers_are_numbers():
    X, y = corner()
    models = [regressor(tree_df=df).fit(X, y) for df in (2, 2.0, np.int64(2), np.float32(2))]
    assert len({to_bytes(model._fitted, {}) for model in models}) == 1


def test_trees_are_alike_by_default():
    X, y = corner()
    default = ObliqueBARTRegressor(**SHORT | PLAIN_NOISE).fit(X, y)
    none = ObliqueBARTRegressor(**SHORT | PLAIN_NOISE, tree_df=None).fit(X, y)
    assert default.tree_df is None
    assert "tree_df" not in default.posterior_.settings
    np.testing.assert_array_equal(default.predict(X), none.predict(X))


def test_short_fits_have_the_same_scales(monkeypatch):
    """So the estimate of the noise, and the choice of soft rules, are those of the same trees."""
    seen = []

    def estimate(_, priors, _jobs, _seconds, soft_priors=()):
        seen.extend((*priors, *soft_priors))

    monkeypatch.setattr(running, "estimate_noise", estimate)
    for noise in ("constant", "varying"):
        ObliqueBARTRegressor(**SHORT, noise=noise, tree_df=3.0).fit(*corner())
    assert [(prior.soft, prior.tree_df) for prior in seen] == [(False, 3.0), (True, 3.0)] * 2


@pytest.mark.parametrize(
    "other",
    [
        *(ObliqueBARTClassifier, ObliqueBARTCountRegressor),
        *(ObliqueBARTSurvival, ObliqueBARTCausal),
    ],
)
def test_only_numbers_have_scales_of_trees(other):
    with pytest.raises(TypeError, match="tree_df"):
        other(tree_df=2.0)


@pytest.mark.parametrize("value", [-1, 0, np.nan, np.inf, 1e6])
def test_degrees_of_freedom_are_positive_and_finite(value):
    with pytest.raises(ValueError, match=r"tree_df=.* must be a number in \[0.1, 1e\+06\)"):
        regressor(tree_df=value).fit(*corner())


@pytest.mark.parametrize("value", ["x", "auto", [2.0], True])
def test_degrees_of_freedom_are_a_number(value):
    with pytest.raises(TypeError, match=r"tree_df=.* must be a number in \[0.1, 1e\+06\)"):
        regressor(tree_df=value).fit(*corner())


def test_the_paper_has_trees_of_one_scale():
    with pytest.raises(ValueError, match="leave tree_df out"):
        ObliqueBARTRegressor(**SHORT, prior="paper", tree_df=2.0).fit(*corner())


def test_a_constant_outcome(tmp_path):
    X, _ = corner()
    with pytest.warns(UserWarning, match="constant"):
        model = regressor().fit(X, np.ones(len(X)))
    assert (model.predict(X) == 1.0).all()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").tree_df == 2.0


def test_the_command_line(tmp_path):
    path, table = tmp_path / "m.obart", tmp_path / "table.csv"
    X, y = corner(60)
    X.assign(y=y).to_csv(table, index=False)
    words = ("fit", table, "-t", "y", *QUICK, "--no-soft", "-o", path)
    for given, expected in (("2", 2.0), ("0.5", 0.5), ("None", None)):
        run(*words, "--set", f"tree_df={given}")
        assert load(path).tree_df == expected
    assert "tree_df=-1" in " ".join(run(*words, "--set", "tree_df=-1", code=1).output.split())
