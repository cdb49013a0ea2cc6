"""Where f looks in images, curves and cubes, and what in one of them speaks for its prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.explain.directions import StrongPatch, column_effects, strongest_patches
from obliquebart.explain.evidence import cell_evidence, check_size, log_odds
from obliquebart.explain.layout import Layout, layout_of
from obliquebart.explain.one_row import as_table, raw_values
from obliquebart.plots.style import (
    ACCENT,
    INK,
    as_written,
    documented,
    label_axes,
    new_axes,
    short_name,
)
from obliquebart.plots.subject import Subject, subject_of, subject_with_f
from obliquebart.plots.tiles import Tiles, inches
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_count

FloatArray = NDArray[np.float64]
# The map of signed values: its lightness grows all along, so that it reads without colours.
MAP = "cividis"
# Line widths of a curve where nothing speaks for or against the prediction, and where most does.
THIN, THICK = 1.0, 5.0
# Heights of figures: of a curve, of images, and the least that leaves room for a colour bar.
LOW, HIGH, LEAST = 3.2, 4.8, 2.0
# The slices of larger cubes have numbers as names, so that more of them fit beside each other.
MOST_NAMED_SLICES = 16


@documented("direction_map(model.fit(X, y), (5, 2))")
def direction_map(
    model: Any,
    shape: int | Sequence[int] | None = None,
    *,
    grid: int | None = None,
    signed: bool = False,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the rules look: in an image, a curve or a cube.

    A cell is the posterior mean of ``|φ|`` there, summed over all rules, each weighted by its
    effect: how much the outputs on its two sides differ. Channels are added up. A cube is drawn as
    its slices along the first axis, side by side, each with its number above. Effects are in the
    units of f: logarithms for counts and survival times, and scores for classes.

    Of a causal model, these are the rules of the outcome's own trees, without those of effects:
    pass ``model.effects_[arm]`` for the rules of an effect.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    shape : int or sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). Not needed if
        the model has a `Patch`; with several of them on other columns, it chooses among these.
    grid : int, optional
        Which `Patch` to draw, counted from 0, if the model has several on other columns.
    signed : bool, default=False
        Weight φ instead of ``|φ|``: positive where f, or the score of the class, grows with the
        value of a cell. Images are drawn channel by channel, as opposite channels would cancel; in
        curves and cubes they are added up.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, all classes, whose
        maps are added up. With `signed` it is needed, as scores of classes cannot be added up. Of
        two classes, the signs are those of the second by default. Ordered classes share one f and
        have no trees of their own.
    """
    subject = subject_with_f(model, class_, is_one=signed)
    parts = list(subject.parts.values())
    layout = layout_of(parts[0].encoding, shape, grid)
    values = np.sum([column_effects(part)[int(signed)] for part in parts], axis=0)
    drawn = new_axes(ax, height=_height(layout))
    if signed:
        cells = layout.signed_cells(subject.sign * values)
        words = _with_channels("effect times φ", layout)
        draw_map(drawn, cells, words, signed=True, plane=layout.plane)
    else:
        draw_map(drawn, layout.cells(values))
    if ax is None:
        fit_height(drawn)
    return drawn


