"""Predictions against outcomes: fit, residuals, calibration, coverage.

Each function takes a fitted model with a table and its outcomes, or an `Evaluation` of them. On
the training rows, all of them are too optimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any, Protocol, cast

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from obliquebart.explain.evaluation import (
    ClassEvaluation,
    CountEvaluation,
    Evaluation,
    RegressionEvaluation,
    evaluate,
)
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.plots.class_checks import (
    MAX_POINTS,
    N_BINS,
    fit_of_several,
    fit_of_two,
    outcome_name,
    reliability,
    residuals_of_classes,
    spread,
)
from obliquebart.plots.style import (
    ACCENT,
    INK,
    SECOND,
    documented,
    label_axes,
    legend_above,
    line_styles,
    new_axes,
)
from obliquebart.plots.subject import class_position
from obliquebart.plots.ticks import plain_ticks

__all__ = ["calibration", "coverage", "fit", "residuals"]

# Noise that differs less than this between rows is the same for all of them.
SAME_NOISE = 1e-6
# Names of so many groups of rows, by increasing risk.
RISKS = {
    1: ["all rows"],
    2: ["lower risk", "higher risk"],
    3: ["low risk", "middle risk", "high risk"],
}
FloatArray = NDArray[np.float64]


_PARAMETERS = """

Parameters
----------
model : fitted estimator or Evaluation
    What to draw.
