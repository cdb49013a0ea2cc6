"""Pictures of where f looks."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, plots
from obliquebart.directions import Patch, Sparse
from obliquebart.explain.directions import column_effects

SHORT = {"n_trees": 10, "n_burn": 100, "n_draws": 20, "n_chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


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