@documented("patches(model.fit(X, y), shape=(5, 2))")
def patches(
    model: Any,
    n_patches: int = 8,
    *,
    shape: int | Sequence[int] | None = None,
    grid: int | None = None,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest patches: the sets of cells by which rules change f most.

    Rules with exactly the same cells count together. Their effect is how much the outputs on their
    two sides differ, summed over all such rules, as a mean over draws; it is written beside each
    patch, in the units of f. What is drawn is their mean φ weighted by the effect: f, or the score
    of the class, grows where cells with positive values get larger, and those with negative values
    smaller. Rules with opposite φ cancel, so the cells of a patch are outlined. A patch that mostly
    overlaps with a stronger one is left out, and so are rules that also have other columns.

    Images are tiles, strongest first. Curves are lines above each other, strongest at the top, and
    so are patches in a cube: each is a row of the slices that it touches, with their numbers along
    the first axis. Images with channels have rows of channels instead; in curves and cubes,
    channels are added up.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    n_patches : int, default=8
        How many patches to draw at most.
    shape : int or sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). Not needed if
        the model has a `Patch`; with several of them on other columns, it chooses among these.
    grid : int, optional
        Which `Patch` to draw, counted from 0, if the model has several on other columns.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, the strongest patches
        of all classes, each with its class beside the effect. Of two classes, the signs are those
        of the second by default. Ordered classes share one f and have no trees of their own.
    """
    subject = subject_with_f(model, class_)
    parts = list(subject.parts.values())
    layout = layout_of(parts[0].encoding, shape, grid)
    found = [
        patch._replace(weights=subject.sign * patch.weights)
        for patch in strongest_patches(
            parts, check_count("n_patches", n_patches, 1), layout.columns
        )
    ]
    if not found:
        raise ValueError(
            "The model has no rule with an effect on these cells alone, so there is no patch to "
            "draw. plots.direction_map also shows rules that have other columns."
        )
    drawn = new_axes(ax, height=patches_height(layout, len(found)))
    draw_patches(drawn, layout, found, list(subject.parts) if len(parts) > 1 else ())
    if ax is None:
        fit_height(drawn)
    return drawn


@documented("evidence(model.fit(X, y), X[0], shape=(5, 2), n_rows=5)")
def evidence(
    model: Any,
    row: Any,
    X: Any = None,
    *,
    shape: int | Sequence[int] | None = None,
    grid: int | None = None,
    class_: Any = None,
    size: int | Sequence[int] | None = None,
    n_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw what in one image, curve or cube speaks for and against its prediction.

    A window of the row is replaced by the same window of other rows. How much the prediction then
    falls on average is what the window says for it; a cell has the mean over the windows that
    contain it. Positive values raise the prediction compared with the other rows, negative values
    lower it. With classes the prediction is the log odds of one class. For survival times it is the
    mean log time, so that positive values are for a later event, and a lower risk; for counts it is
    the expected count. A contour shows an image, or each slice of a cube; a curve has the evidence
    as its colour, and is thicker where there is more of either sign. Missing cells are holes in the
    contour or the curve; a point between two of them is a dot.

    Parameters
    ----------
    model : fitted estimator
        The model. Effects of a causal model have no evidence; `direction_map` draws these.
    row : array, Series, dict, or table with one row
        One row of a table, with all its columns: an image, a curve or a cube, as an array of its
        shape or flat; or the values of the columns by their names.
    X : table of shape (n, n_features), optional
        The other rows; by default, the training rows.
    shape : int or sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). Not needed if
        the model has a `Patch`; with several of them on other columns, it chooses among these.
        Windows have all channels.
    grid : int, optional
        Which `Patch` to draw, counted from 0, if the model has several on other columns.
    class_ : label, optional
        The class whose log odds to explain; by default, the one with the largest probability.
    size : int or sequence of int, optional
        The sides of a window: by default a seventh of those of an image or a cube, or a tenth of
        the length of a curve, but at least 2.
    n_rows : int, default=20
        How many of the other rows to use, evenly spaced.
    """
    check_is_fitted(model)
    if hasattr(model, "effects_"):
        raise ValueError(
            "A causal model estimates effects, which have no evidence. Where the rules of an "
            "effect look: plots.direction_map(model.effects_[arm], shape). The shape is only "
            "needed without a Patch."
        )
    subject, encoding = subject_of(model, class_), model._fitted.encoding
    layout = layout_of(encoding, shape, grid)
    sides = check_size(size, layout)
    rows = model._rows(X, "evidence(model, row, X)")
    chosen = np.linspace(0, rows.n_rows - 1, min(check_count("n_rows", n_rows, 1), rows.n_rows))
    table = as_table(row, encoding, layout.row_shape)
    own = encoding.transform(table)
    score = _Score(model, subject, own)
    values = cell_evidence(score, own, rows.take(chosen.astype(np.intp)), layout, sides)
    drawn = new_axes(ax, height=_height(layout))
    raw = raw_values(table, encoding, layout.columns)
    if values.ndim == 1:
        _show_curve(drawn, raw, values, score.label)
    else:
        _show_cells(drawn, values, score.label, signed=True, outlined=raw.sum(axis=-1))
    if ax is None:
        fit_height(drawn)
    return drawn


class _Score:
    """The mean prediction at encoded rows, or the log odds of a class, and what to call it."""

    def __init__(self, model: Any, subject: Subject, row: EncodedTable) -> None:
        self._model = model
        self._position: int | None = None
        self.label = f"evidence, in {subject.unit}"
        if subject.classes:
            if subject.chosen is None:
                self._position = int(model._probabilities.mean(row, model.n_jobs)[0].argmax())
            else:
                self._position = subject.chosen
            name = short_name(str(subject.classes[self._position]))
            self.label = f"evidence for {name}, in log odds"

    def __call__(self, table: EncodedTable) -> FloatArray:
        if self._position is None:
            return np.asarray(
                self._model.posterior_.summarise(table, n_jobs=self._model.n_jobs).mean
            )
        probabilities = self._model._probabilities.mean(table, self._model.n_jobs)
        return log_odds(probabilities[:, self._position])


# ---- drawing -------------------------------------------------------------------------------------