X, y : table and outcomes
    Required unless `model` is an Evaluation."""
_CLASS = """
class_ : label, optional
    The class to draw. By default, the second of two classes, or all of more than two together."""


class Drawing(Protocol):
    """Draws an evaluation, or a model evaluated on a table with outcomes."""

    def __call__(
        self, model: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> Axes: ...


class ClassDrawing(Protocol):
    """Draws an evaluation of all classes, or of one of them."""

    def __call__(
        self,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        class_: Any = None,
        ax: Axes | None = None,
    ) -> Axes: ...


def _evaluation(model: Any, X: Any, y: ArrayLike | None) -> Evaluation:
    if isinstance(model, (RegressionEvaluation, ClassEvaluation, SurvivalEvaluation)):
        return model
    if X is None or y is None:
        raise ValueError("Pass the table X and its outcomes y, or an Evaluation.")
    return evaluate(model, X, y)


def _named_like(public: Any, draw: Callable[..., None], parameters: str) -> Any:
    """Give a public function the name and documentation of the drawing function."""
    public.__name__ = public.__qualname__ = draw.__name__
    public.__doc__ = cleandoc(draw.__doc__ or "") + parameters
    return documented(f"{draw.__name__}(model.fit(X[:300], y[:300]), X[300:], y[300:])")(public)


def _drawing(
    draw: Callable[[Any, Axes], None], check: Callable[[Evaluation], None] = lambda _: None
) -> Drawing:
    """Make a public function of one that draws an evaluation, after a check of it."""

    def drawn(
        model: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> Axes:
        evaluation = _evaluation(model, X, y)
        check(evaluation)
        ax = new_axes(ax)
        draw(evaluation, ax)
        return ax

    return cast(Drawing, _named_like(drawn, draw, _PARAMETERS))


def _class_drawing(
    draw: Callable[[Any, Axes, int | None], None],
    check: Callable[[Evaluation], None] = lambda _: None,
) -> ClassDrawing:
    """Make a public function from one that draws an evaluation or one of its classes."""

    def drawn(
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        class_: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        evaluation = _evaluation(model, X, y)
        check(evaluation)
        code = None
        if class_ is not None:
            classes = getattr(evaluation, "classes", np.zeros(0)).tolist()
            code = class_position(classes, class_)
        ax = new_axes(ax)
        draw(evaluation, ax, code)
        return ax

    return cast(ClassDrawing, _named_like(drawn, draw, _PARAMETERS + _CLASS))


@_drawing
def fit(evaluation: Evaluation, ax: Axes) -> None:
    """Draw predictions with their intervals against outcomes.

    Regression: outcomes against predictions, with intervals of a new outcome; outcomes outside
    are crosses. Two classes: the probability of the second class with its interval, with rows
    sorted by probability; filled markers above are rows of that class, open markers below are
    rows of the other. More classes: the predicted probability of each row's true class. Times:
    the mean survival curve of thirds of the rows, by risk, with intervals; steps are their
    Kaplan-Meier estimates.
    """
    if isinstance(evaluation, RegressionEvaluation):
        _fit_of_regression(evaluation, ax)
    elif isinstance(evaluation, SurvivalEvaluation):
        _fit_of_times(evaluation, ax)
    elif len(evaluation.classes) == 2:
        fit_of_two(evaluation, ax)
    else:
        fit_of_several(evaluation, ax)


def _fit_of_regression(evaluation: RegressionEvaluation, ax: Axes) -> None:
    some = spread(len(evaluation.y))
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
        label=f"in its {evaluation.coverage:.0%} interval",
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
    name = outcome_name(evaluation)
    label_axes(ax, x=f"predicted {name}", y=f"observed {name}")
    plain_ticks(ax, x="number", y="number")
    legend_above(ax)


def _fit_of_times(evaluation: SurvivalEvaluation, ax: Axes) -> None:
    names = RISKS[len(evaluation.curves)]
    x = np.append(0.0, evaluation.grid)
    for name, curve, style in zip(names, evaluation.curves, line_styles(len(names)), strict=True):
        low, mean, high, observed = (
            np.append(1.0, each)
            for each in (curve.low, curve.predicted, curve.high, curve.observed)
        )
        color = style["color"]
        ax.fill_between(x, low, high, color=color, alpha=0.2, lw=0)
        ax.plot(x, mean, lw=2, label=f"{name} ({curve.n_rows} rows)", **style)
        ax.plot(x, observed, lw=1.2, color=INK, drawstyle="steps-post")
    ax.plot([], [], lw=1.2, color=INK, label="observed (Kaplan-Meier)")
    label_axes(ax, x=outcome_name(evaluation), y="probability of a later event")
    ax.set(xlim=(0.0, x[-1]), ylim=(0.0, 1.02))
    plain_ticks(ax, x="number", y="percent")
    legend_above(ax)


def _check_uncensored(evaluation: Evaluation) -> None:
    if isinstance(evaluation, SurvivalEvaluation):
        raise ValueError("Censored times have no residuals: use plots.calibration.")


@partial(_class_drawing, check=_check_uncensored)
def residuals(
    evaluation: RegressionEvaluation | ClassEvaluation, ax: Axes, code: int | None
) -> None:
    """Draw residuals.

    Regression: residuals against predictions, with ±2 σ and the median of each tenth of the rows;
    the median should stay near zero. Counts: residuals in predictive standard deviations, and the
    mean of each tenth of the rows. Classification: the observed share of the class minus its
    predicted probability, by probability, with ±2 standard errors. Censored times have none.
    """
    ax.axhline(0.0, color=INK, lw=1.0, ls="--")
    if isinstance(evaluation, ClassEvaluation):
        residuals_of_classes(evaluation, ax, code)
    elif isinstance(evaluation, CountEvaluation):
        _residuals_of_counts(evaluation, ax)
    else:
        _residuals_of_regression(evaluation, ax)


def _residuals_of_regression(evaluation: RegressionEvaluation, ax: Axes) -> None:
    some = spread(len(evaluation.y), 2 * MAX_POINTS)
    order = np.argsort(evaluation.mean, kind="stable")
    groups = [g for g in np.array_split(order, N_BINS) if len(g)]
    middle = [np.median(evaluation.mean[group]) for group in groups]
    band: dict[str, Any] = {"color": INK, "alpha": 0.08, "lw": 0, "label": "±2 sd of the noise"}
    low, high = evaluation.sigma.min(), evaluation.sigma.max()
    if high - low <= SAME_NOISE * high:
        ax.axhspan(-2 * high, 2 * high, **band)
    else:
        # A row's noise depends on its columns; the band has the mean variance of a tenth.
        width = np.array([2 * np.sqrt((evaluation.sigma[group] ** 2).mean()) for group in groups])
        ax.fill_between(middle, -width, width, **band)
    ax.plot(evaluation.mean[some], evaluation.residual[some], "o", ms=3, color=ACCENT, alpha=0.6)
    ax.plot(
        middle,
        [np.median(evaluation.residual[group]) for group in groups],
        "s-",
        color=SECOND,
        mec=INK,
        ms=6,
        lw=2,
        label="median of a tenth of the rows",
    )
    name = outcome_name(evaluation)
    label_axes(ax, x=f"predicted {name}", y=f"{name}, observed - predicted")
    plain_ticks(ax, x="number", y="number")
    legend_above(ax)


def _residuals_of_counts(evaluation: CountEvaluation, ax: Axes) -> None:
    some = spread(len(evaluation.y), 2 * MAX_POINTS)
    scaled = evaluation.residual / evaluation.sd
    ax.axhspan(-2, 2, color=INK, alpha=0.08, lw=0, label="±2 sd of a count")
    ax.plot(evaluation.mean[some], scaled[some], "o", ms=3, color=ACCENT, alpha=0.6)
    order = np.argsort(evaluation.mean, kind="stable")
    groups = [g for g in np.array_split(order, N_BINS) if len(g)]
    ax.plot(
        [np.median(evaluation.mean[group]) for group in groups],
        [np.mean(scaled[group]) for group in groups],
        "s-",
        color=SECOND,
        mec=INK,
        ms=6,
        lw=2,
        label="mean of a tenth of the rows",
    )
    name = outcome_name(evaluation)
    label_axes(ax, x=f"predicted {name}", y=f"{name}, (observed - predicted) / sd")
    plain_ticks(ax, x="number", y="number")
    legend_above(ax)


@_class_drawing
def calibration(evaluation: Evaluation, ax: Axes, code: int | None) -> None:
    """Draw calibration: whether predicted probabilities match observed frequencies.

    Regression: a histogram of the predictive probability of an outcome below the observed one
    (for counts, plus a random part of that of the observed one).
    It should be flat; a hump in the middle means that intervals are too wide, high ends that they
    are too narrow. The band contains 95% of the bars of a correct model. Classification: the
    observed share of the class against its predicted probability, in groups of rows with similar
    probabilities, with the band of a correct model. Times: as regression; a censored time is
    spread evenly over the probabilities it may have.
    """
    if isinstance(evaluation, ClassEvaluation):
        reliability(evaluation, ax, code)
        return
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    if isinstance(evaluation, SurvivalEvaluation):
        # The first bar has the probability 0 too.
        _pit_histogram(evaluation, evaluation.shares(np.append(-1.0, edges[1:])), edges, ax)
    else:
        _pit_histogram(evaluation, *np.histogram(evaluation.pit, edges), ax)


def _pit_histogram(
    evaluation: Evaluation, counts: NDArray[Any], edges: NDArray[Any], ax: Axes
) -> None:
    n_rows = round(float(counts.sum()))
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
    ax.axhspan(low, high, color=INK, alpha=0.12, lw=0, label="95% if the model is correct")
    ax.axhline(1.0, color=INK, lw=1.0, ls="--")
    name = outcome_name(evaluation)
    label_axes(
        ax, x=f"predicted probability of a value below the observed {name}", y="rows / expected"
    )
    ax.set_xlim(0.0, 1.0)
    plain_ticks(ax, x="percent", y="number")
    ax.set_ylim(0.0, 1.05 * max(float(counts.max()) * N_BINS / n_rows, high))
    legend_above(ax)


def _check_regression(evaluation: Evaluation) -> None:
    if isinstance(evaluation, ClassEvaluation):
        raise ValueError(
            "Labels have no intervals that could cover them: use plots.calibration for classes."
        )


@partial(_drawing, check=_check_regression)
def coverage(evaluation: RegressionEvaluation | SurvivalEvaluation, ax: Axes) -> None:
    """Draw how many outcomes lie in central intervals of every probability (numbers and times).

    Above the line, intervals are too wide; below it, too narrow. The band contains 95% of the
    curves of a correct model at each probability.
    """
    level = np.linspace(0.0, 1.0, 101)
    n_rows = len(evaluation.risk if isinstance(evaluation, SurvivalEvaluation) else evaluation.y)
    low, high = (binom.ppf(q, n_rows, level) / n_rows for q in (0.025, 0.975))
    ax.fill_between(
        level, low, high, color=INK, alpha=0.12, lw=0, label="95% if the model is correct"
    )
    ax.plot([0, 1], [0, 1], color=INK, lw=1.0, ls="--")
    observed = [evaluation.coverage_at(value) for value in level]
    ax.plot(level, observed, color=ACCENT, lw=2.2, label="observed")
    label_axes(ax, x="probability of the interval", y="rows inside")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    plain_ticks(ax, x="percent", y="percent")
    legend_above(ax)
