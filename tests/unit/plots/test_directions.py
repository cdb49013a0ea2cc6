"""Pictures of where f looks."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from helpers.tiles import named_tiles
from obliquebart import (
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
    plots,
)
from obliquebart.directions import Patch, Sparse
from obliquebart.explain.directions import column_effects, strongest_patches
from obliquebart.explain.evidence import default_size, windows_of
from obliquebart.explain.layout import Layout
from obliquebart.plots.directions import draw_map, fit_height

SHORT = {"n_trees": 10, "n_burn": 100, "n_draws": 20, "n_chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


def images() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(150, 6, 7))


def test_the_map_is_brightest_where_the_outcome_comes_from():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7), 2, 3))
    model.fit(x, 3 * x[:, 3:5, 1:3].mean(axis=(1, 2)))
    image = plots.direction_map(model).images[0].get_array()
    assert image.shape == (6, 7)
    assert image[3:5, 1:3].mean() > 2 * np.delete(image, [3, 4], axis=0).mean()
    signed = plots.direction_map(model, signed=True).images[0].get_array()
    assert (signed[3:5, 1:3] > 0).all()


def test_curves_are_lines_and_columns_beside_them_are_left_out():
    curves = images()[:, 0]
    table = np.column_stack([np.linspace(0, 1, 150), curves])
    directions = [Patch(7, columns=range(1, 8)), Sparse("rest")]
    model = ObliqueBARTRegressor(**SHORT, directions=directions)
    model.fit(table, curves[:, 3] + table[:, 0])
    drawn = plots.direction_map(model, 7).lines[-1].get_ydata()
    size, _ = column_effects(model.posterior_)
    np.testing.assert_array_equal(drawn, size[1:])


def test_one_class_or_all_of_them():
    x = images()
    labels = np.digitize(x[:, 2, 2], [-0.5, 0.5])
    model = ObliqueBARTClassifier(**SHORT, directions=Patch((6, 7))).fit(x, labels)
    one = [plots.direction_map(model, class_=c).images[0].get_array() for c in range(3)]
    every = plots.direction_map(model).images[0].get_array()
    np.testing.assert_allclose(every, np.sum(one, axis=0))


def test_a_shape_is_needed_and_must_fit():
    x = images().reshape(150, -1)
    model = ObliqueBARTRegressor(**SHORT).fit(x, x[:, 0])
    with pytest.raises(ValueError, match="pass shape="):
        plots.direction_map(model)
    with pytest.raises(ValueError, match="no more cells"):
        plots.direction_map(model, (7, 7))
    assert plots.direction_map(model, (6, 7)).images[0].get_array().shape == (6, 7)


def test_the_strongest_patch_is_where_the_outcome_comes_from():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7), 2, 2))
    model.fit(x, 3 * x[:, 3:5, 1:3].mean(axis=(1, 2)))
    first, *others = strongest_patches([model.posterior_], 5)
    np.testing.assert_array_equal(first.columns, [22, 23, 29, 30])
    assert (first.weights > 0).all()
    effects = [first.effect, *(each.effect for each in others)]
    assert effects == sorted(effects, reverse=True)
    for a, b in itertools.combinations([first, *others], 2):
        shared = len(set(a.columns) & set(b.columns))
        assert shared <= 0.5 * (8 - shared)
    drawn = named_tiles(plots.patches(model, 5), (6, 7))
    assert [name for name, _ in drawn] == [f"{effect:.2g}" for effect in effects]
    np.testing.assert_allclose(drawn[0][1].ravel()[first.columns], first.weights)


def test_the_effects_of_patches_add_up_to_those_of_columns():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7), 2, 3)).fit(x, x[:, 2, 2])
    every = strongest_patches([model.posterior_], 10**6, overlap=1.0)
    slope = np.zeros(42)
    for each in every:
        slope[each.columns] += each.effect * each.weights
    np.testing.assert_allclose(slope, column_effects(model.posterior_)[1], atol=1e-9)


def test_patches_of_curves_are_lines_and_the_number_is_checked():
    curves = images()[:, 0]
    model = ObliqueBARTRegressor(**SHORT, directions=Patch(7)).fit(curves, curves[:, 3])
    ax = plots.patches(model, 2)
    assert [len(line.get_xdata()) for line in ax.lines[1::2]] == [7, 7]
    assert len(ax.get_yticklabels()) == 2
    with pytest.raises(ValueError, match="n_patches"):
        plots.patches(model, 0)


def test_a_model_without_effects_has_no_patches():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7)), alpha=1e-12).fit(x, x[:, 0, 0])
    with pytest.raises(ValueError, match="no patch to draw"):
        plots.patches(model)


def test_evidence_is_where_an_image_differs_from_others():
    x = images()
    labels = np.where(x[:, 3:5, 1:3].mean(axis=(1, 2)) > 0, "high", "low")
    model = ObliqueBARTClassifier(**SHORT, directions=Patch((6, 7), 2, 2)).fit(x, labels)
    row = np.zeros((6, 7))
    row[3:5, 1:3] = 2.0
    ax = plots.evidence(model, row, class_="high", size=2)
    values = ax.images[0].get_array()
    assert np.unravel_index(values.argmax(), values.shape) in {(3, 1), (3, 2), (4, 1), (4, 2)}
    assert values[3:5, 1:3].min() > np.delete(values, [2, 3, 4, 5], axis=0).max()
    # Log odds of the other class are the negative.
    against = plots.evidence(model, row, class_="low", size=2).images[0].get_array()
    np.testing.assert_allclose(against, -values, atol=1e-9)
    best = plots.evidence(model, row, size=2).images[0].get_array()
    np.testing.assert_array_equal(best, values)


def test_evidence_of_one_window_is_the_difference_from_the_mean_of_the_rows():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7))).fit(x, x[:, 2, 2])
    ax = plots.evidence(model, x[0], x[5:9], size=(6, 7), n_rows=4)
    expected = model.predict(x[:1])[0] - model.predict(x[5:9]).mean()
    np.testing.assert_allclose(ax.images[0].get_array(), expected, rtol=1e-6)


def test_evidence_of_curves_beside_other_columns():
    curves = images()[:, 0]
    table = np.column_stack([np.linspace(0, 1, 150), curves])
    directions = [Patch(7, columns=range(1, 8)), Sparse("rest")]
    model = ObliqueBARTRegressor(**SHORT, directions=directions).fit(table, 3 * curves[:, 3])
    row = table[0].copy()
    row[1 + 3], row[1] = 3.0, np.nan
    ax = plots.evidence(model, row, shape=(7,), size=1)
    (line,) = ax.collections
    assert line.get_array().argmax() in (2, 3)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), row[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": (2, 2, 2)}, "one per axis"),
        ({"size": 8}, "from 1 to the length"),
        ({"class_": "high"}, "requires a classifier"),
        ({"n_rows": 0}, "n_rows"),
    ],
)
def test_evidence_says_what_is_wrong(arguments, message):
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7))).fit(x, x[:, 2, 2])
    with pytest.raises(ValueError, match=message):
        plots.evidence(model, x[0], **arguments)
    with pytest.raises(ValueError, match="row has 150"):
        plots.evidence(model, x[:, 0, 0])


def test_windows_cover_all_cells():
    layout = Layout(np.arange(7 * 5 * 3).reshape(7, 5, 3))
    covered = np.zeros((7, 5), dtype=int)
    for window in windows_of(layout, (3, 2)):
        covered[window] += 1
        assert layout.columns[window].shape == (3, 2, 3)
    assert covered.min() == 1
    assert default_size(layout) == (2, 2)
    assert default_size(Layout(np.arange(100).reshape(100, 1))) == (10,)
    cube = Layout(np.arange(28 * 5).reshape(28, 5, 1, 1))
    assert default_size(cube) == (4, 2, 1)


# ---- cubes ---------------------------------------------------------------------------------------


CUBE = (4, 3, 5)


@cache
def model_of_cubes():
    """Return a model of an outcome that comes from two slices, and its cubes."""
    x = np.random.default_rng(0).normal(size=(200, *CUBE))
    y = 3 * x[:, 2:4, 1, 1:3].mean(axis=(1, 2))
    directions = Patch(CUBE, (2, 1, 2), (2, 1, 2))
    return ObliqueBARTRegressor(**SHORT, directions=directions).fit(x, y), x


@pytest.mark.parametrize("signed", [False, True])
def test_a_cube_is_drawn_slice_by_slice(signed):
    model, _ = model_of_cubes()
    drawn = named_tiles(plots.direction_map(model, signed=signed), CUBE[1:])
    assert [name for name, _ in drawn] == [f"slice {k}" for k in range(4)]
    values = np.array([tile for _, tile in drawn])
    expected = column_effects(model.posterior_)[int(signed)].reshape(CUBE)
    np.testing.assert_allclose(values, expected)
    assert values[2:4, 1, 1:3].min() > 2 * values[:2].mean()


def test_a_patch_in_a_cube_is_a_row_of_its_slices():
    model, _ = model_of_cubes()
    first, *_ = found = strongest_patches([model.posterior_], 3)
    ax = plots.patches(model, 3)
    drawn = named_tiles(ax, CUBE[1:])
    assert [name for name, _ in drawn[:2]] == ["slice 2", "slice 3"]
    assert len(drawn) == 2 * len(found)
    expected = np.zeros(CUBE)
    expected.ravel()[first.columns] = first.weights
    np.testing.assert_allclose([tile for _, tile in drawn[:2]], expected[2:4])
    effects = [text.get_text().strip() for text in ax.texts if text.get_va() == "center"]
    assert effects == [f"{each.effect:.2g}" for each in found]


def test_evidence_in_a_cube():
    model, x = model_of_cubes()
    row = np.zeros(CUBE)
    row[2:4, 1, 1:3] = 2.0
    row[0, 0, 0] = np.nan
    ax = plots.evidence(model, row, size=(1, 1, 2))
    values = np.array([tile for _, tile in named_tiles(ax, CUBE[1:])])
    assert np.unravel_index(values.argmax(), CUBE)[:2] in {(2, 1), (3, 1)}
    assert values[2:4, 1].max(axis=1).min() > values[:2].max()
    whole = plots.evidence(model, x[0], x[5:9], size=CUBE, n_rows=4)
    expected = model.predict(x[:1])[0] - model.predict(x[5:9]).mean()
    for _, tile in named_tiles(whole, CUBE[1:]):
        np.testing.assert_allclose(tile, expected, rtol=1e-6)


def test_contours_are_in_the_slices_with_ink():
    model, _ = model_of_cubes()
    row = np.zeros(CUBE)
    row[2, 1, 1:3] = 1.0
    ax = plots.evidence(model, row)
    left, top = (round(at + 0.55) for at in ax.texts[2].get_position())
    (path,) = ax.collections[0].get_paths()
    middle = path.vertices.mean(axis=0)
    np.testing.assert_allclose(middle - (left, top), (1.5, 1.0), atol=0.2)
    assert np.abs(path.vertices - middle).max() < 1.5


def check_room_for_names(ax):
    """Names are drawn beside each other, and not on tiles."""
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    known = ~np.isnan(np.ma.filled(ax.images[0].get_array(), np.nan))
    for box in boxes:
        # Without a pixel at the edges, which letters do not reach.
        corners = ax.transData.inverted().transform(box.padded(-1.0).get_points())
        (left, right), (top, bottom) = (np.sort(corners, axis=0) + 0.5).T.astype(int)
        assert not known[max(top, 0) : bottom + 1, max(left, 0) : right + 1].any()


def test_many_slices_fit_beside_each_other():
    x = np.random.default_rng(0).normal(size=(60, 40, 2, 3))
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((40, 2, 3))).fit(x, x[:, 7, 0, 0])
    ax = plots.direction_map(model)
    assert [name for name, _ in named_tiles(ax, (2, 3))] == [str(k) for k in range(40)]
    check_room_for_names(ax)


@pytest.mark.parametrize("shape", [(2, 40), (60, 2), (9, 9)])
def test_names_lie_between_tiles(shape):
    x = np.random.default_rng(0).normal(size=(60, *shape))
    model = ObliqueBARTRegressor(**SHORT, directions=Patch(shape)).fit(x, x[:, 1, 1])
    check_room_for_names(plots.patches(model))
    given = plt.subplots(figsize=(4.8, 3.4), layout="constrained")[1]
    check_room_for_names(plots.patches(model, ax=given))


@pytest.mark.parametrize("shape", [(64, 64, 64), (3, 50, 20), (17, 1, 90)])
def test_names_lie_between_slices_of_any_size(shape):
    for size in ((6.4, 4.8), (4.8, 3.4)):
        ax = plt.subplots(figsize=size, layout="constrained")[1]
        draw_map(ax, np.random.default_rng(0).uniform(size=shape))
        fit_height(ax)
        assert len(ax.texts) == shape[0]
        check_room_for_names(ax)
    # There is no room, but that is no error.
    draw_map(plt.subplots(figsize=(1.0, 0.5))[1], np.ones(shape))


# ---- several grids -------------------------------------------------------------------------------


NAMES = [f"a{j}" for j in range(6)] + [f"b{j}" for j in range(5)]


@cache
def model_of_two_grids():
    """Return a model of images and curves with columns between them, and its table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(150, 11)), columns=NAMES)
    table.insert(6, "town", pd.Categorical(rng.choice(["x", "y"], 150)))
    table.insert(0, "age", rng.uniform(size=150))
    y = 2 * table["a4"] + 2 * table["b1"] + table["age"]
    directions = [
        Patch((2, 3), 1, 2, columns=NAMES[:6]),
        Patch(5, 1, 2, columns=NAMES[6:]),
        Sparse(["age", *NAMES]),
    ]
    return ObliqueBARTRegressor(**SHORT, directions=directions).fit(table, y), table


