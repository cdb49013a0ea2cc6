"""Cells of images and curves: their names, their places in a table, and those that are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from obliquebart.table.encoding import Encoding
from obliquebart.table.grid import ROWS_AT_A_TIME, Grid, column_names, flat_rows, numbers_of

NAN = np.nan
LINE = Grid((5,), columns=tuple(range(5)))


def filled(grid: Grid, rows) -> np.ndarray:
    """Return filled rows of a grid."""
    return grid.fill(np.asarray(rows, dtype=np.float32).T).T


def test_a_hole_in_a_line_is_filled_from_its_rim():
    rows = [[1, NAN, 3, NAN, NAN], [NAN, NAN, NAN, NAN, 7], [1, 2, 3, 4, 5]]
    expected = [[1, 2, 3, 3, 3], [7, 7, 7, 7, 7], [1, 2, 3, 4, 5]]
    np.testing.assert_array_equal(filled(LINE, rows), expected)


def test_a_pixel_gets_the_mean_of_all_around_it():
    image = np.arange(9.0)
    image[[4, 8]] = NAN
    found = filled(Grid((3, 3)), [image])[0].reshape(3, 3)
    assert found[1, 1] == pytest.approx(np.mean([0, 1, 2, 3, 5, 6, 7]))
    assert found[2, 2] == pytest.approx(np.mean([5, 7]))
    np.testing.assert_array_equal(np.delete(found, [4, 8]), np.delete(image, [4, 8]))


def test_channels_do_not_mix_and_empty_ones_stay_missing():
    rows = [[1, NAN, NAN, NAN, 3, NAN]]  # three cells of two channels
    np.testing.assert_array_equal(filled(Grid((3,), 2), rows), [[1, NAN, 2, NAN, 3, NAN]])
    cube = np.full((1, 8), NAN)
    cube[0, 7] = 2.0
    np.testing.assert_array_equal(filled(Grid((2, 2, 2)), cube), np.full((1, 8), 2.0))


def test_many_rows_are_filled_as_few_are():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((ROWS_AT_A_TIME + 50, 12)) < 0.3, NAN, rng.random((1, 12)))
    grid = Grid((3, 4))
    each = np.concatenate([filled(grid, rows[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(filled(grid, rows), each)
    whole = np.ones((12, 3), dtype=np.float32)
    assert grid.fill(whole) is whole


def test_tables_are_filled_where_the_grid_is():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "p": [0.0, 1.0, 2.0], "town": ["x", "y", "y"]})
    frame["q"] = [0.0, NAN, 2.0]
    frame["b"] = [NAN, 1.0, 2.0]
    grid = Grid((2,), columns=("p", "q"))
    encoding, table = Encoding.fit_transform(frame, grids=[grid, grid])
    assert encoding.grids == (Grid((2,), columns=(1, 3)),)
    assert table.x_cont[2, 1] == table.x_cont[1, 1]
    assert np.isnan(table.x_cont[3, 0])
    later = encoding.transform(frame.assign(p=NAN))
    assert np.isnan(later.x_cont[1:3, 1]).all()
    assert later.x_cont[1, 2] == later.x_cont[2, 2]


def test_a_grid_that_does_not_fit_is_left_to_the_directions():
    frame = pd.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]})
    for columns in (("a", "town"), ("a", "b"), (0, 5), None):
        assert Encoding.fit(frame, grids=[Grid((2,), columns=columns)]).grids == ()


def test_names_of_cells():
    assert Grid((2,), 2).cell_names() == ["point[0,0]", "point[0,1]", "point[1,0]", "point[1,1]"]
    numbers = ["continuous"] * 4
    assert column_names([Grid((2,))], numbers[:2]) == ["point[0]", "point[1]"]
    plain = ["x0", "x1", "x2", "x3"]
    two = [Grid((2,), columns=(0, 1)), Grid((2,), columns=(2, 3))]
    assert column_names(two, numbers) == plain
    assert column_names([Grid((3,))], numbers) == plain
    beside = column_names([Grid((3,))], ["categorical", *numbers[:3]])
    assert beside == ["x0", "point[0]", "point[1]", "point[2]"]


def test_cells_are_known_by_numbers_too():
    assert numbers_of(["x0", "point[0]", "point[1]"]) == {
        "x0": 0, "point[0]": 1, "x1": 1, "point[1]": 2, "x2": 2,
    }  # fmt: skip
    # A name that the table has is that column.
    assert numbers_of(["x1", "point[0]"])["x1"] == 0


def test_names_beside_categories_are_the_same_later():
    X = np.column_stack([[0.0, 1.0, 0.0, 1.0], np.eye(4)])
    encoding = Encoding.fit(X, categorical_features=[0], grids=[Grid((2, 2))])
    assert encoding.names == ["x0", "pixel[0,0]", "pixel[0,1]", "pixel[1,0]", "pixel[1,1]"]
    X[1, 2] = np.inf
    with pytest.raises(ValueError, match=r"Column 'pixel\[0,1\]'"):
        encoding.transform(X)


def test_errors_name_the_cell():
    X = np.zeros((4, 2, 3))
    X[1, 1, 2] = np.inf
    with pytest.raises(ValueError, match=r"Column 'pixel\[1,2\]'"):
        Encoding.fit(X, grids=[Grid((2, 3))])


GRIDS = [Grid((2, 3))]


def test_shapes_of_arrays():
    images = np.zeros((4, 2, 3))
    assert flat_rows(images, GRIDS).shape == (4, 6)
    assert flat_rows(images[..., None], GRIDS).shape == (4, 6)
    assert flat_rows(images.tolist(), GRIDS).shape == (4, 6)
    assert flat_rows(np.zeros((4, 6)), GRIDS).shape == (4, 6)
    line = Grid((6,), columns=range(6))
    assert flat_rows(images, [*GRIDS, line]).shape == (4, 6)
    assert flat_rows(images[0], []).shape == (2, 3)
    for one in (images[0], images[0, ..., None]):
        with pytest.raises(ValueError, match=r"a single image, \(2, 3.*: pass X\[np.newaxis\]"):
            flat_rows(one, GRIDS)
    with pytest.raises(ValueError, match="set channels=5 in Patch"):
        flat_rows(np.zeros((4, 2, 3, 5)), GRIDS)
    with pytest.raises(ValueError, match="or correct Patch's shape"):
        flat_rows(np.zeros((4, 3, 2)), GRIDS)
    with pytest.raises(ValueError, match=r"shape \(2, 3\) or \(6,\) in directions"):
        flat_rows(np.zeros((4, 3, 2)), [*GRIDS, line])
    halves = [Grid((2, 3), columns=range(6)), Grid((2, 3), columns=range(6, 12))]
    for X in (np.zeros((4, 2, 6)), np.zeros((4, 2, 2, 3)), images):
        with pytest.raises(ValueError, match=r"pass flat rows, X.reshape\(len\(X\), -1\)"):
            flat_rows(X, halves)
    assert flat_rows(images[:0], GRIDS).shape == (0, 6)


def test_a_patch_with_names_has_no_images():
    named = [Grid((2, 3), columns=tuple("abcdef"))]
    assert flat_rows(np.zeros((4, 6)), named).shape == (4, 6)
    with pytest.raises(ValueError, match=r"has names, .* leave columns= out if .* X.reshape\("):
        flat_rows(np.zeros((4, 2, 3)), named)


def test_lists_of_images_with_different_shapes():
    images = [np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 3))]
    wanted = r"all images or curves must have the same shape \(2, 3\)\.$"
    for X in (images, [image.tolist() for image in images], tuple(images)):
        with pytest.raises(ValueError, match=rf"such as \(2, 3\) and \(3, 3\): {wanted}"):
            flat_rows(X, GRIDS)
    with pytest.raises(ValueError, match=wanted):
        flat_rows([[[1, 2, 3], [4]], [[1, 2, 3], [4, 5, 6]]], GRIDS)
    with pytest.raises(ValueError, match=r"the same shape\.$"):
        flat_rows(images, [*GRIDS, Grid((3, 3))])
    masked = [np.ma.masked_invalid(image) for image in images]
    with pytest.raises(ValueError, match=wanted):
        Encoding.fit(masked, grids=GRIDS)


class Array:
    """As arrays of xarray and h5py: with a shape and values, but without `reshape`."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.shape = values.shape

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self._values if dtype is None else self._values.astype(dtype)


