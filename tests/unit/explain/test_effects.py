"""Effect curves: against plain predictions of tables with one value in a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers import estimators, small_models
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, load
from obliquebart.exceptions import ConstantOutcomeWarning
from obliquebart.explain.effects import Effect


def plain(predict, X, column, points):
    """Return draws of the average prediction (draws, points, ...)."""
    return np.stack([predict(X.assign(**{column: point})).mean(axis=1) for point in points], axis=1)


def check(effect: Effect, draws, average) -> None:
    draws = draws - average[:, None] if effect.centered else draws
    np.testing.assert_allclose(effect.draws, draws, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(effect.mean, draws.mean(axis=0), rtol=1e-4, atol=1e-5)
    low, high = np.quantile(draws, (0.05, 0.95), axis=0)
    np.testing.assert_allclose(effect.low, low, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(effect.high, high, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("column", ["age", "bmi", "colour"])
def test_a_regression_is_that_of_plain_predictions(column, centered):
    X, _ = small_models.mixed_table()
    model = small_models.regressor()
    effect = model.effects(X, column, n_points=7, centered=centered, max_draws=10_000)
    predict = model.posterior_.predict
    check(effect, plain(predict, X, column, effect.points), predict(X).mean(axis=1))
    assert effect.kind == ("categorical" if column == "colour" else "continuous")
    posterior = model.posterior_.effects(
        X, column, n_points=7, centered=centered, max_draws=10_000, n_jobs=2
    )
    np.testing.assert_array_equal(posterior.draws, effect.draws)


def test_values_far_apart_stay_apart():
    """The digits of a wide column are not rounded away, and the curve is at the values shown."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"wide": rng.choice([0, 1, 2, 3_000_000], 200), "b": rng.uniform(size=200)})
    y = 1.0 * (X["wide"] == 2) + X["b"]
    model = ObliqueBARTRegressor(**{**estimators.OPTIONS, "n_burn": 100}, soft=False).fit(X, y)
    effect = model.effects(X, "wide", max_draws=10_000)
    assert effect.points.tolist() == [0, 1, 2, 3_000_000]
    predict = model.posterior_.predict
    check(effect, plain(predict, X, "wide", effect.points), predict(X).mean(axis=1))
    assert effect.mean[2] > effect.mean[1] + 0.3


@pytest.mark.parametrize("column", ["age", "colour"])
def test_two_classes_in_units_of_probability(column):
    X, _ = small_models.mixed_table()
    model = small_models.classifier()
    effect = model.effects(X, column, n_points=6, max_draws=10_000)

    def predict(table):
        return model.predict_proba(table, return_draws=True)[..., 1]

    check(effect, plain(predict, X, column, effect.points), predict(X).mean(axis=1))
    assert effect.classes == ("low",)
    assert effect.quantity() == "average probability of low"
    assert effect.quantity("blood pressure") == "average probability that blood pressure is low"


def test_more_classes_sum_to_one():
    model, X, _ = small_models.three_classes()
    column = "petal length (cm)"
    effect = model.effects(X, column, n_points=5, max_draws=10_000)

    def predict(table):
        return model.predict_proba(table, return_draws=True)

    check(effect, plain(predict, X, column, effect.points), predict(X).mean(axis=1))
    assert effect.mean.shape == (5, 3)
    np.testing.assert_allclose(effect.mean.sum(axis=1), 1, atol=1e-5)
    assert effect.classes == ("setosa", "versicolor", "virginica")
    assert effect.mean[0, 0] > effect.mean[-1, 0]
    headings = str(effect).splitlines()[2].split()
    assert [word for word in headings if word in effect.classes] == list(effect.classes)
    of_class = model.posteriors_["setosa"].effects(X, column, n_points=5)
    assert of_class.mean.shape == (5,)
    assert not of_class.is_probability  # the score of a class in a joint model


