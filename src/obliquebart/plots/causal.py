"""Pictures of effects of treatments, and of how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.answers import SubgroupEffects
from obliquebart.causal.overlap import Overlap
from obliquebart.causal.policy import Policy, PolicyValue
from obliquebart.causal.sensitivity import Sensitivity
from obliquebart.causal.treatment import label_text
from obliquebart.plots.style import (
    ACCENT,
    INK,
    SECOND,
    as_written,
    label_axes,
    legend_above,
    line_styles,
    new_axes,
    short_name,
)
from obliquebart.plots.ticks import name_rows, plain_ticks

Function = TypeVar("Function", bound=Callable[..., Any])
FloatArray = NDArray[np.float64]
# More rows than these, evenly spaced, cannot be told apart.
MAX_ROWS = 400
N_BINS = 30
MOST_GROUPS = 20
SHOWN_COLUMNS = 4
PRIOR_DRAWS = 3000

_DOCUMENTATION = """
arm : label, optional
    Which treatment, if there are several.
propensity : array-like, optional
    Propensities of the rows of X, if `fit` was given such.
ax : Axes, optional
    Axes to draw on; by default, those of a new figure.

Returns
-------
Axes

Examples
--------
>>> import numpy as np
>>> from obliquebart import ObliqueBARTCausal, plots
>>> rng = np.random.default_rng(0)
>>> X, z = rng.normal(size=(100, 2)), np.arange(100) % 2
>>> model = ObliqueBARTCausal(n_trees=10, n_burn=20, n_draws=20, random_state=0)
>>> model = model.fit(X, X[:, 0] + z + rng.normal(size=100), z, propensity=np.full(100, 0.5))
>>> ax = plots.{call}
"""


def documented(call: str) -> Callable[[Function], Function]:
    """Add to a docstring what these plots share: `arm`, `ax`, an example with this call."""

    def add(function: Function) -> Function:
        function.__doc__ = cleandoc(function.__doc__ or "") + _DOCUMENTATION.format(call=call)
        return function

    return add


@documented("effect_ranking(model)")
def effect_ranking(
    model: Any,
    X: Any = None,
    *,
    coverage: float = 0.95,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the effect at each row, from the smallest to the largest, with intervals.

    The solid line is the average over the rows as `ate` has it, with the weights of `fit` for the
    training rows; the dashed line is no effect. Where the intervals are as wide as the whole curve,
    the data do not tell who responds more.

    Parameters
    ----------
    model : ObliqueBARTCausal
        A fitted model.
    X : table of shape (n, n_features), optional
        The rows; by default the training rows. Of many rows some are drawn, evenly spaced.
    coverage : float, default=0.95
        Probability of the intervals.
    """
    _require_causal(model)
    mean, interval = model.effect(
        X, arm=arm, return_interval=True, coverage=coverage, propensity=propensity
    )
    order = np.argsort(mean, kind="stable")
    shown = order[_evenly(len(order))]
    share = np.linspace(0.0, 1.0, len(shown))
    ax = new_axes(ax)
    low, high = interval[shown].T
    label = f"{coverage:.0%} interval"
    ax.vlines(share, low, high, color=ACCENT, lw=1.2, alpha=0.4, label=label)
    ax.plot(share, mean[shown], "o", color=INK, ms=2.5, label="effect at a row")
    # What `ate` has, without its draws.
    average = float(mean @ model._weights(X, len(mean)))
    ax.axhline(average, color=INK, lw=1.2, label="average")
    ax.axhline(0.0, color=INK, lw=1.0, ls="--", label="no effect")
    label_axes(ax, x="rows by effect", y=_short(model._comparison(arm)))
    plain_ticks(ax, x="percent", y="number")
    legend_above(ax, 4)
    return ax


