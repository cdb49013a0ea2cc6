"""Answers of a causal model: averages, groups, policies, predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.causal import causal_model, treated_table
from obliquebart import UnseenLevelWarning

X, Z, Y = treated_table()


@pytest.fixture(scope="module")
def model():
    return causal_model().fit(X.assign(z=Z), Y, treatment="z")


@pytest.fixture(scope="module")
def binary():
    return causal_model(propensity=None).fit(X, np.where(Y > 0.5, "yes", "no"), Z)


@pytest.fixture(scope="module")
def dosed():
    dose = Z + np.random.default_rng(1).uniform(size=len(Z))
    return causal_model(propensity=None).fit(X, Y, dose)


@pytest.fixture(scope="module")
def arms():
    arm = np.array(["none", "low", "high"])[np.arange(len(Z)) % 3]
    outcome = Y + 2.0 * (arm == "high") + 1.0 * (arm == "low")
    return causal_model(propensity=None, control="none").fit(X, outcome, arm)


def test_effects_are_summaries_of_their_draws(model):
    draws = model.effect_draws(X)
    mean, interval = model.effect(X, return_interval=True, coverage=0.8)
    np.testing.assert_allclose(mean, draws.mean(axis=0))
    np.testing.assert_allclose(interval, np.quantile(draws, (0.1, 0.9), axis=0).T)
    np.testing.assert_array_equal(model.effect_interval(X, 0.8), interval)
    np.testing.assert_allclose(model.probability_above(X, 1.0), (draws > 1.0).mean(axis=0))
    np.testing.assert_array_equal(model.effect(), model.effect(X))


def test_averages_are_those_of_the_chosen_rows(model):
    draws = model.effect_draws(X)
    for found, rows in ((model.ate(), slice(None)), (model.att(), Z == 1), (model.atc(), Z == 0)):
        expected = draws[:, rows].mean(axis=1)
        np.testing.assert_allclose(found.draws, expected)
        assert found.mean == pytest.approx(expected.mean())
        assert found.n_rows == draws[:, rows].shape[1]
        assert found.low < found.mean < found.high
    np.testing.assert_allclose(model.att(X, Z).draws, model.att().draws)
    np.testing.assert_allclose(model.atc(X.assign(z=Z)).draws, model.atc().draws)
    weights = np.arange(len(Z))
    expected = np.average(draws, axis=1, weights=weights)
    np.testing.assert_allclose(model.ate(X, sample_weight=weights).draws, expected)
    text = str(model.ate())
    assert text.startswith("Average effect of 1 against 0 on score: ")
    assert "over 160 training rows" in text
    assert "over 160 rows" in str(model.ate(X))
    assert "treated rows" in model.att()._repr_html_()
    json.dumps(model.ate().to_dict())


def test_weights_of_fit_count_in_averages_over_the_training_rows():
    weights = np.where(np.arange(len(Z)) % 2, 3.0, 1.0)
    weights[:5] = 0.0
    model = causal_model(propensity=None).fit(X, Y, Z, weights)
    used = weights > 0
    expected = np.average(model.effect_draws(X[used]), axis=1, weights=weights[used])
    np.testing.assert_allclose(model.ate().draws, expected)
    assert model.ate().n_rows == used.sum()
    assert not np.allclose(model.ate(X[used]).draws, expected)


def test_predictions_differ_by_the_effect(model, binary, arms, dosed):
    for each, first, second in ((model, 0, 1), (binary, 0, 1)):
        difference = each.predict(X, second) - each.predict(X, first)
        np.testing.assert_allclose(difference, each.effect(X), atol=1e-6)
    for arm in ("low", "high"):
        difference = arms.predict(X, arm) - arms.predict(X, "none")
        np.testing.assert_allclose(difference, arms.effect(X, arm=arm), atol=1e-6)
    difference = dosed.predict(X, 2.0) - dosed.predict(X, 0.5)
    np.testing.assert_allclose(difference, dosed.effect(X, dose=(0.5, 2.0)), atol=1e-6)
    np.testing.assert_allclose(difference, 1.5 * dosed.effect(X), atol=1e-6)
    mixed = model.predict(X, Z)
    np.testing.assert_allclose(mixed, np.where(Z, model.predict(X, 1), model.predict(X, 0)))
    np.testing.assert_allclose(mixed, model.predict(X.assign(z=Z)))
    np.testing.assert_allclose(mixed, model.predict(X.assign(z=Z), "z"))
    np.testing.assert_allclose(mixed, model.predict())
    mean, interval = binary.predict(X, 1, return_interval=True)
    assert ((interval[:, 0] <= mean) & (mean <= interval[:, 1])).all()
    assert ((interval >= 0) & (interval <= 1)).all()


def test_a_dose_of_a_binary_outcome_depends_on_where_it_begins():
    dose = Z + np.random.default_rng(1).uniform(size=len(Z))
    model = causal_model(propensity=None).fit(X, Y > 0.5, dose)
    for change in ((0.0, 1.0), (3.0, 4.0)):
        expected = model.predict(X, change[1]) - model.predict(X, change[0])
        np.testing.assert_allclose(model.effect(X, dose=change), expected, atol=1e-6)
    at_mean = (float(dose.mean()), float(dose.mean()) + 1.0)
    np.testing.assert_allclose(model.effect(X), model.effect(X, dose=at_mean), atol=1e-6)
    assert abs(model.effect(X, dose=(3.0, 4.0)) - model.effect(X)).max() > 0.01


def test_names_of_comparisons(binary, dosed, arms):
    assert "effect of 1 against 0 on the probability of yes" in str(binary.ate())
    assert "effect of one unit more on score" in str(dosed.ate())
    assert "effect of 2 against 0.5 on score" in str(dosed.ate(dose=(0.5, 2)))
    assert "effect of high against none on score" in str(arms.ate(arm="high"))


def test_groups_by_levels_bins_and_limits(model):
    draws = model.effect_draws(X)
    found = model.effect_by(X, "g")
    assert [group.group for group in found] == ["u", "v"]
    for group in found:
        inside = (X["g"] == group.group).to_numpy()
        own, rest = draws[:, inside].mean(axis=1), draws[:, ~inside].mean(axis=1)
        assert group.n_rows == inside.sum()
        assert group.mean == pytest.approx(own.mean())
        assert group.difference == pytest.approx((own - rest).mean())
        assert group.probability_above_rest == pytest.approx((own > rest).mean())
    assert found["v"].difference_to_first == pytest.approx(found["v"].mean - found["u"].mean)
    assert found.overall == pytest.approx(draws.mean())
    quarters = model.effect_by(None, "b")
    assert [group.n_rows for group in quarters] == [40, 40, 40, 40]
    assert quarters[-1].mean > quarters[0].mean + 1.0
    assert quarters[-1].probability_above_rest > 0.95
    halves = model.effect_by(X, "b", bins=[0.0])
    assert [group.group for group in halves] == ["up to 0", "above 0"]
    assert halves[0].n_rows == (X["b"] <= 0).sum()
    only = model.effect_by(X, "g", levels=["v"])
    assert [group.group for group in only] == ["v"]
    # Rows of other groups are not shown, but they are still there.
    assert only.overall == pytest.approx(found.overall)
    assert only[0].difference == pytest.approx(found["v"].difference)
    assert only[0].difference_low == pytest.approx(found["v"].difference_low)
    assert "P(above the rest)" in str(quarters)
    json.dumps(quarters.to_dict())


def test_a_group_of_all_rows_and_levels_that_training_did_not_have(model):
    everyone = model.effect_by(X[X["g"] == "u"], "g")
    assert np.isnan(everyone[0].difference)
    assert (
        json.loads(json.dumps(everyone.to_dict(), allow_nan=False))["groups"][0]["difference"]
        is None
    )
    table = X.assign(g=np.where(X["a"] > 0, "new", X["g"]))
    with pytest.warns(UnseenLevelWarning):
        found = model.effect_by(table, "g")
    with pytest.warns(UnseenLevelWarning):
        assert found.overall == pytest.approx(model.ate(table).mean)


def test_groups_of_a_wide_column():
    wide = np.random.default_rng(0).choice([0, 1, 2, 3_000_000], len(X))
    model = causal_model(propensity=None).fit(X.assign(wide=wide), Y, Z)
    groups = model.effect_by(None, "wide", bins=5)
    assert [group.n_rows for group in groups] == np.unique(wide, return_counts=True)[1].tolist()
    with pytest.raises(ValueError, match="bins='x' must be a number of bins"):
        model.effect_by(None, "wide", bins="x")


def test_a_column_that_is_missing_everywhere(model):
    (group,) = model.effect_by(X.assign(b=np.nan), "b")
    assert (group.group, group.n_rows) == ("missing", len(X))


def test_levels_that_are_numbers():
    table = X.assign(n=np.arange(len(X)) % 2 + 0.5 * (np.arange(len(X)) % 3 == 0))
    model = causal_model(propensity=None, categorical_features=["n", "g"]).fit(table, Y, Z)
    assert [g.group for g in model.effect_by(table, "n", levels=[1.0, 0.5])] == ["1", "0.5"]


def test_missing_values_and_few_values_are_groups():
    table = X.assign(n=np.arange(len(X)) % 3.0)
    table.loc[::5, "b"] = np.nan
    table.loc[::7, "g"] = None
    model = causal_model(propensity=None).fit(table, Y, Z)
    assert [group.group for group in model.effect_by(table, "n")] == ["0", "1", "2"]
    assert model.effect_by(table, "b")[-1].group == "missing"
    assert model.effect_by(table, "b")[-1].n_rows == table["b"].isna().sum()
    assert [group.group for group in model.effect_by(table, "g")] == ["u", "v", "missing"]


def test_a_policy_gains_what_its_rows_gain(model):
    draws = model.effect_draws(X)
    found = model.policy_value(X, X["b"] > 0, cost=0.5)
    gain = ((draws - 0.5) * (X["b"] > 0).to_numpy()).mean(axis=1)
    assert found.gain.mean == pytest.approx(gain.mean())
    assert found.gain.low == pytest.approx(np.quantile(gain, 0.025))
    assert found.treat_all.mean == pytest.approx(draws.mean() - 0.5)
    assert found.against_all.mean == pytest.approx(gain.mean() - draws.mean() + 0.5)
    assert found.share_treated == pytest.approx((X["b"] > 0).mean())
    best = model.policy_value(X, cost=0.5)
    np.testing.assert_array_equal(best.treated, model.effect(X) > 0.5)
    assert best.gain.mean == pytest.approx(np.maximum(model.effect(X) - 0.5, 0).mean())
    again = model.policy_value(X, lambda table: table["b"] > 0, cost=0.5)
    assert again.gain == found.gain
    # The curve begins with no rows, ends with all, and is highest near the default policy.
    assert best.curve[0] == pytest.approx(0.0)
    assert best.curve[-1, 1] == pytest.approx(best.treat_all.mean)
    assert best.curve[:, 1].max() == pytest.approx(best.gain.mean, abs=0.02)
    assert "the policy against all" in str(best)
    json.dumps(best.to_dict())


def test_importance_and_effects_are_about_the_effect(model, arms):
    assert model.importance()[0].column == "b"
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    curve = model.effects(X, "b", n_points=5)
    assert curve.mean[-1] > curve.mean[0] + 1.0
    assert str(curve).startswith("average effect of 1 against 0 on score by b")
    assert len(arms.importance(arm="low")) == 4
    assert arms.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="say which with arm="):
        arms.importance()


MISTAKES = {
    "coverage": (lambda m: m.ate(coverage=2.0), "coverage=2.0"),
    "dose": (lambda m: m.ate(dose=(0, 1)), "treatments are arms"),
    "arm": (lambda m: m.effect(X, arm=5), "arm=5 must be one of"),
    "weights": (lambda m: m.ate(X, sample_weight=[1.0]), "sample_weight has shape"),
    "treatments": (lambda m: m.att(X), "not a column of X"),
    "unknown": (lambda m: m.predict(X, 7), "is not one of those in fit"),
    "no column": (lambda m: m.predict(X, "w"), "neither an arm"),
    "given": (lambda m: m.att(None, Z), "leave treatment out"),
    "column": (lambda m: m.effect_by(X, "zz"), "no column 'zz'"),
    "bins": (lambda m: m.effect_by(X, "b", bins=[np.nan]), "numbers between them"),
    "levels": (lambda m: m.effect_by(X, "g", levels=["w"]), "must name groups of 'g'"),
    "policy": (lambda m: m.policy_value(X, [True]), "for each of the 160 rows"),
    "no table": (lambda m: m.policy_value(None, lambda x: x), "needs the table"),
    "propensity": (lambda m: m.effect(X, propensity=[0.5] * 160), "leave them out"),
    "none treated": (lambda m: m.att(X, np.zeros(160, int)), "no treated rows"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(model, name):
    call, message = MISTAKES[name]
    with pytest.raises(ValueError, match=message):
        call(model)


def test_doses_have_no_treated_rows(dosed):
    with pytest.raises(ValueError, match="att is for arms"):
        dosed.att()
    with pytest.raises(TypeError, match="dose='a' must be a number"):
        dosed.ate(dose=("a", 2))
    with pytest.raises(ValueError, match="must be a pair"):
        dosed.ate(dose=3)
    with pytest.raises(ValueError, match="a dose, which has no arms"):
        dosed.ate(arm=1)
