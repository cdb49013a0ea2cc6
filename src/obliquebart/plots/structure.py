"""What the trees look like: the columns they use, the surface they make, one of them."""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from obliquebart.explain.effects import column_position
from obliquebart.explain.importance import column_importance
from obliquebart.explain.rules import Inclusion, Rules, variable_inclusion
from obliquebart.explain.trees import Leaf, Split, Tree, label
from obliquebart.plots.style import (
    ACCENT,
    INK,
    SECOND,
    documented,
    legend_above,
    new_axes,
    posterior_of,
    short_name,
)
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.posterior import Posterior
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.scaling import ColumnScale
from obliquebart.validation import check_count

FloatArray = NDArray[np.float64]
# What a surface costs: points of the grid, rows of X to average over, draws.
GRID, MAX_ROWS, MAX_DRAWS = 40, 25, 100
# What it costs to find the two most important columns.
PAIR_ROWS, PAIR_DRAWS = 500, 25
# The part of the rows that a surface spans: a few far away would leave the others no room.
MIDDLE = (0.01, 0.99)


class NoSurfaceError(ValueError):
    """The model has no two continuous columns to draw a surface over."""


@documented("inclusion(model.fit(X, y))")
def inclusion(model: Any, *, top: int = 20, coverage: float = 0.9, ax: Axes | None = None) -> Axes:
    """Draw the share of rules that use each column, with intervals.

    That is how the model is built; `importance` draws which columns matter. The open marks show
    what rules drawn from the prior would have: the prior gives a category fewer rules than a
    number.

    Parameters
    ----------
    model : fitted estimator, Posterior or list of Inclusion
        What to draw.
    top : int, default=20
        The most used columns to show.
    coverage : float, default=0.9
        Of the intervals.
    """
    table: list[Inclusion] = (
        model
        if isinstance(model, list)
        else variable_inclusion(Rules(posterior_of(model)), coverage)
    )
    shown = table[: check_count("top", top, 1)]
    ax = new_axes(ax, height=1.2 + 0.3 * len(shown))
    position = np.arange(len(shown))
    share = np.array([row.share for row in shown])
    ax.hlines(position, [r.low for r in shown], [r.high for r in shown], color=ACCENT, lw=3)
    ax.plot(share, position, "o", color=INK, ms=5.5, label="share of rules")
    ax.plot(
        [row.prior for row in shown],
        position,
        "D",
        mfc="none",
        mec=SECOND,
        mew=1.6,
        ms=6,
        label="prior",
    )
    ax.set_yticks(position, [short_name(row.column) for row in shown])
    ax.invert_yaxis()
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    ax.grid(axis="x", color=INK, alpha=0.15)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlabel("share of rules that use the column")
    title = f"{len(shown)} of {len(table)} columns" if len(table) > len(shown) else None
    legend_above(ax, title=title)
    return ax


