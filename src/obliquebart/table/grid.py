"""Columns that are laid out on a line, a plane or a cube: the cells of curves and images."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_AXES = 3
POINT, PIXEL = "point", "pixel"
# Rows with missing cells are filled so many at a time, to bound the memory that this takes.
ROWS_AT_A_TIME = 1024


@dataclass(frozen=True)
class Grid:
    """Where columns lie in an image or a curve.

    Attributes
    ----------
    shape : tuple of int
        Lengths of one, two or three axes.
    channels : int
        Columns per cell.
    columns : tuple of int or str, or None
        The columns in the table, the last axis (or the channel) fastest, as names or positions;
        None: all continuous ones.

    Examples
    --------
    >>> Grid((2, 2)).cell_names()
    ['pixel[0,0]', 'pixel[0,1]', 'pixel[1,0]', 'pixel[1,1]']
    """

    shape: tuple[int, ...]
    channels: int = 1
    columns: tuple[int, ...] | tuple[str, ...] | None = None

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of one row of an array: the cells, and the channels if there are several."""
        return (*self.shape, self.channels) if self.channels > 1 else self.shape

    @property
    def n_columns(self) -> int:
        """How many columns the grid has."""
        return math.prod(self.row_shape)

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the columns in the table, of a grid that was placed there."""
        return tuple(int(at) for at in self.columns or ())

    @property
    def may_be_whole(self) -> bool:
        """Whether the grid can have all columns of a table, so that rows may be images."""
        return self.columns is None or set(self.columns) == set(range(self.n_columns))

    def cell_names(self) -> list[str]:
        """Return names of the columns, in order."""
        word = POINT if len(self.shape) == 1 else PIXEL
        return [f"{word}[{','.join(map(str, at))}]" for at in np.ndindex(*self.row_shape)]

    def placed(self, names: Sequence[str], kinds: Sequence[str]) -> Grid | None:
        """Return the grid with positions of columns; None if the table does not have them."""
        continuous = [j for j, kind in enumerate(kinds) if kind == "continuous"]
        if self.columns is None:
            found = continuous
        else:
            number = numbers_of(names)
            found = [number.get(at, -1) if isinstance(at, str) else at for at in self.columns]
        if len(found) != self.n_columns or not set(found) <= set(continuous):
            return None
        return replace(self, columns=tuple(found))

    def fill(
        self, columns: NDArray[np.float32], says_nothing: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """Fill missing cells with the mean of the nearest cells of their row and channel.

        Parameters
        ----------
        columns : ndarray of shape (n_columns, n_rows)
        says_nothing : bool array of shape (n_columns,), optional
            Columns of cells that are alike in all training rows, and all map to 0: they count for
            no other cell.

        Returns
        -------
        ndarray
            The same array if no cell is missing. Channels without any value stay missing.
        """
        missing = np.flatnonzero(np.isnan(columns).any(axis=0))
        if not len(missing):
            return columns
        filled = columns.copy()
        for start in range(0, len(missing), ROWS_AT_A_TIME):
            rows = missing[start : start + ROWS_AT_A_TIME]
            own = columns[:, rows]
            if says_nothing is not None:
                own[says_nothing] = np.nan
            cells = own.reshape(*self.shape, self.channels * len(rows))
            own = _filled(cells).reshape(self.n_columns, len(rows))
            if says_nothing is not None:
                own[says_nothing] = 0.0
            filled[:, rows] = np.where(np.isnan(filled[:, rows]), own, filled[:, rows])
        return filled

    def to_state(self) -> dict[str, Any]:
        """JSON-able state of a grid with positions."""
        columns = None if self.columns is None else list(self.columns)
        return {"shape": list(self.shape), "channels": self.channels, "columns": columns}

    @classmethod
    def from_state(cls, state: Any, names: Sequence[str], kinds: Sequence[str]) -> Grid:
        """Rebuild from `to_state`'s dictionary, or raise ValueError: a file may be damaged."""
        shape, columns = _lengths(state["shape"]), _lengths(state["columns"], least=0)
        (channels,) = _lengths([state["channels"]])
        if not 1 <= len(shape) <= MOST_AXES or len(set(columns)) < len(columns):
            raise ValueError("its grid has no shape, or a column twice")
        grid = cls(shape, channels, columns).placed(names, kinds)
        if grid is None:
            raise ValueError("its grid has columns that the table does not have")
        return grid


def flat_rows(X: Any, grids: Sequence[Grid]) -> Any:
    """Return images as rows of columns; anything else as it is.

    Examples
    --------
    >>> flat_rows(np.zeros((5, 8, 8)), [Grid((8, 8))]).shape
    (5, 64)
    """
    if not grids:
        return X
    positions = [at for grid in grids for at in grid.columns or () if not isinstance(at, str)]
    least = max(positions, default=-1) + 1  # so many columns a table has
    whole = {g.row_shape: g for g in grids if g.may_be_whole and g.n_columns >= least}
    if isinstance(X, (list, tuple)):
        X = _stacked(X, list(whole))
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple):
        return X
    with_ones = {(*row_shape, 1): grid for row_shape, grid in whole.items()}
    if len(shape) > 2 and shape[1:] in with_ones | whole:
        # xarray and h5py, among others, have arrays without `reshape`.
        return np.asarray(X).reshape(shape[0], math.prod(shape[1:]))
    one = (with_ones | whole).get(shape)
    if one is not None and len(shape) > 1 and shape[1] != one.n_columns:
        raise ValueError(
            f"X has the shape of a single image, {shape}: pass X[np.newaxis], an array with one "
            "image."
        )
    if len(shape) > 2:
        raise ValueError(f"X has shape {shape}, {_remedy(shape, list(whole), grids)}")
    return X


