"""Predictions against outcomes: fit, residuals, calibration, coverage.

Each function takes a fitted model with a table and its outcomes, or an `Evaluation` of them. On
the training rows, all of them are too optimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any, NamedTuple, Protocol, cast

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
from obliquebart.plots.style import (
    ACCENT,
    INK,
    SECOND,
    documented,
    label_axes,
    legend_above,
    line_styles,
    new_axes,
    short_name,
)
from obliquebart.plots.subject import class_position, short_probability_of
from obliquebart.plots.ticks import plain_ticks

__all__ = ["calibration", "coverage", "fit", "residuals"]

# More points than this would overlap too much.
MAX_POINTS = 400
N_BINS = 10
# Noise that differs less than this between rows is the same for all of them.
SAME_NOISE = 1e-6
# Groups of probabilities with fewer rows are too noisy.
SMALLEST_GROUP = 10
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


def _class_drawing(draw: Callable[[Any, Axes, int | None], None]) -> ClassDrawing:
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
    name = _name(evaluation)
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
    label_axes(ax, x=_name(evaluation), y="probability of a later event")
    ax.set(xlim=(0.0, x[-1]), ylim=(0.0, 1.02))
    plain_ticks(ax, x="number", y="percent")
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
        f"{short_name(str(evaluation.classes[code]))} ({len(group)})"
        for code, group in zip(shown, groups, strict=True)
    ]
    ax.set_yticks(position, names)
    label_axes(ax, x=f"probability of the true {_name(evaluation)}")
    ax.set_xlim(-0.02, 1.02)
    plain_ticks(ax, x="percent")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    legend_above(ax, 3)


@_class_drawing
def residuals(evaluation: Evaluation, ax: Axes, code: int | None) -> None:
    """Draw residuals.

    Regression: residuals against predictions, with ±2 σ and the median of each tenth of the rows;
    the median should stay near zero. Counts: residuals in predictive standard deviations, and the
    mean of each tenth of the rows. Classification: the observed share of the class minus its
    predicted probability, by probability, with ±2 standard errors. Censored times have none.
    """
    if isinstance(evaluation, SurvivalEvaluation):
        raise ValueError("Censored times have no residuals: use plots.calibration.")
    ax.axhline(0.0, color=INK, lw=1.0, ls="--")
    if isinstance(evaluation, ClassEvaluation):
        _residuals_of_classes(evaluation, ax, code)
    elif isinstance(evaluation, CountEvaluation):
        _residuals_of_counts(evaluation, ax)
    else:
        _residuals_of_regression(evaluation, ax)


def _residuals_of_regression(evaluation: RegressionEvaluation, ax: Axes) -> None:
    some = _spread(len(evaluation.y), 2 * MAX_POINTS)
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
    name = _name(evaluation)
    label_axes(ax, x=f"predicted {name}", y=f"{name}, observed - predicted")
    plain_ticks(ax, x="number", y="number")
    legend_above(ax)


def _residuals_of_counts(evaluation: CountEvaluation, ax: Axes) -> None:
    some = _spread(len(evaluation.y), 2 * MAX_POINTS)
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
    name = _name(evaluation)
    label_axes(ax, x=f"predicted {name}", y=f"{name}, (observed - predicted) / sd")
    plain_ticks(ax, x="number", y="number")
    legend_above(ax)


def _residuals_of_classes(evaluation: ClassEvaluation, ax: Axes, code: int | None) -> None:
    groups = _groups(evaluation, code)
    mean, share = groups.mean, groups.share
    error = np.sqrt(np.maximum(mean * (1.0 - mean), 1e-12) / groups.size)
    ax.fill_between(mean, -2 * error, 2 * error, color=INK, alpha=0.1, lw=0, label="chance")
    ax.plot(mean, share - mean, "o-", color=ACCENT, label="a group of rows")
    label_axes(ax, x=f"predicted {_probability(evaluation, code)}", y="true share - predicted")
    plain_ticks(ax, x="percent", y="percent")
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
        _reliability(evaluation, ax, code)
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
    name = _name(evaluation)
    label_axes(
        ax, x=f"predicted probability of a value below the observed {name}", y="rows / expected"
    )
    ax.set_xlim(0.0, 1.0)
    plain_ticks(ax, x="percent", y="number")
    ax.set_ylim(0.0, 1.05 * max(float(counts.max()) * N_BINS / n_rows, high))
    legend_above(ax)


def _reliability(evaluation: ClassEvaluation, ax: Axes, code: int | None) -> None:
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


def _spread(n_rows: int, n_points: int = MAX_POINTS) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_points)).round().astype(np.intp))


def _name(evaluation: Evaluation) -> str:
    nameless = {ClassEvaluation: "class", SurvivalEvaluation: "time"}
    return short_name(evaluation.target or nameless.get(type(evaluation), "y"))


def _probability(evaluation: ClassEvaluation, code: int | None) -> str:
    if code is None and len(evaluation.classes) != 2:
        return f"probability of each {_name(evaluation)}"
    return short_probability_of(evaluation.classes[1 if code is None else code], evaluation.target)


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
