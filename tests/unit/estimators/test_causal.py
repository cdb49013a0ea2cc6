"""ObliqueBARTCausal: what it takes, what it refuses, and that it finds known effects."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from helpers.causal import causal_model, treated_table
from obliquebart import ObliqueBARTCausal, load

X, Z, Y = treated_table()
TABLE = X[["a", "b", "c"]].to_numpy()
ARMS = np.array(["none", "low", "high"])[np.arange(len(Z)) % 3]


def test_the_known_effect_is_found():
    table, treated, outcome = treated_table(600, seed=3)
    model = causal_model(n_trees=50, n_effect_trees=20, n_burn=200, n_draws=100)
    average = model.fit(table, outcome, treated).ate()
    truth = 1 + table["b"].to_numpy()
    # Four standard deviations of the posterior.
    assert abs(average.mean - truth.mean()) < 4 * average.sd
    assert 0.03 < average.sd < 0.12
    assert np.corrcoef(model.effect(), truth)[0, 1] > 0.95
    # The plain difference of the arms is confounded by a.
    plain = outcome[treated == 1].mean() - outcome[treated == 0].mean()
    assert plain - truth.mean() > 4 * average.sd


def test_containers_and_ways_to_name_the_treatment_are_the_same():
    expected = causal_model().fit(X, Y, Z).effect_draws(X)
    with_column = X.assign(z=Z)
    for table in (with_column, pl.from_pandas(with_column), with_column.to_dict("list")):
        model = causal_model().fit(table, Y.to_numpy(), treatment="z")
        np.testing.assert_array_equal(model.effect_draws(table), expected)
        np.testing.assert_array_equal(model.effect_draws(X), expected)
        assert model.n_features_in_ == 4
        assert model.feature_names_in_.tolist() == ["a", "b", "c", "g"]
    for treated in (Z.tolist(), Z == 1, pd.Series(Z), Z.astype(float), Z[:, None]):
        model = causal_model().fit(X, Y, treated)
        np.testing.assert_array_equal(model.effect_draws(X), expected)


def test_labels_of_arms_do_not_matter():
    expected = causal_model().fit(X, Y, Z)
    named = causal_model(control="placebo").fit(X, Y, np.where(Z == 1, "drug", "placebo"))
    np.testing.assert_array_equal(named.effect_draws(X), expected.effect_draws(X))
    assert named.treatment_.arms.tolist() == ["placebo", "drug"]
    turned = causal_model(control=1).fit(X, Y, Z)
    assert turned.ate().mean == pytest.approx(-expected.ate().mean, abs=0.4)


def test_draws_do_not_depend_on_jobs():
    one = causal_model(n_jobs=1).fit(X, Y, Z)
    two = causal_model(n_jobs=2).fit(X, Y, Z)
    np.testing.assert_array_equal(one.effect_draws(X), two.effect_draws(X))
    np.testing.assert_array_equal(one.predict(X, 1), two.predict(X, 1))
    other = causal_model(random_state=1).fit(X, Y, Z)
    assert not np.array_equal(one.effect_draws(X), other.effect_draws(X))


@pytest.mark.parametrize("noise", ["constant", "student_t", "varying"])
def test_kinds_of_noise(noise):
    model = causal_model(noise=noise, propensity=None).fit(X, Y, Z)
    assert 0.5 < model.ate().mean < 1.5


def test_missing_values_and_categories():
    table = X.copy()
    table.loc[::4, "b"] = np.nan
    table.loc[::5, "g"] = None
    model = causal_model().fit(table, Y, Z)
    assert np.isfinite(model.effect_draws(table)).all()
    assert np.isfinite(model.effect(table.iloc[:1])).all()


def test_weights_of_zero_leave_rows_out():
    weights = np.ones(len(Z))
    weights[100:] = 0.0
    model = causal_model(propensity=None).fit(X, Y, Z, weights)
    same = causal_model(propensity=None).fit(X[:100], Y[:100], Z[:100])
    np.testing.assert_array_equal(model.effect_draws(X), same.effect_draws(X))
    assert model.ate().n_rows == 100


def test_whole_weights_of_labels_repeat_rows():
    times = 1 + np.arange(len(Z)) % 2
    labels = Y > 0.5
    model = causal_model(propensity=None).fit(X, labels, Z, times)
    assert model.ate().n_rows == times.sum()
    expected = np.average(model.effect_draws(X), axis=1, weights=times)
    np.testing.assert_allclose(model.ate().draws, expected)


@pytest.mark.parametrize("propensity", ["fitted", "cross_fitted"])
@pytest.mark.parametrize("times", [5, 1 + np.arange(len(Z)) % 5])
def test_propensities_do_not_use_weights(propensity, times):
    """Fits to rows that a weight repeats would learn the treatments of these rows."""
    # Ranks of columns depend on the weights, ranges do not.
    options = {"propensity": propensity, "feature_scaling": "range", "n_trees": 30}
    plain = causal_model(**options).fit(X, Y > 0.5, Z)
    weights = np.broadcast_to(times, len(Z))
    model = causal_model(**options).fit(X, Y > 0.5, Z, weights)
    found = model._propensities(X)
    np.testing.assert_array_equal(found, plain._propensities(X))
    rows = np.repeat(np.arange(len(Z)), weights)
    np.testing.assert_array_equal(model.overlap().propensity, found.T[rows])
    assert model.overlap().rows.tolist() == plain.overlap().rows.tolist()


def test_given_propensities_are_needed_where_the_outcome_is():
    share = np.linspace(0.2, 0.8, len(Z))
    model = causal_model().fit(X, Y > 0.5, Z, propensity=share)
    with pytest.raises(ValueError, match="pass those of the rows with propensity="):
        model.effect(X)
    assert model.effect(X, propensity=share).shape == (len(Z),)
    np.testing.assert_allclose(model.overlap().propensity[:, 0], share, atol=1e-6)
    numbers = causal_model().fit(X, Y, Z, propensity=share)
    np.testing.assert_array_equal(numbers.effect(X), numbers.effect(X, propensity=share))


def test_whether_numbers_are_arms_or_doses():
    rng = np.random.default_rng(0)
    for values, kind in (
        (Z, "arms"),
        (np.arange(len(Z)) % 5, "arms"),
        (np.arange(len(Z)) % 20, "dose"),
        (rng.uniform(size=len(Z)), "dose"),
        (Z + 0.5, "arms"),
    ):
        model = causal_model(propensity=None, n_burn=2, n_draws=2).fit(TABLE, Y, values)
        assert model.treatment_.kind == kind
    forced = causal_model(propensity=None, treatment_type="dose", n_burn=2, n_draws=2)
    assert forced.fit(TABLE, Y, Z).treatment_.kind == "dose"


def test_it_is_an_estimator():
    model = causal_model(control="none", noise="student_t")
    assert clone(model).get_params() == model.get_params()
    assert "n_effect_trees" in ObliqueBARTCausal().get_params()
    assert not hasattr(model, "score")
    fitted = causal_model().fit(X.assign(z=Z), Y, treatment="z")
    assert fitted.fit(TABLE, Y, Z).n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")
    assert "Fitted model" in fitted._repr_html_()


FIRST = np.arange(160) == 0
MISTAKES = {
    "a masked arm": (
        lambda m: m.fit(X, Y, np.ma.masked_array(Z, FIRST)),
        "treatment contains NaN (row 0)",
    ),
    "a masked label": (
        lambda m: m.fit(X, Y, np.ma.masked_array(np.asarray(ARMS, str), FIRST)),
        "treatment is missing at row 0",
    ),
    "a masked class": (
        lambda m: m.fit(X, np.ma.masked_array((Y > 0.5).astype(int), FIRST), Z),
        "y contains NaN (row 0)",
    ),
    "a masked propensity": (
        lambda m: m.fit(X, Y, Z, propensity=np.ma.masked_array(np.full(160, 0.5), FIRST)),
        "propensity is missing or infinite at row 0",
    ),
    "no treatment": (lambda m: m.fit(X, Y), "treatment is missing: call fit"),
    "one arm": (lambda m: m.fit(X, Y, np.ones(160)), "nothing to compare"),
    "one dose": (lambda m: m.fit(X, Y, np.full(160, 0.5)), "nothing to compare"),
    "one row in an arm": (lambda m: m.fit(X, Y, np.arange(160) == 3), "Only one row"),
    "a missing arm": (lambda m: m.fit(X, Y, [None, *ARMS[1:]]), "missing at row 0"),
    "a missing dose": (lambda m: m.fit(X, Y, [np.nan, *Y[1:]]), "treatment contains NaN"),
    "length": (lambda m: m.fit(X, Y, Z[:5]), "X has 160 rows"),
    "not a column": (lambda m: m.fit(X, Y, "z"), "is not a column of X"),
    "no names": (lambda m: m.fit(TABLE, Y, "z"), "X has no names"),
    "control": (lambda m: m.set_params(control="x").fit(X, Y, ARMS), "must be one of the treat"),
    "control of a dose": (
        lambda m: m.set_params(control=1).fit(X, Y, Y),
        "the treatment is a dose: leave it out",
    ),
    "text as dose": (
        lambda m: m.set_params(treatment_type="dose").fit(X, Y, ARMS),
        "A dose must be a number",
    ),
    "type": (lambda m: m.set_params(treatment_type="x").fit(X, Y, Z), "treatment_type='x'"),
    "outcome": (lambda m: m.set_params(outcome="x").fit(X, Y, Z), "outcome='x'"),
    "propensity": (lambda m: m.set_params(propensity="x").fit(X, Y, Z), "propensity='x'"),
    "range": (lambda m: m.fit(X, Y, Z, propensity=1.2 * Z), "from 0 to 1"),
    "shape": (lambda m: m.fit(X, Y, ARMS, propensity=Z), "must have (160, 2)"),
    "missing propensity": (
        lambda m: m.fit(X, Y, Z, propensity=np.where(Z, np.nan, 0.5)),
        "propensity is missing or infinite at row",
    ),
    "text propensity": (lambda m: m.fit(X, Y, Z, propensity=ARMS), "must be numbers"),
    "constant": (lambda m: m.fit(X, np.full(160, 2.0), Z), "All outcomes in y are equal"),
    "classes": (lambda m: m.fit(X, ARMS, Z), "y has 3 classes"),
    "noise of labels": (
        lambda m: m.set_params(noise="varying").fit(X, Y > 0, Z),
        "is for numbers, but y has two classes",
    ),
}


def test_a_model_without_its_training_data_can_be_looked_at():
    """`dir`, notebooks and completion look at every attribute."""
    again = pickle.loads(pickle.dumps(causal_model(propensity=None).fit(X, Y, Z)))
    assert "effect" in dir(again)
    assert again._repr_html_()


MISTAKES |= {
    "treatment in X": (
        lambda m: m.fit(X.assign(z=Z), Y, Z),
        "Column 'z' of X says exactly which treatment each row had",
    ),
    "treatment in X without names": (
        lambda m: m.fit(np.c_[X.select_dtypes("number"), Z], Y, Z),
        "no rows to compare. Leave it out of X.",
    ),
    "doses beyond all numbers": (
        lambda m: m.fit(X, Y, 1e200 * np.arange(len(Y))),
        "are out of range: use other units",
    ),
    "treatment in X, as text": (
        lambda m: m.fit(X.assign(arm=np.where(Z == 1, "yes", "no")), Y, Z),
        "pass treatment='arm'",
    ),
    "treatment in X twice": (
        lambda m: m.fit(X.assign(z=Z, drug=Z == 1), Y, "z"),
        "Column 'drug' of X",
    ),
    "several arms in X": (lambda m: m.fit(X.assign(arm=ARMS), Y, ARMS), "Column 'arm' of X"),
    "dose in X": (lambda m: m.fit(X.assign(dose=Y), Y + X["b"], Y), "Column 'dose' of X"),
    "log dose in X": (
        lambda m: m.fit(X.assign(dose=-np.log(Y - Y.min() + 1)), Y + X["b"], Y),
        "Column 'dose' of X",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    call, message = MISTAKES[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        call(causal_model(propensity=None, n_burn=2, n_draws=2))


def test_models_without_training_data_say_so(tmp_path):
    causal_model(propensity=None).fit(X, Y, Z).save(tmp_path / "m.obart")
    model = load(tmp_path / "m.obart")
    for call in (model.ate, model.overlap, model.sensitivity, model.importance):
        with pytest.raises(ValueError, match="loaded without its training data"):
            call()
    with pytest.raises(AttributeError, match="needs the training data"):
        _ = model.feature_importances_
    assert model.att(X, Z).n_rows == Z.sum()
    assert model.prior_ate(X, n_draws=5).shape == (5,)


def test_an_arm_whose_rows_have_no_weight_is_no_arm():
    with pytest.raises(ValueError, match="there is nothing to compare"):
        causal_model().fit(X, Y, Z, np.where(Z == 1, 0.0, 1.0))


def test_treatments_of_rows_must_be_as_many_as_rows():
    model = causal_model().fit(X, Y, Z)
    for wrong in ([1], Z[:10]):
        with pytest.raises(ValueError, match="treatment has shape"):
            model.att(X, wrong)
        with pytest.raises(ValueError, match="treatment has shape"):
            model.sensitivity(X, wrong)


def test_the_strength_of_a_column_has_what_goes_through_the_propensity():
    table, treated, outcome = treated_table(400, seed=5)
    model = causal_model(n_trees=30, n_burn=200, n_draws=100).fit(table, outcome, treated)
    (found,) = [each for each in model.sensitivity().observed if each.column == "a"]
    median = table["a"].median()
    low, high = (
        table["a"][table["a"] <= median].median(),
        table["a"][table["a"] > median].median(),
    )
    means = [model.predict(table.assign(a=value), 0).mean() for value in (low, high)]
    assert found.shift == pytest.approx(means[1] - means[0], rel=0.1)


def test_a_dose_has_no_sensitivity():
    model = causal_model(treatment_type="dose").fit(X, Y, np.linspace(0, 3, len(Y)))
    with pytest.raises(ValueError, match="compares arms"):
        model.sensitivity()


def test_columns_that_nearly_tell_the_treatment_are_columns():
    nearly = Z.copy()
    nearly[0] = 1 - nearly[0]
    table = X.assign(nearly=nearly, one=1.0, steps=np.round(Y))
    for treatment in (Z, Y.to_numpy()):
        model = causal_model(propensity=None, n_burn=2, n_draws=2)
        assert model.fit(table, Y + X["b"], treatment).n_features_in_ == 7


def _ordered(values, categories):
    return pd.Series(pd.Categorical(values, categories, ordered=True))


def _enum(values, categories):
    return pl.Series("values", list(values), dtype=pl.Enum(categories))


@pytest.mark.parametrize("ordered", [_ordered, _enum])
def test_the_order_of_categories_is_that_of_classes(ordered):
    label = np.where(Y > 0.5, "good", "bad")
    by_name = causal_model(propensity=None).fit(X, label, Z)
    assert by_name.ate().outcome == "the probability of good"
    reversed_order = ordered(label, ["good", "so-so", "bad"])
    model = causal_model(propensity=None).fit(X, reversed_order, Z)
    assert "bad" in model.ate().outcome
    assert model.ate().mean == pytest.approx(-by_name.ate().mean, abs=0.1)
    bad = label == "bad"
    assert model.predict(X, Z)[bad].mean() > model.predict(X, Z)[~bad].mean() + 0.2
    scores = [model.log_score(X, label, treatment=Z), by_name.log_score(X, label, treatment=Z)]
    assert scores[0] == pytest.approx(scores[1], abs=0.1)
    # The same order as that of names changes nothing.
    same = causal_model(propensity=None).fit(X, ordered(label, ["bad", "good"]), Z)
    np.testing.assert_array_equal(same.effect(), by_name.effect())


def test_chains_with_ordered_classes_go_on_from_a_file(tmp_path):
    y = _ordered(np.where(Y > 0.5, "good", "bad"), ["good", "bad"])
    model = causal_model(propensity=None).fit(X, y, Z)
    model.save(tmp_path / "m.obart")
    loaded = load(tmp_path / "m.obart")
    assert loaded.ate(X).to_dict() == {**model.ate(X).to_dict()}
    expected = model.sample_more(5).effect(X)
    np.testing.assert_array_equal(loaded.sample_more(5, X, y, Z).effect(X), expected)


@pytest.mark.parametrize("ordered", [_ordered, _enum])
def test_the_first_category_is_the_control(ordered):
    arms = np.where(Z == 1, "drug", "placebo")
    order = ["nothing", "placebo", "drug"]
    model = causal_model(propensity=None).fit(X, Y, ordered(arms, order))
    assert model.treatment_.names == ["drug against placebo"]
    assert model.ate().mean > 0.5
    if ordered is _ordered:
        table = X.assign(arm=ordered(arms, order))
    else:
        table = pl.from_pandas(X).with_columns(ordered(arms, order).alias("arm"))
    named = causal_model(propensity=None).fit(table, Y, "arm")
    np.testing.assert_array_equal(named.effect(), model.effect())
    chosen = causal_model(propensity=None, control="drug").fit(X, Y, ordered(arms, order))
    assert chosen.treatment_.names == ["placebo against drug"]
    unordered = causal_model(propensity=None).fit(X, Y, pd.Series(arms, dtype="category"))
    assert unordered.treatment_.names == ["placebo against drug"]


def test_ordered_numbers_are_arms_in_their_order():
    doses = np.array([0.5, 1.5, 1.0])[np.arange(len(Z)) % 3]
    assert causal_model(propensity=None).fit(X, Y, doses).treatment_.arms is None
    ordered = _ordered(doses, [1.0, 0.5, 1.5])
    model = causal_model(propensity=None).fit(X, Y, ordered)
    assert model.treatment_.arms.tolist() == [1.0, 0.5, 1.5]


@pytest.mark.parametrize(
    ("values", "are_classes"), [((1, 2), True), ((-1.0, 1.0), True), ((0.5, 1.5), False)]
)
def test_two_whole_numbers_are_classes(values, are_classes):
    y = np.where(Y > 0.5, values[1], values[0])
    model = causal_model(propensity=None, n_burn=2, n_draws=2).fit(X, y, Z)
    assert model._fitted.likelihood.has_classes == are_classes
    number = causal_model(propensity=None, n_burn=2, n_draws=2, outcome="number").fit(X, y, Z)
    assert not number._fitted.likelihood.has_classes


def test_sample_more_says_what_differs(tmp_path):
    given = np.linspace(0.3, 0.6, len(Z))
    model = causal_model().fit(X, Y, Z, propensity=given)
    model.save(tmp_path / "m.obart")
    other = np.roll(Z, 1)
    for each in (model, load(tmp_path / "m.obart")):
        for changed, words in (
            ((X, Y, other, None, given), "treatment differs"),
            ((X, Y, Z, None, given + 0.1 * X["a"].gt(0)), "propensity differs"),
            ((X, Y, other, None, given + 0.1 * X["a"].gt(0)), "propensity and treatment differ"),
            ((X, np.roll(Y, 1), Z, None, given), "y differs"),
            ((X.assign(a=0.0), Y, Z, None, given), "X differs"),
            ((X, Y, Z, np.arange(len(Z)) + 1.0, given), "sample_weight differs"),
        ):
            *data, propensity = changed
            with pytest.raises(ValueError, match=f"of fit, but {words}"):
                each.sample_more(2, *data, propensity=propensity)
    # Without the keys of its rows, a model cannot tell which of the two it is.
    model._fitted = model._fitted._replace(row_keys=None)
    with pytest.raises(ValueError, match="but y or treatment differs"):
        model.sample_more(2, X, Y, other, propensity=given)