def test_missing_values_are_a_point_of_their_own():
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame({"number": rng.uniform(size=n), "group": rng.choice(["a", "b", None], n)})
    X.loc[rng.random(n) < 0.3, "number"] = np.nan
    y = 5.0 * X["number"].isna() + 3.0 * X["group"].isna() + rng.normal(size=n) / 10
    model = estimators.regressor(n_burn=200).fit(X, y)
    number, group = model.effects(X, "number"), model.effects(X, "group")
    assert number.is_missing.tolist() == [False] * (len(number.points) - 1) + [True]
    assert number.mean[-1] > number.mean[:-1].max() + 3
    assert number.n_rows[-1] == X["number"].isna().sum()
    assert number.labels[-1] == group.labels[-1] == "missing"
    assert group.points.tolist()[-1] is None
    assert group.mean[-1] > group.mean[:-1].max() + 2
    assert group.n_rows.sum() == n
    # Without missing values in X there is no such point for a number.
    full = X[X["number"].notna()]
    assert not model.effects(full, "number").is_missing.any()
    assert model.effects(full, "number").to_dict()["points"] == list(
        model.effects(full, "number").points
    )
    assert number.to_dict()["points"][-1] is None


def test_points_of_a_number_are_its_values_or_quantiles_of_them():
    rng = np.random.default_rng(1)
    n = 300
    X = pd.DataFrame({"rooms": rng.integers(1, 6, n), "rent": rng.lognormal(6, 1, n)})
    model = ObliqueBARTRegressor(n_trees=10, n_burn=50, n_draws=20, n_chains=1, random_state=0)
    model.set_params(progress=False).fit(X, X["rooms"] + np.log(X["rent"]))
    np.testing.assert_array_equal(model.effects(None, "rooms").points, [1, 2, 3, 4, 5])
    points = model.effects(None, "rent", n_points=11).points
    assert len(points) == 11
    expected = np.quantile(X["rent"], np.linspace(0.01, 0.99, 11), method="inverted_cdf")
    np.testing.assert_allclose(points, expected, rtol=1e-3)
    np.testing.assert_array_equal(points, model.effects(X, 1, n_points=11).points)


def test_levels_are_in_an_order_that_reads_well():
    rng = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame({"shop": rng.choice(["a", "b", "c"], n), "code": rng.integers(0, 50, n)})
    y = X["shop"].map({"a": 0.0, "b": 5.0, "c": 2.0}) + X["code"] % 3 + rng.normal(size=n) / 10
    model = estimators.regressor(categorical_features=["shop", "code"], n_burn=150).fit(X, y)
    assert model.effects(X, "shop").points.tolist() == ["b", "c", "a"]
    codes = model.effects(X, "code", n_points=10)
    assert codes.points.tolist() == sorted(codes.points.tolist())
    # Those with most rows.
    assert codes.n_rows.min() >= X["code"].value_counts().sort_values().iloc[-10]


def test_thinned_rows_and_draws():
    X, _ = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    effect = posterior.effects(X, "age", max_draws=9, max_rows=20, n_points=5)
    rows = np.unique(np.linspace(0, len(X) - 1, 20).round().astype(int))
    draws = np.unique(np.linspace(0, 199, 9).round().astype(int))
    everything = plain(posterior.predict, X.iloc[rows], "age", effect.points)
    np.testing.assert_allclose(effect.draws, everything[draws], rtol=1e-4)
    narrow = posterior.effects(X, "age", max_draws=9, max_rows=20, n_points=5, coverage=0.5)
    assert (effect.high - effect.low > narrow.high - narrow.low).all()


