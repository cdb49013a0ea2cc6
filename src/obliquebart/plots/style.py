"""What all plots share: colours, new Axes, legends, labels."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Function = TypeVar("Function", bound=Callable[..., Any])

# The colour of lines, text and frames. A page can replace it by its own text colour.
INK = "#1b1b1f"
# The width of a character relative to the font size.
CHARACTER = 0.56
# The width of the mark in a legend entry, in characters.
MARK = 6
# A dark and a light colour that differ without their hue.
ACCENT = "#2f6fb3"
SECOND = "#e39a2d"
# Chains and classes. The colours are those of Okabe and Ito, which most eyes can tell apart, but
# with a brighter purple, and without the yellow, which is too light on white. Two with the same
# dashes differ in lightness.
PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#d030d8"),
    *("#56b4e9", "#e69f00", "#882255", "#1b1b1f"),
)
DASHES = ("-", "--", "-.", ":")

_STYLE: Any = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.formatter.use_mathtext": False,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


_DOCUMENTATION = """
ax : Axes, optional
    Axes to draw on; by default, those of a new figure.

Returns
-------
Axes

Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> from obliquebart import ObliqueBARTRegressor, plots
>>> X, y = load_diabetes(return_X_y=True)
>>> model = ObliqueBARTRegressor(n_trees=10, n_burn=20, n_draws=20, random_state=0)
>>> ax = plots.{call}
"""


def documented(call: str) -> Callable[[Function], Function]:
    """Add to a docstring what all plots share: `ax`, the result, an example with this call."""

    def add(function: Function) -> Function:
        function.__doc__ = cleandoc(function.__doc__ or "") + _DOCUMENTATION.format(call=call)
        return function

    return add


@contextmanager
def styled() -> Iterator[None]:
    """Draw in colours that work on any page background, and all text as it is."""
    with mpl.rc_context(_STYLE):
        yield


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def as_written(*texts: Text) -> None:
    """Draw texts with names of the user as they are.

    Matplotlib would take what is between two dollar signs for a formula. Texts without any keep
    their setting, so that whoever replaces them later can write formulas.
    """
    for text in texts:
        if "$" in text.get_text():
            text.set_parse_math(False)


def legend_above(ax: Axes, n_columns: int = 2, title: str | None = None) -> None:
    """Put the legend above the frame, where it covers nothing, in as many columns as fit."""
    lengths = [len(text) + MARK for text in ax.get_legend_handles_labels()[1]]
    room = _characters(ax)
    fitting = [
        n
        for n in range(n_columns, 1, -1)
        if sum(max(column, default=0) for column in np.array_split(lengths, n)) <= room
    ]
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=fitting[0] if fitting else 1,
        title=title,
        frameon=False,
        alignment="left",
    )
    as_written(legend.get_title(), *legend.get_texts())


def title_above(ax: Axes, text: str, value: str = "") -> None:
    """Write a title with a value behind it, or below it where one line has no room for both."""
    size = FontProperties(size=mpl.rcParams["axes.titlesize"]).get_size_in_points()
    room = max(int(_characters(ax) * float(mpl.rcParams["font.size"]) / size), 12)
    line = f"{text}    {value}" if value else text
    lines = (
        [line] if len(line) <= room else [*textwrap.wrap(text, room), *([value] if value else [])]
    )
    as_written(ax.set_title("\n".join(lines), loc="left"))


def label_axes(ax: Axes, *, x: str | None = None, y: str | None = None) -> None:
    """Label the axes, wrapping labels that are longer than the axis."""
    for axis, text, upright in ((ax.xaxis, x, False), (ax.yaxis, y, True)):
        if text is not None:
            line = max(_characters(ax, upright), 12)
            as_written(axis.set_label_text(textwrap.fill(text, line)))


def _characters(ax: Axes, upright: bool = False) -> int:
    """Return approximately how many characters fit along an axis."""
    box, figure = ax.get_position(original=True), ax.figure
    pixels = figure.bbox.height * box.height if upright else figure.bbox.width * box.width
    length = 72.0 * pixels / figure.dpi
    return int(length / (CHARACTER * float(mpl.rcParams["font.size"])))


def line_styles(n_lines: int) -> list[dict[str, Any]]:
    """Return a colour and a line style for each chain or class."""
    return [
        {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": DASHES[(i + i // len(PALETTE)) % len(DASHES)],
        }
        for i in range(n_lines)
    ]


def short_name(name: str, most: int = 24) -> str:
    """Return a name, shortened in the middle if it is too long for a plot.

    Examples
    --------
    >>> short_name("number_of_bedrooms_on_the_first_floor")
    'number_of_be…first_floor'
    """
    if len(name) <= most:
        return name
    return f"{name[: most // 2]}…{name[len(name) - most + most // 2 + 1 :]}"
