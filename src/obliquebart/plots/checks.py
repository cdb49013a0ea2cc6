"""Predictions beside outcomes: fit, residuals, calibration, coverage.

Each function takes a fitted model with a table and its outcomes, or an `Evaluation` of them. On
the training rows all look better than they are.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from obliquebart.explain.evaluation import (
    ClassEvaluation,
    Evaluation,
    RegressionEvaluation,
    evaluate,
)
from obliquebart.plots.style import ACCENT, INK, SECOND, documented, legend_above, new_axes

__all__ = ["calibration", "coverage", "fit", "residuals"]

# More points than this hide each other.
MAX_POINTS = 400
N_BINS = 10
FloatArray = NDArray[np.float64]


_PARAMETERS = """

Parameters
----------
model : fitted estimator or Evaluation
    What to draw.
X, y : table and outcomes
    Unless an Evaluation is given."""


class Drawing(Protocol):
    """Draws an evaluation, or that of a model at rows with known outcomes."""

    def __call__(
        self, model: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> Axes: ...


def _drawing(draw: Callable[[Any, Axes], None]) -> Drawing:
    """Make a public function of one that draws an evaluation."""

    def drawn(
        model: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> Axes:
        if isinstance(model, (RegressionEvaluation, ClassEvaluation)):
            evaluation: Evaluation = model
        elif X is None or y is None:
            raise ValueError("Pass the table X and its outcomes y, or an Evaluation.")
        else:
            evaluation = evaluate(model, X, y)
        ax = new_axes(ax)
        draw(evaluation, ax)
        return ax

    drawn.__name__ = drawn.__qualname__ = draw.__name__
    drawn.__doc__ = cleandoc(draw.__doc__ or "") + _PARAMETERS
    return documented(f"{draw.__name__}(model.fit(X[:300], y[:300]), X[300:], y[300:])")(drawn)


@_drawing
def fit(evaluation: Evaluation, ax: Axes) -> None:
    """Draw predictions with their intervals against outcomes.

    Regression: the outcome against its prediction, with the interval of a new outcome; outcomes
    outside it are crosses. Two classes: the probability of the second class with its interval,
    rows sorted by it, filled markers above for rows of that class, open ones below for the
    others. More classes: the probability that the model gave to the label of each row.
    """
    if isinstance(evaluation, RegressionEvaluation):
        _fit_of_regression(evaluation, ax)
    elif len(evaluation.classes) == 2:
        _fit_of_two_classes(evaluation, ax)
    else:
        _fit_of_classes(evaluation, ax)


def _fit_of_regression(evaluation: RegressionEvaluation, ax: Axes) -> None:
    some = _spread(len(evaluation.y))
    mean, observed = evaluation.mean[some], evaluation.y[some]
    low, high = evaluation.low[some], evaluation.high[some]
    inside = evaluation.covered[some]
    ax.vlines(mean, low, high, color=ACCENT, alpha=0.35, lw=1.0)
    ax.plot(
        mean[inside],
        observed[inside],
        "o",
        ms=3.5,
        color=ACCENT,
        label=f"y in its {evaluation.coverage:.0%} interval",
    )
    ax.plot(
        mean[~inside],
        observed[~inside],
        "x",
        ms=6,
        mew=1.6,
        color=SECOND,
        label=f"outside ({np.mean(~evaluation.covered):.0%})",
    )
    ends = [min(mean.min(), observed.min()), max(mean.max(), observed.max())]
    ax.plot(ends, ends, color=INK, lw=1.0, ls="--")
    ax.set(xlabel="predicted (posterior mean)", ylabel="observed y")
    legend_above(ax)


def _fit_of_two_classes(evaluation: ClassEvaluation, ax: Axes) -> None:
    order = np.argsort(evaluation.probability[:, 1], kind="stable")
    order = order[_spread(len(order))]
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
    ax.plot(rank, mean, color=ACCENT, lw=2, label="posterior mean")
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
            label=f"row of {evaluation.classes[code]}",
        )
    ax.set(
        xlabel="rows by probability",
        ylabel=f"P({evaluation.classes[1]})",
        ylim=(-0.12, 1.12),
        xticks=[],
    )
    legend_above(ax)


def _fit_of_classes(evaluation: ClassEvaluation, ax: Axes) -> None:
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
        f"{evaluation.classes[code]} ({len(group)})"
        for code, group in zip(shown, groups, strict=True)
    ]
    ax.set_yticks(position, names)
    ax.set(xlabel="probability of the row's own class", xlim=(-0.02, 1.02))
    ax.set_ylim(len(shown) - 0.5, -0.5)
    legend_above(ax, 3)


@_drawing
def residuals(evaluation: Evaluation, ax: Axes) -> None:
    """Draw what is left over.

    Regression: residuals against predictions, with ±2 σ and the median of each tenth of the rows;
    the median should stay near zero. Classification: the mean of (row has the class) minus its
    probability, by probability, with ±2 standard errors.
    """
    ax.axhline(0.0, color=INK, lw=1.0, ls="--")
    if isinstance(evaluation, ClassEvaluation):
        _residuals_of_classes(evaluation, ax)
    else:
        _residuals_of_regression(evaluation, ax)


def _residuals_of_regression(evaluation: RegressionEvaluation, ax: Axes) -> None:
    some = _spread(len(evaluation.y), 2 * MAX_POINTS)
    sigma = evaluation.sigma
    ax.axhspan(-2 * sigma, 2 * sigma, color=INK, alpha=0.08, lw=0, label="±2 σ")
    ax.plot(evaluation.mean[some], evaluation.residual[some], "o", ms=3, color=ACCENT, alpha=0.6)
    order = np.argsort(evaluation.mean, kind="stable")
    groups = [g for g in np.array_split(order, N_BINS) if len(g)]
    ax.plot(
        [np.median(evaluation.mean[group]) for group in groups],
        [np.median(evaluation.residual[group]) for group in groups],
        "s-",
        color=SECOND,
        mec=INK,
        ms=6,
        lw=2,
        label="median of a tenth",
    )
    ax.set(xlabel="predicted (posterior mean)", ylabel="observed - predicted")
    legend_above(ax)


def _residuals_of_classes(evaluation: ClassEvaluation, ax: Axes) -> None:
    mean, share, count, _, _ = _binned(evaluation)
    error = np.sqrt(np.maximum(mean * (1.0 - mean), 1e-12) / count)
    ax.fill_between(mean, -2 * error, 2 * error, color=INK, alpha=0.1, lw=0, label="±2 errors")
    ax.plot(mean, share - mean, "o-", color=ACCENT, label="observed - predicted")
    ax.set(xlabel=_probability_label(evaluation), ylabel="observed share - probability")
    legend_above(ax)


@_drawing
def calibration(evaluation: Evaluation, ax: Axes) -> None:
    """Draw whether probabilities come true.

    Regression: a histogram of the predictive probability of an outcome below the observed one.
    Flat is right; a hump in the middle means intervals that are too wide, high ends ones that are
    too narrow. The band holds 95% of the bars of a right model. Classification: the share of rows
    that have the class against its probability, with the band for a right model; of two classes
    the second of `classes_`, of more all of them together.
    """
    if isinstance(evaluation, ClassEvaluation):
        _reliability(evaluation, ax)
    else:
        _pit_histogram(evaluation, ax)


def _pit_histogram(evaluation: RegressionEvaluation, ax: Axes) -> None:
    n_rows = len(evaluation.pit)
    counts, edges = np.histogram(evaluation.pit, bins=N_BINS, range=(0.0, 1.0))
    low, high = binom.ppf((0.025, 0.975), n_rows, 1.0 / N_BINS) * N_BINS / n_rows
    ax.bar(
        edges[:-1],
        counts * N_BINS / n_rows,
        width=1.0 / N_BINS,
        align="edge",
        color=ACCENT,
        edgecolor=INK,
        alpha=0.55,
    )
    ax.axhspan(low, high, color=INK, alpha=0.12, lw=0, label="95% if the model is right")
    ax.axhline(1.0, color=INK, lw=1.0, ls="--")
    ax.set(xlabel="predictive probability of an outcome below y", ylabel="density", xlim=(0.0, 1.0))
    ax.set_ylim(0.0, 1.05 * max(float(counts.max()) * N_BINS / n_rows, high))
    legend_above(ax)


def _reliability(evaluation: ClassEvaluation, ax: Axes) -> None:
    mean, share, count, low, high = _binned(evaluation)
    ax.plot([0, 1], [0, 1], color=INK, lw=1.0, ls="--")
    ax.fill_between(mean, low, high, color=INK, alpha=0.12, lw=0, label="95% if the model is right")
    ax.plot(mean, share, "o-", color=ACCENT, ms=6, label=f"ten groups of {count.max():.0f}")
    ax.set(
        xlabel=_probability_label(evaluation),
        ylabel="share of rows that have the class",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    legend_above(ax)


@_drawing
def coverage(evaluation: Evaluation, ax: Axes) -> None:
    """Draw how many outcomes lie in central intervals of every probability (regression).

    Above the line the intervals are too wide, below it too narrow. The band holds 95% of the
    curves' heights for a right model.
    """
    if isinstance(evaluation, ClassEvaluation):
        raise ValueError(
            "Labels have no intervals that could cover them: use plots.calibration for classes."
        )
    level = np.linspace(0.0, 1.0, 101)
    n_rows = len(evaluation.y)
    low, high = (binom.ppf(q, n_rows, level) / n_rows for q in (0.025, 0.975))
    ax.fill_between(
        level, low, high, color=INK, alpha=0.12, lw=0, label="95% if the model is right"
    )
    ax.plot([0, 1], [0, 1], color=INK, lw=1.0, ls="--")
    observed = [evaluation.coverage_at(value) for value in level]
    ax.plot(level, observed, color=ACCENT, lw=2.2, label="observed")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set(
        xlabel="probability of the interval",
        ylabel="outcomes in it",
        xlim=(0.0, 1.0),
        ylim=(0.0, 1.0),
    )
    legend_above(ax)


def _spread(n_rows: int, n_points: int = MAX_POINTS) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_points)).round().astype(np.intp))


def _probability_label(evaluation: ClassEvaluation) -> str:
    if len(evaluation.classes) == 2:
        return f"predicted P({evaluation.classes[1]})"
    return "predicted probability, all classes"


def _binned(
    evaluation: ClassEvaluation,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return for ten groups of equal size: mean probability, share, size, and the share's band."""
    probability, true = evaluation.pairs()
    order = np.argsort(probability, kind="stable")
    groups = [group for group in np.array_split(order, N_BINS) if len(group)]
    mean = np.array([probability[group].mean() for group in groups])
    share = np.array([true[group].mean() for group in groups])
    count = np.array([len(group) for group in groups], dtype=np.float64)
    low, high = (binom.ppf(q, count, mean) / count for q in (0.025, 0.975))
    return mean, share, count, low, high