def draw_map(
    ax: Axes,
    values: FloatArray,
    words: str = "effect times |φ|",
    *,
    signed: bool = False,
    plane: str = "slice",
) -> None:
    """Draw the effects of cells, in the shape of the cells."""
    if values.ndim > 1:
        _show_cells(ax, values, words, signed=signed, plane=plane)
        return
    ax.axhline(0.0, color=INK, lw=0.8)
    ax.plot(np.arange(len(values)), values, _mark(values), color=ACCENT, lw=2)
    label_axes(ax, x="point", y=words)


def draw_patches(
    ax: Axes, layout: Layout, found: Sequence[StrongPatch], classes: Sequence[str] = ()
) -> None:
    """Draw patches of the cells of a layout; `classes` are the names of the patches' parts."""
    n_columns = 1 + int(max(layout.columns.max(), *(patch.columns.max() for patch in found)))
    maps, is_in = [], []
    for patch in found:
        values, used = np.zeros((2, n_columns))
        values[patch.columns], used[patch.columns] = patch.weights, 1.0
        maps.append(layout.signed_cells(values))
        is_in.append(layout.signed_cells(used) > 0)
    names = [_patch_name(patch, classes) for patch in found]
    if len(layout.shape) == 1:
        _show_lines(ax, maps, is_in, names, _with_channels("point", layout))
        return
    words = _with_channels("mean φ", layout)
    if layout.is_deep:
        tiles = _show_patches_in_planes(ax, maps, is_in, names, words, layout.plane)
        is_in = [plane for each in is_in for plane in each[each.any(axis=(1, 2))]]
    else:
        tiles = Tiles.across(ax, len(maps), layout.shape, max(map(len, names)))
        _show_tiles(ax, tiles, maps, names, words, signed=True)
    for width, colour in ((2.0, INK), (0.8, "white")):
        ax.add_collection(LineCollection(tiles.edges(is_in), colors=colour, linewidths=width))


def patches_height(layout: Layout, n_patches: int) -> float:
    """Return the height of a figure with so many patches."""
    if len(layout.shape) == 2 and not layout.is_deep:
        return 1.0 + 1.8 * math.ceil(n_patches / 4)
    return 1.0 + (0.5 if len(layout.shape) == 1 else 0.95) * n_patches


def fit_height(ax: Axes) -> None:
    """Make the figure of an image or of tiles no taller than these need."""
    figure = ax.figure
    if not ax.images or not isinstance(figure, Figure):
        return
    height, width = ax.images[0].get_size()
    labels = 0.8 if ax.axison else 0.3
    needed = max(inches(ax)[0] * height / width + labels, LEAST)
    figure.set_figheight(min(figure.get_figheight(), needed))


def _patch_name(patch: StrongPatch, classes: Sequence[str]) -> str:
    effect = f"{patch.effect:.2g}"
    return f"{effect} (class {short_name(classes[patch.part], 12)})" if classes else effect


def _with_channels(words: str, layout: Layout) -> str:
    return f"{words}, channels added up" if layout.adds_channels else words


def _mark(values: FloatArray) -> str:
    """Return how to draw a curve: a line would not show a single point."""
    return "-" if len(values) > 1 else "o"


def _height(layout: Layout) -> float:
    return LOW if len(layout.shape) == 1 else HIGH


def _show_cells(
    ax: Axes,
    values: FloatArray,
    words: str,
    *,
    signed: bool,
    plane: str = "slice",
    outlined: FloatArray | None = None,
) -> None:
    """Draw an image, or the slices of a cube, and the contour of another one over it."""
    if values.ndim == 2:
        _show_image(ax, values, words, signed=signed)
        label_axes(ax, x="column", y="row")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    else:
        names = _plane_names(len(values), plane)
        tiles = Tiles.across(ax, len(values), values.shape[1:], max(map(len, names)))
        _show_tiles(ax, tiles, list(values), names, words, signed=signed)
        outlined = None if outlined is None else tiles.joined(list(outlined))
    if outlined is not None:
        _outline(ax, outlined)


def _show_image(ax: Axes, image: FloatArray, words: str, *, signed: bool) -> None:
    most = float(np.nanmax(np.abs(image))) or 1.0
    shown = ax.imshow(
        image, cmap=MAP, interpolation="nearest", vmin=-most if signed else 0.0, vmax=most
    )
    as_written(ax.figure.colorbar(shown, ax=ax, label=words).ax.yaxis.label)


def _outline(ax: Axes, image: FloatArray) -> None:
    """Draw the contour half way between the darkest and the brightest cell.

    A missing cell has no brightness, and leaves a hole.
    """
    known = image[~np.isnan(image)]
    if len(known) and min(image.shape) > 1 and known.min() < known.max():
        for width, colour in ((3.0, INK), (1.2, "white")):
            middle = (known.min() + known.max()) / 2
            ax.contour(image, levels=[middle], colors=[colour], linewidths=width)