def test_loaded_models_and_wrong_arguments(tmp_path):
    X, y = small_models.mixed_table()
    model = estimators.regressor().fit(X.assign(same=1.0), y)
    model.save(tmp_path / "model.obart")
    bare = load(tmp_path / "model.obart")
    with pytest.raises(ValueError, match=r"effects\(X, column\)"):
        bare.effects(None, "age")
    with pytest.raises(ValueError, match="no column 'old'"):
        model.effects(None, "old")
    with pytest.raises(ValueError, match="numbered 0 to 4"):
        model.effects(None, 9)
    with pytest.raises(TypeError, match="name or a position"):
        model.effects(None, 1.5)
    with pytest.raises(ValueError, match="single value"):
        model.effects(None, "same")
    with pytest.raises(ValueError, match="n_points"):
        model.effects(None, "age", n_points=1)
    with pytest.raises(ValueError, match="0 sample"):
        model.effects(X.assign(same=1.0)[:0], "age")
    with pytest.warns(ConstantOutcomeWarning, match="one class"):
        single = estimators.classifier().fit(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="single class"):
        single.effects(X, "age")


def test_left_out_levels_are_counted():
    X = pd.DataFrame({"street": [*"aaabbbccd"] * 5})
    y = np.arange(45.0) % 7
    model = ObliqueBARTRegressor(**estimators.OPTIONS).fit(X, y)
    effect = model.effects(X, "street", n_points=2)
    assert (sorted(effect.points), effect.n_left_out) == (["a", "b"], 2)
    note = "2 more levels with fewer rows: n_points=4 shows all."
    assert str(effect).endswith(f"\n\n{note}")
    assert f"<p>{note}</p>" in effect._repr_html_()
    assert effect.to_dict()["n_left_out"] == 2
    assert "1 more level with" in str(model.effects(X, "street", n_points=3))
    assert "more" not in str(model.effects(X, "street", n_points=4))


def test_a_few_classes_have_intervals_in_the_table():
    model, X, _ = small_models.three_classes()
    effect = model.effects(X, "petal length (cm)", n_points=2)
    lines = str(effect).splitlines()
    assert lines[2].count("90% interval") == 3
    mean, low, high = effect.mean[0, 2], effect.low[0, 2], effect.high[0, 2]
    assert lines[3].split()[-4:] == [f"{mean:.3g}", f"{low:.3g}", "to", f"{high:.3g}"]


def test_many_classes_say_where_the_intervals_are():
    labels = np.repeat([*"abcd"], 10)
    X = np.arange(40.0).reshape(-1, 1)
    effect = ObliqueBARTClassifier(**estimators.OPTIONS).fit(X, labels).effects(X, 0, n_points=3)
    assert "interval" not in str(effect).splitlines()[2]
    assert str(effect).endswith("records() and plots.effects have the intervals.")


def test_records_are_rows_of_a_data_frame():
    model, X, _ = small_models.three_classes()
    effect = model.effects(X, "petal length (cm)", n_points=5)
    frame = pd.DataFrame(effect.records())
    assert list(frame) == ["column", "value", "class", "mean", "low", "high", "n_rows"]
    wide = frame.pivot(index="value", columns="class", values="low")
    np.testing.assert_array_equal(wide, effect.low)
    np.testing.assert_array_equal(wide.index, effect.points)
    X, _ = small_models.mixed_table()
    effect = small_models.regressor().effects(X, "colour")
    frame = pd.DataFrame(effect.records())
    np.testing.assert_array_equal(frame["mean"], effect.mean)
    assert frame["value"].tolist() == effect.points.tolist()
    assert frame["n_rows"].sum() == len(X)


def test_it_prints_as_a_table():
    X, _ = small_models.mixed_table()
    text = str(small_models.regressor().effects(X, "colour"))
    lines = text.splitlines()
    assert lines[0] == "average prediction by colour"
    assert lines[2].split() == ["colour", "mean", "90%", "interval"]
    assert {line.split()[0] for line in lines[3:]} == set(small_models.COLOURS)
    centered = small_models.regressor().effects(X, "colour", centered=True)
    assert repr(centered).startswith("prediction by colour, difference from the average")
    assert centered.quantity("rent") == "predicted rent, difference from the average"
