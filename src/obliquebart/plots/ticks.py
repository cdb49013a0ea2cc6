"""Ticks whose labels are plain, distinct numbers that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, Locator, MaxNLocator
from numpy.typing import NDArray

from obliquebart.display.numbers import LARGEST_PLAIN, SEPARATED_FROM, fixed, with_exponent

FloatArray = NDArray[np.float64]
STEPS = (1, 2, 2.5, 5, 10)
MOST_INTERVALS = 8
# Numbers that need more decimals are easier to read with an exponent.
MOST_DECIMALS = 5
# The space for labels relative to the font size: the width of a character, the height of a line,
# and the gap between two labels.
CHARACTER, LINE, GAP = 0.62, 1.2, 0.9


class PlainFormatter(Formatter):
    """Formats numbers with as many decimals as they need, if possible without exponents.

    All labels of an axis have the same number of decimals. Thousands separators start at 10,000,
    so that years have no comma.
    """

    def __init__(self, percent: bool = False) -> None:
        self._factor, self._unit = (100.0, "%") if percent else (1.0, "")
        self._ticks: list[float] = []

    def set_locs(self, locs: Sequence[float]) -> None:
        """Store the ticks of the axis."""
        self._ticks = list(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        del pos
        return self.labels([x], self._ticks)[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks."""
        self.set_locs(values)
        return self.labels(values, values)

    def labels(self, values: Sequence[float], ticks: Sequence[float]) -> list[str]:
        """Return the labels of values on an axis with these ticks."""
        if not len(values):
            return []
        scaled = self._factor * np.asarray(values, dtype=np.float64)
        others = self._factor * np.asarray(ticks, dtype=np.float64)
        places = np.unique(np.concatenate([scaled, others]))
        largest = float(np.abs(places).max())
        step = float(np.diff(places).min()) if len(places) > 1 else largest
        decimals = _decimals(places, step)
        if largest >= LARGEST_PLAIN or (decimals > MOST_DECIMALS and largest < 1.0):
            digits = 1 + max(math.ceil(math.log10(largest / step)), 0)
            texts = ["0" if v == 0 else with_exponent(float(v), digits) for v in scaled]
        else:
            separated = largest >= SEPARATED_FROM
            texts = [fixed(float(v), decimals, separated=separated) for v in scaled]
        return [text + self._unit for text in texts]


def _decimals(ticks: FloatArray, step: float) -> int:
    """Return the smallest number of decimals that does not visibly move a tick."""
    if step <= 0.0:
        return 0
    for decimals in range(max(math.floor(-math.log10(step)), 0), 300):
        if np.abs(np.round(ticks, decimals) - ticks).max() <= 0.01 * step:
            return decimals
    return 300


class RoomyLocator(MaxNLocator):
    """Chooses as many round numbers `within` a range as there is room for labels."""

    def __init__(
        self, formatter: PlainFormatter, within: tuple[float, float] = (-math.inf, math.inf)
    ) -> None:
        super().__init__(nbins=MOST_INTERVALS, steps=STEPS)
        self._formatter = formatter
        self._within = within

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks that are drawn."""
        low, high = sorted((vmin, vmax))
        width = high - low
        slack = 1e-9 * width
        low, high = max(low, self._within[0]), min(high, self._within[1])
        fewest = None
        for intervals in range(MOST_INTERVALS, 0, -1):
            ticks = np.asarray(MaxNLocator(nbins=intervals, steps=STEPS).tick_values(low, high))
            ticks = ticks[(ticks >= low - slack) & (ticks <= high + slack)]
            if len(ticks) < 2:
                break
            if labels_fit(self.axis, self._formatter, ticks.tolist(), width):
                return np.asarray(ticks, dtype=np.float64)
            fewest = ticks
        if fewest is None:
            return np.asarray(super().tick_values(vmin, vmax), dtype=np.float64)
        # The two that are farthest apart.
        return np.asarray(fewest[[0, -1]], dtype=np.float64)


def labels_fit(axis: Any, formatter: PlainFormatter, ticks: Sequence[float], width: float) -> bool:
    """Return whether the labels of these ticks fit on an axis without overlapping."""
    if not isinstance(axis, Axis):
        return True
    length, size, along = _room(axis)
    texts = formatter.labels(ticks, ticks)
    needs = np.array([CHARACTER * len(text) if along else LINE for text in texts])
    needs = size * (needs[1:] + needs[:-1]) / 2.0
    gap = size * GAP if along else 0.0
    return bool((np.diff(ticks) / width * length >= needs + gap).all())


def _room(axis: Axis) -> tuple[float, float, bool]:
    """Return an axis' length and font size in points, and whether labels are parallel to it."""
    along = isinstance(axis, XAxis)
    box, figure = axis.axes.get_window_extent(), axis.axes.figure
    pixels = box.width if along else box.height
    # Reading the labels would compute the ticks again.
    size = float(axis.get_major_ticks(1)[0].label1.get_fontsize())
    return pixels * 72.0 / figure.dpi, size, along


Kind = Literal["number", "percent"]


def plain_ticks(ax: Axes, *, x: Kind | None = None, y: Kind | None = None) -> None:
    """Write plain numbers or percentages along the axes."""
    for axis, kind in ((ax.xaxis, x), (ax.yaxis, y)):
        if kind is not None:
            formatter = PlainFormatter(percent=kind == "percent")
            axis.set_major_formatter(formatter)
            axis.set_major_locator(RoomyLocator(formatter))


def ticks_within(axis: Axis, low: float, high: float) -> None:
    """Write plain numbers along part of an axis."""
    formatter = PlainFormatter()
    axis.set_major_formatter(formatter)
    axis.set_major_locator(RoomyLocator(formatter, (low, high)))


class ValueLocator(Locator):
    """Marks the given values, except those without room for a label."""

    def __init__(self, values: Sequence[float], formatter: PlainFormatter) -> None:
        self._values = sorted(values)
        self._formatter = formatter

    def __call__(self) -> Any:
        """Return the values that are marked."""
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the first value, and every value far enough from the previous one."""
        kept = self._values[:1]
        for value in self._values[1:]:
            if labels_fit(self.axis, self._formatter, [*kept[-1:], value], abs(vmax - vmin)):
                kept.append(value)
        return kept


def ticks_at(axis: Axis, values: Sequence[float]) -> None:
    """Write these numbers along an axis."""
    formatter = PlainFormatter()
    axis.set_major_formatter(formatter)
    axis.set_major_locator(ValueLocator(values, formatter))


class NameFormatter(Formatter):
    """Writes names of the user as they are: dollar signs do not enclose formulas."""

    def __init__(self, names: Mapping[float, str]) -> None:
        self._names = names

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the name at a place."""
        del pos
        return self._names.get(float(x), "")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the names at all ticks."""
        names = [self(value) for value in values]
        if any("$" in name for name in names):
            # Here, since matplotlib makes new ticks when it likes; Axes that share an axis have
            # one formatter, but ticks of their own.
            axis: Any = self.axis
            for ax in axis.axes.get_shared_y_axes().get_siblings(axis.axes):
                for tick in ax.yaxis.get_major_ticks(len(names)):
                    tick.label1.set_parse_math(False)
                    tick.label2.set_parse_math(False)
        return names


def name_rows(ax: Axes, places: Sequence[float] | NDArray[Any], names: Sequence[str]) -> None:
    """Write names along the vertical axis."""
    ax.set_yticks(places)
    at = [float(place) for place in places]
    ax.yaxis.set_major_formatter(NameFormatter(dict(zip(at, names, strict=True))))
