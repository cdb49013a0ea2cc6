"""Where f looks in images and curves, and what in one of them speaks for its prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.explain.directions import column_effects, strongest_patches
from obliquebart.explain.evidence import Layout, cell_evidence, check_size, log_odds
from obliquebart.plots.style import (
    ACCENT,
    INK,
    as_written,
    documented,
    label_axes,
    new_axes,
    short_name,
)
from obliquebart.plots.subject import Subject, subject_of
from obliquebart.posterior.posterior import Posterior
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_count

# The map of signed values: its lightness grows all along, so that it reads without colours.
MAP = "cividis"
TILES_PER_ROW = 4
# Line widths of a curve where nothing speaks for or against the prediction, and where most does.
THIN, THICK = 1.0, 5.0


@documented("direction_map(model.fit(X, y), (5, 2))")
def direction_map(
    model: Any,
    shape: Sequence[int] | None = None,
    *,
    signed: bool = False,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the rules look: an image, or a curve.

    A cell is the posterior mean of ``|φ|`` there, summed over all rules, each weighted by its
    effect:
    how much the outputs on its two sides differ. Channels are added up.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    shape : sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). By default,
        that of the only `Patch` of the model.
    signed : bool, default=False
        Weight φ instead of ``|φ|``: positive where f, or the score of the class, grows with the
        value
        of a cell.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, all classes.
    """
    parts = list(subject_of(model, class_).parts.values())
    posterior = parts[0]
    cells = _cells(posterior.encoding.p_cont, shape or posterior.encoding.grid)
    values = np.sum([column_effects(part)[int(signed)] for part in parts], axis=0)
    image = _flat_image(values[_columns(posterior, cells)].reshape(cells))
    ax = new_axes(ax, height=3.2 if image.ndim == 1 else 4.8)
    words = "effect times φ" if signed else "effect times |φ|"
    if image.ndim == 1:
        ax.axhline(0.0, color=INK, lw=0.8)
        ax.plot(np.arange(len(image)), image, color=ACCENT, lw=2)
        label_axes(ax, x="point", y=words)
        return ax
    _show_image(ax, image, words, signed)
    return ax


