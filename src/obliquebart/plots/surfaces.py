"""Predictions over two columns."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from obliquebart.explain.effects import column_position
from obliquebart.explain.importance import column_importance
from obliquebart.plots.style import PALETTE, as_written, documented, new_axes, short_name
from obliquebart.plots.subject import Subject, subject_of
from obliquebart.plots.ticks import STEPS, PlainFormatter, plain_ticks
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.scaling import ColumnScale

FloatArray = NDArray[np.float64]
# The cost of a surface: grid points per column, rows of X to average over, draws.
GRID, MAX_ROWS, MAX_DRAWS = 40, 25, 100
FEWEST_DRAWS = 20
# What it costs to find the two most important columns.
PAIR_ROWS, PAIR_DRAWS = 500, 25
# The quantiles of the rows that a surface spans, so that outliers do not compress the rest.
MIDDLE = (0.01, 0.99)
OUTLINE = [patheffects.withStroke(linewidth=2.5, foreground="black")]


class NoSurfaceError(ValueError):
    """The model has fewer than two continuous columns to draw a surface over."""


@documented("surface(model.fit(X, y), X)")
def surface(
    model: Any,
    X: Any,
    columns: tuple[str | int, str | int] | None = None,
    *,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the prediction as a surface over two continuous columns.

    Regression: the mean of f. Two classes: the probability of the second class, with a thick line
    at one half. More classes: the most probable class. Probabilities are those of `predict_proba`,
    with class weights if the model has them. Other columns are averaged over rows of X
    (partial dependence). Dots are rows of X.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    X : table of shape (n, n_features)
        Rows for the dots, the ranges (without the outer 1% on each side) and the average over
        other columns.
    columns : pair of names or positions, optional
        By default, the two most important continuous columns, if possible with more than two
        values.
    class_ : label, optional
        Draw the probability of this class.
    """
    if hasattr(model, "effects_"):
        raise ValueError(
            "For a causal model pass an effect: plots.surface(model.effects_[arm], X)."
        )
    subject = subject_of(model, class_)
    encoding = subject.posteriors[0].encoding
    encoded = encoding.transform(X)
    first, second = _positions(encoding, columns or _best_pair(subject, encoded))
    ticks = [_ticks(encoding, j, encoded) for j in (first, second)]
    values = _surface_values(subject, encoded, (first, second), ticks)
    ax = new_axes(ax, 6.4, 5.0)
    if values.shape[-1] > 2 and subject.chosen is None:
        _draw_classes(ax, subject, ticks, values.argmax(axis=-1))
    else:
        shown = -1 if subject.chosen is None else subject.chosen
        _draw_surface(ax, subject, ticks, values[..., shown])
    _draw_rows(ax, ticks, encoded)
    names = encoding.names
    ax.set(xlabel=short_name(names[first]), ylabel=short_name(names[second]))
    as_written(ax.xaxis.label, ax.yaxis.label)
    ax.set(xlim=ticks[0].user[[0, -1]], ylim=ticks[1].user[[0, -1]])
    plain_ticks(ax, x="number", y="number")
    return ax


def _draw_surface(ax: Axes, subject: Subject, ticks: list[_Ticks], values: FloatArray) -> None:
    """Draw one quantity, with colours that span its range."""
    x, y = (tick.user for tick in ticks)
    image = ax.pcolormesh(x, y, values, cmap="cividis", rasterized=True)
    likelihood = subject.posteriors[0].likelihood
    formatter = PlainFormatter(percent=subject.is_probability)
    if values.min() < values.max():
        # In the same raster as the colours, so that both look the same on a dark page.
        lines = ax.contour(x, y, values, colors="white", linewidths=0.8, levels=6)
        _rasterise(lines)
        names = dict(zip(lines.levels, formatter.format_ticks(list(lines.levels)), strict=True))
        for text in ax.clabel(lines, fontsize=7, colors="white", fmt=names):
            text.set_rasterized(True)
    boundary = likelihood.boundary
    if boundary is not None and values.min() < boundary < values.max():
        line = ax.contour(x, y, values, levels=[boundary], colors="white", linewidths=2.5)
        _rasterise(line)
    if ax.figure is not None:
        places = MaxNLocator(nbins=6, steps=STEPS)
        label = subject.mean_label
        bar = ax.figure.colorbar(image, ax=ax, label=label, format=formatter, ticks=places)
        as_written(bar.ax.yaxis.label)


