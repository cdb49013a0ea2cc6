"""The pictures of a page, each with a caption and a text for those who do not see it."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes

from obliquebart import plots
from obliquebart.explain.evaluation import ClassEvaluation, Evaluation, score_text
from obliquebart.explain.rules import Inclusion
from obliquebart.explain.trees import Split, Tree, read_tree, read_trees, walk
from obliquebart.plots.style import styled
from obliquebart.plots.traces import default_names
from obliquebart.posterior.diagnostics import Diagnostics
from obliquebart.posterior.posterior import Posterior
from obliquebart.report.svg import new_figure, to_svg


class Picture(NamedTuple):
    """An `svg` element and its caption."""

    svg: str
    caption: str
    wide: bool = False


def trace(posterior: Posterior, diagnostics: Diagnostics, key: str) -> Picture:
    """Draw the traces."""
    names = default_names(posterior)
    with styled():
        figure = new_figure(0.7 + 1.35 * len(names))
        axes = figure.subplots(len(names), 1, squeeze=False)[:, 0]
        plots.trace(posterior, names, list(axes))
    worst = max((q.rhat for q in diagnostics if not q.fixed), default=float("nan"))
    alt = f"Traces of {', '.join(names)}, {posterior.n_chains} chains; largest R-hat {worst:.3f}."
    caption = "Traces. Chains that agree look like one band, without a trend."
    return Picture(to_svg(figure, key, alt), caption)


def in_words(evaluation: Evaluation) -> str:
    """Return the scores in one line."""
    return ", ".join(f"{name} {score_text(name, v)}" for name, v in evaluation.scores().items())


def checks(evaluation: Evaluation) -> list[Picture]:
    """Draw predictions beside outcomes."""
    scores = in_words(evaluation)
    if isinstance(evaluation, ClassEvaluation):
        return [
            _check("fit", plots.fit, evaluation, f"Probabilities of the classes: {scores}."),
            _check(
                "calibration",
                plots.calibration,
                evaluation,
                "Calibration: on the line, probabilities come true; the band is chance.",
            ),
            _check(
                "residuals",
                plots.residuals,
                evaluation,
                "What is left over, by predicted probability; the band is chance.",
            ),
        ]
    return [
        _check(
            "fit",
            plots.fit,
            evaluation,
            f"Predictions with {evaluation.coverage:.0%} intervals of a new outcome: {scores}.",
        ),
        _check(
            "residuals",
            plots.residuals,
            evaluation,
            "Residuals by prediction. The medians should stay near zero.",
        ),
        _check(
            "calibration",
            plots.calibration,
            evaluation,
            "Calibration: flat is right, a hump means intervals that are too wide.",
        ),
        _check(
            "coverage",
            plots.coverage,
            evaluation,
            "Coverage: above the line intervals are too wide, below it too narrow.",
        ),
    ]


def _check(key: str, draw: Any, evaluation: Evaluation, caption: str) -> Picture:
    with styled():
        figure = new_figure()
        draw(evaluation, ax=figure.subplots())
    return Picture(to_svg(figure, key, caption), caption)


def inclusion(table: list[Inclusion], key: str) -> Picture:
    """Draw the use of columns."""
    with styled():
        figure = new_figure(1.3 + 0.27 * len(table))
        plots.inclusion(table, top=max(len(table), 1), ax=figure.subplots())
    used = ", ".join(f"{row.column} {row.share:.0%}" for row in table[:10])
    caption = "Columns by the share of rules that use them, with 90% intervals."
    return Picture(to_svg(figure, key, f"{caption} {used}."), caption)


def surface(posterior: Posterior, X: Any, key: str) -> Picture | None:
    """Draw the prediction over the two most used columns, if there are two."""
    with styled():
        figure = new_figure(3.8)
        ax: Axes = figure.subplots()
        try:
            plots.surface(posterior, X, ax=ax)
        except plots.NoSurfaceError:
            return None
    columns = f"{ax.get_xlabel()} and {ax.get_ylabel()}"
    caption = f"Prediction by {columns}, other columns averaged; lighter is higher."
    return Picture(to_svg(figure, key, caption), caption)


def example_tree(posterior: Posterior, X: Any) -> Tree:
    """Return a tree of the last draw that shows something and fits on a page."""
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
    alt = f"A tree with {n_leaves} leaves; the same as text below."
    caption = f"Tree {chosen.number} of draw {chosen.draw}: yes to the left, no to the right."
    return Picture(to_svg(figure, key, alt), caption, wide=n_leaves > 3)
