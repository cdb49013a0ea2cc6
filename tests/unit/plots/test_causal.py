"""Pictures of effects: what they show is what the model says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import small_models
from helpers.causal import causal_model, treated_table
from obliquebart import plots

X, Z, Y = treated_table()


@pytest.fixture(scope="module")
def model():
    return causal_model().fit(X, Y, Z)


@pytest.fixture(scope="module")
def several_arms():
    propensity = np.full((len(Z), 2), 1 / 3)
    return causal_model().fit(X, Y, np.arange(len(Z)) % 3, propensity=propensity)


def drawn(ax):
    ax.figure.canvas.draw()
    assert ax.get_xlabel()
    assert ax.get_ylabel() or ax.get_yticks().size
    return ax


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_effects_are_ranked(model):
    ax = drawn(plots.effect_ranking(model, X))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.sort(model.effect(X)))
    assert ax.lines[1].get_ydata()[0] == pytest.approx(model.ate(X).mean)
    assert ax.get_ylabel() == "effect of 1 against 0 on score"
    assert labels(ax) == ["95% interval", "effect at a row", "average", "no effect"]


def test_groups_are_listed_with_their_rows(model):
    found = model.effect_by(X, "g")
    ax = drawn(plots.subgroups(found))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [group.mean for group in found])
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [f"{group.group} ({group.n_rows})" for group in found]
    again = plots.subgroups(model, X, "g", ax=plt.subplots()[1])
    np.testing.assert_allclose(again.lines[0].get_xdata(), ax.lines[0].get_xdata())
    with pytest.raises(ValueError, match="Pass the column"):
        plots.subgroups(model, X)


def test_overlap_has_an_outline_per_arm_and_marks(model):
    found = model.overlap()
    ax = drawn(plots.overlap(model))
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    for a, patch in enumerate(outlines):
        expected, _ = np.histogram(found.propensity[found.arm == a, 0], 30, (0, 1))
        np.testing.assert_allclose(patch.get_data().values, expected / (found.arm == a).sum())
    assert len({patch.get_linestyle() for patch in outlines}) == 2
    n_without = len(found.rows)
    assert len(labels(ax)) == 2 + (n_without > 0)
    if n_without:
        assert len(ax.lines[0].get_xdata()) == n_without


def test_overlap_of_several_arms(several_arms):
    ax = drawn(plots.overlap(several_arms, arm=2))
    assert ax.get_xlabel() == "propensity: probability of 2"
    assert len(labels(ax)) == 3
    with pytest.raises(ValueError, match="arm=0 must be one of"):
        plots.overlap(several_arms, arm=0)


def test_columns_of_several_arms(several_arms):
    for arm in (1, 2):
        ax = drawn(plots.importance(several_arms, arm=arm))
        expected = [row.share for row in several_arms.importance(arm=arm)]
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), expected)
        ax = drawn(plots.effects(several_arms, X, "b", arm=arm))
        expected = several_arms.effects(X, "b", arm=arm)
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), expected.mean)
    for call in (plots.importance, lambda *given, **more: plots.effects(*given, "b", **more)):
        with pytest.raises(ValueError, match="say which with arm="):
            call(several_arms, X)
        with pytest.raises(ValueError, match="arm=0 must be one of"):
            call(several_arms, X, arm=0)
        with pytest.raises(ValueError, match="arm=1 requires a fitted ObliqueBARTCausal"):
            call(small_models.regressor(), X, arm=1)


def test_the_average_of_the_ranking_has_the_weights_of_the_rows():
    weights = np.where(X["b"] > 0, 9.0, 1.0)
    model = causal_model(propensity=None).fit(X, Y, Z, sample_weight=weights)
    average = plots.effect_ranking(model).lines[1].get_ydata()[0]
    assert average == pytest.approx(model.ate().mean)
    assert average > model.effect().mean() + 0.1
    average = plots.effect_ranking(model, X).lines[1].get_ydata()[0]
    assert average == pytest.approx(model.ate(X).mean)


@pytest.mark.parametrize("propensity", ["fitted", None])
def test_effects_have_no_evidence(propensity):
    numbers = X[["a", "b"]]
    model = causal_model(propensity=propensity).fit(numbers, Y, Z)
    with pytest.raises(ValueError, match=r"plots\.direction_map\(model\.effects_\[arm\], shape\)"):
        plots.evidence(model, numbers.iloc[0], shape=(2,))
    drawn(plots.direction_map(model.effects_[1], (2,)))


def test_effects_are_not_of_a_class():
    model = causal_model(propensity=None).fit(X, np.where(Y > 0, "yes", "no"), Z)
    with pytest.raises(ValueError, match="not for effects of a treatment"):
        plots.effects(model, X, "b", class_="no")


def test_prior_and_posterior(model):
    ax = drawn(plots.prior_and_posterior(model))
    assert labels(ax)[:2] == ["prior", "posterior"]
    prior, posterior = (patch.get_data().edges for patch in ax.patches[1::2])
    assert np.ptp(prior) > 3 * np.ptp(posterior)
    assert posterior[0] < model.ate().mean < posterior[-1]


def test_a_policy_is_a_point_on_its_curve(model):
    found = model.policy_value(X, cost=0.5)
    ax = drawn(plots.policy(found))
    np.testing.assert_allclose(ax.lines[0].get_xydata(), found.curve[:, :2])
    point = [line for line in ax.lines if line.get_marker() == "D"]
    assert point[0].get_xdata()[0] == found.share_treated
    assert point[0].get_ydata()[0] == found.gain.mean
    given = plots.policy(model, X, X["b"] > 0)
    assert given.lines[2].get_xdata()[0] == pytest.approx((X["b"] > 0).mean())


def test_sensitivity_has_the_curve_where_zero_is_reached(model):
    found = model.sensitivity()
    ax = drawn(plots.sensitivity(found))
    assert labels(ax) == ["95% interval includes 0", "no effect left"]
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(x * y, found.bias_to_include_zero)
    marked = [text.get_text() for text in ax.texts]
    assert "a" in marked


def test_other_models_have_no_effects():
    with pytest.raises(ValueError, match="use ObliqueBARTCausal"):
        plots.effect_ranking(small_models.regressor())
    with pytest.raises(ValueError, match="use ObliqueBARTCausal"):
        plots.overlap(small_models.regressor())


def test_the_effect_along_a_column(model):
    ax = drawn(plots.effects(model, X, "b"))
    assert ax.get_ylabel() == "average effect of 1 against 0 on score"
