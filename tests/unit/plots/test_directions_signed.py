"""The signs in pictures of where f looks: of classes, of channels, and of rules that cancel."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.tiles import named_tiles
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, plots
from obliquebart.directions import Patch
from obliquebart.explain.directions import StrongPatch, column_effects, strongest_patches
from obliquebart.explain.layout import Layout
from obliquebart.plots.directions import draw_patches

SHORT = {"n_trees": 10, "n_burn": 100, "n_draws": 20, "n_chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


def images() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(150, 6, 7))


# ---- classes -------------------------------------------------------------------------------------


def model_of_classes(cuts, **options):
    x = images()
    labels = np.array(["low", "mid", "high"])[np.digitize(x[:, 2, 2], cuts)]
    return ObliqueBARTClassifier(**SHORT, directions=Patch((6, 7)), **options).fit(x, labels)


def test_patches_of_classes_are_kept_apart():
    model = model_of_classes([-0.5, 0.5])
    # In the order of `classes_`.
    parts = dict(zip(["high", "low", "mid"], model.posteriors_.values(), strict=True))
    every = strongest_patches(list(parts.values()), 10**6, overlap=1.0)
    for number, part in enumerate(parts.values()):
        own = strongest_patches([part], 10**6, overlap=1.0)
        assert [each.effect for each in own] == [e.effect for e in every if e.part == number]
    drawn = named_tiles(plots.patches(model), (6, 7))
    found = strongest_patches(list(parts.values()), 8)
    names = [f"{each.effect:.2g} (class {list(parts)[each.part]})" for each in found]
    assert [name for name, _ in drawn] == names
    assert len({each.part for each in found}) > 1
    one = named_tiles(plots.patches(model, class_="mid"), (6, 7))
    assert all("class" not in name for name, _ in one)


def test_signs_of_three_classes_need_one_of_them():
    model = model_of_classes([-0.5, 0.5])
    with pytest.raises(ValueError, match=r"Pass class_=, for example class_='high'"):
        plots.direction_map(model, signed=True)
    maps = {c: plots.direction_map(model, signed=True, class_=c).images[0] for c in ("low", "high")}
    assert maps["high"].get_array()[2, 2] > 0 > maps["low"].get_array()[2, 2]


def test_signs_of_two_classes_are_those_of_the_chosen_one():
    x = images()
    model = ObliqueBARTClassifier(**SHORT, directions=Patch((6, 7))).fit(x, x[:, 2, 2] > 0)
    signed = {
        c: plots.direction_map(model, signed=True, class_=c).images[0].get_array()
        for c in (False, True, None)
    }
    assert signed[True][2, 2] > 0
    np.testing.assert_array_equal(signed[False], -signed[True])
    np.testing.assert_array_equal(signed[None], signed[True])
    of_patches = [plots.patches(model, class_=c).images[0].get_array() for c in (False, True)]
    np.testing.assert_array_equal(*(part.filled(0) for part in (of_patches[0], -of_patches[1])))
    plain = [plots.direction_map(model, class_=c).images[0].get_array() for c in (False, True)]
    np.testing.assert_array_equal(*plain)


def test_ordered_classes_share_one_f():
    x = images()
    y = np.digitize(x[:, 2, 2], [-0.5, 0.5])
    model = ObliqueBARTClassifier(**SHORT, directions=Patch((6, 7)), ordered=True).fit(x, y)
    for draw in (plots.direction_map, plots.patches):
        with pytest.raises(ValueError, match="ordered classes share one f"):
            draw(model, class_=1)
        draw(model)
    assert plots.direction_map(model, signed=True).images[0].get_array()[2, 2] > 0
    ax = plots.evidence(model, x[0], class_=1)
    assert ax.images[0].colorbar.ax.get_ylabel() == "evidence for 1, in log odds"


# ---- opposite values -----------------------------------------------------------------------------


def outlined_cells(ax, corner, shape):
    """Return how many edges each cell has among the outlines of a picture."""
    found = {tuple(map(tuple, np.sort(each, axis=0))) for each in ax.collections[-1].get_segments()}
    top, left = corner
    inside = np.zeros(shape, dtype=int)
    for row, column in np.ndindex(*shape):
        x, y = left + column - 0.5, top + row - 0.5
        sides = [
            (x, y, x + 1, y),
            (x, y, x, y + 1),
            (x, y + 1, x + 1, y + 1),
            (x + 1, y, x + 1, y + 1),
        ]
        inside[row, column] = sum(((a, b), (c, d)) in found for a, b, c, d in sides)
    return inside


def test_a_patch_whose_values_cancel_is_outlined():
    layout = Layout(np.arange(42).reshape(6, 7, 1))
    patch = StrongPatch(np.array([22, 23, 29, 30]), np.zeros(4), 1.0)
    ax = plt.subplots(layout="constrained")[1]
    draw_patches(ax, layout, [patch])
    left, top = (round(at + 0.55) for at in ax.texts[0].get_position())
    edges = outlined_cells(ax, (top, left), (6, 7))
    np.testing.assert_array_equal(edges[3:5, 1:3], 2)
    assert len(ax.collections[-1].get_segments()) == 8
    # Of a curve, the points of the patch are marked.
    ax = plt.subplots()[1]
    draw_patches(ax, Layout(np.arange(42)[:, None]), [patch])
    boxes = [path.get_extents() for path in ax.collections[0].get_paths()]
    assert [(box.x0, box.x1) for box in boxes] == [(21.5, 23.5), (28.5, 30.5)]


def test_outlines_in_a_cube_are_in_its_slices():
    layout = Layout(np.arange(60).reshape(4, 3, 5, 1))
    ax = plt.subplots(layout="constrained")[1]
    draw_patches(ax, layout, [StrongPatch(np.array([16, 31]), np.zeros(2), 1.0)])
    assert len(ax.collections[-1].get_segments()) == 8
    for text in ax.texts[:2]:
        left, top = (round(at + 0.55) for at in text.get_position())
        assert outlined_cells(ax, (top, left), (3, 5))[0, 1] == 4


def test_opposite_channels_of_an_image_do_not_cancel():
    x = np.random.default_rng(0).normal(size=(150, 4, 5, 3))
    model = ObliqueBARTRegressor(**SHORT, directions=Patch((4, 5), channels=3))
    model.fit(x, 3 * x[:, 1, 2, 0] - 3 * x[:, 1, 2, 2])
    drawn = named_tiles(plots.direction_map(model, signed=True), (4, 5))
    assert [name for name, _ in drawn] == ["channel 0", "channel 1", "channel 2"]
    values = np.stack([tile for _, tile in drawn], axis=-1)
    np.testing.assert_allclose(values.ravel(), column_effects(model.posterior_)[1])
    assert values[1, 2, 0] > 0 > values[1, 2, 2]
    assert plots.direction_map(model).images[0].get_array().shape == (4, 5)
    found = strongest_patches([model.posterior_], 2)
    tiles = named_tiles(plots.patches(model, 2), (4, 5))
    channels = [sorted({int(c) % 3 for c in each.columns}) for each in found]
    assert [name for name, _ in tiles] == [f"channel {c}" for each in channels for c in each]


@pytest.mark.parametrize("shape", [(9,), (3, 3, 3)])
def test_channels_are_added_up_where_they_have_no_pictures(shape):
    x = np.random.default_rng(0).normal(size=(60, *shape, 2))
    model = ObliqueBARTRegressor(**SHORT, directions=Patch(shape, channels=2))
    model.fit(x, x.reshape(60, -1)[:, 3])
    for ax in (plots.direction_map(model, signed=True), plots.patches(model)):
        labels = [ax.get_xlabel(), ax.get_ylabel()]
        labels += [image.colorbar.ax.get_ylabel() for image in ax.images]
        assert any("channels added up" in label.replace("\n", " ") for label in labels)
