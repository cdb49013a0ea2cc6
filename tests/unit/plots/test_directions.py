"""Pictures of where f looks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, plots
from obliquebart.directions import Patch, Sparse
from obliquebart.explain.directions import column_effects, strongest_patches
from obliquebart.explain.evidence import Layout

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
    (ax,) = (plots.direction_map(model, (7,)),)
    drawn = ax.lines[-1].get_ydata()
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
    tiles = plots.patches(model, 5).images[0].get_array()
    np.testing.assert_allclose(tiles[2:8, :7].ravel()[first.columns], first.weights)
    assert plots.patches(model, 5).texts[0].get_text() == f"{first.effect:.2g}"


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
    for window in layout.windows((3, 2)):
        covered[window] += 1
        assert layout.columns[window].shape == (3, 2, 3)
    assert covered.min() == 1
    assert layout.default_size() == (2, 2)
    assert Layout(np.arange(100)).default_size() == (10,)