def _draw_classes(ax: Axes, subject: Subject, ticks: list[_Ticks], codes: NDArray[np.intp]) -> None:
    """Draw the region in which each class is the most probable, with its name."""
    x, y = (tick.user for tick in ticks)
    n_classes = len(subject.classes)
    shades = PALETTE if n_classes <= len(PALETTE) else _shades(n_classes)
    ax.pcolormesh(
        *(x, y, codes),
        cmap=ListedColormap(shades[:n_classes]),
        vmin=-0.5,
        vmax=n_classes - 0.5,
        rasterized=True,
    )
    for code in np.unique(codes):
        here = codes == code
        if not here.all():
            _rasterise(ax.contour(x, y, here, levels=[0.5], colors="white", linewidths=1.2))
        row, column = _middle(here)
        # Keep names at the edge inside the frame.
        side = ("left", "center", "right")[min(3 * column // GRID, 2)]
        name = ax.text(
            float(x[column]),
            float(y[row]),
            short_name(str(subject.classes[code])),
            ha=side,
            va="center",
            color="white",
            path_effects=OUTLINE,
            clip_on=True,
            rasterized=True,
            zorder=5,
        )
        as_written(name)
    as_written(ax.set_title(f"most probable {subject.name}"))


def _shades(n_classes: int) -> Any:
    return mpl.colormaps["cividis"](np.linspace(0.0, 1.0, n_classes))


def _middle(here: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the point of a region that is farthest from its border."""
    padded = np.pad(here, 1)
    depth = np.zeros(here.shape)
    while padded.any():
        depth += padded[1:-1, 1:-1]
        padded[1:-1, 1:-1] &= (
            padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
        )
    row, column = np.unravel_index(np.argmax(depth), depth.shape)
    return int(row), int(column)


def _draw_rows(ax: Axes, ticks: list[_Ticks], encoded: EncodedTable) -> None:
    dots = choose_rows(200, encoded.n_rows)
    ax.plot(
        *(tick.of_rows(encoded.x_cont[tick.row, dots]) for tick in ticks),
        ".",
        ms=4.5,
        color="white",
        mec="black",
        mew=0.6,
        rasterized=True,
    )


def _rasterise(contours: Any) -> None:
    # Before matplotlib 3.11, contours cannot be rasterised, and trying gives a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        contours.set_rasterized(True)


class _Ticks:
    """Grid points of a column, in the user's units and scaled for the engine."""

    def __init__(self, scale: ColumnScale, row: int, scaled: NDArray[np.float32]) -> None:
        self.row = row
        self.of_rows = scale.undo
        values = scale.undo(scaled[~np.isnan(scaled)])
        low, high = np.quantile(values, MIDDLE) if len(values) else (scale.low, scale.high)
        if not low < high:
            low, high = scale.low, scale.high
        self.user = np.linspace(low, high, GRID)
        self.scaled = scale.apply(self.user)


def _ticks(encoding: Encoding, j: int, encoded: EncodedTable) -> _Ticks:
    scale = encoding.columns[j]
    if not isinstance(scale, ColumnScale):
        raise ValueError(
            f"Column {encoding.names[j]!r} is categorical: a surface needs two continuous columns."
        )
    if not scale.low < scale.high:
        raise ValueError(
            f"Column {encoding.names[j]!r} had a single value in training: choose another column."
        )
    row = encoding.kinds[:j].count("continuous")
    return _Ticks(scale, row, encoded.x_cont[row])


def _best_pair(subject: Subject, encoded: EncodedTable) -> tuple[str, str]:
    """Return the two most important continuous columns; those with two values come last."""
    encoding = subject.posteriors[0].encoding
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
        subject.posteriors, encoding, encoded, max_rows=PAIR_ROWS, max_draws=PAIR_DRAWS
    )
    ranked = [
        (binary[row.column], rank, row.column)
        for rank, row in enumerate(importances)
        if row.column in binary
    ]
    if len(ranked) < 2:
        raise NoSurfaceError("A surface needs two continuous columns that are not constant.")
    (_, _, first), (_, _, second) = sorted(ranked)[:2]
    return first, second


def _positions(encoding: Encoding, columns: tuple[str | int, str | int]) -> tuple[int, int]:
    positions = [column_position(encoding, column) for column in columns]
    if len(positions) != 2 or positions[0] == positions[1]:
        raise ValueError("columns must be two different columns.")
    return positions[0], positions[1]


def _surface_values(
    subject: Subject, encoded: EncodedTable, pair: tuple[int, int], ticks: list[_Ticks]
) -> FloatArray:
    """Return mean predictions on the grid, indexed by second column, first column and class."""
    encoding = subject.posteriors[0].encoding
    only_these = len(encoding.names) == len(pair)
    rows = choose_rows(1 if only_these else MAX_ROWS, encoded.n_rows)
    base = encoded.take(rows)
    x_cont = np.tile(base.x_cont, GRID * GRID)
    x_cat = np.tile(base.x_cat, GRID * GRID)
    x_cont[ticks[0].row] = np.repeat(np.tile(ticks[0].scaled, GRID), len(rows))
    x_cont[ticks[1].row] = np.repeat(np.repeat(ticks[1].scaled, GRID), len(rows))
    mean = _means(subject, EncodedTable(x_cont, x_cat, encoded.n_levels))
    by_point = mean.reshape(GRID, GRID, len(rows), -1).mean(axis=2)
    return np.asarray(by_point, dtype=np.float64)


def _means(subject: Subject, table: EncodedTable) -> FloatArray:
    """Return mean predictions of some of the draws, shape (rows, classes), or (rows, 1)."""
    n_draws = int(subject.posteriors[0].draws.n_draws)
    # Several posteriors share what one would cost.
    chosen = choose_rows(max(MAX_DRAWS // len(subject.posteriors), FEWEST_DRAWS), n_draws)
    thinned = [posterior._take(chosen) for posterior in subject.posteriors]
    if not subject.classes:
        return thinned[0].summarise(table).mean[:, None]
    weights = subject.class_weights
    return ClassProbabilities(thinned, len(subject.classes), len(chosen), weights).mean(table, None)