def _show_curve(ax: Axes, curves: FloatArray, values: FloatArray, words: str) -> None:
    """Draw the channels of a curve, which share the evidence."""
    most = float(np.abs(values).max()) or 1.0
    middle = (values[:-1] + values[1:]) / 2
    at = np.arange(len(values))
    for curve in curves.T:
        points = np.column_stack([at, curve])
        segments = np.stack([points[:-1], points[1:]], axis=1)
        lines = LineCollection(
            list(segments), cmap=MAP, linewidths=THIN + (THICK - THIN) * np.abs(middle) / most
        )
        lines.set_array(middle)
        lines.set_clim(-most, most)
        ax.plot(at, curve, color=INK, lw=0.6)
        ax.add_collection(lines)
        # A point between missing ones, or the only one, is the end of no segment.
        known = np.pad(~np.isnan(curve), 1)
        alone = known[1:-1] & ~known[:-2] & ~known[2:]
        if alone.any():
            sizes = (3 * THIN + (THICK - THIN) * np.abs(values[alone]) / most) ** 2
            ax.scatter(
                *(at[alone], curve[alone], sizes, values[alone]),
                cmap=MAP,
                vmin=-most,
                vmax=most,
                edgecolors=INK,
                linewidths=0.6,
                zorder=3,
            )
    as_written(ax.figure.colorbar(lines, ax=ax, label=words).ax.yaxis.label)
    label_axes(ax, x="point", y="value")


def _show_lines(
    ax: Axes,
    maps: Sequence[FloatArray],
    is_in: Sequence[NDArray[np.bool_]],
    names: Sequence[str],
    points: str,
) -> None:
    """Draw curves above each other, the first at the top, each over the points of its patch."""
    most = max(float(np.abs(each).max()) for each in maps) or 1.0
    places = np.arange(len(maps))[::-1]
    for place, values, inside in zip(places.tolist(), maps, is_in, strict=True):
        ends = np.flatnonzero(np.diff(np.pad(inside, 1).astype(int))).reshape(-1, 2)
        runs = [(start - 0.5, end - start) for start, end in ends.tolist()]
        ax.broken_barh(runs, (place - 0.45, 0.9), color=ACCENT, alpha=0.15, lw=0)
        ax.axhline(place, color=INK, lw=0.5)
        shown = place + 0.45 * values / most
        ax.plot(np.arange(len(values)), shown, _mark(values), color=ACCENT, lw=1.5)
    ax.set_yticks(places, names)
    as_written(*ax.get_yticklabels())
    label_axes(ax, x=points, y="effect")


def _show_patches_in_planes(
    ax: Axes,
    maps: Sequence[FloatArray],
    is_in: Sequence[NDArray[np.bool_]],
    names: Sequence[str],
    words: str,
    plane: str,
) -> Tiles:
    """Draw a row of tiles for each patch: the slices or channels that it touches."""
    depth, *shape = maps[0].shape
    slices = [np.flatnonzero(cells.any(axis=(1, 2))).tolist() for cells in is_in]
    places = [(down, across) for down, each in enumerate(slices) for across in range(len(each))]
    shown = [values[k] for values, each in zip(maps, slices, strict=True) for k in each]
    numbers = [_plane_names(depth, plane)[k] for each in slices for k in each]
    longest = max(map(len, numbers))
    tiles = Tiles.at(ax, places, (shape[0], shape[1]), longest, margin=max(map(len, names)) + 1)
    _show_tiles(ax, tiles, shown, numbers, words, signed=True)
    first = [
        corner for corner, (_, across) in zip(tiles.corners, places, strict=True) if not across
    ]
    for name, (top, left) in zip(names, first, strict=True):
        middle = top + shape[0] / 2 - 0.5
        as_written(ax.text(left - 0.5, middle, f"{name} ", va="center", ha="right"))
    return tiles


def _plane_names(depth: int, plane: str) -> list[str]:
    word = f"{plane} " if depth <= MOST_NAMED_SLICES else ""
    return [f"{word}{k}" for k in range(depth)]


def _show_tiles(
    ax: Axes,
    tiles: Tiles,
    images: Sequence[FloatArray],
    names: Sequence[str],
    words: str,
    *,
    signed: bool,
) -> None:
    for (top, left), name in zip(tiles.corners, names, strict=True):
        as_written(ax.text(left - 0.5, top - 0.6, name, va="bottom", ha="left"))
    _show_image(ax, tiles.joined(images), words, signed=signed)
    ax.set_axis_off()
