"""Ticks with labels that are plain numbers, distinct, and apart from each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, MaxNLocator
from numpy.typing import NDArray

from obliquebart.display.numbers import LARGEST_PLAIN, SEPARATED_FROM, fixed, with_exponent

FloatArray = NDArray[np.float64]
STEPS = (1, 2, 2.5, 5, 10)
MOST_INTERVALS = 8
# With more decimals, numbers below 1 are easier to read with an exponent.
MOST_DECIMALS = 5
# What labels need, in sizes of their font: the width of a character, the height of a line, and
# what is left free between two of them.
CHARACTER, LINE, GAP = 0.62, 1.2, 0.9


class PlainFormatter(Formatter):
    """Writes numbers with the decimals that their differences need, and if possible no exponent.

    All labels of an axis have equally many decimals. Thousands are separated from ten thousand on,
    so that years have no comma.
    """

    def __init__(self, percent: bool = False) -> None:
        self._factor, self._unit = (100.0, "%") if percent else (1.0, "")
        self._ticks: list[float] = []

    def set_locs(self, locs: Sequence[float]) -> None:  # type: ignore[override]
        """Remember the ticks of the axis."""
        self._ticks = list(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick among the others."""
        del pos
        return self.labels([x], self._ticks)[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:  # type: ignore[override]
        """Return the labels of all ticks."""
        self.set_locs(values)
        return self.labels(values, values)

    def labels(self, values: Sequence[float], ticks: Sequence[float]) -> list[str]:
        """Return the labels of values on an axis with these ticks."""
        scaled = self._factor * np.asarray(values, dtype=np.float64)
        ticks = np.unique([*scaled, *(self._factor * np.asarray(ticks, dtype=np.float64))])
        step = float(np.diff(ticks).min()) if len(ticks) > 1 else float(np.abs(ticks).max())
        largest = float(np.abs(ticks).max())
        decimals = _decimals(ticks, step)
        if largest >= LARGEST_PLAIN or (decimals > MOST_DECIMALS and largest < 1.0):
            digits = 1 + max(math.ceil(math.log10(largest / step)), 0)
            texts = ["0" if v == 0 else with_exponent(float(v), digits) for v in scaled]
        else:
            separated = largest >= SEPARATED_FROM
            texts = [fixed(float(v), decimals, separated=separated) for v in scaled]
        return [text + self._unit for text in texts]


def _decimals(ticks: FloatArray, step: float) -> int:
    """Return the fewest decimals with which no tick moves by a visible part of a step."""
    if step <= 0.0:
        return 0
    for decimals in range(max(math.floor(-math.log10(step)), 0), 300):
        if np.abs(np.round(ticks, decimals) - ticks).max() <= 0.01 * step:
            return decimals
    return 300


class RoomyLocator(MaxNLocator):
    """Chooses as many round numbers as have room for their labels."""

    def __init__(self, formatter: PlainFormatter) -> None:
        super().__init__(nbins=MOST_INTERVALS, steps=STEPS)
        self._formatter = formatter

    def tick_values(self, vmin: float, vmax: float) -> FloatArray:
        """Return the ticks that are drawn."""
        low, high = sorted((vmin, vmax))
        slack = 1e-9 * (high - low)
        fewest = None
        for intervals in range(MOST_INTERVALS, 0, -1):
            ticks = MaxNLocator(nbins=intervals, steps=STEPS).tick_values(low, high)
            ticks = ticks[(ticks >= low - slack) & (ticks <= high + slack)]
            if len(ticks) < 2:
                break
            if self._fit(ticks, high - low):
                return np.asarray(ticks, dtype=np.float64)
            fewest = ticks
        if fewest is None:
            return np.asarray(super().tick_values(vmin, vmax), dtype=np.float64)
        # Two of them, as far apart as can be.
        return np.asarray(fewest[[0, -1]], dtype=np.float64)

    def _fit(self, ticks: FloatArray, width: float) -> bool:
        if not isinstance(self.axis, Axis):
            return True
        length, size, along = _room(self.axis)
        texts = self._formatter.labels(list(ticks), list(ticks))
        needs = np.array([CHARACTER * len(text) if along else LINE for text in texts])
        needs = size * (needs[1:] + needs[:-1]) / 2.0
        gap = size * GAP if along else 0.0
        return bool((np.diff(ticks) / width * length >= needs + gap).all())


def _room(axis: Axis) -> tuple[float, float, bool]:
    """Return the length of an axis and the size of its font in points, and if labels lie along."""
    along = isinstance(axis, XAxis)
    box, figure = axis.axes.get_window_extent(), axis.axes.figure
    pixels = box.width if along else box.height
    # Asking for its labels would ask for its ticks.
    size = float(axis.get_major_ticks(1)[0].label1.get_fontsize())
    return pixels * 72.0 / (72.0 if figure is None else figure.dpi), size, along


def plain_ticks(ax: Axes, *, x: str | None = None, y: str | None = None) -> None:
    """Write plain numbers ("number") or percentages ("percent") along the axes."""
    for axis, kind in ((ax.xaxis, x), (ax.yaxis, y)):
        if kind is not None:
            formatter = PlainFormatter(percent=kind == "percent")
            axis.set_major_formatter(formatter)
            axis.set_major_locator(RoomyLocator(formatter))