@documented("patches(model.fit(X, y), shape=(5, 2))")
def patches(
    model: Any,
    n_patches: int = 8,
    *,
    shape: Sequence[int] | None = None,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest patches: the sets of cells by which rules change f most.

    Rules with exactly the same cells count together. Their effect is how much the outputs on their
    two sides differ, summed over all such rules, as a mean over draws; it is written beside each
    patch. What is drawn is their mean φ weighted by the effect: f, or the score of the class, grows
    where cells with positive values get larger, and those with negative values smaller. A patch
    that mostly overlaps with a stronger one is left out. Images are tiles, strongest first; curves
    are lines above each other, strongest at the top.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    n_patches : int, default=8
        How many patches to draw at most.
    shape : sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). By default,
        that of the only `Patch` of the model.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, all classes.
    """
    parts = list(subject_of(model, class_).parts.values())
    posterior = parts[0]
    cells = _cells(posterior.encoding.p_cont, shape or posterior.encoding.grid)
    found = strongest_patches(parts, check_count("n_patches", n_patches, 1))
    if not found:
        raise ValueError("The model has no rule with an effect, so there is no patch to draw.")
    maps, columns = [], _columns(posterior, cells)
    for patch in found:
        values = np.zeros(posterior.encoding.p_cont)
        values[patch.columns] = patch.weights
        maps.append(_flat_image(values[columns].reshape(cells)))
    names = [f"{patch.effect:.2g}" for patch in found]
    if maps[0].ndim == 1:
        ax = new_axes(ax, height=1.0 + 0.5 * len(maps))
        _show_lines(ax, maps, names)
    else:
        ax = new_axes(ax, height=1.0 + 1.8 * math.ceil(len(maps) / TILES_PER_ROW))
        _show_tiles(ax, maps, names)
    return ax


@documented("evidence(model.fit(X, y), X[0], shape=(5, 2), n_rows=5)")
def evidence(
    model: Any,
    row: Any,
    X: Any = None,
    *,
    shape: Sequence[int] | None = None,
    class_: Any = None,
    size: int | Sequence[int] | None = None,
    n_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw what in one image or curve speaks for and against its prediction.

    A window of the row is replaced by the same window of other rows. How much the prediction then
    falls on average is what the window speaks for it; a cell has the mean over the windows that
    contain it. Positive values raise the prediction compared with the other rows, negative values
    lower it. With classes the prediction is the log odds of one class. A contour shows an image;
    a curve has the evidence as its colour, and is thicker where there is more of either sign.

    Parameters
    ----------
    model : fitted estimator
        The model.
    row : array
        One row of a table: an image or a curve, as an array of its shape or flat.
    X : table of shape (n, n_features), optional
        The other rows; by default, the training rows.
    shape : sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). By default,
        that of the only `Patch` of the model. Windows have all channels.
    class_ : label, optional
        The class whose log odds to explain; by default, the one with the largest probability.
    size : int or sequence of int, optional
        The sides of a window: by default a seventh of those of an image, or a tenth of the length
        of a curve, but at least 2.
    n_rows : int, default=20
        How many of the other rows to use, evenly spaced.
    """
    check_is_fitted(model)
    if hasattr(model, "effects_"):
        raise ValueError(
            "A causal model estimates effects, which have no evidence. Where the rules of an "
            "effect look: plots.direction_map(model.effects_[arm], shape)."
        )
    subject, encoding = subject_of(model, class_), model._fitted.encoding
    cells = _cells(encoding.p_cont, shape or encoding.grid)
    layout = Layout(np.array(_columns(subject.posteriors[0], cells)).reshape(cells))
    rows = model._rows(X, "evidence(model, row, X)")
    chosen = np.linspace(0, rows.n_rows - 1, min(check_count("n_rows", n_rows, 1), rows.n_rows))
    own = encoding.transform(_one_row(row, encoding.n_features_in_))
    score = _Score(model, subject, own)
    values = cell_evidence(
        score, own, rows.take(chosen.astype(np.intp)), layout, check_size(size, layout)
    )
    ax = new_axes(ax, height=3.2 if values.ndim == 1 else 4.8)
    # A missing cell has no brightness, and leaves a hole in the line or contour.
    own_cells = np.asarray(np.asarray(row, dtype=np.float64).ravel()[_positions(model, layout)])
    if values.ndim == 1:
        _show_curve(ax, own_cells, values, score.label)
    else:
        _show_image(ax, values, score.label, True)
        _outline(ax, _flat_image(own_cells))
    return ax


class _Score:
    """The mean prediction at encoded rows, or the log odds of a class, and what to call it."""

    def __init__(self, model: Any, subject: Subject, row: EncodedTable) -> None:
        self._model = model
        self._position: int | None = None
        self.label = f"evidence, in units of {subject.name}"
        if subject.classes:
            if subject.chosen is None:
                self._position = int(model._probabilities.mean(row, model.n_jobs)[0].argmax())
            else:
                self._position = subject.chosen
            name = short_name(str(subject.classes[self._position]))
            self.label = f"evidence for {name}, in log odds"

    def __call__(self, table: EncodedTable) -> NDArray[np.float64]:
        if self._position is None:
            return np.asarray(
                self._model.posterior_.summarise(table, n_jobs=self._model.n_jobs).mean
            )
        probabilities = self._model._probabilities.mean(table, self._model.n_jobs)
        return log_odds(probabilities[:, self._position])


def _one_row(row: Any, n_features: int) -> NDArray[np.float64]:
    flat = np.asarray(row, dtype=np.float64).reshape(1, -1)
    if flat.shape[1] != n_features:
        raise ValueError(
            f"row has {flat.shape[1]} values, but a row of the model's table has {n_features}: "
            "pass one image or curve, with the columns beside it if there are any."
        )
    return flat


def _positions(model: Any, layout: Layout) -> NDArray[np.intp]:
    """Return the positions in the table of the columns of cells."""
    continuous = [j for j, kind in enumerate(model._fitted.encoding.kinds) if kind == "continuous"]
    return np.array(continuous, dtype=np.intp)[layout.columns]


# ---- drawing -------------------------------------------------------------------------------------


