"""Importance: against plain predictions of shuffled tables, and where the truth is known."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

from helpers import estimators, small_models
from obliquebart import ObliqueBARTRegressor, load
from obliquebart.exceptions import ConstantOutcomeWarning
from obliquebart.explain import importance as module
from obliquebart.explain.importance import in_words, partner_rows


def with_missing(n=120):
    """A table with missing numbers and categories, columns of both kinds in mixed order."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "shop": rng.choice(["a", "b", "c", None], n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.uniform(0, 9, n)),
            "level": rng.integers(0, 3, n),
        }
    )
    y = X["size"] + 2 * (X["shop"] == "a") + X["age"].isna() + X["level"]
    return X, y.to_numpy()


def shuffled(X, column, partner):
    return X.assign(**{column: X[column].to_numpy()[partner]})


def plain_shares(X, predict):
    """Return the shares of all columns from draws of predictions (draws, rows, classes)."""
    g = predict(X)
    partners = partner_rows(len(X), np.random.RandomState(0))
    shares, changes = [], []
    for column in X.columns:
        square = np.mean([(predict(shuffled(X, column, p)) - g) ** 2 for p in partners], axis=0)
        total = square.mean(axis=1)
        shares.append(total.sum(axis=-1) / (2 * g.var(axis=1, ddof=1).sum(axis=-1)))
        changes.append(np.sqrt(total.mean(axis=-1)).mean())
    return np.array(shares).T, np.array(changes)


@pytest.mark.parametrize("rules", ["oblique", "axis"])
def test_shares_are_those_of_plain_predictions(rules, monkeypatch):
    monkeypatch.setattr(module, "MIN_PAIRS", 300)  # three partners for each row
    X, y = with_missing()
    model = estimators.regressor(rules=rules, categorical_features=["shop", "level"]).fit(X, y)
    table = model.importance(X)
    shares, changes = plain_shares(X, lambda t: model.posterior_.predict(t)[..., None])
    for j, name in enumerate(X.columns):
        position = [row.column for row in table].index(name)
        np.testing.assert_allclose(table.draws[:, position], shares[:, j], rtol=1e-4, atol=1e-7)
        assert table[name].share == pytest.approx(shares[:, j].mean(), rel=1e-4)
        low, high = np.quantile(shares[:, j], (0.05, 0.95))
        assert (table[name].low, table[name].high) == pytest.approx((low, high), rel=1e-4)
        assert table[name].change == pytest.approx(changes[j], rel=1e-4)
    assert [row.share for row in table] == sorted((row.share for row in table), reverse=True)
    assert [row.kind for row in table if row.column in ("shop", "level")] == ["categorical"] * 2
    posterior = model.posterior_.importance(X, n_jobs=2)
    np.testing.assert_array_equal(posterior.draws, table.draws)


def test_two_classes_in_units_of_probability(monkeypatch):
    monkeypatch.setattr(module, "MIN_PAIRS", 150)
    X, _ = small_models.mixed_table()
    model = small_models.classifier()
    shares, _ = plain_shares(X, lambda t: model.predict_proba(t, return_draws=True)[..., 1:])
    table = model.importance(X, max_draws=10_000)
    np.testing.assert_allclose(
        table.in_order(list(X.columns)), shares.mean(axis=0), rtol=1e-4, atol=1e-7
    )


def test_more_classes_have_one_ranking_and_one_for_each(monkeypatch):
    monkeypatch.setattr(module, "MIN_PAIRS", 150)
    model, X, _ = small_models.three_classes()
    shares, changes = plain_shares(X, lambda t: model.predict_proba(t, return_draws=True))
    table = model.importance(X, max_draws=10_000)
    names = list(X.columns)
    np.testing.assert_allclose(table.in_order(names), shares.mean(axis=0), rtol=1e-4, atol=1e-7)
    assert [table[name].change for name in names] == pytest.approx(list(changes), rel=1e-4)
    of_class = model.posteriors_["setosa"].importance(X)
    assert of_class[0].column.startswith("petal")
    assert np.abs(of_class.in_order(names) - table.in_order(names)).max() > 0.01