@documented("surface(model.fit(X, y), X)")
def surface(
    model: Any,
    X: Any,
    columns: tuple[str | int, str | int] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the prediction as a surface over two continuous columns.

    Of a regression the mean of f, of a classification of two classes the probability of the
    second one, with a thick line at one half. Other columns are averaged over rows of X (partial
    dependence). Dots are rows of X.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    X : table of shape (n, n_features)
        For the ranges (without the last 1% on each side), the dots and the other columns.
    columns : pair of names or positions, optional
        Unless given, the two most important continuous columns, if possible with more than two
        values.
    """
    posterior = posterior_of(model)
    encoded = posterior.encode(X)
    first, second = _positions(posterior, columns or _best_pair(posterior, encoded))
    ticks = [_ticks(posterior, j, encoded) for j in (first, second)]
    values = _surface_values(posterior, encoded, (first, second), ticks)
    ax = new_axes(ax, 6.4, 5.0)
    likelihood = posterior.likelihood
    low, high = likelihood.mean_range or (None, None)
    image = ax.pcolormesh(
        ticks[0].user, ticks[1].user, values, cmap="cividis", rasterized=True, vmin=low, vmax=high
    )
    _draw_contours(ax, ticks, values, likelihood.boundary)
    dots = choose_rows(200, encoded.n_rows)
    ax.plot(
        *(tick.of_rows(encoded.x_cont[tick.row, dots]) for tick in ticks),
        ".",
        ms=3,
        color="white",
        mec="black",
        mew=0.4,
        rasterized=True,
    )
    names = posterior.encoding.names
    ax.set(xlabel=short_name(names[first]), ylabel=short_name(names[second]))
    ax.set(xlim=ticks[0].user[[0, -1]], ylim=ticks[1].user[[0, -1]])
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, label=likelihood.mean_label)
    return ax


def _draw_contours(
    ax: Axes, ticks: list[_Ticks], values: FloatArray, boundary: float | None
) -> None:
    # In the same raster as the colours, so that a page in the dark can leave both as they are.
    x, y = (tick.user for tick in ticks)
    if values.min() < values.max():
        lines = ax.contour(x, y, values, colors="white", linewidths=0.8, levels=6)
        _rasterise(lines)
        for text in ax.clabel(lines, fontsize=7, colors="white"):
            text.set_rasterized(True)
    if boundary is not None and values.min() < boundary < values.max():
        line = ax.contour(x, y, values, levels=[boundary], colors="white", linewidths=2.5)
        _rasterise(line)


def _rasterise(contours: Any) -> None:
    # Before matplotlib 3.11 contours stay lines, with a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        contours.set_rasterized(True)


class _Ticks:
    """Grid points of a column: in the user's units and as the engine sees them."""

    def __init__(self, scale: ColumnScale, row: int, scaled: NDArray[np.float32]) -> None:
        self.row = row
        self.of_rows = scale.undo
        values = scale.undo(scaled[~np.isnan(scaled)])
        low, high = np.quantile(values, MIDDLE) if len(values) else (scale.low, scale.high)
        if not low < high:
            low, high = scale.low, scale.high
        self.user = np.linspace(low, high, GRID)
        self.scaled = scale.apply(self.user)


def _ticks(posterior: Posterior, j: int, encoded: EncodedTable) -> _Ticks:
    scale = posterior.encoding.columns[j]
    if not isinstance(scale, ColumnScale):
        raise ValueError(
            f"Column {posterior.encoding.names[j]!r} is categorical: a surface needs two "
            "continuous columns."
        )
    if not scale.low < scale.high:
        raise ValueError(
            f"Column {posterior.encoding.names[j]!r} had a single value in training: choose "
            "another one."
        )
    row = posterior.encoding.kinds[:j].count("continuous")
    return _Ticks(scale, row, encoded.x_cont[row])


def _best_pair(posterior: Posterior, encoded: EncodedTable) -> tuple[str, str]:
    """Return the two most important continuous columns; those with two values come last."""
    encoding = posterior.encoding
    scales = [c for c in encoding.columns if isinstance(c, ColumnScale)]
    names = [
        n for n, kind in zip(encoding.names, encoding.kinds, strict=True) if kind == "continuous"
    ]
    binary = {
        name: len(np.unique(values)) <= 2
        for name, scale, values in zip(names, scales, encoded.x_cont, strict=True)
        if scale.low < scale.high
    }
    importances = column_importance(
        [posterior], encoding, encoded, max_rows=PAIR_ROWS, max_draws=PAIR_DRAWS
    )
    ranked = [
        (binary[row.column], rank, row.column)
        for rank, row in enumerate(importances)
        if row.column in binary
    ]
    if len(ranked) < 2:
        raise NoSurfaceError("A surface needs two continuous columns with different values.")
    (_, _, first), (_, _, second) = sorted(ranked)[:2]
    return first, second


def _positions(posterior: Posterior, columns: tuple[str | int, str | int]) -> tuple[int, int]:
    positions = [column_position(posterior.encoding, column) for column in columns]
    if len(positions) != 2 or positions[0] == positions[1]:
        raise ValueError("columns must be two different columns.")
    return positions[0], positions[1]


def _surface_values(
    posterior: Posterior, encoded: EncodedTable, pair: tuple[int, int], ticks: list[_Ticks]
) -> FloatArray:
    """Return the mean prediction at every point of the grid, second column by first."""
    n_draws = int(posterior.draws.n_draws)
    thinned = posterior._take(choose_rows(MAX_DRAWS, n_draws))
    only_these = len(posterior.encoding.names) == len(pair)
    rows = choose_rows(1 if only_these else MAX_ROWS, encoded.n_rows)
    base = encoded.take(rows)
    x_cont = np.tile(base.x_cont, GRID * GRID)
    x_cat = np.tile(base.x_cat, GRID * GRID)
    x_cont[ticks[0].row] = np.repeat(np.tile(ticks[0].scaled, GRID), len(rows))
    x_cont[ticks[1].row] = np.repeat(np.repeat(ticks[1].scaled, GRID), len(rows))
    mean = thinned.summarise(EncodedTable(x_cont, x_cat, encoded.n_levels)).mean
    return np.asarray(mean.reshape(GRID, GRID, len(rows)).mean(axis=2), dtype=np.float64)


@documented("tree(model.fit(X, y))")
def tree(model: Any, draw: int = -1, number: int = 0, *, ax: Axes | None = None) -> Axes:
    """Draw one tree: rules in boxes, "yes" to the left, leaves with what they add to f.

    Parameters
    ----------
    model : fitted estimator, Posterior or Tree
        What to draw.
    draw, number : int
        Which tree of which draw, unless a Tree is given.
    """
    chosen = model if isinstance(model, Tree) else posterior_of(model).tree(draw, number)
    n_leaves, depth = len(chosen.leaves), chosen.depth
    ax = new_axes(ax, max(4.0, 1.7 * n_leaves), 1.2 + 1.1 * depth)
    ax.set(xlim=(-0.6, n_leaves - 0.4), ylim=(-depth - 0.5, 0.5))
    ax.set_axis_off()
    _place(ax, chosen.root, 0, 0)
    return ax


def _place(ax: Axes, node: Split | Leaf, depth: int, first_leaf: int) -> tuple[Text, int]:
    """Draw a node and all below it; return its box and the number of its leaves."""
    if isinstance(node, Leaf):
        text = label(node).replace(" (", "\n(")
        return _box(ax, first_leaf, -depth, text, {"boxstyle": "round,pad=0.4", "lw": 1.8}), 1
    yes, n_yes = _place(ax, node.yes, depth + 1, first_leaf)
    no, n_no = _place(ax, node.no, depth + 1, first_leaf + n_yes)
    here = (yes.get_position()[0] + no.get_position()[0]) / 2.0
    rule = textwrap.fill(node.rule, 22)
    box = _box(ax, here, -depth, rule, {"boxstyle": "square,pad=0.4", "lw": 0.9})
    _edge(ax, box, yes, "yes")
    _edge(ax, box, no, "no")
    return box, n_yes + n_no


def _box(ax: Axes, x: float, y: float, text: str, style: dict[str, Any]) -> Text:
    return ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8.5,
        bbox={"facecolor": "none", "edgecolor": ACCENT, **style},
    )


def _edge(ax: Axes, parent: Text, child: Text, answer: str) -> None:
    # Drawn after the boxes, whose sizes are known only then: it ends at their frames.
    (x, y), (child_x, child_y) = parent.get_position(), child.get_position()
    line = {"arrowstyle": "-", "color": INK, "lw": 1.2, "ls": "-" if answer == "yes" else "--"}
    boxes = {"patchA": parent.get_bbox_patch(), "patchB": child.get_bbox_patch()}
    ax.annotate(
        "", (child_x, child_y), (x, y), arrowprops={**line, **boxes, "shrinkA": 0, "shrinkB": 0}
    ).set_zorder(5)
    ax.text(
        (x + child_x) / 2.0,
        (y + child_y) / 2.0,
        answer,
        ha="right" if answer == "yes" else "left",
        va="bottom",
        fontsize=8,
    )
