"""Images side by side in one array of cells, with room for their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from obliquebart.plots.style import CHARACTER

FloatArray = NDArray[np.float64]
# The height of the line with names, in letters, and the space between tiles in inches.
LINE, SPACE = 1.5, 0.1


class Tiles(NamedTuple):
    """Where images of one shape lie in an array, with room for a name above each."""

    corners: list[tuple[int, int]]
    """The row and the column of the first cell of each image."""
    shape: tuple[int, int]
    """Of each image."""
    whole: tuple[int, int]
    """Of the array."""

    @classmethod
    def across(cls, ax: Axes, n_tiles: int, shape: Sequence[int], longest: int) -> Tiles:
        """Lay out tiles row by row, as many side by side as makes them largest.

        `longest` is the length of the longest name; names have room where that is possible.
        """
        room = inches(ax)

        def scale(n_across: int) -> tuple[bool, float]:
            counts = (math.ceil(n_tiles / n_across), n_across)
            size, _, line = _scale(room, counts, shape)
            return line >= _line(), size

        fitting = [n for n in range(1, n_tiles + 1) if n * (_text(longest) + SPACE) <= room[0]]
        n_across = max(fitting or [1], key=scale)
        places = [divmod(i, n_across) for i in range(n_tiles)]
        return cls.at(ax, places, shape, longest)

    @classmethod
    def at(
        cls,
        ax: Axes,
        places: Sequence[tuple[int, int]],
        shape: Sequence[int],
        longest: int,
        margin: int = 0,
    ) -> Tiles:
        """Lay out tiles at these places, with letters in the margin to the left of them."""
        width, height = inches(ax)
        room = (max(width - _text(margin), width / 2), height)
        counts = tuple(1 + max(at) for at in zip(*places, strict=True))
        scale, space, line = _scale(room, counts, shape)
        name = min(_text(longest), room[0] / counts[1] - space)
        # From one tile to the next, in cells.
        down = shape[0] + math.ceil(line / scale)
        across = math.ceil(max(shape[1], name / scale) + space / scale)
        corners = [(row * down + down - shape[0], column * across) for row, column in places]
        whole = (counts[0] * down, (counts[1] - 1) * across + shape[1])
        return cls(corners, (shape[0], shape[1]), whole)

    def joined(self, images: Sequence[FloatArray]) -> FloatArray:
        """Return one array with all images, and NaN between them."""
        every = np.full(self.whole, np.nan)
        for (top, left), image in zip(self.corners, images, strict=True):
            every[top : top + self.shape[0], left : left + self.shape[1]] = image
        return every

    def edges(self, is_in: Sequence[NDArray[np.bool_]]) -> list[FloatArray]:
        """Return the edges between the chosen cells of each image and the others, as segments."""
        found = []
        for (top, left), cells in zip(self.corners, is_in, strict=True):
            padded = np.pad(cells, 1)
            for axis in (0, 1):
                # Of the cells after the edges.
                after = np.argwhere(np.diff(padded, axis=axis))
                after[:, 1 - axis] -= 1
                starts = after[:, ::-1] + (left, top) - 0.5
                step = (1, 0) if axis == 0 else (0, 1)
                found += list(np.stack([starts, starts + step], axis=1))
        return found


def _scale(
    room: tuple[float, float], counts: Sequence[int], shape: Sequence[int]
) -> tuple[float, float, float]:
    """Return the side of a cell in inches if so many tiles fill a room.

    Also the width of the space beside tiles, and the height of the line above them.
    """
    wide, high = room[0] / counts[1], room[1] / counts[0]
    # Where names need more than the room, they overlap, but there is a picture.
    space, line = min(SPACE, 0.7 * wide), min(_line(), 0.7 * high)
    return min((wide - space) / shape[1], (high - line) / shape[0]), space, line


def _line() -> float:
    """Return the height of a line of text in inches."""
    return LINE * float(mpl.rcParams["font.size"]) / 72.0


def _text(n_letters: int) -> float:
    """Return approximately how wide text is, in inches."""
    return CHARACTER * n_letters * float(mpl.rcParams["font.size"]) / 72.0


def inches(ax: Axes) -> tuple[float, float]:
    """Return approximately how wide and how tall Axes are beside their colour bar."""
    box, figure = ax.get_position(original=True), ax.figure
    wide, high = figure.bbox.width * box.width, figure.bbox.height * box.height
    return wide / figure.dpi, high / figure.dpi