def column_names(grids: Sequence[Grid], kinds: Sequence[str]) -> list[str]:
    """Return names of the columns of an array, in which cells of a grid have names of their own.

    All columns are called x0, x1, ... if there is no grid, or several that are not the same, or
    none that fits.

    Examples
    --------
    >>> column_names([Grid((2,), columns=(1, 2))], ["continuous"] * 4)
    ['x0', 'point[0]', 'point[1]', 'x3']
    """
    names = [f"x{j}" for j in range(len(kinds))]
    placed = {grid.placed(names, kinds) for grid in grids}
    grid = placed.pop() if len(placed) == 1 else None
    if grid is not None:
        for j, name in zip(grid.positions, grid.cell_names(), strict=True):
            names[j] = name
    return names


def numbers_of(names: Sequence[str]) -> dict[str, int]:
    """Return the positions of columns by name; cells are also known as x0, x1, ...

    Examples
    --------
    >>> numbers_of(["x0", "pixel[0,0]"])
    {'x1': 1, 'x0': 0, 'pixel[0,0]': 1}
    """
    cells = (f"{POINT}[", f"{PIXEL}[")
    numbers = {f"x{j}": j for j, name in enumerate(names) if name.startswith(cells)}
    return numbers | {name: j for j, name in enumerate(names)}


def _stacked(rows: Sequence[Any], row_shapes: list[tuple[int, ...]]) -> NDArray[Any]:
    """Return a list of images or rows as an array; they must have the same shape."""
    try:
        return np.asarray(rows)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
    try:
        shapes = list(dict.fromkeys(np.shape(row) for row in rows))
    except ValueError:  # a row is uneven in itself
        found = "rows that are no arrays"
    else:
        found = f"rows of different shapes, such as {shapes[0]} and {shapes[-1]}"
    wanted = f" {row_shapes[0]}" if len(row_shapes) == 1 else ""
    raise ValueError(
        f"X is a list with {found}: all images or curves must have the same shape{wanted}."
    )


def _remedy(
    shape: tuple[int, ...], row_shapes: list[tuple[int, ...]], grids: Sequence[Grid]
) -> str:
    """Say what X of a wrong shape should have."""
    has_names = any(isinstance(at, str) for grid in grids for at in grid.columns or ())
    if not row_shapes and has_names:
        return (
            "but columns= of a Patch in directions has names, and images have none: leave columns= "
            "out if the Patch has all columns, or pass flat rows, X.reshape(len(X), -1)."
        )
    if not row_shapes:
        return (
            "but no Patch in directions has all columns, so that rows cannot be images: pass flat "
            "rows, X.reshape(len(X), -1)."
        )
    if len(row_shapes) > 1:
        shown = " or ".join(map(str, row_shapes))
        return (
            f"but a row of X has the shape {shown} in directions: pass an array with such rows, or "
            "correct Patch's shape."
        )
    (row_shape,) = row_shapes
    has_channels = shape[1:-1] == row_shape
    other = f"set channels={shape[-1]} in Patch" if has_channels else "correct Patch's shape"
    return (
        f"but a row of X has the shape {row_shape} in directions: pass an array of shape (n, "
        f"{', '.join(map(str, row_shape))}), or {other}."
    )


def _filled(cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fill NaN with means of neighbours, diagonal ones too, from the rim of each hole inwards.

    The last axis is not one of the grid's.
    """
    n_axes = cells.ndim - 1
    steps = [step for step in itertools.product((-1, 0, 1), repeat=n_axes) if any(step)]
    while True:
        missing = np.isnan(cells)
        values, present = np.where(missing, 0.0, cells).astype(np.float64), ~missing
        around = [(1, 1)] * n_axes + [(0, 0)]
        wide, wide_present = np.pad(values, around), np.pad(present, around)
        total, count = np.zeros(cells.shape), np.zeros(cells.shape, dtype=np.int64)
        for step in steps:
            there = tuple(
                slice(1 + s, 1 + s + n) for s, n in zip(step, cells.shape[:-1], strict=True)
            )
            total += wide[there]
            count += wide_present[there]
        found = missing & (count > 0)
        if not found.any():
            return cells
        cells = np.where(found, total / np.maximum(count, 1), cells).astype(np.float32)


def _lengths(values: Any, least: int = 1) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(n) is int and n >= least for n in values):
        raise ValueError("its grid has lengths or columns that are no numbers")
    return tuple(values)