def test_a_grid_is_chosen_by_its_number_or_its_shape():
    model, _ = model_of_two_grids()
    size, _ = column_effects(model.posterior_)
    for arguments in ({"grid": 0}, {"shape": (2, 3)}, {"grid": 0, "shape": (2, 3)}):
        image = plots.direction_map(model, **arguments).images[0].get_array()
        np.testing.assert_array_equal(image, size[1:7].reshape(2, 3))
    for arguments in ({"grid": 1}, {"shape": (5,)}):
        curve = plots.direction_map(model, **arguments).lines[-1].get_ydata()
        np.testing.assert_array_equal(curve, size[7:])


@pytest.mark.parametrize("draw", ["direction_map", "patches", "evidence"])
def test_a_choice_is_needed_and_must_be_there(draw):
    model, table = model_of_two_grids()
    row = [table.iloc[0]] if draw == "evidence" else []
    call = getattr(plots, draw)
    with pytest.raises(ValueError, match="shape= or grid="):
        call(model, *row)
    with pytest.raises(ValueError, match="grid=2 is out of range"):
        call(model, *row, grid=2)
    with pytest.raises(ValueError, match=r"shape=\(6,\) is not that of a grid"):
        call(model, *row, shape=(6,))


def test_patches_have_columns_of_their_grid_alone():
    model, _ = model_of_two_grids()
    every = strongest_patches([model.posterior_], 10**6, overlap=1.0)
    assert any(len({c in range(7, 12) for c in each.columns}) > 1 for each in every)
    curves = strongest_patches([model.posterior_], 10**6, np.arange(7, 12), overlap=1.0)
    inside = [each for each in every if set(each.columns) <= set(range(7, 12))]
    assert [each.effect for each in curves] == [each.effect for each in inside]
    ax = plots.patches(model, 1, grid=1)
    drawn = np.asarray(ax.lines[1].get_ydata())
    assert np.flatnonzero(drawn).tolist() == (curves[0].columns - 7).tolist()
    assert ax.get_yticklabels()[0].get_text() == f"{curves[0].effect:.2g}"
    ((name, tile),) = named_tiles(plots.patches(model, 1, grid=0), (2, 3))
    assert tile[1, 1] > 0
    assert name != f"{curves[0].effect:.2g}"


