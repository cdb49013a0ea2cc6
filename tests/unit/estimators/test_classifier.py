"""The classifier: labels of any type, two classes and more, weights as repetitions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from helpers.estimators import classifier
from obliquebart import ConstantOutcomeWarning, ManyClassesWarning


def test_weights_repeat_rows(iris):
    x, y = iris[0], iris[1] == 1
    w = np.arange(150) % 3
    weighted = classifier().fit(x, y, sample_weight=w)
    repeated = classifier().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.predict_proba(x), repeated.predict_proba(x))
    frame = pd.DataFrame(x, columns=list("abcd"))
    weighted = classifier().fit(frame, y, sample_weight=w)
    np.testing.assert_array_equal(weighted.predict_proba(frame), repeated.predict_proba(x))


def test_weights_that_are_whole_but_for_rounding_repeat_rows(iris):
    x, y = iris[0], iris[1] == 1
    w = np.full(150, np.nextafter(3.0, 4.0))
    weighted = classifier().fit(x, y, sample_weight=w)
    np.testing.assert_array_equal(
        weighted.predict_proba(x), classifier().fit(x, y, np.full(150, 3)).predict_proba(x)
    )


def test_fractional_weights(iris):
    x, y = iris[0], iris[1] == 1
    w = (np.arange(150) % 7) / 4
    model = classifier().fit(x, y, sample_weight=w)
    settings = model.posterior_.settings
    assert settings["likelihood"] == "weighted_probit"
    np.testing.assert_allclose(ndtr(settings["offset"]), w[y].sum() / w.sum())
    # A weight of zero leaves the row out.
    kept = classifier().fit(x[w > 0], y[w > 0], sample_weight=w[w > 0])
    np.testing.assert_array_equal(model.predict_proba(x), kept.predict_proba(x))
    balanced = classifier(class_weight="balanced").fit(x, y, sample_weight=w)
    shares = np.array([w[~y].sum(), w[y].sum()]) / w.sum()
    np.testing.assert_allclose(balanced.class_weight_, 1 / (2 * shares))
    three = classifier(multiclass="one_vs_rest").fit(x, iris[1], sample_weight=0.3 + w)
    assert {p.settings["likelihood"] for p in three.posteriors_.values()} == {"weighted_probit"}
    assert three.score(x, iris[1]) > 0.9


def test_rows_of_little_weight_have_little_influence():
    """Wrong labels of weight 1/4 among right ones of weight 7/4, at the same rows."""
    x = np.tile(np.linspace(-1, 1, 100), 2).reshape(-1, 1)
    right = x[:100, 0] > 0
    y = np.concatenate([right, ~right])
    w = np.repeat([1.75, 0.25], 100)
    proba = classifier(n_trees=50, n_burn=300, n_draws=300).fit(x, y, w).predict_proba(x[:100])
    # Far from the step, the share of weight is 7/8.
    found = proba[np.arange(100), right.astype(int)]
    assert 0.8 < np.mean(found[np.abs(x[:100, 0]) > 0.3]) < 0.95


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([3.0, 7.0]),
        np.array([3, 7], dtype=object),
        np.array(["a", "é"]),
    ],
)
def test_two_classes_of_any_label(iris, labels):
    x, y = iris
    y = labels[(y == 2).astype(int)]
    model = classifier().fit(x, y)
    assert model.classes_.tolist() == labels.tolist()
    assert set(model.predict(x).tolist()) <= set(labels.tolist())
    assert np.mean(model.predict(x) == y) > 0.9
    proba = model.predict_proba(x)
    assert proba.shape == (150, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    draws = model.predict_proba(x, return_draws=True)
    assert draws.shape == (50, 150, 2)
    np.testing.assert_allclose(draws.mean(axis=0), proba, atol=1e-6)


@pytest.mark.parametrize("names", [None, np.array(["setosa", "versicolor", "virginica"])])
def test_three_classes_one_against_the_rest(iris, names):
    x, y = iris
    y = y if names is None else names[y]
    model = classifier(multiclass="one_vs_rest").fit(x, y)
    assert model.score(x, y) > 0.9
    proba = model.predict_proba(x)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    draws = model.predict_proba(x, return_draws=True)
    np.testing.assert_allclose(draws.mean(axis=0), proba)
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    interval = model.predict_interval(x, 0.8)
    np.testing.assert_allclose(interval[..., 0], np.quantile(draws, 0.1, axis=0))
    assert list(model.posteriors_) == model.classes_.tolist()
    second = model.classes_[1]
    against_the_rest = model.posteriors_[second].mean(x)
    assert against_the_rest[y == second].mean() > 0.7 > 0.3 > against_the_rest[y != second].mean()
    assert not hasattr(model, "posterior_")
    with pytest.raises(AttributeError, match=r"posteriors_\[label\]"):
        model.posterior_  # noqa: B018


def test_intervals_of_two_classes_mirror_each_other(iris):
    x, y = iris
    model = classifier().fit(x, y == 1)
    interval = model.predict_interval(x, 0.9)
    assert interval.shape == (150, 2, 2)
    np.testing.assert_allclose(interval[:, 0], 1 - interval[:, 1, ::-1])
    draws = model.predict_proba(x, return_draws=True)[:, :, 1]
    np.testing.assert_allclose(interval[:, 1, 1], np.quantile(draws, 0.95, axis=0), atol=1e-6)
    assert ((interval >= 0) & (interval <= 1)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_quantiles_of_probabilities_are_those_of_the_draws(iris, n_classes):
    x, y = iris
    model = classifier().fit(x, y if n_classes == 3 else y == 1)
    draws = model.predict_proba(x, return_draws=True)
    levels = [0.1, 0.25, 1.0]
    found = model.predict_quantile(x, levels)
    assert found.shape == (150, n_classes, 3)
    expected = np.moveaxis(np.quantile(draws, levels, axis=0), 0, -1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(model.predict_quantile(x, 0.25), found[..., 1], atol=1e-12)
    np.testing.assert_allclose(
        model.predict_quantile(x, [0.1, 0.9]), model.predict_interval(x, 0.8), atol=1e-12
    )


def test_a_quantile_must_be_a_probability(iris):
    model = classifier().fit(iris[0], iris[1])
    for q, words in ((1.5, "q=1.5"), ([], "q=\\[\\]"), ([0.5, np.nan], "q=nan")):
        with pytest.raises(ValueError, match=words):
            model.predict_quantile(iris[0], q)


def test_hundreds_of_numbers_are_hardly_labels():
    x = np.arange(330.0).reshape(-1, 1)
    short = {"n_trees": 2, "n_burn": 1, "n_draws": 1, "n_chains": 1}
    with pytest.warns(ManyClassesWarning, match=r"110 different numbers.*ObliqueBARTRegressor"):
        classifier(**short).fit(x, np.arange(330) % 110)
    for labels in (np.arange(330) % 100, (np.arange(330) % 110).astype(str)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ManyClassesWarning)
            classifier(**short).fit(x, labels)


def test_separable_classes_stay_finite():
    x = np.linspace(-1, 1, 200).reshape(-1, 1)
    model = classifier(k=0.01, n_burn=200).fit(x, x[:, 0] > 0)
    proba = model.predict_proba(x)
    assert np.isfinite(proba).all()
    assert model.score(x, x[:, 0] > 0) > 0.98


def test_rare_class():
    x = np.linspace(-1, 1, 300).reshape(-1, 1)
    y = np.zeros(300, int)
    y[5] = 1
    proba = classifier().fit(x, y).predict_proba(x)
    assert proba[:, 1].mean() < 0.1


def test_one_class_is_certain():
    x = np.zeros((5, 2))
    with pytest.warns(ConstantOutcomeWarning, match=r"only one class \('a'\)"):
        model = classifier().fit(x, ["a"] * 5)
    assert model.predict(x).tolist() == ["a"] * 5
    np.testing.assert_array_equal(model.predict_proba(x), np.ones((5, 1)))
    np.testing.assert_array_equal(model.predict_interval(x), np.ones((5, 1, 2)))
    np.testing.assert_array_equal(model.predict_quantile(x, 0.5), np.ones((5, 1)))
    assert model.predict_proba(x, return_draws=True).shape == (50, 5, 1)
    assert model.posteriors_ == {}
    assert "a single class" in str(model.summary(x))


def test_summary_of_three_classes(iris):
    x, y = iris
    model = classifier(multiclass="one_vs_rest").fit(x, np.array(["a", "b", "c"])[y])
    summary = model.summary(x, rows=[0, 149])
    assert list(summary.diagnostics) == [f"{label} against the rest" for label in "abc"]
    for label, found in zip("abc", summary.diagnostics.values(), strict=True):
        f = model.posteriors_[label].predict(x)[:, [0, 149]]
        assert [found[f"f[{row}]"].mean for row in (0, 149)] == pytest.approx(f.mean(axis=0))
    assert any(f"least certain for class {label}" in str(summary.verdict) for label in "abc")
    assert summary.verdict.tier == str(summary.to_dict()["verdict"]["tier"])
