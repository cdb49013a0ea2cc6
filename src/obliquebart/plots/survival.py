"""Survival curves of rows, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.plots.style import (
    label_axes,
    legend_above,
    line_styles,
    new_axes,
    short_name,
)
from obliquebart.plots.ticks import plain_ticks
from obliquebart.posterior.survival import survival_at, thinned
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_coverage

# More curves than these cannot be told apart.
MAX_CURVES = 8
N_CURVES = 4
# Of the posterior, for the bands.
MAX_DRAWS = 400
EXAMPLE = """
ax : Axes, optional
    Axes to draw on; by default, those of a new figure.

Returns
-------
Axes

Examples
--------
>>> import numpy as np
>>> from obliquebart import ObliqueBARTSurvival, plots
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(size=(100, 2))
>>> time, end = rng.exponential(np.exp(2 * X[:, 0])), rng.uniform(1, 5, size=100)
>>> y = np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")
>>> model = ObliqueBARTSurvival(n_trees=10, n_burn=20, n_draws=20, random_state=0).fit(X, y)
>>> ax = plots.survival(model, X)
"""


def survival(
    model: Any,
    X: Any,
    *,
    rows: Sequence[int] | None = None,
    times: ArrayLike | None = None,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw survival curves: the probability that the event is later than a time.

    Bands are posterior intervals of the curves. They show how much is known about a curve; where
    an event falls is described by the curve itself.

    Parameters
    ----------
    model : ObliqueBARTSurvival
        A fitted model.
    X : table of shape (n, n_features)
        Rows to choose from.
    rows : sequence of int, optional
        Positions of the rows to draw, at most eight. By default, four rows from the highest to the
        lowest risk.
    times : array-like of shape (n_times,), optional
        Times, as in `predict_survival_function`.
    coverage : float, default=0.9
        Probability of the bands, in (0, 1).
    """
    check_is_fitted(model)
    if not hasattr(model, "predict_survival_function"):
        raise ValueError(
            f"{type(model).__name__} has no survival curves: use ObliqueBARTSurvival for times."
        )
    levels = check_coverage(coverage)
    columns: EncodedTable = model.posterior_.encode(X)
    risk = np.asarray(model.predict(X))
    chosen = _spread(risk) if rows is None else _checked(rows, len(risk))
    grid = model._times(times)
    few = thinned(model.posterior_, MAX_DRAWS)
    found = survival_at(few, columns.take(chosen), grid, levels, model.n_jobs)
    ax = new_axes(ax)
    x = np.append(0.0, grid)
    for row, mean, band, style in zip(
        chosen, found.mean, found.quantiles, line_styles(len(chosen)), strict=True
    ):
        low, high = (np.append(1.0, each) for each in band.T)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.18, lw=0)
        ax.plot(x, np.append(1.0, mean), lw=2, label=f"row {row}", **style)
    label_axes(ax, x=short_name(model.target_name_ or "time"), y="probability of a later event")
    ax.set(xlim=(0.0, x[-1]), ylim=(0.0, 1.0))
    plain_ticks(ax, x="number", y="percent")
    order = "from the highest to the lowest risk, " if rows is None else ""
    legend_above(ax, 4, f"{order}{coverage:.0%} intervals")
    return ax


survival.__doc__ = (survival.__doc__ or "").rstrip() + EXAMPLE.replace("\n", "\n    ").rstrip(" ")


def _spread(risk: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return rows from the highest to the lowest risk, evenly spaced without the outer 5%."""
    order = np.argsort(-risk, kind="stable")
    inner = np.linspace(0.05, 0.95, N_CURVES) * (len(order) - 1)
    return order[np.unique(inner.round().astype(np.intp))]


def _checked(rows: Sequence[int], n_rows: int) -> NDArray[np.intp]:
    found = np.asarray(rows)
    is_positions = found.ndim == 1 and found.dtype.kind in "iu" and 1 <= len(found) <= MAX_CURVES
    if not is_positions or found.min() < -n_rows or found.max() >= n_rows:
        raise ValueError(
            f"rows must be 1 to {MAX_CURVES} positions of rows of X, between 0 and {n_rows - 1}."
        )
    return np.asarray(found % n_rows, dtype=np.intp)