def test_evidence_of_a_grid_replaces_its_columns_alone():
    model, table = model_of_two_grids()
    row, others = table.iloc[3], table.iloc[10:14]
    for grid, size, columns in ((0, (2, 3), NAMES[:6]), (1, 5, NAMES[6:])):
        ax = plots.evidence(model, row, others, grid=grid, size=size, n_rows=4)
        replaced = pd.concat([table.iloc[[3]]] * 4, ignore_index=True)
        replaced[columns] = others[columns].to_numpy()
        expected = model.predict(table.iloc[[3]])[0] - model.predict(replaced).mean()
        drawn = (ax.images or ax.collections)[0].get_array()
        np.testing.assert_allclose(drawn, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_rows_in_all_forms_give_the_same_picture():
    model, table = model_of_two_grids()
    table = table.copy()
    table.loc[3, "a1"] = np.nan
    values = table.iloc[3]
    forms = [values, values.to_dict(), table.iloc[[3]], values.tolist(), values.to_numpy()]
    pictures = [plots.evidence(model, row, grid=0) for row in forms]
    for ax in pictures:
        np.testing.assert_array_equal(ax.images[0].get_array(), pictures[0].images[0].get_array())
        assert len(ax.collections) == 2


# ---- what else a model may have ------------------------------------------------------------------


def test_missing_pixels_are_holes():
    x = images()
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((6, 7))).fit(x, x[:, 2, 2])
    row = np.zeros((6, 7))
    row[:, 3:] = 1.0
    whole = plots.evidence(model, row).collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(whole[:, 0], 2.5)
    assert (whole[:, 1].min(), whole[:, 1].max()) == (0.0, 5.0)
    row[2, 3] = np.nan
    rows = plots.evidence(model, row).collections[0].get_paths()[0].vertices[:, 1]
    assert not ((rows > 1.5) & (rows < 2.5)).any()
    # Nothing is known, or all is the same: there is no contour.
    for nothing in (np.full((6, 7), np.nan), np.ones((6, 7))):
        assert not plots.evidence(model, nothing).collections


