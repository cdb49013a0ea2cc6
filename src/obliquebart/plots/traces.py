"""The chains, sweep by sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import NDArray

from obliquebart.plots.style import INK, line_styles, short_name, title_above
from obliquebart.plots.subject import subject_of
from obliquebart.plots.ticks import plain_ticks
from obliquebart.posterior.diagnostics import measure, scalar_names
from obliquebart.posterior.posterior import Posterior

# Descriptions of the parameters.
MEANINGS = {
    "theta": "θ, how many columns a rule uses",
    "leaf_sd": "leaf sd, how much a leaf may add",
    "n_leaves": "leaves per tree",
    "depth": "depth of a tree",
}
# Longer chains are drawn as means of consecutive draws, which look the same.
MAX_POINTS = 1000


def trace(
    model: Any,
    names: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
    *,
    class_: Any = None,
) -> NDArray[np.object_]:
    """Draw the traces of the parameters, one panel each, one line per chain.

    For sigma, burn-in sweeps are shown too, to the left of zero, so that you can see whether the
    burn-in was long enough.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    names : sequence of str, optional
        Keys of `Posterior.trace`; by default, the parameters of the model and `n_leaves`.
    axes : sequence of Axes, optional
        One per name; with several classes, first those of the first class, then of the second, and
        so on.
    class_ : label, optional
        With more than two classes, the class whose chains to draw; by default, all classes.

    Returns
    -------
    ndarray of Axes

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliquebart import ObliqueBARTRegressor, plots
    >>> model = ObliqueBARTRegressor(n_trees=10, n_burn=20, n_draws=20, random_state=0)
    >>> plots.trace(model.fit(*load_diabetes(return_X_y=True))).shape
    (4,)
    """
    subject = subject_of(model, class_)
    parts = subject.parts
    first = next(iter(parts.values()))
    chosen = list(names) if names is not None else default_names(first)
    if not chosen:
        raise ValueError(f"names={names!r} is empty. Available: {', '.join(first.trace)}.")
    unknown = [name for name in chosen if name not in first.trace]
    if unknown:
        raise ValueError(f"Unknown trace {unknown[0]!r}. Available: {', '.join(first.trace)}.")
    n_panels = len(chosen) * len(parts)
    given = list(axes) if axes is not None else _new_panels(len(chosen), len(parts))
    if len(given) != n_panels:
        raise ValueError(f"{n_panels} traces need {n_panels} axes, got {len(given)}.")
    panels = np.empty(n_panels, dtype=object)
    panels[:] = given
    for i, (label, posterior) in enumerate(parts.items()):
        mine = list(panels[i * len(chosen) : (i + 1) * len(chosen)])
        draw_traces(mine, posterior, chosen, subject.name, label, has_legend=i == 0)
    return panels


def draw_traces(
    panels: list[Axes],
    posterior: Posterior,
    names: Sequence[str],
    target: str,
    label: str = "",
    *,
    has_legend: bool = True,
) -> None:
    """Draw the traces of one posterior, one panel each; `label` is a prefix of their titles."""
    symbols = {scalar.name: scalar.symbol for scalar in posterior.likelihood.noise}
    for ax, name in zip(panels, names, strict=True):
        shown = posterior.likelihood.shown_name(name)
        title = MEANINGS.get(name, symbols.get(name, shown))
        if name == "sigma" and name in symbols:
            title += f", the noise of {target}"
        _draw(ax, posterior, name, f"{short_name(label)}: {title}" if label else title)
    if panels:
        panels[-1].set_xlabel("draw (negative: burn-in)", labelpad=2.0)
        if has_legend and posterior.n_chains > 1:
            panels[-1].legend(
                ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35), frameon=False
            )


def _draw(ax: Axes, posterior: Posterior, name: str, title: str) -> None:
    draws = posterior.trace[name]
    # Thinned like the kept draws, up to the last sweep before them.
    burn = posterior.burn_sigma[:, :: -posterior.schedule.n_thin][:, ::-1]
    burn = burn if name == "sigma" else np.zeros((len(draws), 0))
    _panel(ax, draws, burn)
    plain_ticks(ax, x="number", y="number")
    rhat = measure(name, draws).rhat if np.isfinite(draws).all() else np.nan
    title_above(ax, title, "" if np.isnan(rhat) else f"R-hat {rhat:.3f}")


def default_names(posterior: Posterior) -> list[str]:
    """Return the traces to draw by default."""
    constant = {scalar.name for scalar in posterior.likelihood.noise if not scalar.sampled}
    return [*(name for name in scalar_names(posterior) if name not in constant), "n_leaves"]


def _new_panels(n_names: int, n_classes: int) -> list[Axes]:
    """Return the panels of a new figure with a column for each class, class by class."""
    # Titles beside each other are broken into lines.
    width, height = (7.0, 1.7) if n_classes == 1 else (4.6 * n_classes, 2.1)
    _, axes = plt.subplots(
        n_names,
        n_classes,
        figsize=(width, 0.6 + height * n_names),
        squeeze=False,
        layout="constrained",
    )
    return list(axes.T.ravel())


def _panel(ax: Axes, draws: NDArray[np.float64], burn: NDArray[np.float64]) -> None:
    n_burn = burn.shape[1]
    values = np.concatenate([burn, draws], axis=1)
    sweep = np.arange(values.shape[1]) - n_burn
    step = -(-values.shape[1] // MAX_POINTS)
    for chain, (line, style) in enumerate(zip(values, line_styles(len(values)), strict=True)):
        ax.plot(_thin(sweep, step), _thin(line, step), lw=0.9, label=f"chain {chain + 1}", **style)
    if n_burn:
        ax.axvline(0, color=INK, lw=1.0, ls=(0, (1, 1)))
        # The first sweeps are far off and would compress the rest.
        low, high = np.nanmin(values[:, n_burn // 2 :]), np.nanmax(values[:, n_burn // 2 :])
        margin = 0.05 * (high - low) or 0.5
        ax.set_ylim(low - margin, high + margin)
    ax.margins(x=0.01)


def _thin(values: NDArray[Any], step: int) -> NDArray[np.float64]:
    n_whole = len(values) // step * step
    return np.asarray(values[:n_whole].reshape(-1, step).mean(axis=1), dtype=np.float64)
