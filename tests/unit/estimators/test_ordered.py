"""Ordered classes, from the labels that a user has to everything that a model shows."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

from helpers.command_line import QUICK, run
from helpers.estimators import classifier
from obliquebart import ClassOrderWarning, ConstantOutcomeWarning, load, plots
from obliquebart.explain.evaluation import evaluate
from obliquebart.report import report_html

GRADES = ["poor", "fair", "good", "great"]
# The columns of the grades, whose labels are sorted.
COLUMNS = np.argsort(np.argsort(GRADES))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 3))
    z = 2 * X[:, 0] + X[:, 1] + rng.normal(size=150)
    return X, np.searchsorted([-1.0, 0.2, 1.5], z)


@pytest.fixture(scope="module")
def model(data):
    X, codes = data
    return classifier(ordered=GRADES).fit(X, np.array(GRADES)[codes], target_name="grade")


# ---- which order ---------------------------------------------------------------------------------


def test_every_way_to_give_an_order_is_the_same(data, model):
    X, codes = data
    names = np.array(GRADES)[codes]
    categories = [*GRADES[:2], "unused", *GRADES[2:]]
    given = {
        "pandas": pd.Series(pd.Categorical(names, categories=categories, ordered=True)),
        "a bare categorical": pd.Categorical(names, categories=categories, ordered=True),
        "polars": pl.Series(names.tolist(), dtype=pl.Enum(categories)),
    }
    for y in given.values():
        other = classifier().fit(X, y)
        assert other.classes_.tolist() == sorted(GRADES)
        assert other.ordered_classes_.tolist() == GRADES
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    by_number = classifier(ordered=True).fit(X, codes)
    assert by_number.classes_.tolist() == by_number.ordered_classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(by_number.predict_proba(X), model.predict_proba(X)[:, COLUMNS])


def test_categories_without_an_order_have_none(data):
    X, codes = data
    names = pd.Series(np.array(GRADES)[codes], dtype="category")
    assert len(classifier(n_draws=5).fit(X, names)._fitted.parts) == 4
    ordered = pd.Categorical(names, categories=GRADES, ordered=True)
    other = classifier(n_draws=5, ordered=False).fit(X, ordered)
    assert len(other._fitted.parts) == 4
    assert other.classes_.tolist() == sorted(GRADES)
    assert other.ordered_classes_ is None


def test_text_in_alphabetical_order_is_doubted(data):
    X, codes = data
    with pytest.warns(ClassOrderWarning, match="'fair' < 'good' < 'great' < 'poor'"):
        other = classifier(n_draws=5, ordered=True).fit(X, np.array(GRADES)[codes])
    assert other.ordered_classes_.tolist() == sorted(GRADES)


def test_two_ordered_classes_are_the_plain_model(data):
    X, codes = data
    plain = classifier().fit(X, codes > 1)
    ordered = classifier(ordered=True).fit(X, codes > 1)
    np.testing.assert_array_equal(plain.predict_proba(X), ordered.predict_proba(X))
    names = np.where(codes > 1, "high", "low")
    named = classifier(ordered=["low", "high"]).fit(X, names)
    assert named.classes_.tolist() == ["high", "low"]
    assert named.ordered_classes_ is None
    assert list(named.posteriors_) == ["low"]
    unordered = classifier().fit(X, names)
    np.testing.assert_array_equal(unordered.predict_proba(X), named.predict_proba(X))


def test_one_class_is_a_constant(data):
    X, _ = data
    with pytest.warns(ConstantOutcomeWarning, match="only one class"):
        other = classifier(ordered=True).fit(X, np.zeros(len(X), dtype=int))
    assert (other.predict_proba(X) == 1).all()


@pytest.mark.parametrize("ordered", ["yes", 1.5, ["a"], ["a", "a"], None])
def test_orders_that_are_none(ordered, data):
    X, codes = data
    with pytest.raises(ValueError, match="ordered="):
        classifier(ordered=ordered).fit(X, codes)


def test_a_label_that_the_order_lacks(data):
    X, codes = data
    with pytest.raises(ValueError, match="'great', which is not among the labels"):
        classifier(ordered=GRADES[:3]).fit(X, np.array(GRADES)[codes])


def test_labels_that_scikit_learn_replaces_by_numbers(data):
    X, codes = data
    y = np.array(GRADES)[codes]
    quick = {"n_trees": 5, "n_burn": 10, "n_draws": 5}
    by_name = classifier(ordered=GRADES, **quick)
    with pytest.raises(ValueError, match=r"pass ordered=\[3, 0, 1, 2\]"):
        VotingClassifier([("one", by_name)], voting="soft").fit(X, y)
    by_number = classifier(ordered=[3, 0, 1, 2], **quick)
    votes = VotingClassifier([("one", by_number)], voting="soft").fit(X, y)
    expected = by_name.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(votes.predict_proba(X), expected)
    folds = KFold(2)
    held_out = cross_val_predict(by_number, X, y, cv=folds, method="predict_proba")
    for train, test in folds.split(X):
        expected = by_name.fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_array_equal(held_out[test], expected)


# ---- what scikit-learn's scorers see -------------------------------------------------------------


def probability_by_label(model, X):
    """Compute the probabilities of the grades from f and the cuts."""
    posterior = model.posterior_
    f = np.concatenate([f for _, f in posterior.blocks(posterior.encode(X), 1)], axis=1)
    cuts = [posterior.trace[f"cut.{k}"].reshape(-1, 1) for k in (1, 2, 3)]
    below = [np.zeros_like(f), *(norm.cdf(cut - f) for cut in cuts), np.ones_like(f)]
    return dict(zip(GRADES, np.diff(below, axis=0).mean(axis=1), strict=True))


def test_columns_are_those_of_the_labels(data, model):
    X, _ = data
    expected = probability_by_label(model, X)
    for label, p in zip(model.classes_, model.predict_proba(X).T, strict=True):
        np.testing.assert_allclose(p, expected[label], rtol=1e-6)


def test_scorers_of_ordered_classes(data, model):
    X, codes = data
    y = np.array(GRADES)[codes]
    p = probability_by_label(model, X)
    log_loss = np.mean([np.log(p[label][i]) for i, label in enumerate(y)])
    assert get_scorer("neg_log_loss")(model, X, y) == pytest.approx(log_loss, rel=1e-6)
    assert model.log_score(X, y) == pytest.approx(log_loss, rel=1e-6)
    areas = [roc_auc_score(y == label, p[label]) for label in GRADES]
    assert get_scorer("roc_auc_ovr")(model, X, y) == pytest.approx(np.mean(areas))
    assert np.mean(areas) > 0.7


def test_cross_validation_with_an_ordered_categorical(data):
    X, codes = data
    y = pd.Series(pd.Categorical(np.array(GRADES)[codes], categories=GRADES, ordered=True))
    folds = KFold(2)
    scores = cross_val_score(classifier(), X, y, cv=folds, scoring="neg_log_loss")
    for score, (train, test) in zip(scores, folds.split(X), strict=True):
        fitted = classifier().fit(X[train], y.iloc[train])
        assert score == pytest.approx(fitted.log_score(X[test], y.iloc[test]))


@pytest.mark.parametrize("categories", [["good", "bad"], ["bad", "good"]])
def test_scorers_of_two_ordered_classes(categories, data):
    X, codes = data
    y = np.where(codes > 1, "good", "bad")
    fitted = classifier().fit(X, pd.Categorical(y, categories=categories, ordered=True))
    good = norm.cdf(fitted.posterior_.predict(X)).mean(axis=0)
    area = roc_auc_score(y == "good", good)
    assert area > 0.8
    assert get_scorer("roc_auc")(fitted, X, y) == pytest.approx(area)
    log_loss = np.log(np.where(y == "good", good, 1.0 - good)).mean()
    assert get_scorer("neg_log_loss")(fitted, X, y) == pytest.approx(log_loss)


# ---- what it predicts ----------------------------------------------------------------------------


def test_probabilities_follow_the_outcomes(data, model):
    X, codes = data
    p = model.predict_proba(X)
    assert p.shape == (150, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.corrcoef(p[:, COLUMNS] @ np.arange(4), codes)[0, 1] > 0.7
    assert (model.predict(X) == np.array(sorted(GRADES))[p.argmax(axis=1)]).all()
    draws = model.predict_proba(X, return_draws=True)
    np.testing.assert_allclose(draws.mean(axis=0), p)
    interval = model.predict_interval(X, 0.8)
    np.testing.assert_allclose(interval[..., 0], np.quantile(draws, 0.1, axis=0))
    quantiles = model.predict_quantile(X, [0.1, 0.5, 0.9])
    assert quantiles.shape == (150, 4, 3)
    np.testing.assert_allclose(quantiles[..., ::2], interval)


def test_probabilities_are_those_of_f_and_the_cuts(data, model):
    X, _ = data
    posterior = model.posterior_
    cut = posterior.trace["cut.2"].reshape(-1, 1)
    expected = norm.cdf(cut - posterior.predict(X)).mean(axis=0)
    in_order = model.predict_proba(X)[:, COLUMNS]
    np.testing.assert_allclose(in_order[:, :2].sum(axis=1), expected)


def test_every_label_has_the_one_posterior(model):
    assert list(model.posteriors_) == sorted(GRADES)
    assert all(posterior is model.posterior_ for posterior in model.posteriors_.values())


def test_class_weights_multiply_the_probabilities(data, model):
    X, codes = data
    weighted = classifier(ordered=GRADES, class_weight={"poor": 5.0})
    weighted.fit(X, np.array(GRADES)[codes])
    # The last of the sorted labels.
    assert weighted.class_weight_.tolist() == [1.0, 1.0, 1.0, 5.0]
    draws = model.predict_proba(X, return_draws=True) * weighted.class_weight_
    draws /= draws.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(weighted.predict_proba(X), draws.mean(axis=0))


def test_whole_weights_repeat_rows_and_others_are_refused(data):
    X, codes = data
    times = np.arange(len(X)) % 3
    weighted = classifier(ordered=True, n_draws=5).fit(X, codes, times)
    repeated = classifier(ordered=True, n_draws=5).fit(
        np.repeat(X, times, axis=0), codes.repeat(times)
    )
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    with pytest.raises(ValueError, match="must be whole numbers for ordered classes"):
        classifier(ordered=True).fit(X, codes, times + 0.5)


def test_a_class_may_be_absent_from_a_fold(data):
    X, codes = data
    codes = np.where(np.arange(len(X)) == 3, 9, codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(classifier(ordered=True, n_draws=5), X, codes, cv=3)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.3


def test_posterior_outcomes_are_numbers_of_classes(data, model):
    X, codes = data
    posterior = model.posterior_
    y = posterior.sample_y(X, 4, np.random.RandomState(0))
    assert set(np.unique(y)) <= {0.0, 1.0, 2.0, 3.0}
    quantiles = posterior.quantile(X, [0.05, 0.95], "outcome")
    assert ((quantiles[:, 0] <= codes) & (codes <= quantiles[:, 1])).mean() > 0.85


# ---- what it shows -------------------------------------------------------------------------------


def test_summaries_have_the_cuts(model):
    text = str(model.summary())
    assert all(f"cut.{k}" in text for k in (1, 2, 3))
    assert "sample_more(-" not in text
    assert "Probabilities are within" in text


def test_importance_and_effects(data, model):
    X, _ = data
    assert model.importance(X)[0].column == "x0"
    effect = model.effects(X, "x0", n_points=4)
    assert effect.classes == tuple(GRADES)
    assert effect.mean.shape == (4, 4)
    np.testing.assert_allclose(effect.mean.sum(axis=1), 1.0)
    expected = np.arange(4) @ effect.mean.T
    assert (np.diff(expected) > 0).all()
    # By hand, at the last point, with all draws and rows.
    changed = X.copy()
    changed[:, 0] = effect.points[-1]
    by_hand = model.predict_proba(changed).mean(axis=0)[COLUMNS]
    np.testing.assert_allclose(effect.mean[-1], by_hand, atol=1e-5)
    centered = model.effects(X, "x0", n_points=4, centered=True)
    np.testing.assert_allclose(centered.mean.sum(axis=1), 0.0, atol=1e-12)
    alone = model.posterior_.effects(X, "x0", n_points=4)
    assert alone.classes == (0, 1, 2, 3)
    assert "average probability" in str(alone)


def test_plots_and_report(data, model):
    X, codes = data
    y = np.array(GRADES)[codes]
    for ax in (
        plots.surface(model, X),
        plots.surface(model, X, class_="good"),
        plots.surface(model.posterior_, X),
        plots.effects(model.effects(X, "x0", n_points=3)),
        plots.calibration(model, X, y),
        plots.importance(model, X),
    ):
        assert ax is not None
    assert len(plots.trace(model)) >= 5
    page = report_html(model, X, y)
    assert "one of 4 ordered classes" in page
    assert "cut.1" in page
    assert "against the rest" not in page
    found = evaluate(model, X, y)
    assert found.classes.tolist() == GRADES
    np.testing.assert_array_equal(found.probability, model.predict_proba(X)[:, COLUMNS])
    assert found.scores()["accuracy"] == model.score(X, y)
    assert found.scores()["log loss"] == pytest.approx(-model.log_score(X, y))


def test_arviz_has_the_cuts(data, model):
    pytest.importorskip("arviz")
    X, codes = data
    exported = model.to_arviz(X, np.array(GRADES)[codes], random_state=0)
    assert {"cut.1", "cut.2", "cut.3", "f"} <= set(exported["posterior"])
    log_p = np.asarray(exported["log_likelihood"]["y"])
    p = model.predict_proba(X, return_draws=True)[:, np.arange(len(X)), COLUMNS[codes]]
    np.testing.assert_allclose(np.exp(log_p.reshape(p.shape)), p, rtol=1e-5)


def test_notebooks_say_that_classes_are_ordered(model):
    assert "4 ordered classes: poor, fair, good, great" in model._repr_mimebundle_()["text/html"]


def test_clones_and_files_keep_the_order(model, data, tmp_path):
    X, _ = data
    assert clone(model).ordered == GRADES
    model.save(tmp_path / "m.obart")
    again = load(tmp_path / "m.obart")
    assert again.classes_.tolist() == sorted(GRADES)
    assert again.ordered_classes_.tolist() == GRADES
    assert again.ordered == GRADES
    assert again._fitted.likelihood.noise == model._fitted.likelihood.noise
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    pickled = pickle.loads(pickle.dumps(model))
    assert pickled.classes_.tolist() == sorted(GRADES)
    assert pickled.ordered_classes_.tolist() == GRADES
    np.testing.assert_array_equal(pickled.predict_proba(X), model.predict_proba(X))


def test_two_classes_of_a_file_need_not_be_sorted(data):
    X, codes = data
    fitted = classifier(class_weight={"high": 3.0}).fit(X, np.where(codes > 1, "low", "high"))
    other = clone(fitted)._set_fitted(
        fitted._fitted._replace(
            classes=fitted._fitted.classes[::-1].copy(),
            class_weights=fitted._fitted.class_weights[::-1].copy(),
        )
    )
    assert other.classes_.tolist() == ["high", "low"]
    assert list(other.posteriors_) == ["high"]
    plain = classifier().fit(X, codes > 1).predict_proba(X, return_draws=True)
    expected = plain[..., ::-1] * [3.0, 1.0]
    expected /= expected.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(other.predict_proba(X), expected.mean(axis=0))


def test_the_command_line(data, tmp_path):
    X, codes = data
    frame = pd.DataFrame(X, columns=list("abc")).assign(grade=codes, word=np.array(GRADES)[codes])
    frame.to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "m.obart"
    fit = ("fit", tmp_path / "data.csv", "-o", path, *QUICK)
    result = run(*fit, "-t", "grade", "-d", "word", "--outcome", "ordered", "--json")
    assert json.loads(result.stdout)["outcome"] == "ordered"
    assert load(path)._fitted.likelihood.name == "ordinal"
    run("predict", path, tmp_path / "data.csv", "-o", tmp_path / "p.csv")
    table = pd.read_csv(tmp_path / "p.csv")
    assert {"prediction", "probability_0", "probability_3"} <= set(table)
    order = f"ordered={GRADES!r}"
    run(*fit, "-t", "word", "-d", "grade", "--outcome", "ordered", "--set", order)
    assert load(path).ordered_classes_.tolist() == GRADES