@documented("subgroups(model, X, 'x1')")
def subgroups(
    model: Any,
    X: Any = None,
    column: str | int | None = None,
    *,
    bins: int = 4,
    coverage: float = 0.95,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the average effect within groups of rows, with intervals.

    The solid line is the average over all rows, the dashed line is no effect.

    Parameters
    ----------
    model : ObliqueBARTCausal or SubgroupEffects
        A fitted model, or the result of `effect_by`.
    X : table of shape (n, n_features), optional
        The rows; by default the training rows.
    column : str or int
        The column that makes the groups. Required unless groups are given.
    bins : int, default=4
        Number of groups of a number.
    coverage : float, default=0.95
        Probability of the intervals.
    """
    if isinstance(model, SubgroupEffects):
        found = model
    elif column is None:
        raise ValueError("Pass the column that makes the groups, or the result of effect_by.")
    else:
        _require_causal(model)
        found = model.effect_by(
            X, column, bins=bins, coverage=coverage, arm=arm, propensity=propensity
        )
    groups = found[:MOST_GROUPS]
    ax = new_axes(ax, height=1.4 + 0.35 * len(groups))
    position = np.arange(len(groups))
    low, high = [group.low for group in groups], [group.high for group in groups]
    label = f"{found.coverage:.0%} interval"
    ax.hlines(position, low, high, color=ACCENT, lw=3, label=label)
    ax.plot([group.mean for group in groups], position, "s", color=INK, ms=6, label="mean")
    ax.axvline(found.overall, color=INK, lw=1.2, label="all rows")
    ax.axvline(0.0, color=INK, lw=1.0, ls="--", label="no effect")
    names = [f"{short_name(group.group)} ({group.n_rows:,})" for group in groups]
    name_rows(ax, position, names)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.grid(axis="x", color=INK, alpha=0.15)
    plain_ticks(ax, x="number")
    label_axes(ax, x=f"average {_short(found.comparison)}", y=short_name(found.column))
    more = len(found) - len(groups)
    legend_above(ax, 2, f"{len(groups)} of {len(found)} groups" if more else None)
    return ax


@documented("overlap(model)")
def overlap(
    model: Any,
    X: Any = None,
    treatment: ArrayLike | str | None = None,
    *,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the propensities of the rows of each arm.

    Where one arm has rows and another has none, the data do not show what the other treatment
    would do. Marks below are rows without counterparts.

    Parameters
    ----------
    model : ObliqueBARTCausal or Overlap
        A fitted model, or the result of its `overlap`.
    X : table of shape (n, n_features), optional
        The rows; by default the training rows.
    treatment : array-like or str, optional
        The treatments of the rows of X.
    """
    if not isinstance(model, Overlap):
        _require_causal(model)
        model = model.overlap(X, treatment, propensity=propensity)
    found: Overlap = model
    k = _arm_position(found, arm)
    values = found.propensity[:, k - 1]
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    ax = new_axes(ax)
    styles = line_styles(len(found.arms))
    for a, (label, style) in enumerate(zip(found.arms, styles, strict=True)):
        own = values[found.arm == a]
        counts, _ = np.histogram(own, edges)
        share = counts / max(len(own), 1)
        name = f"{short_name(label_text(label))} ({len(own):,} rows)"
        ax.stairs(share, edges, fill=True, alpha=0.18, color=style["color"])
        ax.stairs(share, edges, lw=2, label=name, **style)
    without = values[found.without.any(axis=1)]
    if len(without):
        transform = ax.get_xaxis_transform()
        name = f"no counterparts ({len(without):,} rows)"
        height = np.full(len(without), 0.015)
        ax.plot(without, height, "x", color=INK, ms=5, transform=transform, label=name)
    of = "the treatment" if len(found.arms) == 2 else short_name(label_text(found.arms[k]))
    label_axes(ax, x=f"propensity: probability of {of}", y="share of the rows of an arm")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    plain_ticks(ax, x="percent", y="percent")
    legend_above(ax, 3)
    return ax


@documented("prior_and_posterior(model)")
def prior_and_posterior(
    model: Any,
    X: Any = None,
    *,
    coverage: float = 0.95,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the prior and the posterior of the average effect side by side.

    If the posterior is about as wide as the prior, the data have said little.

    Parameters
    ----------
    model : ObliqueBARTCausal
        A fitted model.
    X : table of shape (n, n_features), optional
        The rows to average over; by default the training rows.
    coverage : float, default=0.95
        Probability of the interval of the posterior, drawn as a line below.
    """
    _require_causal(model)
    average = model.ate(X, arm=arm, coverage=coverage, propensity=propensity)
    prior = model.prior_ate(X, arm=arm, n_draws=PRIOR_DRAWS, propensity=propensity)
    ax = new_axes(ax)
    for draws, color, line, label in (
        (prior, SECOND, "--", "prior"),
        (average.draws, ACCENT, "-", "posterior"),
    ):
        low, high = np.quantile(draws, (0.005, 0.995))
        heights, edges = np.histogram(draws, N_BINS, (low, high), density=True)
        # Relative to the highest, since the posterior is often a hundred times higher.
        heights = heights / max(float(heights.max()), np.finfo(np.float64).tiny)
        ax.stairs(heights, edges, fill=True, alpha=0.2, color=color)
        ax.stairs(heights, edges, color=color, ls=line, lw=2, label=label)
    interval = f"{coverage:.0%} interval of the posterior"
    ax.hlines(-0.05, average.low, average.high, color=INK, lw=3, label=interval)
    ax.axvline(0.0, color=INK, lw=1.0, ls="--", label="no effect")
    label_axes(ax, x=f"average {_short(model._comparison(arm))}", y="density, relative")
    ax.set_yticks([])
    plain_ticks(ax, x="number")
    legend_above(ax, 2)
    return ax


@documented("policy(model)")
def policy(
    model: Any,
    X: Any = None,
    rule: Policy = None,
    *,
    cost: float = 0.0,
    coverage: float = 0.95,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the gain per row against the share of rows treated, those with most effect first.

    The band is an interval; the straight line is what treating the same share at random gains.
    The point is the policy.

    Parameters
    ----------
    model : ObliqueBARTCausal or PolicyValue
        A fitted model, or the result of `policy_value`.
    X : table of shape (n, n_features), optional
        The rows; by default the training rows.
    rule : array-like of bool, callable or None
        The policy, as in `policy_value`.
    cost : float, default=0.0
        Of one treatment.
    coverage : float, default=0.95
        Probability of the band.
    """
    if not isinstance(model, PolicyValue):
        _require_causal(model)
        model = model.policy_value(
            X, rule, cost=cost, coverage=coverage, arm=arm, propensity=propensity
        )
    found: PolicyValue = model
    share, mean, low, high = found.curve.T
    ax = new_axes(ax)
    label = f"{found.coverage:.0%} interval"
    ax.fill_between(share, low, high, color=ACCENT, alpha=0.22, lw=0, label=label)
    ax.plot(share, mean, color=ACCENT, lw=2, label="largest effects first")
    ends = [0.0, found.treat_all.mean]
    ax.plot([0.0, 1.0], ends, color=INK, lw=1.2, ls=":", label="at random")
    ax.vlines(found.share_treated, found.gain.low, found.gain.high, color=INK, lw=1.2)
    ax.plot(found.share_treated, found.gain.mean, "D", color=INK, ms=6, label="the policy")
    ax.axhline(0.0, color=INK, lw=1.0, ls="--")
    label_axes(ax, x="share of rows treated", y=f"gain in {short_name(found.comparison.outcome)}")
    ax.set_xlim(0.0, 1.0)
    plain_ticks(ax, x="percent", y="number")
    legend_above(ax, 4)
    return ax


@documented("sensitivity(model)")
def sensitivity(
    model: Any,
    X: Any = None,
    treatment: ArrayLike | str | None = None,
    *,
    coverage: float = 0.95,
    arm: Any = None,
    propensity: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what an unmeasured confounder would leave of the average effect.

    Along a curve the adjusted effect is the same. On the thick dashed curve the interval begins to
    include zero, on the thick solid one nothing is left of the effect. Diamonds are observed
    columns, cut in two, for comparison.

    Parameters
    ----------
    model : ObliqueBARTCausal or Sensitivity
        A fitted model, or the result of its `sensitivity`.
    X : table of shape (n, n_features), optional
        The rows; by default the training rows.
    treatment : array-like or str, optional
        The treatments of the rows of X.
    coverage : float, default=0.95
        Probability of the interval.
    """
    if not isinstance(model, Sensitivity):
        _require_causal(model)
        model = model.sensitivity(X, treatment, coverage=coverage, arm=arm, propensity=propensity)
    found: Sensitivity = model
    ax = new_axes(ax)
    size = np.abs(found.shifts)
    grid = ax.contour(
        found.differences, size, found.adjusted, levels=8, colors=INK, linewidths=0.7, alpha=0.5
    )
    ax.clabel(grid, fontsize="small")
    within = f"{found.effect.coverage:.0%} interval includes 0"
    for bias, line, label in (
        (found.bias_to_include_zero, "--", within),
        (found.bias_to_reach_zero, "-", "no effect left"),
    ):
        # Where shift times difference is the bias.
        differences = found.differences[1:]
        ax.plot(differences, abs(bias) / differences, color=ACCENT, lw=2.5, ls=line, label=label)
    for each in found.observed[:SHOWN_COLUMNS]:
        x, y = abs(each.difference), abs(each.shift)
        if x <= found.differences[-1] and y <= size[-1]:
            ax.plot(x, y, "D", color=SECOND, mec=INK, ms=6)
            name = short_name(each.column)
            as_written(ax.annotate(name, (x, y), (5, 3), textcoords="offset points"))
    ax.set(xlim=(0.0, found.differences[-1]), ylim=(0.0, size[-1]))
    sign = "adds to" if found.effect.mean >= 0 else "takes off"
    label_axes(
        ax,
        x="how much more common among the treated",
        y=f"what it {sign} {short_name(found.effect.outcome)}",
    )
    plain_ticks(ax, x="percent", y="number")
    legend_above(ax, 2)
    return ax


def _require_causal(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "effect_draws"):
        raise ValueError(
            f"{type(model).__name__} has no effects of a treatment: use ObliqueBARTCausal."
        )


def _evenly(n_rows: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ROWS)).round().astype(np.intp))


def _arm_position(found: Overlap, arm: Any) -> int:
    """Return the position of an arm besides the control; the first by default."""
    if arm is None:
        return 1
    if arm not in found.arms[1:]:
        raise ValueError(f"arm={arm!r} must be one of {found.arms[1:]!r}.")
    return found.arms.index(arm)


def _short(comparison: Any) -> str:
    """Name an effect, with names that leave room."""
    treatment, outcome = comparison
    return f"effect of {short_name(treatment, 40)} on {short_name(outcome, 40)}"
