"""Weights of classes: what they do to the draws of the probabilities, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from helpers.estimators import classifier


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def pair(request, iris):
    """Return rows, a plain model and one with weights."""
    x, y = iris if request.param == 3 else (iris[0][50:], iris[1][50:])
    y = np.array(["a", "b", "c"])[y]
    weights = {"b": 5.0, "c": 0.5}
    return x, classifier().fit(x, y), classifier(class_weight=weights).fit(x, y)


def test_every_draw_is_multiplied_and_normalised(pair):
    x, plain, weighted = pair
    np.testing.assert_array_equal(
        weighted.class_weight_, [1.0, 5.0, 0.5][-len(weighted.classes_) :]
    )
    expected = plain.predict_proba(x, return_draws=True) * weighted.class_weight_
    expected /= expected.sum(axis=2, keepdims=True)
    draws = weighted.predict_proba(x, return_draws=True)
    np.testing.assert_allclose(draws, expected, rtol=1e-12, atol=1e-300)
    mean = weighted.predict_proba(x)
    np.testing.assert_allclose(mean, expected.mean(axis=0), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(
        weighted.predict_interval(x, 0.8),
        np.moveaxis(np.quantile(expected, [0.1, 0.9], axis=0), 0, -1),
        rtol=1e-9,
        atol=1e-300,
    )
    np.testing.assert_allclose(
        weighted.predict_quantile(x, 0.3),
        np.quantile(expected, 0.3, axis=0),
        rtol=1e-9,
        atol=1e-300,
    )
    np.testing.assert_array_equal(weighted.predict(x), weighted.classes_[mean.argmax(axis=1)])
    assert (weighted.predict(x) != plain.predict(x)).any()


def test_the_posterior_does_not_know_the_weights(pair):
    x, plain, weighted = pair
    assert plain.posteriors_.keys() == weighted.posteriors_.keys()
    for label, one in plain.posteriors_.items():
        np.testing.assert_array_equal(one.predict(x), weighted.posteriors_[label].predict(x))
    assert plain.class_weight_ is None


def test_effects_are_those_of_the_weighted_probabilities(pair):
    x, plain, weighted = pair
    for model in (plain, weighted):
        effect = model.effects(x, 2, n_points=4, max_draws=10_000)
        for k, point in enumerate(effect.points):
            table = x.copy()
            table[:, 2] = point
            mean = model.predict_proba(table).mean(axis=0)
            expected = mean[1] if len(mean) == 2 else mean
            np.testing.assert_allclose(effect.mean[k], expected, atol=1e-5)


def test_the_exported_likelihood_is_that_of_the_posterior(pair):
    pytest.importorskip("arviz")
    x, plain, weighted = pair
    y = plain.predict(x)
    found = [np.asarray(m.to_arviz(x, y).log_likelihood["y"]) for m in (plain, weighted)]
    np.testing.assert_allclose(found[0], found[1])


def test_extreme_weights_stay_finite(iris):
    x, y = iris
    model = classifier(class_weight={0: 1e100, 1: 1e-100, 2: 1e-100}).fit(x, y)
    assert (model.predict(x) == 0).all()
    assert np.isfinite(model.predict_interval(x)).all()


def test_balanced_weights_count_rows_and_their_weights(iris):
    x, y = iris
    y = np.where(y == 2, "rare", "common")
    model = classifier(class_weight="balanced").fit(x[:120], y[:120])
    np.testing.assert_allclose(model.class_weight_, [120 / (2 * 100), 120 / (2 * 20)])
    weights = np.where(y == "rare", 3, 1)
    model.fit(x[:120], y[:120], sample_weight=weights[:120])
    np.testing.assert_allclose(model.class_weight_, [160 / (2 * 100), 160 / (2 * 60)])


def test_more_draws_and_clones_keep_them(iris):
    x, y = iris
    model = classifier(class_weight={1: 3}).fit(x, y == 1)
    assert clone(model).class_weight == {1: 3}
    weights = model.class_weight_
    np.testing.assert_array_equal(model.sample_more(3).class_weight_, weights)
    np.testing.assert_array_equal(weights, [1, 3])


@pytest.mark.parametrize(
    ("class_weight", "error", "words"),
    [
        ("balance", ValueError, ["class_weight='balance'", '"balanced"']),
        ([1, 2], TypeError, ["class_weight=[1, 2]", "dictionary"]),
        ({0: -1}, ValueError, ["class_weight[0]=-1"]),
        ({0: 0}, ValueError, ["class_weight[0]=0"]),
        ({0: "2"}, TypeError, ["class_weight[0]='2'"]),
        ({0: np.nan}, ValueError, ["class_weight[0]=nan"]),
        ({"0": 2, 1: 2, "b": 3}, ValueError, ["not in y: '0', 'b';", "does not name: 0, 2."]),
    ],
)
def test_wrong_weights_are_refused(iris, class_weight, error, words):
    x, y = iris
    with pytest.raises(error) as caught:
        classifier(class_weight=class_weight).fit(x, y)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_label_that_a_fold_lacks_is_no_mistake(iris):
    x, y = iris
    model = classifier(class_weight={0: 1, 1: 2, 2: 3}).fit(x[:100], y[:100])
    np.testing.assert_array_equal(model.class_weight_, [1, 2])