def test_arrays_of_other_libraries():
    images = np.arange(24.0).reshape(4, 2, 3)
    expected = Encoding.fit_transform(images, grids=GRIDS)[1].x_cont
    for X in (Array(images), [Array(image) for image in images]):
        np.testing.assert_array_equal(flat_rows(X, GRIDS), images.reshape(4, 6))
        np.testing.assert_array_equal(Encoding.fit_transform(X, grids=GRIDS)[1].x_cont, expected)


def test_lists_of_masked_images_keep_their_masks():
    images = np.random.default_rng(0).normal(size=(5, 2, 3))
    holes = images.copy()
    holes[1, 1, 2] = holes[4, 0, 0] = NAN
    expected = Encoding.fit_transform(holes, grids=GRIDS)[1].x_cont
    # A value below the mask that would show
    masked = np.ma.masked_array(np.where(np.isnan(holes), 99.0, images), np.isnan(holes))
    mixed = [masked[0], masked[1], images[2], images[3].tolist(), masked[4]]
    for X in (masked, list(masked), tuple(masked), mixed):
        np.testing.assert_array_equal(Encoding.fit_transform(X, grids=GRIDS)[1].x_cont, expected)


def test_one_flat_row_of_a_flat_image_is_no_single_image():
    row = np.zeros((1, 10))
    for grid in (Grid((1, 10)), Grid((1,), 10)):
        assert flat_rows(row, [grid]) is row