def test_an_image_with_one_row_has_no_contour():
    x = images()[:, :1]
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((1, 7))).fit(x, x[:, 0, 2])
    ax = plots.evidence(model, x[0])
    assert ax.images[0].get_array().shape == (1, 7)
    assert not ax.collections


def test_channels_of_a_curve_are_lines_of_their_own():
    x = np.random.default_rng(0).normal(size=(150, 9, 2))
    model = ObliqueBARTRegressor(**SHORT, directions=Patch(9, channels=2)).fit(x, x[:, 4, 0])
    assert len(plots.direction_map(model).lines[-1].get_ydata()) == 9
    ax = plots.evidence(model, x[0], size=1)
    for line, channel in zip(ax.lines, x[0].T, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), channel)
    first, second = (np.asarray(lines.get_array()) for lines in ax.collections)
    np.testing.assert_array_equal(first, second)


def test_evidence_of_a_row_with_its_exposure():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100, 6)), columns=NAMES[:6])
    model = ObliqueBARTCountRegressor(**SHORT, directions=Patch((2, 3)))
    model.fit(table.assign(time=rng.uniform(1, 2, 100)), rng.poisson(3, 100), exposure="time")
    plain = plots.evidence(model, table.iloc[0]).images[0].get_array()
    timed = plots.evidence(model, table.assign(time=1.5).iloc[0]).images[0].get_array()
    np.testing.assert_array_equal(timed, plain)


