"""Which columns matter, and how predictions depend on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from obliquebart.explain.effects import Effect
from obliquebart.explain.importance import Importance, ImportanceTable
from obliquebart.explain.replaced import FloatArray
from obliquebart.plots.style import (
    ACCENT,
    INK,
    documented,
    label_axes,
    legend_above,
    line_styles,
    new_axes,
    short_name,
)
from obliquebart.plots.subject import class_position, subject_of
from obliquebart.plots.ticks import Kind, name_rows, plain_ticks, ticks_at, ticks_within
from obliquebart.validation import check_count

__all__ = ["effects", "importance"]

# More classes than this cannot be distinguished in one plot.
MAX_CLASSES = 8
# Of a category with more levels than this, the most common are shown.
MAX_LEVELS = 15
# A number with so few values is drawn as points.
FEW_VALUES = 6
# More bands than this overlap and are drawn faintly.
FEW_BANDS = 3
MARKERS = "osD^vPX*"


@documented("importance(model.fit(X, y))")
def importance(
    model: Any,
    X: Any = None,
    *,
    top: int = 20,
    coverage: float = 0.9,
    arm: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which columns matter: how much predictions change when a column is shuffled.

    Dots are the shares of the variance of the predictions that are lost; lines are intervals.

    Parameters
    ----------
    model : fitted estimator, Posterior or ImportanceTable
        What to draw, for any number of classes.
    X : table of shape (n, n_features), optional
        The rows to use; by default, the training rows. Required for a Posterior.
    top : int, default=20
        Maximum number of columns to show, most important first.
    coverage : float, default=0.9
        Coverage of the intervals.
    arm : label, optional
        Which treatment, of a causal model with several of them.
    """
    of_arm = _of_arm(model, arm)
    table: Sequence[Importance] = (
        model
        if isinstance(model, (ImportanceTable, list))
        else model.importance(X, coverage=coverage, **of_arm)
    )
    shown = table[: check_count("top", top, 1)]
    ax = new_axes(ax, height=1.2 + 0.3 * len(shown))
    position = np.arange(len(shown))
    ax.hlines(
        position,
        [row.low for row in shown],
        [row.high for row in shown],
        color=ACCENT,
        lw=3,
        label="interval",
    )
    ax.plot([row.share for row in shown], position, "o", color=INK, ms=5.5, label="mean")
    _list_names(ax, [row.column for row in shown])
    ax.set_xlim(left=0.0, right=max(ax.get_xlim()[1], 0.02))
    plain_ticks(ax, x="percent")
    label_axes(ax, x="variance of predictions lost when the column is shuffled")
    title = f"{len(shown)} of {len(table)} columns" if len(table) > len(shown) else None
    legend_above(ax, title=title)
    return ax