def test_cells_that_are_constant_say_nothing_of_others():
    """They are all mapped to the middle, which is grey where an image is dark."""
    images = np.zeros((3, 3, 3))
    images[:2, 1, :] = [[1, 0, 3], [4, 1, 2]]
    images[2, 1] = [0, NAN, 0]
    encoding, table = Encoding.fit_transform(images, grids=[Grid((3, 3))])
    assert table.x_cont[4, 2] == np.mean(table.x_cont[[3, 5], 2]) == -1.0
    images[2, 0, 0] = NAN
    assert encoding.transform(images).x_cont[0, 2] == 0.0
    never = images.copy()
    never[:, 1, 0] = NAN
    with pytest.warns(UserWarning, match="without any value: 'pixel"):
        _, table = Encoding.fit_transform(never, grids=[Grid((3, 3))])
    assert table.x_cont[4, 2] == table.x_cont[5, 2] == -1.0


@pytest.mark.parametrize(
    "damage",
    [
        {"shape": []},
        {"shape": [1, 1, 1, 5]},
        {"shape": [-5]},
        {"shape": 5},
        {"shape": ["5"]},
        {"shape": [10**12]},
        {"channels": 0},
        {"channels": None},
        {"columns": None},
        {"columns": [0, 1, 2, 3]},
        {"columns": [0, 1, 2, 3, 3]},
        {"columns": [0, 1, 2, 3, 9]},
        {"columns": [0, 1, 2, 3, -1]},
        {"columns": "abcde"},
    ],
)
def test_damaged_states(damage):
    encoding = Encoding.fit(np.eye(5), grids=[LINE])
    state = encoding.to_state()
    assert Encoding.from_state(state).grids == (LINE,)
    with pytest.raises(ValueError, match="damaged"):
        Encoding.from_state(state | {"grids": [state["grids"][0] | damage]})
    with pytest.raises(ValueError, match="damaged"):
        Encoding.from_state(state | {"grids": 7})
