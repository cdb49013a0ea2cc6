"""The plots of a page, each with a caption and alternative text."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from obliquebart import plots
from obliquebart.display.numbers import counted, plain
from obliquebart.explain.directions import StrongPatch, column_effects, strongest_patches
from obliquebart.explain.effects import Effect
from obliquebart.explain.evaluation import (
    ClassEvaluation,
    CountEvaluation,
    Evaluation,
    score_text,
)
from obliquebart.explain.importance import Importance
from obliquebart.explain.layout import Layout, grid_layout
from obliquebart.explain.rules import Inclusion
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.explain.trees import Split, Tree, read_tree, read_trees, walk
from obliquebart.plots.columns import MAX_CLASSES, MAX_LEVELS
from obliquebart.plots.directions import draw_map, draw_patches, fit_height, patches_height
from obliquebart.plots.style import short_name, styled
from obliquebart.plots.traces import default_names, draw_traces
from obliquebart.posterior.diagnostics import Diagnostics
from obliquebart.posterior.posterior import Posterior
from obliquebart.report.svg import WIDTH, new_figure, to_svg

# For plots that are shown in larger numbers.
SMALL_WIDTH = 3.3
# Of pictures that have a row of the page for themselves.
WIDE = 7.6
# The curves of more classes than these have panels of their own.
MOST_TOGETHER = 4
# Images, curves and cubes that are drawn, and patches of each of them.
SHOWN_GRIDS = 3
SHOWN_PATCHES, SHOWN_PATCHES_OF_CUBES = 8, 4
COVERED = "90%"
COVERAGE = (
    "Coverage of intervals. Above the dashed line they are too wide, below it too narrow. The band "
    "shows chance variation."
)


class Picture(NamedTuple):
    """An `svg` element and its caption."""

    svg: str
    caption: str
    wide: bool = False


def trace(posterior: Posterior, diagnostics: Diagnostics, key: str, target: str) -> Picture:
    """Draw the traces."""
    names = default_names(posterior)
    with styled():
        figure = new_figure(0.7 + 1.35 * len(names))
        axes = figure.subplots(len(names), 1, squeeze=False)[:, 0]
        draw_traces(list(axes), posterior, names, target)
    worst = max((q.rhat for q in diagnostics if not q.fixed), default=float("nan"))
    chains = counted(posterior.n_chains, "chain")
    alt = f"Traces of {', '.join(names)}, {chains}; largest R-hat {worst:.3f}."
    caption = "Traces. Chains that agree look like one band, without a trend."
    return Picture(to_svg(figure, key, alt), caption)


def in_words(evaluation: Evaluation) -> str:
    """Format the scores in one line."""
    return ", ".join(f"{name} {score_text(name, v)}" for name, v in evaluation.scores().items())


def main_checks(evaluation: Evaluation) -> list[Picture]:
    """Draw predictions against outcomes, and coverage or calibration."""
    if isinstance(evaluation, SurvivalEvaluation):
        return [
            _check(
                "fit",
                plots.fit,
                evaluation,
                "Predicted and observed survival of rows with low, middle and high risk. A good "
                f"model separates the groups, and each step curve stays near its {COVERED} band.",
            ),
            _check("coverage", plots.coverage, evaluation, COVERAGE),
        ]
    if not isinstance(evaluation, ClassEvaluation):
        return [
            _check(
                "fit",
                plots.fit,
                evaluation,
                f"Predictions beside what was observed. Lines are {evaluation.coverage:.0%} "
                "intervals of a new outcome; points on the dashed line are predicted perfectly.",
            ),
            _check("coverage", plots.coverage, evaluation, COVERAGE),
        ]
    several = len(evaluation.classes) > 2
    fit = (
        "Predicted probability of the true class of each row, by class; further right is better. "
        "The number of rows is in brackets."
        if several
        else "Predicted probability of each row. Marks show the true class: a good model has the "
        "upper marks on the right and the lower ones on the left."
    )
    return [
        _check("fit", plots.fit, evaluation, fit),
        _check(
            "calibration",
            plots.calibration,
            evaluation,
            "Calibration. On the dashed line, predicted probabilities match the observed shares. "
            "The band shows chance variation.",
        ),
    ]


def more_checks(evaluation: Evaluation) -> list[Picture]:
    """Draw the residuals and, for a regression, the calibration of the predicted distribution."""
    if isinstance(evaluation, ClassEvaluation):
        caption = "Residuals by predicted probability. The band shows chance variation."
        return [_check("residuals", plots.residuals, evaluation, caption)]
    calibration = _check(
        "calibration",
        plots.calibration,
        evaluation,
        "Calibration: the positions of outcomes in their predicted distributions. It should "
        "be flat. A hump in the middle means that intervals are too wide; high ends mean that "
        "they are too narrow.",
    )
    if isinstance(evaluation, SurvivalEvaluation):
        return [calibration]
    residuals = "Residuals by prediction. The medians should stay near zero."
    if isinstance(evaluation, CountEvaluation):
        residuals = (
            "Residuals by prediction, in predictive standard deviations. The means should stay "
            "near zero."
        )
    return [_check("residuals", plots.residuals, evaluation, residuals), calibration]


def survival(model: Any, X: Any) -> Picture:
    """Draw the survival curves of some rows."""
    with styled():
        figure = new_figure()
        plots.survival(model, X, ax=figure.subplots())
    caption = (
        "Survival curves of four rows, from the highest to the lowest risk: the probability that "
        f"the event is later. Bands are {COVERED} intervals of the curves."
    )
    return Picture(to_svg(figure, "survival", caption), caption)


def calibrations(evaluation: ClassEvaluation, most: int) -> list[Picture]:
    """Draw the calibration of each class, for the classes with the most rows."""
    counts = np.bincount(evaluation.codes, minlength=len(evaluation.classes))
    shown = np.sort(np.argsort(-counts, kind="stable")[:most])
    drawn = []
    for code in shown:
        label = evaluation.classes[code].item()
        with styled():
            figure = new_figure(2.9, SMALL_WIDTH)
            ax = figure.subplots()
            plots.calibration(evaluation, class_=label, ax=ax)
            ax.set(xlabel="predicted", ylabel="true share")
            legend = ax.get_legend()
            if legend is not None:
                legend.remove()
        caption = f"{label}: predicted probability and true share in groups of rows."
        drawn.append(Picture(to_svg(figure, f"calibration{code}", caption), caption))
    return drawn


def _check(key: str, draw: Any, evaluation: Evaluation, caption: str) -> Picture:
    with styled():
        figure = new_figure()
        draw(evaluation, ax=figure.subplots())
    return Picture(to_svg(figure, key, f"{caption} {in_words(evaluation)}."), caption)


def importance(shown: list[Importance], n_columns: int) -> Picture:
    """Draw the importance of columns."""
    with styled():
        figure = new_figure(1.3 + 0.27 * len(shown))
        plots.importance(shown, top=max(len(shown), 1), ax=figure.subplots())
    of = "" if n_columns == len(shown) else f" The first {len(shown)} of {n_columns} columns."
    caption = f"Columns by importance, with 90% intervals.{of}"
    listed = ", ".join(f"{row.column} {row.share:.0%}" for row in shown[:10])
    return Picture(to_svg(figure, "importance", f"{caption} {listed}."), caption)


def effect(shown: Effect, key: str) -> Picture:
    """Draw the effect of a column."""
    n_curves = shown.mean.shape[1] if shown.mean.ndim > 1 else 1
    with styled():
        if n_curves > MOST_TOGETHER:
            figure = _panels(shown)
        else:
            height = max(1.0 + min(0.1 + 0.12 * n_curves, 0.7) * _n_lines(shown), 3.4)
            # A legend of several classes needs lines of its own.
            legend = 0.22 * math.ceil(n_curves / 2) if n_curves > 1 else 0.0
            figure = new_figure(height + legend)
            plots.effects(shown, ax=figure.subplots())
    caption = f"{shown.column}: {shown.quantity()}."
    if _n_lines(shown) > MAX_LEVELS:
        caption += f" The {MAX_LEVELS} most common levels."
    elif shown.n_left_out:
        caption += f" {shown.left_out} with fewer rows."
    if n_curves > MAX_CLASSES:
        caption += f" The {MAX_CLASSES} classes with the largest effects."
    wide = figure.get_figwidth() > WIDTH
    return Picture(to_svg(figure, key, f"{caption} {_ends(shown)}"), caption, wide)


def _n_lines(shown: Effect) -> int:
    """Return how many lines the levels of a category need; none for a number."""
    return min(len(shown.points), MAX_LEVELS + 1) if shown.kind == "categorical" else 0


def _panels(shown: Effect) -> Figure:
    """Draw a panel for each class, with the same axis of probabilities for all of them."""
    largest = np.argsort(-np.ptp(shown.mean, axis=0), kind="stable")[:MAX_CLASSES]
    is_list = shown.kind == "categorical"
    # Lists of levels are tall, so there are more of them side by side.
    n_columns, width = (3, WIDE) if is_list else (2, WIDTH)
    n_rows = math.ceil(len(largest) / n_columns)
    height = 0.6 + n_rows * max(0.6 + 0.2 * _n_lines(shown), 1.5)
    figure = new_figure(height, width)
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, k in zip(panels, np.sort(largest), strict=False):
        plots.effects(shown, class_=shown.classes[k], ax=ax)
        ax.set(xlabel="", ylabel="")
        ax.set_title(short_name(str(shown.classes[k])), loc="left")
    for ax in panels[len(largest) :]:
        ax.set_axis_off()
    column, quantity = short_name(shown.column), shown.quantity()
    figure.supxlabel(quantity if is_list else column, fontsize="medium")
    figure.supylabel("" if is_list else quantity, fontsize="medium")
    return figure


def _ends(shown: Effect) -> str:
    """Describe the range of the curve, for the alternative text."""
    if shown.mean.ndim > 1:
        return "One line or panel for each class."
    low, high = int(np.argmin(shown.mean)), int(np.argmax(shown.mean))
    return (
        f"Lowest {plain(float(shown.mean[low]))} at {shown.labels[low]}, highest "
        f"{plain(float(shown.mean[high]))} at {shown.labels[high]}."
    )


def inclusion(table: list[Inclusion], key: str) -> Picture:
    """Draw how often rules use each column."""
    with styled():
        figure = new_figure(1.3 + 0.27 * len(table))
        plots.inclusion(table, top=max(len(table), 1), ax=figure.subplots())
    used = ", ".join(f"{row.column} {row.share:.0%}" for row in table[:10])
    caption = "Columns by the share of rules that use them, with 90% intervals."
    return Picture(to_svg(figure, key, f"{caption} {used}."), caption)


def directions(posterior: Posterior, key: str) -> list[Picture]:
    """Draw where rules look in images, curves or cubes, and their strongest patches."""
    grids = posterior.encoding.grids
    effects, _ = column_effects(posterior)
    drawn: list[Picture] = []
    for number, grid in enumerate(grids[:SHOWN_GRIDS]):
        layout = grid_layout(posterior.encoding, grid)
        names = [posterior.encoding.names[j] for j in grid.positions]
        of = f" of columns {names[0]} to {names[-1]}" if len(grids) > 1 else ""
        drawn.append(_map(layout, layout.cells(effects), f"{key}-map{number}", of))
        found = strongest_patches([posterior], _n_patches(layout), layout.columns)
        if found:
            drawn.append(_patches(layout, found, f"{key}-patches{number}", of))
    if len(grids) > SHOWN_GRIDS:
        last = drawn[-1]
        more = f"{last.caption} The first {SHOWN_GRIDS} of {len(grids)} sets of columns are shown."
        drawn[-1] = last._replace(caption=more)
    return drawn


def _map(layout: Layout, values: NDArray[np.float64], key: str, of: str) -> Picture:
    """Draw where rules look among some columns."""
    with styled():
        figure = new_figure()
        ax: Axes = figure.subplots()
        draw_map(ax, values)
        fit_height(ax)
    axes = ("point",) if values.ndim == 1 else ("slice", "row", "column")[-values.ndim :]
    place = np.unravel_index(int(values.argmax()), layout.shape)
    words = ", ".join(f"{axis} {at}" for axis, at in zip(axes, place, strict=True))
    caption = f"Where the rules{of} look, weighted by how much they change f."
    return Picture(to_svg(figure, key, f"{caption} Most at {words}."), caption)


def _n_patches(layout: Layout) -> int:
    return SHOWN_PATCHES_OF_CUBES if layout.is_deep else SHOWN_PATCHES


def _patches(layout: Layout, found: list[StrongPatch], key: str, of: str) -> Picture:
    """Draw the strongest patches of some columns."""
    with styled():
        is_curve = len(layout.shape) == 1
        figure = new_figure() if is_curve else new_figure(patches_height(layout, len(found)))
        ax: Axes = figure.subplots()
        draw_patches(ax, layout, found)
        fit_height(ax)
    effects = ", ".join(f"{patch.effect:.2g}" for patch in found)
    caption = f"The strongest patches{of} with their effects, and the mean values of φ in them."
    return Picture(to_svg(figure, key, f"{caption} Effects: {effects}."), caption)


def surface(model: Any, X: Any, key: str) -> Picture | None:
    """Draw predictions over the two most important columns, if there are two."""
    with styled():
        figure = new_figure(3.8)
        ax: Axes = figure.subplots()
        try:
            plots.surface(model, X, ax=ax)
        except plots.NoSurfaceError:
            return None
    columns = f"{ax.get_xlabel()} and {ax.get_ylabel()}"
    classes = model._fitted.classes
    several = classes is not None and len(classes) > 2
    what = "The most probable class" if several else "The prediction"
    caption = f"{what} by {columns}, other columns averaged; dots are rows."
    return Picture(to_svg(figure, key, caption), caption)


def example_tree(posterior: Posterior, X: Any) -> Tree:
    """Return an interesting tree of the last draw that fits on a page."""
    candidates = read_trees(posterior, -1, range(min(posterior.n_trees, 50)))

    def interest(tree: Tree) -> tuple[bool, bool, int]:
        n_leaves = len(tree.leaves)
        splits = [node for node in walk(tree.root) if isinstance(node, Split)]
        oblique = any(len(split.columns) > 1 for split in splits)
        return n_leaves <= 5, oblique, n_leaves if n_leaves <= 5 else -n_leaves

    best = max(candidates, key=interest)
    return read_tree(posterior, best.draw, best.number, X)


def tree(chosen: Tree, key: str) -> Picture:
    """Draw a tree."""
    n_leaves = len(chosen.leaves)
    with styled():
        figure = new_figure(1.0 + 1.05 * chosen.depth, max(4.8, 1.65 * n_leaves))
        plots.tree(chosen, ax=figure.subplots())
    alt = f"A tree with {n_leaves} leaves; it is repeated as text below."
    caption = f"Tree {chosen.number} of draw {chosen.draw}: yes to the left, no to the right."
    return Picture(to_svg(figure, key, alt), caption, wide=n_leaves > 3)
