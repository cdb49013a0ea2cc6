"""The classifier: labels of any type, two classes and more, weights as repetitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.estimators import classifier
from obliquebart import ConstantOutcomeWarning


def test_weights_repeat_rows(iris):
    x, y = iris[0], iris[1] == 1
    w = np.arange(150) % 3
    weighted = classifier().fit(x, y, sample_weight=w)
    repeated = classifier().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.predict_proba(x), repeated.predict_proba(x))
    frame = pd.DataFrame(x, columns=list("abcd"))
    weighted = classifier().fit(frame, y, sample_weight=w)
    np.testing.assert_array_equal(weighted.predict_proba(frame), repeated.predict_proba(x))


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
    model = classifier().fit(x, y)
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
    with pytest.warns(ConstantOutcomeWarning, match=r"one class only \('a'\)"):
        model = classifier().fit(x, ["a"] * 5)
    assert model.predict(x).tolist() == ["a"] * 5
    np.testing.assert_array_equal(model.predict_proba(x), np.ones((5, 1)))
    np.testing.assert_array_equal(model.predict_interval(x), np.ones((5, 1, 2)))
    assert model.predict_proba(x, return_draws=True).shape == (50, 5, 1)
    assert model.posteriors_ == {}
    assert "a single class" in str(model.summary(x))


def test_summary_of_three_classes(iris):
    x, y = iris
    model = classifier().fit(x, np.array(["a", "b", "c"])[y])
    summary = model.summary(x, rows=[0, 149])
    assert list(summary.diagnostics) == [f"{label} against the rest" for label in "abc"]
    for label, found in zip("abc", summary.diagnostics.values(), strict=True):
        f = model.posteriors_[label].predict(x)[:, [0, 149]]
        assert [found[f"f[{row}]"].mean for row in (0, 149)] == pytest.approx(f.mean(axis=0))
    assert any(f"{label} against the rest" in str(summary.verdict) for label in "abc")
    assert summary.verdict.tier == str(summary.to_dict()["verdict"]["tier"])
