"""The chains sweep by sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import NDArray

from obliquebart.plots.style import INK, chain_styles, posterior_of
from obliquebart.posterior.diagnostics import measure, scalar_names
from obliquebart.posterior.posterior import Posterior

LABELS = {"theta": "θ", "leaf_sd": "leaf sd", "n_leaves": "leaves per tree"}
# Longer chains are drawn as means of consecutive draws, which a picture cannot tell apart.
MAX_POINTS = 1000


def trace(
    model: Any, names: Sequence[str] | None = None, axes: Sequence[Axes] | None = None
) -> NDArray[np.object_]:
    """Draw the traces of the parameters, one panel each, one line per chain.

    For sigma the sweeps before the first kept draw are shown too, left of zero: there one sees
    whether they were enough.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    names : sequence of str, optional
        Keys of `Posterior.trace`; the parameters of the model and `n_leaves` unless given.
    axes : sequence of Axes, optional
        One for each name.

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
    posterior = posterior_of(model)
    chosen = list(names) if names is not None else default_names(posterior)
    unknown = [name for name in chosen if name not in posterior.trace]
    if unknown:
        raise ValueError(
            f"There is no trace of {unknown[0]!r}; there are {', '.join(posterior.trace)}."
        )
    panels = np.asarray(axes if axes is not None else _new_panels(len(chosen)), dtype=object)
    if len(panels) != len(chosen):
        raise ValueError(f"{len(chosen)} traces need {len(chosen)} axes, got {len(panels)}.")
    labels = LABELS | {scalar.name: scalar.symbol for scalar in posterior.likelihood.noise}
    for ax, name in zip(panels, chosen, strict=True):
        draws = posterior.trace[name]
        # As far apart as the kept draws, up to the last one before them.
        burn = posterior.burn_sigma[:, :: -posterior.schedule.n_thin][:, ::-1]
        burn = burn if name == "sigma" else np.zeros((len(draws), 0))
        _panel(ax, draws, burn)
        rhat = measure(name, draws).rhat if np.isfinite(draws).all() else np.nan
        title = labels.get(name, name)
        ax.set_title(title if np.isnan(rhat) else f"{title}    R-hat {rhat:.3f}", loc="left")
    if len(panels):
        panels[-1].set_xlabel("kept draw (left of 0: before the first)", labelpad=2.0)
        if posterior.n_chains > 1:
            panels[-1].legend(
                ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35), frameon=False
            )
    return panels


def default_names(posterior: Posterior) -> list[str]:
    """Return the traces that are drawn unless others are asked for."""
    constant = {scalar.name for scalar in posterior.likelihood.noise if not scalar.sampled}
    return [*(name for name in scalar_names(posterior) if name not in constant), "n_leaves"]


def _new_panels(n_panels: int) -> list[Axes]:
    _, axes = plt.subplots(
        n_panels, 1, figsize=(7.0, 0.6 + 1.7 * n_panels), squeeze=False, layout="constrained"
    )
    return list(axes[:, 0])


def _panel(ax: Axes, draws: NDArray[np.float64], burn: NDArray[np.float64]) -> None:
    n_burn = burn.shape[1]
    values = np.concatenate([burn, draws], axis=1)
    sweep = np.arange(values.shape[1]) - n_burn
    step = -(-values.shape[1] // MAX_POINTS)
    for chain, (line, style) in enumerate(zip(values, chain_styles(len(values)), strict=True)):
        ax.plot(_thin(sweep, step), _thin(line, step), lw=0.9, label=f"chain {chain + 1}", **style)
    if n_burn:
        ax.axvline(0, color=INK, lw=1.0, ls=(0, (1, 1)))
        # The first sweeps start far away and would flatten the rest.
        low, high = np.nanmin(values[:, n_burn // 2 :]), np.nanmax(values[:, n_burn // 2 :])
        margin = 0.05 * (high - low) or 0.5
        ax.set_ylim(low - margin, high + margin)
    ax.margins(x=0.01)


def _thin(values: NDArray[Any], step: int) -> NDArray[np.float64]:
    n_whole = len(values) // step * step
    return np.asarray(values[:n_whole].reshape(-1, step).mean(axis=1), dtype=np.float64)
