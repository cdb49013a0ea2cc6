"""Checks of class probabilities: groups of rows, residuals, reliability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.stats import binom

from obliquebart.explain.evaluation import ClassEvaluation, Evaluation
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.plots.style import (
    ACCENT,
    INK,
    label_axes,
    legend_above,
    short_name,
)
from obliquebart.plots.subject import short_probability_of
from obliquebart.plots.ticks import name_rows, plain_ticks

# More points than this would overlap too much.
MAX_POINTS = 400
N_BINS = 10
# Groups of probabilities with fewer rows are too noisy.
SMALLEST_GROUP = 10
FloatArray = NDArray[np.float64]


def spread(n_rows: int, n_points: int = MAX_POINTS) -> NDArray[np.intp]:
    """Return the numbers of evenly spaced rows, no more than can be drawn."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_points)).round().astype(np.intp))


def outcome_name(evaluation: Evaluation) -> str:
    """Return what the outcome is called."""
    nameless = {ClassEvaluation: "class", SurvivalEvaluation: "time"}
    return short_name(evaluation.target or nameless.get(type(evaluation), "y"))


class _Groups(NamedTuple):
    """Groups of rows with similar probabilities, sorted by probability."""

    mean: FloatArray
    """Mean probability."""
    share: FloatArray
    """Share of rows that have the class."""
    size: FloatArray
    """Rows."""
    low: FloatArray
    """2.5% quantile of the share under a correct model."""
    high: FloatArray
    """97.5% quantile of the share under a correct model."""


def _groups(evaluation: ClassEvaluation, code: int | None) -> _Groups:
    """Divide the range of the probabilities into ten groups and merge groups of too few rows.

    Groups of equal size would cluster where most probabilities are, usually near zero.
    """
    probability, true = evaluation.pairs(code)
    edges = np.linspace(probability.min(), probability.max(), N_BINS + 1)[1:-1]
    order = np.argsort(probability, kind="stable")
    number = np.searchsorted(edges, probability[order], side="right")
    groups: list[NDArray[np.intp]] = []
    for bin_number in range(N_BINS):
        rows = order[number == bin_number]
        if groups and (len(groups[-1]) < SMALLEST_GROUP or len(rows) == 0):
            groups[-1] = np.concatenate([groups[-1], rows])
        else:
            groups.append(rows)
    if len(groups) > 1 and len(groups[-1]) < SMALLEST_GROUP:
        *groups, before, last = groups
        groups.append(np.concatenate([before, last]))
    mean = np.array([probability[group].mean() for group in groups])
    share = np.array([true[group].mean() for group in groups])
    size = np.array([len(group) for group in groups], dtype=np.float64)
    low, high = (binom.ppf(q, size, mean) / size for q in (0.025, 0.975))
    return _Groups(mean, share, size, low, high)


def _probability(evaluation: ClassEvaluation, code: int | None) -> str:
    if code is None and len(evaluation.classes) != 2:
        return f"probability of each {outcome_name(evaluation)}"
    return short_probability_of(evaluation.classes[1 if code is None else code], evaluation.target)


def fit_of_two(evaluation: ClassEvaluation, ax: Axes) -> None:
    """Draw the probability of the second class, row by row."""
    order = np.argsort(evaluation.probability[:, 1], kind="stable")
    order = order[spread(len(order))]
    rank = np.arange(len(order))
    mean = evaluation.probability[order, 1]
    ax.fill_between(
        rank,
        evaluation.low[order, 1],
        evaluation.high[order, 1],
        color=ACCENT,
        alpha=0.3,
        lw=0,
        label=f"{evaluation.coverage:.0%} interval",
    )
    ax.plot(rank, mean, color=ACCENT, lw=2, label="prediction")
    for code, height, face in ((1, 1.05, INK), (0, -0.05, "none")):
        has = evaluation.codes[order] == code
        ax.plot(
            rank[has],
            np.full(int(has.sum()), height),
            "|" if face == INK else "o",
            ms=7 if face == INK else 3.5,
            mfc=face,
            mec=INK,
            mew=0.8,
            label=f"is {short_name(str(evaluation.classes[code]))}",
        )
    shown = short_probability_of(evaluation.classes[1], evaluation.target)
    label_axes(ax, x="rows, sorted by probability", y=shown)
    ax.set_ylim(-0.12, 1.12)
    plain_ticks(ax, y="percent")
    ax.set_xticks([])
    legend_above(ax)


def fit_of_several(evaluation: ClassEvaluation, ax: Axes) -> None:
    """Draw the probabilities of the true classes, class by class."""
    shown = [code for code in range(len(evaluation.classes)) if (evaluation.codes == code).any()]
    groups = [evaluation.probability[evaluation.codes == code, code] for code in shown]
    low, first, median, third, high = (
        [float(np.quantile(group, q)) for group in groups] for q in (0.05, 0.25, 0.5, 0.75, 0.95)
    )
    position = np.arange(len(shown))
    ax.hlines(position, low, high, color=ACCENT, lw=1.5, label="90% of rows")
    ax.hlines(position, first, third, color=ACCENT, lw=7, alpha=0.6, label="half")
    ax.plot(median, position, "o", color=INK, ms=6, label="median")
    names = [
        f"{short_name(str(evaluation.classes[code]))} ({len(group)})"
        for code, group in zip(shown, groups, strict=True)
    ]
    name_rows(ax, position, names)
    label_axes(ax, x=f"probability of the true {outcome_name(evaluation)}")
    ax.set_xlim(-0.02, 1.02)
    plain_ticks(ax, x="percent")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    legend_above(ax, 3)


def residuals_of_classes(evaluation: ClassEvaluation, ax: Axes, code: int | None) -> None:
    """Draw observed shares minus probabilities, in groups of rows."""
    groups = _groups(evaluation, code)
    mean, share = groups.mean, groups.share
    error = np.sqrt(np.maximum(mean * (1.0 - mean), 1e-12) / groups.size)
    ax.fill_between(mean, -2 * error, 2 * error, color=INK, alpha=0.1, lw=0, label="chance")
    ax.plot(mean, share - mean, "o-", color=ACCENT, label="a group of rows")
    label_axes(ax, x=f"predicted {_probability(evaluation, code)}", y="true share - predicted")
    plain_ticks(ax, x="percent", y="percent")
    legend_above(ax)


def reliability(evaluation: ClassEvaluation, ax: Axes, code: int | None) -> None:
    """Draw observed shares against probabilities, in groups of rows."""
    groups = _groups(evaluation, code)
    end = min(1.0, 1.08 * max(groups.mean.max(), groups.share.max(), groups.high.max()))
    ax.plot([0, end], [0, end], color=INK, lw=1.0, ls="--")
    ax.fill_between(
        groups.mean,
        groups.low,
        groups.high,
        color=INK,
        alpha=0.12,
        lw=0,
        label="95% if the model is correct",
    )
    ax.plot(groups.mean, groups.share, "o-", color=ACCENT, ms=6, label="a group of rows")
    margin = 0.02 * end
    label_axes(ax, x=f"predicted {_probability(evaluation, code)}", y="true share of the group")
    ax.set(xlim=(-margin, end + margin), ylim=(-margin, end + margin))
    plain_ticks(ax, x="percent", y="percent")
    legend_above(ax)
