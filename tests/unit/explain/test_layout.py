"""Which columns are the cells of a picture."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart.explain.layout import Layout, layout_of
from obliquebart.table import Encoding
from obliquebart.table.grid import Grid

# The third column is no number, so that positions in the table and among numbers differ.
NAMES = ["age", "a0", "town", "a1", "a2", "a3", "b0", "b1", "b2"]
A, B = Grid((2, 2), columns=("a0", "a1", "a2", "a3")), Grid((3,), columns=("b2", "b1", "b0"))


def encoding(*grids: Grid) -> Encoding:
    values = np.random.default_rng(0).normal(size=(9, 5))
    table = {name: ["x", "y"] * 2 + ["x"] if name == "town" else [] for name in NAMES}
    for row, name in zip(values, NAMES, strict=True):
        table[name] = table[name] or row.tolist()
    return Encoding.fit(table, grids=grids)


def test_cells_are_numbered_among_the_numbers():
    np.testing.assert_array_equal(layout_of(encoding(A)).columns, [[[1], [2]], [[3], [4]]])
    np.testing.assert_array_equal(layout_of(encoding(B)).columns, [[7], [6], [5]])


def test_shape_and_grid_choose():
    both = encoding(A, B)
    by_shape, by_number = layout_of(both, (3,)), layout_of(both, grid=np.int64(1))
    np.testing.assert_array_equal(by_shape.columns, by_number.columns)
    assert by_shape.shape == (3,)
    assert layout_of(both, 3).shape == (3,)
    assert layout_of(both, [2, 2]).shape == layout_of(both, np.array([2, 2]), 0).shape == (2, 2)


def test_a_third_length_is_that_of_a_cube_or_of_channels():
    flat = {f"x{j}": [0.0, 1.0] for j in range(24)}
    cube = layout_of(Encoding.fit(flat, grids=[Grid((2, 3, 4))]), (2, 3, 4))
    assert (cube.shape, cube.row_shape, cube.columns.shape) == ((2, 3, 4), (2, 3, 4), (2, 3, 4, 1))
    for colours in (
        layout_of(Encoding.fit(flat, grids=[Grid((2, 3), channels=4)]), (2, 3, 4)),
        layout_of(Encoding.fit(flat), (2, 3, 4)),
    ):
        assert (colours.shape, colours.row_shape) == ((2, 3), (2, 3, 4))
        np.testing.assert_array_equal(colours.columns.ravel(), range(24))
    curves = layout_of(Encoding.fit(flat, grids=[Grid((12,), channels=2)]))
    assert (curves.shape, curves.row_shape) == ((12,), (12, 2))


def test_channels_are_added_up():
    layout = Layout(np.array([[[0, 2]], [[1, 3]]]))
    np.testing.assert_array_equal(layout.cells(np.array([1.0, 2.0, 10.0, 20.0])), [[11.0], [22.0]])


@pytest.mark.parametrize(
    ("grids", "arguments", "message"),
    [
        ((), {}, "pass shape="),
        ((), {"grid": 0}, "pass shape="),
        ((), {"shape": (3, 3)}, r"no more cells than the model has continuous columns \(8\)"),
        ((), {"shape": (1, 2, 1, 2)}, "one, two or three lengths"),
        ((), {"shape": "ab"}, "must be a tuple of positive whole numbers"),
        ((), {"shape": (2, 0)}, "must be a tuple of positive whole numbers"),
        ((), {"shape": (2, True)}, "must be a tuple of positive whole numbers"),
        ((), {"shape": (2, 1.5)}, "must be a tuple of positive whole numbers"),
        ((A,), {"shape": (4,)}, r"the only grid of the model has shape \(2, 2\)"),
        ((A, B), {}, r"shape= or grid=: of the model's grids, grid=0 has shape \(2, 2\)"),
        ((A, B), {}, r"grid=1 has shape \(3,\), columns 'b2' to 'b0'"),
        ((A, B), {"shape": (4,)}, "is not that of a grid"),
        ((A, B), {"grid": 2}, "grid=2 is out of range"),
        ((A, B), {"grid": -1}, "grid=-1 is out of range"),
        ((A, B), {"grid": 1, "shape": (2, 2)}, "is not that of grid=1"),
    ],
)
def test_errors_name_the_fix(grids, arguments, message):
    with pytest.raises(ValueError, match=message):
        layout_of(encoding(*grids), **arguments)


def test_grids_of_one_shape_are_chosen_by_their_number():
    first, second = (Grid((3,), columns=("a1", "a2", "a3")), Grid((3,), columns=("b0", "b1", "b2")))
    both = encoding(first, second)
    for shape in (None, (3,)):
        with pytest.raises(ValueError, match="Choose a grid with grid=: "):
            layout_of(both, shape)
    np.testing.assert_array_equal(layout_of(both, (3,), 1).columns.ravel(), [5, 6, 7])
    with pytest.raises(TypeError, match="grid='b' must be an integer"):
        layout_of(both, grid="b")