@documented("effects(model.fit(X, y), X, 'x2')")
def effects(
    model: Any,
    X: Any = None,
    column: str | int | None = None,
    *,
    centered: bool = False,
    coverage: float = 0.9,
    target: str | None = None,
    class_: Any = None,
    arm: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how predictions depend on one column, with intervals.

    A number is a curve with its band, marks at the bottom are quantiles of the rows, and a point
    beside the curve stands for missing values. A category has a point for each level; of many
    levels the most common are shown. Each of more than two classes has a colour, a line style and a
    marker of its own; of many those with the largest effects are shown. More than about four are
    easier to read one by one, with `class_`.

    Parameters
    ----------
    model : fitted estimator, Posterior or Effect
        What to draw.
    X : table of shape (n, n_features), optional
        The rows to average over; by default, the training rows. Required for a Posterior.
    column : str or int
        The name or position of the column. Required unless `model` is an Effect.
    centered : bool, default=False
        Draw differences from the average prediction.
    coverage : float, default=0.9
        Coverage of the intervals.
    target : str, optional
        What is predicted, for the axis; by default what the model calls it.
    class_ : label, optional
        Draw the effect on the probability of this class alone.
    arm : label, optional
        Which treatment, of a causal model with several of them.
    """
    of_arm = _of_arm(model, arm)
    if isinstance(model, Effect):
        effect = model
        classes = list(effect.classes)
    elif column is None:
        raise ValueError("Pass the column whose effect to draw, or an Effect.")
    else:
        classes = [] if class_ is None else subject_of(model, class_).classes
        effect = model.effects(X, column, centered=centered, coverage=coverage, **of_arm)
    if class_ is not None:
        effect = _on_class(effect, classes, class_)
    effect = _with_common_levels(effect)
    curves = _curves(effect)
    target = target or effect.target
    label = effect.quantity(None if target is None else short_name(target))
    kind: Kind = "percent" if effect.is_probability else "number"
    is_list = effect.kind == "categorical"
    n_lines = len(effect.points) + (effect.n_left_out > 0)
    height = 1.3 + (0.3 + 0.12 * len(curves)) * n_lines if is_list else 4.8
    ax = new_axes(ax, height=max(height, 2.4))
    if is_list:
        _draw_levels(ax, effect, curves)
        plain_ticks(ax, x=kind)
        label_axes(ax, x=label, y=short_name(effect.column))
    else:
        _draw_numbers(ax, effect, curves)
        plain_ticks(ax, y=kind)
        label_axes(ax, x=short_name(effect.column), y=label)
    if len(curves) > 1:
        n_classes = len(effect.classes)
        title = f"{len(curves)} of {n_classes} classes" if len(curves) < n_classes else None
        legend_above(ax, min(len(curves), 4), title)
    return ax


def _of_arm(model: Any, arm: Any) -> dict[str, Any]:
    """Return the argument that chooses one of several treatments; only causal models have it."""
    if arm is None:
        return {}
    if not hasattr(model, "effect_draws"):
        raise ValueError(f"arm={arm!r} requires a fitted ObliqueBARTCausal.")
    return {"arm": arm}


def _on_class(effect: Effect, classes: list[Any], class_: Any) -> Effect:
    """Return the effect on the probability of one class."""
    chosen = class_position(classes, class_)
    if effect.averaged is not None:
        raise ValueError(f"class_={class_!r} is for probabilities, not for effects of a treatment.")
    curves = (effect.mean, effect.low, effect.high, effect.draws)
    if effect.mean.ndim > 1:
        mean, low, high, draws = (values[..., chosen] for values in curves)
    elif chosen == len(classes) - 1:
        mean, low, high, draws = curves
    else:
        # The first of two classes: what is left of the probability of the second.
        whole = 0.0 if effect.centered else 1.0
        mean, high, low, draws = (whole - values for values in curves)
    return replace(effect, mean=mean, low=low, high=high, draws=draws, classes=(class_,))


def _with_common_levels(effect: Effect) -> Effect:
    """Return the effect at the most common levels of a category, in the same order."""
    if effect.kind != "categorical" or len(effect.points) <= MAX_LEVELS:
        return effect
    some = np.sort(np.argsort(-effect.n_rows, kind="stable")[:MAX_LEVELS])
    return replace(
        effect,
        points=effect.points[some],
        mean=effect.mean[some],
        low=effect.low[some],
        high=effect.high[some],
        draws=effect.draws[:, some],
        n_rows=effect.n_rows[some],
        n_left_out=effect.n_left_out + len(effect.points) - MAX_LEVELS,
    )


class _Curve(NamedTuple):
    """The effect on one class, and how it is drawn."""

    label: str | None
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    color: Any
    line: str
    marker: str


def _curves(effect: Effect) -> list[_Curve]:
    if effect.mean.ndim == 1:
        return [_Curve(None, effect.mean, effect.low, effect.high, ACCENT, "-", "o")]
    largest = np.argsort(-np.ptp(effect.mean, axis=0), kind="stable")[:MAX_CLASSES]
    styles = line_styles(len(largest))
    return [
        _Curve(
            str(effect.classes[k]),
            effect.mean[:, k],
            effect.low[:, k],
            effect.high[:, k],
            style["color"],
            style["linestyle"],
            MARKERS[i % len(MARKERS)],
        )
        for i, (k, style) in enumerate(zip(np.sort(largest), styles, strict=True))
    ]


def _draw_levels(ax: Axes, effect: Effect, curves: list[_Curve]) -> None:
    offsets = np.linspace(-0.3, 0.3, len(curves)) if len(curves) > 1 else np.zeros(1)
    for curve, offset in zip(curves, offsets, strict=True):
        position = np.arange(len(effect.points)) + offset
        ax.hlines(position, curve.low, curve.high, color=curve.color, lw=3)
        ax.plot(
            curve.mean,
            position,
            curve.marker,
            color=curve.color if len(curves) > 1 else INK,
            mec=INK,
            mew=0.6,
            ms=5.5,
            label=curve.label,
        )
    if effect.centered:
        ax.axvline(0.0, color=INK, lw=1.0, ls="--")
    _list_names(ax, [*effect.labels, *([effect.left_out] if effect.n_left_out else [])])


def _draw_numbers(ax: Axes, effect: Effect, curves: list[_Curve]) -> None:
    missing = effect.is_missing
    x = effect.points[~missing].astype(np.float64)
    few = len(x) <= FEW_VALUES
    band = 0.22 if len(curves) <= FEW_BANDS else 0.08
    for curve in curves:
        low, high = curve.low[~missing], curve.high[~missing]
        mark = curve.marker if few else ""
        style = {"color": curve.color, "ls": curve.line, "marker": mark, "lw": 2}
        if few:
            ax.vlines(x, low, high, color=curve.color, lw=3, alpha=0.6)
        else:
            ax.fill_between(x, low, high, color=curve.color, alpha=band, lw=0)
        ax.plot(x, curve.mean[~missing], label=curve.label, **style)
    if effect.centered:
        ax.axhline(0.0, color=INK, lw=1.0, ls="--")
    if few:
        ticks_at(ax.xaxis, x.tolist())
    else:
        ticks_within(ax.xaxis, float(x[0]), float(x[-1]))
    if missing.any():
        _draw_missing(ax, x, missing, curves)
    if not few:
        ax.plot(x, np.zeros(len(x)), "|", color=INK, ms=7, transform=ax.get_xaxis_transform())


def _draw_missing(ax: Axes, x: FloatArray, missing: Any, curves: list[_Curve]) -> None:
    """Draw missing values to the right of the curve, if there is one, behind a separating line."""
    width = float(np.ptp(x)) if len(x) > 1 else 1.0
    last = float(x[-1]) if len(x) else 0.0
    if len(x):
        ax.axvline(last + 0.05 * width, color=INK, lw=0.8, ls=":")
    step = 0.12 * width / max(len(curves), 1)
    for i, curve in enumerate(curves):
        at = last + 0.1 * width + i * step
        ax.vlines(at, curve.low[missing], curve.high[missing], color=curve.color, lw=3)
        ax.plot(at, curve.mean[missing], curve.marker, color=INK, ms=5.5)
    ax.text(
        last + 0.1 * width,
        0.98,
        "missing",
        transform=ax.get_xaxis_transform(),
        rotation=90,
        va="top",
        ha="right",
        fontsize="small",
    )


def _list_names(ax: Axes, names: list[str]) -> None:
    """Write names on the left, the first one on top."""
    name_rows(ax, np.arange(len(names)), [short_name(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color=INK, alpha=0.15)