def _show_image(ax: Axes, image: NDArray[np.float64], words: str, signed: bool) -> None:
    most = float(np.abs(image).max()) or 1.0
    shown = ax.imshow(
        image, cmap=MAP, interpolation="nearest", vmin=-most if signed else 0.0, vmax=most
    )
    as_written(ax.figure.colorbar(shown, ax=ax, label=words).ax.yaxis.label)
    label_axes(ax, x="column", y="row")


def _outline(ax: Axes, image: NDArray[np.float64]) -> None:
    """Draw the contour half way between the darkest and the brightest cell."""
    low, high = float(np.nanmin(image)), float(np.nanmax(image))
    if low < high:
        for width, colour in ((3.0, INK), (1.2, "white")):
            ax.contour(image, levels=[(low + high) / 2], colors=[colour], linewidths=width)


def _show_curve(
    ax: Axes, curve: NDArray[np.float64], values: NDArray[np.float64], words: str
) -> None:
    most = float(np.abs(values).max()) or 1.0
    points = np.column_stack([np.arange(len(curve)), curve])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    middle = (values[:-1] + values[1:]) / 2
    lines = LineCollection(
        list(segments), cmap=MAP, linewidths=THIN + (THICK - THIN) * np.abs(middle) / most
    )
    lines.set_array(middle)
    lines.set_clim(-most, most)
    ax.plot(points[:, 0], points[:, 1], color=INK, lw=0.6)
    ax.add_collection(lines)
    as_written(ax.figure.colorbar(lines, ax=ax, label=words).ax.yaxis.label)
    label_axes(ax, x="point", y="value")


def _show_lines(ax: Axes, maps: Sequence[NDArray[np.float64]], names: Sequence[str]) -> None:
    """Draw curves above each other, the first at the top."""
    most = max(float(np.abs(each).max()) for each in maps)
    places = np.arange(len(maps))[::-1]
    for place, values in zip(places.tolist(), maps, strict=True):
        ax.axhline(place, color=INK, lw=0.5)
        ax.plot(np.arange(len(values)), place + 0.45 * values / most, color=ACCENT, lw=1.5)
    ax.set_yticks(places, names)
    label_axes(ax, x="point", y="effect")


def _show_tiles(ax: Axes, maps: Sequence[NDArray[np.float64]], names: Sequence[str]) -> None:
    """Draw images side by side with their names above, in one array of cells."""
    height, width = maps[0].shape
    gap = max(height // 5, 1) + 1
    n_across = min(TILES_PER_ROW, len(maps))
    n_down = math.ceil(len(maps) / n_across)
    every = np.full((n_down * (height + gap), n_across * (width + gap) - gap), np.nan)
    most = max(float(np.abs(each).max()) for each in maps)
    for i, (values, name) in enumerate(zip(maps, names, strict=True)):
        top = (i // n_across) * (height + gap) + gap
        left = (i % n_across) * (width + gap)
        every[top : top + height, left : left + width] = values
        ax.text(left - 0.5, top - 0.7, name, va="bottom", ha="left")
    shown = ax.imshow(every, cmap=MAP, interpolation="nearest", vmin=-most, vmax=most)
    ax.figure.colorbar(shown, ax=ax, label="mean φ")
    ax.set_axis_off()


def _cells(p_cont: int, shape: Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        raise ValueError("The model has no Patch that says how columns are laid out: pass shape=.")
    cells = tuple(int(n) for n in shape)
    if not 1 <= len(cells) <= 3 or math.prod(cells) > p_cont:
        raise ValueError(
            f"shape={cells} must have one, two or three lengths, and no more cells than the model "
            f"has continuous columns ({p_cont})."
        )
    return cells


def _columns(posterior: Posterior, cells: tuple[int, ...]) -> list[int]:
    """Return the columns of the grid: those of a patch of this shape, or else the first ones."""
    for component in posterior.settings.get("directions", []):
        if component["kind"] == "patch" and len(component["columns"]) == math.prod(cells):
            return list(component["columns"])
    return list(range(math.prod(cells)))


def _flat_image(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a line or a plane; channels are added up."""
    return np.asarray(values.sum(axis=-1)) if values.ndim == 3 else values