def test_the_map_of_an_effect_needs_no_shape():
    x, rng = images(), np.random.default_rng(1)
    treated = rng.integers(0, 2, 150)
    model = ObliqueBARTCausal(**SHORT, directions=Patch((6, 7)))
    model.fit(x, x[:, 1, 1] + treated * x[:, 4, 4], treated)
    effect = model.effects_[1]
    image = plots.direction_map(effect).images[0].get_array()
    np.testing.assert_array_equal(image.ravel(), column_effects(effect)[0][:42])
    # The propensity is a column beside the grid. The model's own trees are those of the outcome.
    own = plots.direction_map(model).images[0].get_array()
    assert own.shape == (6, 7)
    np.testing.assert_array_equal(own.ravel(), column_effects(model.posterior_.part(0))[0][:42])
    named_tiles(plots.patches(model), (6, 7))
    with pytest.raises(ValueError, match="A causal model estimates effects"):
        plots.evidence(model, x[0])


def test_rules_without_columns_are_no_patches():
    x = images()
    directions = [Patch((6, 7)), Sparse()]
    model = ObliqueBARTRegressor(**SHORT, directions=directions, prior="paper").fit(x, x[:, 2, 2])
    arrays = model.posterior_.draws.to_arrays()
    assert (arrays["phi_count"] == 0).any()
    found = strongest_patches([model.posterior_], 10**6, overlap=1.0)
    assert all(len(each.columns) for each in found)
    named_tiles(plots.patches(model), (6, 7))


