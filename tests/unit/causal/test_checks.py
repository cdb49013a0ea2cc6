"""Overlap, the prior of an average effect, sensitivity, and the g-formula."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from helpers.causal import causal_model, treated_table
from helpers.estimators import OPTIONS
from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    OverlapWarning,
    average_difference,
    load,
    plots,
)
from obliquebart.causal.answers import AverageEffect
from obliquebart.causal.overlap import overlap_of
from obliquebart.causal.sensitivity import Strength, sensitivity_of
from obliquebart.explain.evaluation import evaluate

X, Z, Y = treated_table()


@pytest.fixture(scope="module")
def model():
    return causal_model().fit(X, Y, Z)


def test_counterparts_are_counted_within_a_distance():
    propensity = np.array([[0.2, 0.5, 0.5, 0.5, 0.59, 0.9, 0.61, 0.62, 0.63]])
    treated = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 1.0]])
    found = overlap_of(["no", "yes"], treated, propensity)
    # Of arms this small one row within 0.1 is enough.
    expected = [[False, True]] + [[False, False]] * 4 + [[True, False]] * 4
    assert found.without.tolist() == expected
    assert found.rows.tolist() == [0, 5, 6, 7, 8]
    assert found.share == pytest.approx(5 / 9)
    assert "5 of 9 rows (55.6%)" in found.in_words()
    assert "(1 with no, 4 with yes)" in found.in_words()


def test_copies_of_a_row_are_one_counterpart():
    propensity = np.concatenate([[0.3], np.full(2, 0.35), np.full(200, 0.7)])
    treated = np.concatenate([[0.0], np.ones(202)])
    rows = np.repeat(np.arange(203), np.where(np.arange(203) == 1, 9, 1))
    found = overlap_of(["no", "yes"], treated[None, rows], propensity[None, rows], rows)
    assert found.without[0, 1]
    assert found.n_different == 203
    # Of rows that nothing is known about, equal ones are different rows.
    assert not overlap_of(["no", "yes"], treated[None, rows], propensity[None, rows]).without[0, 1]


def test_copies_are_not_enough_rows_for_a_warning():
    z = np.arange(30) % 2
    share = np.where(z, 0.95, 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverlapWarning)
        model = causal_model().fit(X[:30], Y[:30] > 0.5, z, np.full(30, 5), propensity=share)
    assert model.overlap().share == 1.0


@pytest.mark.parametrize(("n_near", "enough"), [(2, False), (3, True)])
def test_large_arms_need_three_counterparts(n_near, enough):
    propensity = np.concatenate([[0.3], np.full(n_near, 0.35), np.full(200, 0.7)])
    treated = np.concatenate([[0.0], np.ones(n_near + 200)])
    found = overlap_of([0, 1], treated[None], propensity[None])
    assert found.without[0, 1] == (not enough)


@pytest.mark.parametrize(("other", "similar"), [(0.011, True), (0.029, True), (0.031, False)])
def test_small_propensities_differ_by_a_factor(other, similar):
    treated = np.repeat([0.0, 1.0], 4)
    for values in ([0.01] * 4 + [other] * 4, [0.99] * 4 + [1 - other] * 4):
        found = overlap_of([0, 1], treated[None], np.array([values]))
        assert found.share == (0.0 if similar else 1.0)


def test_several_arms_are_compared_in_pairs():
    n = 12
    doses = np.stack([np.arange(n) % 3 == 1, np.arange(n) % 3 == 2]).astype(float)
    same = np.full((2, n), 0.3)
    assert overlap_of([0, 1, 2], doses, same).share == 0.0
    # Rows of the last arm were more likely to be in it; the others compare with each other.
    apart = same + np.stack([-0.2 * doses[1], 0.4 * doses[1]])
    found = overlap_of([0, 1, 2], doses, apart)
    assert found.without[doses[1] == 1].tolist() == [[True, True, False]] * 4
    assert found.without[doses[1] == 0, 2].all()
    assert not found.without[doses[1] == 0, :2].any()
    assert "Propensity of 2 by arm" in str(found)


def test_an_arm_without_rows(model):
    found = model.overlap(X[:5], np.zeros(5, int))
    assert "–" in str(found)
    assert np.isnan(found.quantiles()[1]).all()
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(ValueError, match="sensitivity needs rows of both arms"):
        model.sensitivity(X[:5], np.zeros(5, int))


def test_overlap_of_a_model(model):
    found = model.overlap()
    assert found.arm.tolist() == Z.tolist()
    np.testing.assert_array_equal(found.propensity, model.overlap(X, Z).propensity)
    assert found.quantiles()[1, 1] > found.quantiles()[0, 1]
    assert "without counterparts" in found._repr_html_()
    json.dumps(found.to_dict())


def test_overlap_needs_arms_and_propensities():
    plain = causal_model(propensity=None).fit(X, Y, Z)
    with pytest.raises(ValueError, match="fitted without propensities"):
        plain.overlap()
    given = plain.overlap(propensity=np.full(len(Z), 0.5))
    assert given.share == 0.0
    dosed = causal_model(propensity=None).fit(X, Y, Y + Z)
    with pytest.raises(ValueError, match="treatment is a dose"):
        dosed.overlap()


def test_fit_warns_of_rows_without_counterparts():
    propensity = np.where(X["a"] > 0, 0.9, 0.1)
    treated = (X["a"] > 0).to_numpy().astype(int)
    with pytest.warns(OverlapWarning, match=r"160 of 160 rows .* Rows 0, 1, 2, .*leave such rows"):
        causal_model().fit(X, Y, treated, propensity=propensity)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverlapWarning)
        causal_model().fit(X, Y, Z, propensity=np.full(len(Z), 0.5))
        causal_model(propensity=None).fit(X, Y, treated)


def test_rows_without_counterparts_have_the_numbers_of_the_user(tmp_path):
    """Rows of weight zero are in the table, too, and whole weights of labels repeat rows."""
    row = np.arange(100)
    a = np.linspace(-2, 2, 100)
    table = np.stack([a, np.sin(5 * a)], axis=1)
    z = np.where(row < 60, row % 2, 1)
    propensity = np.where(row < 60, 0.5, 0.95)
    weights = np.where(row % 10 < 3, 0.0, 2.0)
    weights[75] = 1.0
    lonely = np.flatnonzero((row >= 60) & (weights > 0))
    words = f"Rows {', '.join(map(str, lonely[:10]))}, …"
    for y in (a + z, a + z > 0.5):
        with pytest.warns(OverlapWarning, match=words):
            model = causal_model().fit(table, y, z, weights, propensity=propensity)
        model.save(tmp_path / "m.obart", include_data=True)
        for each in (model, load(tmp_path / "m.obart")):
            assert each.overlap().rows.tolist() == lonely.tolist()
            plots.overlap(each)
        # Of rows that are passed, their positions.
        shown = model.overlap(table[30:], z[30:], propensity=propensity[30:])
        assert shown.rows.tolist() == list(range(30, 70))


@pytest.fixture(scope="module")
def given():
    """A model of labels with given propensities, and some rows with theirs."""
    propensity = np.full(len(Z), 0.5)
    model = causal_model().fit(X, Y > 0.5, Z, propensity=propensity)
    return model, X.iloc[:120], Z[:120], propensity[:120]


def test_the_summary_takes_propensities(given):
    model, rows, _, propensity = given
    with pytest.raises(ValueError, match="pass those of the rows with propensity="):
        model.summary(rows)
    assert model.summary(rows, propensity=propensity).verdict
    everything = model.summary(X, propensity=np.full(len(X), 0.5), rows=[3])
    assert str(everything) == str(model.summary(rows=[3]))


PLOTS = {
    "effect_ranking": lambda m, x, _, p: plots.effect_ranking(m, x, propensity=p),
    "subgroups": lambda m, x, _, p: plots.subgroups(m, x, "b", propensity=p),
    "overlap": lambda m, x, z, p: plots.overlap(m, x, z, propensity=p),
    "prior_and_posterior": lambda m, x, _, p: plots.prior_and_posterior(m, x, propensity=p),
    "policy": lambda m, x, _, p: plots.policy(m, x, propensity=p),
    "sensitivity": lambda m, x, z, p: plots.sensitivity(m, x, z, propensity=p),
}


@pytest.mark.parametrize("name", PLOTS)
def test_plots_take_propensities(name, given):
    model, rows, treatment, propensity = given
    with pytest.raises(ValueError, match="pass those of the rows with propensity="):
        PLOTS[name](model, rows, treatment, None)
    assert PLOTS[name](model, rows, treatment, propensity).get_xlabel()


def test_the_prior_of_an_average_effect_is_as_stated():
    """That of a single row has a median of |effect| / |z| of one standard deviation of y."""
    model = causal_model(n_trees=20, propensity=None).fit(X, Y, Z)
    draws = model.prior_ate(n_draws=2000)
    assert draws.mean() == pytest.approx(0.0, abs=0.2)
    # Most trees are a root, so the average is nearly as wide as the effect of a row: the product of
    # two normals, whose standard deviation is 1 / 0.6745.
    assert 1.2 < draws.std() / Y.std() < 1.6
    np.testing.assert_array_equal(draws, model.prior_ate(n_draws=2000))
    assert not np.array_equal(draws, model.prior_ate(n_draws=2000, random_state=1))
    larger = causal_model(n_trees=20, propensity=None).fit(X, 100 * Y, Z).prior_ate(n_draws=2000)
    np.testing.assert_allclose(larger, 100 * draws, rtol=1e-4)


def test_the_prior_of_doses_and_of_binary_outcomes():
    dose = 10.0 * Y.to_numpy() + Z
    dosed = causal_model(propensity=None).fit(X, Y, dose)
    per_unit = dosed.prior_ate(n_draws=500)
    assert 0.8 < per_unit.std() * dose.std() / Y.std() < 2.0
    np.testing.assert_allclose(dosed.prior_ate(n_draws=500, dose=(1.0, 3.0)), 2 * per_unit)
    binary = causal_model().fit(X, Y > 0.5, Z)
    draws = binary.prior_ate(n_draws=500)
    assert abs(draws).max() < 1.0
    assert 0.05 < draws.std() < 0.3


def test_the_log_score_is_that_of_outcomes_under_their_treatments(model):
    f = model.posterior_.likelihood.noise_of(model.posterior_.trace)["sigma"]
    draws = model.effect_draws(X) * Z + np.concatenate(
        [f for _, f in model.posterior_.blocks(model._wide(X))], axis=1
    )
    density = np.exp(-0.5 * ((Y.to_numpy() - draws) / f) ** 2) / f / np.sqrt(2 * np.pi)
    expected = np.log(density.mean(axis=0))
    assert model.log_score(X, Y, treatment=Z) == pytest.approx(expected.mean(), rel=1e-4)
    weights = np.arange(len(Z))
    weighted = model.log_score(X, Y, weights, treatment=Z)
    assert weighted == pytest.approx(np.average(expected, weights=weights), rel=1e-4)
    labels = np.where(Y > 0.5, "yes", "no")
    binary = causal_model(propensity=None).fit(X.assign(z=Z), labels, "z")
    p = binary.predict(X, Z)
    expected = np.log(np.where(labels == "yes", p, 1 - p)).mean()
    assert binary.log_score(X.assign(z=Z), labels) == pytest.approx(expected, rel=1e-4)


def test_given_propensities_are_exported_to_arviz():
    pytest.importorskip("arviz")
    propensity = np.linspace(0.2, 0.8, len(Z))
    model = causal_model().fit(X, Y > 0.5, Z, propensity=propensity)
    found = model.to_arviz(X, rows=[3], propensity=propensity).posterior
    mean = model.effect(X, propensity=propensity)[3]
    assert float(found["effect"].mean()) == pytest.approx(mean, rel=1e-5)


def test_effects_are_exported_to_arviz(model):
    pytest.importorskip("arviz")
    found = model.to_arviz(X, rows=[0, 7]).posterior
    expected = model.effect_draws(X).reshape(2, 25, -1)[:, :, [0, 7]]
    np.testing.assert_allclose(found["effect"].values[..., 0], expected, rtol=1e-5)
    assert found["arm"].values.tolist() == ["1 against 0"]
    assert "sigma" in model.to_arviz().posterior
    with pytest.raises(ValueError, match="leave y and"):
        model.to_arviz(X, Y)


def test_effects_cannot_be_compared_with_outcomes(model):
    with pytest.raises(ValueError, match="never observed"):
        evaluate(model, X, Y)
    with pytest.raises(ValueError, match=r"pass an effect: plots\.surface"):
        plots.surface(model, X)


def average(low, high):
    draws = np.linspace(low, high, 1001)
    return AverageEffect.of_draws(draws, 0.95, 10)


def test_sensitivity_says_when_the_interval_includes_zero():
    effect = average(1.0, 3.0)
    found = sensitivity_of(effect, [])
    assert found.bias_to_include_zero == effect.low
    assert found.bias_to_reach_zero == pytest.approx(2.0)
    shift = effect.low / 0.2
    assert found.adjusted_interval(shift, 0.2)[0] == pytest.approx(0.0)
    i, j = 17, 29
    expected = 2.0 - found.shifts[i] * found.differences[j]
    assert found.adjusted[i, j] == pytest.approx(expected)
    negative = sensitivity_of(average(-3.0, -1.0), [])
    assert negative.bias_to_include_zero == pytest.approx(-effect.low)
    assert negative.adjusted.max() > 0
    nothing = sensitivity_of(average(-1.0, 3.0), [])
    assert nothing.bias_to_include_zero == 0.0
    assert "without any" in nothing.in_words()
    assert "20 percentage points more common" in found.in_words()
    possible = sensitivity_of(average(0.3, 0.5), [], 1.0)
    assert "more than possible" in str(possible)
    assert "decided the outcome" in possible.in_words()
    assert abs(possible.shifts).max() <= 1.0


def test_observed_columns_have_strengths(model):
    found = model.sensitivity()
    strengths = {each.column: each for each in found.observed}
    assert set(strengths) == {"a", "b", "c", "g"}
    assert found.observed[0].column == "a"
    upper = (X["a"] > X["a"].median()).to_numpy()
    difference = upper[Z == 1].mean() - upper[Z == 0].mean()
    assert strengths["a"].difference == pytest.approx(difference)
    assert strengths["a"].shift > 0.5
    assert strengths["a"].bias == pytest.approx(strengths["a"].shift * difference)
    assert abs(strengths["c"].bias) < 0.5 * strengths["a"].bias
    again = model.sensitivity(X, Z)
    assert again.observed == found.observed
    assert isinstance(again.observed[0], Strength)
    assert "observed columns, cut in two" in str(found)
    json.dumps(found.to_dict())


def test_the_g_formula_for_numbers():
    table = X.assign(z=Z)
    model = ObliqueBARTRegressor(**OPTIONS, random_state=0).fit(table, Y)
    found = average_difference(model, table, "z", (0, 1), coverage=0.8)
    draws = model.posterior_.predict(table.assign(z=1)) - model.posterior_.predict(
        table.assign(z=0)
    )
    np.testing.assert_allclose(found.draws, draws.mean(axis=1), atol=1e-5)
    assert found.low == pytest.approx(np.quantile(found.draws, 0.1))
    assert "z: 1 against 0, averaged over 160 rows" in str(found)
    levels = average_difference(model, table, "g", ["u", "v"])
    draws = model.predict(table.assign(g="v")) - model.predict(table.assign(g="u"))
    assert levels.mean == pytest.approx(draws.mean(), abs=1e-5)
    weights = np.arange(len(table))
    weighted = average_difference(model, table, 4, (0, 1), sample_weight=weights)
    by_row = model.predict(table.assign(z=1)) - model.predict(table.assign(z=0))
    assert weighted.mean == pytest.approx(np.average(by_row, weights=weights), abs=1e-5)
    json.dumps(levels.to_dict())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_g_formula_for_classes(n_classes):
    table = np.column_stack([X[["a", "b"]], Z])
    labels = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    model = ObliqueBARTClassifier(**OPTIONS, random_state=0).fit(table, labels)
    found = average_difference(model, table, 2, (0, 1))
    ones, zeros = table.copy(), table.copy()
    ones[:, 2], zeros[:, 2] = 1, 0
    expected = (model.predict_proba(ones) - model.predict_proba(zeros)).mean(axis=0)
    if n_classes == 2:
        assert found.mean == pytest.approx(expected[1], abs=1e-6)
        assert found.differences[0].predicted == "probability of 1"
    else:
        np.testing.assert_allclose(found.mean, expected, atol=1e-6)
        assert [each.predicted for each in found.differences] == [
            f"probability of {k}" for k in range(3)
        ]


def test_the_g_formula_for_counts():
    table = X.assign(z=Z)
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * Z + 0.3 * X["a"]))
    model = ObliqueBARTCountRegressor(**OPTIONS, random_state=0).fit(table, counts)
    expected = (model.predict(table.assign(z=1)) - model.predict(table.assign(z=0))).mean()
    assert average_difference(model, table, "z", (0, 1)).mean == pytest.approx(expected, abs=1e-5)


def test_mistakes_of_the_g_formula(model):
    table = X.assign(z=Z)
    regressor = ObliqueBARTRegressor(**OPTIONS, random_state=0).fit(table, Y)
    for message, call in (
        ("use model.ate", lambda: average_difference(model, X, "a", (0, 1))),
        ("must be a pair", lambda: average_difference(regressor, table, "z", (0, 1, 2))),
        ("not a level of 'g'", lambda: average_difference(regressor, table, "g", ("u", "w"))),
        ("must be numbers", lambda: average_difference(regressor, table, "a", ("u", "w"))),
        ("no column 'zz'", lambda: average_difference(regressor, table, "zz", (0, 1))),
    ):
        with pytest.raises(ValueError, match=message):
            call()
