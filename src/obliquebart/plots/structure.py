"""What the trees look like: which columns they use, and a single tree."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from obliquebart.explain.rules import Inclusion, Rules, variable_inclusion
from obliquebart.explain.trees import Leaf, Split, Tree, label
from obliquebart.plots.style import (
    ACCENT,
    INK,
    SECOND,
    as_written,
    documented,
    label_axes,
    legend_above,
    new_axes,
    short_name,
)
from obliquebart.plots.subject import subject_of
from obliquebart.plots.ticks import name_rows, plain_ticks
from obliquebart.validation import check_count


@documented("inclusion(model.fit(X, y))")
def inclusion(
    model: Any,
    *,
    top: int = 20,
    coverage: float = 0.9,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of rules that use each column, with intervals.

    This shows how the model is built; use `importance` to see which columns matter. Open marks
    are the shares among rules drawn from the prior, which gives categorical columns fewer rules
    than continuous ones.

    Parameters
    ----------
    model : fitted estimator, Posterior or list of Inclusion
        What to draw.
    top : int, default=20
        Maximum number of columns to show, most used first.
    coverage : float, default=0.9
        Coverage of the intervals.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, all classes.
    """
    if isinstance(model, list):
        table: list[Inclusion] = model
    else:
        rules = [Rules(posterior) for posterior in subject_of(model, class_).parts.values()]
        table = variable_inclusion(rules, coverage)
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
    name_rows(ax, position, [short_name(row.column) for row in shown])
    ax.invert_yaxis()
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    ax.grid(axis="x", color=INK, alpha=0.15)
    plain_ticks(ax, x="percent")
    label_axes(ax, x="share of rules that use the column")
    title = f"{len(shown)} of {len(table)} columns" if len(table) > len(shown) else None
    legend_above(ax, title=title)
    return ax


@documented("tree(model.fit(X, y))")
def tree(
    model: Any, draw: int = -1, number: int = 0, *, class_: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw one tree: rules in boxes, "yes" to the left, and leaves with what they add to f.

    Parameters
    ----------
    model : fitted estimator, Posterior or Tree
        What to draw.
    draw, number : int
        The draw and the tree in it. Ignored if `model` is a Tree.
    class_ : label, optional
        With more than two classes, the class whose tree to draw; by default, the first.
    """
    title, chosen = "", model
    if not isinstance(model, Tree):
        title, posterior = next(iter(subject_of(model, class_).parts.items()))
        chosen = posterior.tree(draw, number)
    n_leaves, depth = len(chosen.leaves), chosen.depth
    ax = new_axes(ax, max(4.0, 1.7 * n_leaves), 1.2 + 1.1 * depth)
    ax.set(xlim=(-0.6, n_leaves - 0.4), ylim=(-depth - 0.5, 0.5))
    ax.set_axis_off()
    as_written(ax.set_title(title, loc="left"))
    _place(ax, chosen.root, 0, 0)
    return ax


def _place(ax: Axes, node: Split | Leaf, depth: int, first_leaf: int) -> tuple[Text, int]:
    """Draw a node and everything below it; return its box and its number of leaves."""
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
    box = ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8.5,
        bbox={"facecolor": "none", "edgecolor": ACCENT, **style},
    )
    as_written(box)
    return box


def _edge(ax: Axes, parent: Text, child: Text, answer: str) -> None:
    # Drawn after the boxes, whose sizes are only known then, so that it ends at their frames.
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
