"""The cells of an image or a curve, and which columns of a model they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.table import Encoding
from obliquebart.table.grid import MOST_AXES, Grid
from obliquebart.validation import check_count


class Layout(NamedTuple):
    """Where the cells of a line, a plane or a cube are.

    `columns` are the positions of their columns among the continuous ones. Its last axis has the
    channels of a cell, even if there is only one.
    """

    columns: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, without channels."""
        return self.columns.shape[:-1]

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row: the cells, and the channels if there are several."""
        return self.columns.shape if self.columns.shape[-1] > 1 else self.shape

    @property
    def is_deep(self) -> bool:
        """Whether signed values need several planes: a cube, or an image with channels."""
        n_channels = self.columns.shape[-1]
        return len(self.shape) > 2 or (len(self.shape) == 2 and n_channels > 1)

    @property
    def plane(self) -> str:
        """What one of several planes is called."""
        return "slice" if len(self.shape) > 2 else "channel"

    @property
    def adds_channels(self) -> bool:
        """Whether signed values of channels are added up, as they have no planes of their own."""
        return self.columns.shape[-1] > 1 and len(self.shape) != 2

    def signed_cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return signed values by cell.

        Those of opposite channels would cancel, so an image has its channels first. Curves and
        cubes have no axis left for them.
        """
        if len(self.shape) == 2 and self.is_deep:
            return np.moveaxis(values[self.columns], -1, 0)
        return self.cells(values)

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the continuous columns by cell, with channels added up."""
        return np.asarray(values[self.columns].sum(axis=-1))


def grid_layout(encoding: Encoding, grid: Grid) -> Layout:
    """Return the cells of a grid of a model."""
    continuous = [j for j, kind in enumerate(encoding.kinds) if kind == "continuous"]
    number = {column: i for i, column in enumerate(continuous)}
    columns = [number[int(j)] for j in grid.columns or ()]
    return Layout(np.array(columns, dtype=np.int64).reshape(*grid.shape, grid.channels))


def layout_of(encoding: Encoding, shape: Any = None, grid: Any = None) -> Layout:
    """Return the cells that a user chose by their shape, by the number of a grid, or both.

    Without any grid, they are the first continuous columns, and a third length is that of the
    channels.
    """
    if encoding.grids:
        return grid_layout(encoding, _chosen(encoding, shape, grid))
    if shape is None or grid is not None:
        raise ValueError("The model has no Patch that says how columns are laid out: pass shape=.")
    lengths = _lengths(shape, "the lengths of the axes of a row.")
    p_cont = encoding.p_cont
    if len(lengths) > MOST_AXES or math.prod(lengths) > p_cont:
        raise ValueError(
            f"shape={lengths} must have one, two or three lengths, and no more cells than the "
            f"model has continuous columns ({p_cont})."
        )
    columns = np.arange(math.prod(lengths), dtype=np.int64)
    return Layout(columns.reshape(lengths if len(lengths) == MOST_AXES else (*lengths, 1)))


def _chosen(encoding: Encoding, shape: Any, grid: Any) -> Grid:
    grids, known = encoding.grids, _in_words(encoding)
    lengths = None if shape is None else _lengths(shape, known)
    if grid is not None:
        number = check_count("grid", grid, 0)
        if number >= len(grids):
            raise ValueError(f"grid={number} is out of range: {known}")
        if lengths not in (None, grids[number].row_shape):
            raise ValueError(f"shape={lengths} is not that of grid={number}: {known}")
        return grids[number]
    fitting = [each for each in grids if lengths in (None, each.row_shape)]
    if not fitting:
        raise ValueError(f"shape={lengths} is not that of a grid: {known}")
    if len(fitting) > 1:
        alike = len({each.row_shape for each in fitting}) == 1
        remedy = "grid=" if alike else "shape= or grid="
        raise ValueError(f"Choose a grid with {remedy}: {known}")
    return fitting[0]


def _lengths(shape: Any, known: str) -> tuple[int, ...]:
    given: Any = (shape,) if isinstance(shape, (int, np.integer)) else shape
    is_list = isinstance(given, (list, tuple, np.ndarray)) and len(given) > 0
    if not is_list or not all(_is_length(n) for n in given):
        raise ValueError(f"shape={shape!r} must be a tuple of positive whole numbers: {known}")
    return tuple(int(n) for n in given)


def _is_length(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool) and int(n) >= 1


def _in_words(encoding: Encoding) -> str:
    """List the grids of a model."""
    if len(encoding.grids) == 1:
        return f"the only grid of the model has shape {encoding.grids[0].row_shape}."
    listed = [
        f"grid={number} has shape {grid.row_shape}, {_ends(grid.columns or (), encoding.names)}"
        for number, grid in enumerate(encoding.grids)
    ]
    return f"of the model's grids, {'; '.join(listed)}."


def _ends(columns: Sequence[Any], names: Sequence[str]) -> str:
    return f"columns {names[columns[0]]!r} to {names[columns[-1]]!r}"
