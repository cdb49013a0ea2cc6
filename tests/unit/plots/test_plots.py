"""Pictures: every kind for every kind of model, on given or new Axes, readable without colour."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris

from helpers import estimators, small_models
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, plots
from obliquebart.explain.evaluation import ClassEvaluation, evaluate
from obliquebart.plots.style import ACCENT, PALETTE, SECOND, legend_above, line_styles, short_name


def cases():
    X, y = small_models.mixed_table()
    return {
        "regression": (small_models.regressor(), X, y),
        "two classes": (small_models.classifier(), X, np.where(y > 105, "high", "low")),
        "three classes": small_models.three_classes(),
    }


def drawn(ax):
    """The Axes hold something and the figure can be drawn."""
    assert isinstance(ax, Axes)
    assert ax.has_data() or ax.texts
    ax.figure.canvas.draw()
    return ax


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
@pytest.mark.parametrize("name", ["fit", "residuals", "calibration"])
def test_checks(kind, name):
    model, X, y = cases()[kind]
    ax = drawn(getattr(plots, name)(model, X, y))
    assert ax.get_xlabel()
    given = plt.subplots()[1]
    assert getattr(plots, name)(evaluate(model, X, y), ax=given) is given


def test_coverage():
    model, X, y = cases()["regression"]
    ax = drawn(plots.coverage(model, X, y))
    observed = ax.lines[-1].get_ydata()
    assert observed[0] == 0
    assert observed[-1] == 1
    assert (np.diff(observed) >= 0).all()
    model, X, y = cases()["two classes"]
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=r"plots\.calibration"):
        plots.coverage(model, X, y)
    assert len(plt.get_fignums()) == n_figures
    with pytest.raises(ValueError, match="Pass the table X"):
        plots.fit(model)


def test_fit_marks_what_lies_outside():
    model, X, y = cases()["regression"]
    outlier = y.copy()
    outlier[0] += 50
    evaluation = evaluate(model, X, outlier)
    crosses = plots.fit(evaluation).lines[1]
    assert crosses.get_marker() == "x"
    assert len(crosses.get_xdata()) == (~evaluation.covered).sum() >= 1


def test_trace():
    model = small_models.regressor()
    axes = plots.trace(model)
    assert len(axes) == 4
    for ax in axes:
        drawn(ax)
        assert len(ax.lines) >= 2
        assert "R-hat" in ax.get_title("left")
    # sigma starts with the burn-in.
    assert axes[0].lines[0].get_xdata()[0] == -150
    assert len(plots.trace(small_models.classifier().posterior_)) == 3
    given = plt.subplots()[1]
    assert plots.trace(model, ["depth"], [given])[0] is given
    with pytest.raises(ValueError, match="Unknown trace 'tau'"):
        plots.trace(model, ["tau"])
    with pytest.raises(ValueError, match="need 1 axes"):
        plots.trace(model, ["depth"], [])
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=r"names=\[\] is empty. Available: sigma"):
        plots.trace(model, [])
    assert len(plt.get_fignums()) == n_figures


def test_titles_of_traces_do_not_overlap():
    panels = plots.trace(small_models.three_classes()[0])
    figure = panels[0].figure
    figure.canvas.draw()
    titles = [panel._left_title.get_window_extent() for panel in panels]
    frames = [panel.get_window_extent() for panel in panels]
    assert all("R-hat" in panel.get_title("left") for panel in panels)
    for a, b in itertools.combinations(titles, 2):
        assert not a.overlaps(b)
    assert not any(title.overlaps(frame) for title in titles for frame in frames)
    assert all(title.x1 <= figure.bbox.x1 for title in titles)


def test_long_chains_are_thinned_for_the_eye():
    model = ObliqueBARTRegressor(n_trees=1, n_burn=0, n_draws=5000, n_chains=1, random_state=0).fit(
        [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    )
    line = plots.trace(model, ["sigma"])[0].lines[0]
    assert len(line.get_xdata()) <= 1000


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
def test_importance(kind):
    model, X, _ = cases()[kind]
    ax = drawn(plots.importance(model, top=2))
    table = model.importance()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [r.column for r in table[:2]]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [row.share for row in table[:2]])
    assert "2 of 4 columns" in ax.get_legend().get_title().get_text()
    given = plt.subplots()[1]
    assert plots.importance(model.importance(X), ax=given) is given


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
def test_effects_of_a_number(kind):
    model, X, _ = cases()[kind]
    name = X.columns[0]
    ax = drawn(plots.effects(model, X, name, target="it"))
    assert ax.get_xlabel() == name
    assert "it" in ax.get_ylabel()
    n_curves = 3 if kind == "three classes" else 1
    assert len(ax.collections) == n_curves  # bands
    effect = model.effects(X, name)
    mean = effect.mean.reshape(len(effect.points), -1)
    for k in range(n_curves):
        np.testing.assert_array_equal(ax.lines[k].get_ydata(), mean[:, k])
    assert len({line.get_linestyle() for line in ax.lines[:n_curves]}) == n_curves
    if kind == "three classes":
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts == ["setosa", "versicolor", "virginica"]
    given = plt.subplots()[1]
    assert plots.effects(effect, ax=given) is given
    with pytest.raises(ValueError, match="Pass the column"):
        plots.effects(model, X)


@pytest.mark.parametrize("kind", ["regression", "two classes"])
def test_effects_of_a_category(kind):
    model, X, _ = cases()[kind]
    ax = drawn(plots.effects(model, X, "colour", centered=True))
    effect = model.effects(X, "colour", centered=True)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(effect.points)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), effect.mean)
    assert "difference" in ax.get_xlabel()


def test_effects_of_many_levels_say_how_many_are_left_out():
    X = pd.DataFrame({"street": np.repeat([f"street {i:02d}" for i in range(37)], 2)})
    model = ObliqueBARTRegressor(**estimators.OPTIONS).fit(X, np.arange(74.0))
    ax = drawn(plots.effects(model, X, "street"))
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert len(labels) == 16
    assert labels[-1] == "22 more levels"
    assert len(ax.lines[0].get_xdata()) == 15


def test_effects_with_missing_values_and_many_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.uniform(size=240), "few": rng.integers(0, 3, 240)})
    X.loc[::4, "size"] = np.nan
    labels = np.array([f"class {i % 12}" for i in range(240)])
    model = estimators.classifier(n_burn=10, n_draws=10).fit(X, labels)
    ax = drawn(plots.effects(model, X, "size"))
    assert "missing" in [text.get_text() for text in ax.texts]
    assert "8 of 12 classes" in ax.get_legend().get_title().get_text()
    few = drawn(plots.effects(model, X, "few"))
    assert [tick.get_text() for tick in few.get_xticklabels()] == ["0", "1", "2"]
    X["few"] = X["few"].astype(str)
    named = estimators.classifier(n_burn=10, n_draws=10).fit(X, labels)
    levels = drawn(plots.effects(named, X, "few"))
    assert len({line.get_marker() for line in levels.lines}) == 8


def test_effects_of_a_column_that_is_always_missing():
    model, X, _ = cases()["regression"]
    X = X.assign(age=np.nan)
    ax = drawn(plots.effects(model, X, "age"))
    assert [text.get_text() for text in ax.texts] == ["missing"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == []
    assert ax.lines[-1].get_ydata() == model.effects(X, "age").mean


def test_effects_on_one_class():
    model, X, _ = cases()["three classes"]
    effect = model.effects(X, 2)
    for k, label in enumerate(model.classes_):
        for ax in (plots.effects(model, X, 2, class_=label), plots.effects(effect, class_=label)):
            np.testing.assert_array_equal(ax.lines[0].get_ydata(), effect.mean[:, k])
            assert ax.get_ylabel() == f"average probability of {label}"
            assert ax.get_legend() is None
    model, X, _ = cases()["two classes"]
    high, low = (plots.effects(model, X, "age", class_=label) for label in ("high", "low"))
    np.testing.assert_allclose(high.lines[0].get_ydata() + low.lines[0].get_ydata(), 1.0)
    tops = [np.max(ax.collections[0].get_paths()[0].vertices[:, 1]) for ax in (high, low)]
    assert all(
        top > ax.lines[0].get_ydata().max() for top, ax in zip(tops, (high, low), strict=True)
    )
    with pytest.raises(ValueError, match="'rose' is not a class"):
        plots.effects(model, X, "age", class_="rose")
    with pytest.raises(ValueError, match="requires a classifier"):
        plots.effects(small_models.regressor(), X, "age", class_="high")


def test_effects_of_many_levels_show_the_most_common():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.binomial(26, 0.5, 400).astype(str)})
    X.loc[:26, "town"] = [str(i) for i in range(27)]
    model = estimators.regressor(n_burn=10, n_draws=10).fit(X, rng.normal(size=400))
    ax = drawn(plots.effects(model, X, "town"))
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown[-1] == "12 more levels"
    assert set(shown[:-1]) == set(X["town"].value_counts().index[:15])
    assert len(ax.lines[0].get_xdata()) == 15


def test_inclusion():
    ax = drawn(plots.inclusion(small_models.regressor(), top=2))
    assert len(ax.get_yticks()) == 2
    assert "2 of 4 columns" in ax.get_legend().get_title().get_text()


def test_surface():
    model, X, _ = cases()["regression"]
    ax = drawn(plots.surface(model, X, ("age", "bmi")))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "bmi")
    values = ax.collections[0].get_array()
    # The jump: old and heavy is higher than young and light.
    assert values[-1, -1] > values[0, 0] + 5
    drawn(plots.surface(small_models.classifier(), X))
    for columns, message in (
        (("age", "colour"), "'colour' is categorical"),
        (("age", "weight"), "no column 'weight'"),
        ((0, 9), "numbered 0 to 3"),
        ((0, 0), "two different"),
    ):
        with pytest.raises(ValueError, match=message):
            plots.surface(model, X, columns)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_surfaces_have_the_weights_of_the_classes(n_classes, link):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X.iloc[50 * (3 - n_classes) :, :2], y[50 * (3 - n_classes) :]
    # So few draws that the surface has all of them, of two columns alone.
    weights = {2: 5.0}
    model = estimators.classifier(n_draws=10, link=link, class_weight=weights).fit(X, y)
    ax = plots.surface(model, X, class_=2)
    values = ax.collections[0].get_array()
    x, y = (np.linspace(*limits, len(values)) for limits in (ax.get_xlim(), ax.get_ylim()))
    names = [ax.get_xlabel(), ax.get_ylabel()]
    grid = pd.DataFrame(dict(zip(names, map(np.ravel, np.meshgrid(x, y)), strict=True)))[X.columns]
    np.testing.assert_allclose(values.ravel(), model.predict_proba(grid)[:, -1])
    if n_classes > 2:
        classes = plots.surface(model, X).collections[0].get_array()
        np.testing.assert_array_equal(classes.ravel(), model.predict(grid))


def test_surface_needs_two_columns():
    X = np.linspace(0, 1, 20).reshape(-1, 1)
    model = ObliqueBARTRegressor(**small_models.OPTIONS).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="two continuous columns"):
        plots.surface(model, X)


def test_tree():
    model, X, _ = cases()["regression"]
    trees = [model.posterior_.tree(-1, m, X) for m in range(20)]
    largest = max(trees, key=lambda tree: len(tree.leaves))
    texts = [text.get_text() for text in drawn(plots.tree(largest)).texts]
    n_leaves = len(largest.leaves)
    assert texts.count("yes") == texts.count("no") == n_leaves - 1
    assert sum("rows)" in text or "row)" in text for text in texts) == n_leaves
    drawn(plots.tree(model, draw=0, number=1))


def texts_of(ax):
    return [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), ax.get_title("left")]


def test_pictures_name_the_outcome():
    X, y = small_models.mixed_table()
    model = ObliqueBARTRegressor(**small_models.OPTIONS).fit(X, pd.Series(y, name="price"))
    evaluation = evaluate(model, X, y)
    for draw in (plots.fit, plots.residuals, plots.calibration):
        assert "price" in " ".join(texts_of(draw(evaluation)))
    ax = plots.surface(model, X)
    assert ax.figure.axes[1].get_ylabel() == "predicted price"
    assert "noise of price" in plots.trace(model, ["sigma"])[0].get_title("left")
    assert plots.effects(model, X, "age").get_ylabel() == "average predicted price"
    labels = np.where(y > 105, "high", "low")
    model = ObliqueBARTClassifier(**small_models.OPTIONS).fit(X, pd.Series(labels, name="level"))
    evaluation = evaluate(model, X, labels)
    assert plots.fit(evaluation).get_ylabel() == "probability that level is low"
    ax = plots.calibration(evaluation, class_="high")
    assert ax.get_xlabel().replace("\n", " ") == "predicted probability that level is high"
    ax = plots.surface(model, X, class_="high")
    assert ax.figure.axes[1].get_ylabel() == "probability that level is high"


def test_surfaces_span_their_data():
    model, X = small_models.classifier(), small_models.mixed_table()[0]
    second = plots.surface(model, X, ("age", "bmi"))
    mesh = second.collections[0]
    low, high = mesh.get_clim()
    assert (low, high) == (mesh.get_array().min(), mesh.get_array().max())
    assert 0 < low < high < 1
    first = plots.surface(model, X, ("age", "bmi"), class_="high").collections[0]
    np.testing.assert_allclose(first.get_array() + mesh.get_array(), 1.0)


def test_pictures_of_several_classes():
    model, X, y = cases()["three classes"]
    drawn(plots.tree(model))
    assert plots.tree(model, class_="virginica").get_title("left") == "virginica"
    everything = plots.inclusion(model, top=4)
    one = plots.inclusion(model, top=4, class_="setosa")
    shares = [sorted(ax.lines[0].get_xdata()) for ax in (everything, one)]
    assert shares[0] != shares[1]
    panels = plots.trace(model)
    assert len(panels) == 3 * 3
    assert panels[3].get_title("left").startswith("versicolor: θ")
    assert len(plots.trace(model, class_="setosa")) == 3
    # Where each class is the most probable, with its name there.
    ax = drawn(plots.surface(model, X, ("petal length (cm)", "petal width (cm)")))
    assert {text.get_text() for text in ax.texts} >= {"setosa", "virginica"}
    assert set(np.unique(ax.collections[0].get_array())) <= {0, 1, 2}
    parts = [
        plots.surface(model, X, (2, 3), class_=label).collections[0].get_array()
        for label in model.classes_
    ]
    np.testing.assert_allclose(sum(parts), 1.0)
    for name in ("calibration", "residuals"):
        drawn(getattr(plots, name)(model, X, y, class_="virginica"))


@pytest.mark.parametrize("call", [plots.tree, plots.inclusion, plots.trace])
def test_wrong_classes(call):
    with pytest.raises(ValueError, match=r"'rose' is not a class .* 'setosa', 'versicolor'"):
        call(cases()["three classes"][0], class_="rose")
    with pytest.raises(ValueError, match="requires a classifier"):
        call(small_models.regressor(), class_="rose")
    with pytest.raises(ValueError, match="requires a fitted estimator"):
        call(small_models.classifier().posterior_, class_="high")


@pytest.mark.filterwarnings("ignore:y contains only one class")
def test_a_single_class_has_nothing_to_draw():
    model = ObliqueBARTClassifier(**small_models.OPTIONS).fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="single class"):
        plots.tree(model)


def test_groups_of_calibration_are_spread_and_not_too_small():
    rng = np.random.default_rng(0)
    rare = np.concatenate([rng.beta(0.5, 30, 900), rng.uniform(0.1, 0.9, 60)])
    n = len(rare)
    evaluation = ClassEvaluation(
        codes=(rng.uniform(size=n) < rare).astype(np.intp),
        classes=np.array(["no", "yes"]),
        probability=np.stack([1 - rare, rare], axis=1),
        low=np.zeros((n, 2)),
        high=np.ones((n, 2)),
        coverage=0.9,
        n_table=n,
    )
    line = plots.calibration(evaluation).lines[-1]
    x = line.get_xdata()
    # Groups of equal size would leave one point above 10%.
    assert len(x) >= 4
    assert (np.diff(x) > 0.02).all()
    assert x[-1] > 0.5


def test_legends_have_columns_that_fit():
    ax = plt.subplots(figsize=(4.8, 3.4))[1]
    for label in ("a rather long name of a class", "another rather long name", "c", "d"):
        ax.plot([0, 1], [0, 1], label=label)
    legend_above(ax, 4)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().width < ax.figure.bbox.width
    assert ax.get_legend()._ncols < 4


def test_long_names_stay_distinct():
    names = [f"average_number_of_rooms_in_{place}" for place in ("houses", "flats")]
    short = [short_name(name) for name in names]
    assert len(set(short)) == 2
    assert all(len(name) == 24 for name in short)
    assert short_name("short") == "short"


def test_no_picture_needs_colour():
    def lightness(colour):
        return float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722]))

    assert abs(lightness(ACCENT) - lightness(SECOND)) > 0.2
    for n_chains in (2, 4, 8):
        for first, second in itertools.combinations(line_styles(n_chains), 2):
            differ = abs(lightness(first["color"]) - lightness(second["color"])) > 0.15
            assert differ or first["linestyle"] != second["linestyle"]
    assert len({tuple(style.values()) for style in line_styles(16)}) == 16


# Linear red, green and blue as those see them who lack the cones for red or for green (Viénot,
# Brettel and Mollon 1999), or nobody lacks.
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "no green": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}


@pytest.mark.parametrize("eyes", EYES)
def test_colours_of_classes_can_be_told_apart(eyes):
    linear = np.array([to_rgb(colour) for colour in PALETTE]) ** 2.2
    seen = np.clip(linear @ np.transpose(EYES[eyes]), 0.0, 1.0) ** (1 / 2.2)
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(first - second) > 0.15
    for colour in seen:
        # On white, and on black after a page in the dark has inverted it.
        assert np.linalg.norm(colour - 1.0) > 0.4