def test_evidence_of_times_is_in_log_time():
    x = images()
    y = np.column_stack([np.ones(150), np.exp(x[:, 2, 2])])
    model = ObliqueBARTSurvival(**SHORT, directions=Patch((6, 7))).fit(x, y)
    ax = plots.evidence(model, x[0], x[5:9], size=(6, 7), n_rows=4)
    log_time = model.posterior_.predict
    expected = log_time(x[:1]).mean() - log_time(x[5:9]).mean()
    np.testing.assert_allclose(ax.images[0].get_array(), expected, rtol=1e-6)
    assert ax.images[0].colorbar.ax.get_ylabel() == "evidence, in log time"


def test_evidence_of_counts_is_in_counts():
    x = images()
    counts = pd.Series(np.random.default_rng(0).poisson(np.exp(1 + x[:, 2, 2])), name="claims")
    model = ObliqueBARTCountRegressor(**SHORT, directions=Patch((6, 7))).fit(x, counts)
    ax = plots.evidence(model, x[0], x[5:9], size=(6, 7), n_rows=4)
    expected = model.predict(x[:1])[0] - model.predict(x[5:9]).mean()
    np.testing.assert_allclose(ax.images[0].get_array(), expected, rtol=1e-6)
    assert ax.images[0].colorbar.ax.get_ylabel() == "evidence, in units of claims"


def test_points_between_missing_ones_are_dots():
    curves = images()[:, 0]
    model = ObliqueBARTRegressor(**SHORT, directions=Patch(7)).fit(curves, curves[:, 4])
    row = np.array([1.0, np.nan, 1.0, np.nan, 2.0, 1.0, np.nan])
    _, dots = plots.evidence(model, row, size=1).collections
    np.testing.assert_array_equal(dots.get_offsets(), [[0, 1], [2, 1]])
    assert len(plots.evidence(model, curves[0]).collections) == 1
    single = ObliqueBARTRegressor(**SHORT, directions=[Patch(1, columns=[0]), Sparse("rest")])
    single.fit(curves, curves[:, 0])
    _, dot = plots.evidence(single, curves[0]).collections
    assert dot.get_array()[0] != 0
    for ax in (plots.direction_map(single), plots.patches(single)):
        assert ax.lines[-1].get_marker() == "o"