def test_the_real_column_has_nearly_all_and_noise_nearly_nothing():
    """One real column of four levels, eight columns of noise, R² 0.96; no chance to be lucky:
    noise columns have around 0.5% each, the limit is 3%."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({f"noise{j}": rng.normal(size=n) for j in range(8)})
    X["group"] = rng.choice(list("abcd"), n)
    mean = X["group"].map({"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}).to_numpy()
    y = mean + rng.normal(size=n) * mean.std() * np.sqrt(0.04 / 0.96)
    model = ObliqueBARTRegressor(
        n_burn=300, n_draws=100, n_chains=2, random_state=0, progress=False
    ).fit(X, y)
    share = model.feature_importances_
    assert share[-1] > 0.9
    assert share[:-1].max() < 0.03
    assert model.importance()["group"].share > 0.9
    # What made this necessary: rules use noise as often.
    used = {row.column: row.share for row in model.posterior_.variable_inclusion()}
    assert used["group"] < 0.5


def test_select_from_model_alone_in_a_pipeline_and_cloned():
    X, y = small_models.mixed_table()
    numbers = X[["noise", "age", "bmi"]]
    selector = SelectFromModel(estimators.regressor(n_burn=150))
    pipeline = make_pipeline(selector, estimators.regressor())
    chosen = clone(pipeline).fit(numbers, y)
    support = chosen[0].get_support()
    assert support[1:].any()
    assert not support[0]
    assert chosen.predict(numbers).shape == y.shape
    shares = chosen[0].estimator_.feature_importances_
    assert shares.shape == (3,)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == shares.min()


def test_importances_are_computed_once_and_again_after_another_fit(monkeypatch):
    X, y = small_models.mixed_table()
    model = estimators.regressor()
    assert not hasattr(model, "feature_importances_")
    model.fit(X, y)
    first = model.feature_importances_
    calls = []
    importance = type(model).importance
    monkeypatch.setattr(type(model), "importance", lambda self: calls.append(1) or importance(self))
    first[:] = 0  # a copy
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert not calls
    model.sample_more(5)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert len(calls) == 1


def test_loaded_models(tmp_path):
    X, y = small_models.mixed_table()
    model = estimators.regressor().fit(X, y)
    model.save(tmp_path / "with.obart", include_data=True)
    model.save(tmp_path / "without.obart")
    kept, bare = load(tmp_path / "with.obart"), load(tmp_path / "without.obart")
    np.testing.assert_array_equal(kept.feature_importances_, model.feature_importances_)
    with pytest.raises(AttributeError, match="needs the training data"):
        bare.feature_importances_  # noqa: B018
    assert not hasattr(bare, "feature_importances_")
    with pytest.raises(ValueError, match=r"importance\(X\)"):
        bare.importance()
    np.testing.assert_array_equal(bare.importance(X).draws, model.importance().draws)


def test_a_pickle_keeps_what_was_computed():
    X, y = small_models.mixed_table()
    model = estimators.regressor().fit(X, y)
    shares = model.feature_importances_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.feature_importances_, shares)


def test_large_tables_and_long_runs_are_thinned_and_reproducible():
    X, _ = small_models.mixed_table()
    model = small_models.regressor()
    table = model.importance(X, max_rows=40, max_draws=7)
    assert table.draws.shape == (7, 4)
    assert table.n_rows == 40
    again = model.importance(X, max_rows=40, max_draws=7)
    np.testing.assert_array_equal(table.draws, again.draws)
    other = model.importance(X, max_rows=40, max_draws=7, random_state=5)
    assert (table.draws != other.draws).any()
    assert model.importance(X).coverage == pytest.approx(0.9)


@pytest.mark.parametrize("n_rows", [2, 3, 50])
def test_each_row_gets_other_rows(n_rows):
    partners = partner_rows(n_rows, np.random.RandomState(1))
    rows = np.arange(n_rows)
    seen = np.array([rows, *partners])
    for partner in partners:
        assert sorted(partner) == list(rows)
    # Never itself, and never the same row twice.
    assert all(len(set(column)) == len(seen) for column in seen.T)
    assert len(partners) == n_rows - 1


def test_one_row_one_class_and_a_constant_have_no_importance():
    X, _ = small_models.mixed_table()
    assert all(row.share == 0 for row in small_models.regressor().importance(X[:1]))
    with pytest.warns(ConstantOutcomeWarning, match="one class"):
        single = estimators.classifier().fit(X, ["a"] * len(X))
    assert all(row.share == 0 for row in single.importance())
    assert (single.feature_importances_ == 0).all()
    with pytest.warns(ConstantOutcomeWarning, match="all equal|same|constant"):
        constant = estimators.regressor().fit(X, np.ones(len(X)))
    assert all(row.share == row.change == 0 for row in constant.importance())


def test_it_prints_as_a_table_and_makes_a_data_frame():
    X, _ = small_models.mixed_table()
    table = small_models.regressor().importance(X)
    text = str(table)
    assert text == repr(table)
    assert text.splitlines()[0].split() == ["column", "share", "90%", "interval", "change"]
    assert f"{table[0].share:.1%}" in text
    frame = pd.DataFrame(table)
    assert list(frame.columns) == list(table[0]._fields)
    assert len(frame) == len(table) == 4
    assert in_words(table, 1) == f"{table[0].column} ({table[0].share:.0%})"
    assert table.to_dict()["columns"][0]["column"] == table[0].column
    with pytest.raises(KeyError):
        table["colours"]
    assert table[:2] == [table[0], table[1]]


def test_wrong_arguments_are_errors():
    X, _ = small_models.mixed_table()
    model = small_models.regressor()
    with pytest.raises(ValueError, match="coverage"):
        model.importance(X, coverage=1.5)
    with pytest.raises(ValueError, match="max_rows"):
        model.importance(X, max_rows=0)
    with pytest.raises(TypeError, match="max_draws"):
        model.importance(X, max_draws=2.5)
    with pytest.raises(ValueError, match="random_state"):
        model.importance(X, random_state="no")


INTERRUPTED = """
import numpy as np
from obliquebart import ObliqueBARTRegressor, _core
rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 8)).astype(np.float32)
model = ObliqueBARTRegressor(n_burn=20, n_draws=20, n_chains=1, progress=False)
model.fit(X[:500], X[:500, 0] + rng.normal(size=500))
swap_columns = _core.swap_columns
n_calls = 0

def swap(*args, **options):
    global n_calls
    n_calls += 1
    print("ready", flush=True)
    return swap_columns(*args, **options)

_core.swap_columns = swap
try:
    model.importance(X, max_rows=10**6)
except KeyboardInterrupt:
    print("stopped", n_calls)
"""


def test_ctrl_c_stops_it():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    process.send_signal(signal.SIGINT)
    answer, _ = process.communicate(timeout=120)
    words = answer.split()
    assert words[-2] == "stopped"
    # Of twenty: a call for each draw of such a table.
    assert int(words[-1]) <= 3
