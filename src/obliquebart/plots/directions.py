"""Where f looks in images and curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from obliquebart.explain.directions import column_effects
from obliquebart.plots.style import ACCENT, INK, documented, label_axes, new_axes
from obliquebart.plots.subject import subject_of
from obliquebart.posterior.posterior import Posterior


@documented("direction_map(model.fit(X, y), (5, 2))")
def direction_map(
    model: Any,
    shape: Sequence[int] | None = None,
    *,
    signed: bool = False,
    class_: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the rules look: an image, or a curve.

    A cell is the posterior mean of |φ| there, summed over all rules, each weighted by its effect:
    how much the outputs on its two sides differ. Channels are added up.

    Parameters
    ----------
    model : fitted estimator or Posterior
        What to draw.
    shape : sequence of int, optional
        The shape of a row: (length,), (height, width) or (height, width, channels). By default,
        that of the only `Patch` of the model.
    signed : bool, default=False
        Weight φ instead of |φ|: positive where f, or the score of the class, grows with the value
        of a cell.
    class_ : label, optional
        With more than two classes, the class whose trees to use; by default, all classes.
    """
    parts = list(subject_of(model, class_).parts.values())
    posterior = parts[0]
    cells = _cells(posterior.encoding.p_cont, shape or posterior.encoding.grid)
    values = np.sum([column_effects(part)[int(signed)] for part in parts], axis=0)
    image = _flat_image(values[_columns(posterior, cells)].reshape(cells))
    ax = new_axes(ax, height=3.2 if image.ndim == 1 else 4.8)
    words = "effect times φ" if signed else "effect times |φ|"
    if image.ndim == 1:
        ax.axhline(0.0, color=INK, lw=0.8)
        ax.plot(np.arange(len(image)), image, color=ACCENT, lw=2)
        label_axes(ax, x="point", y=words)
        return ax
    most = float(np.abs(image).max()) or 1.0
    shown = ax.imshow(
        image, cmap="cividis", interpolation="nearest", vmin=-most if signed else 0.0, vmax=most
    )
    ax.figure.colorbar(shown, ax=ax, label=words)
    label_axes(ax, x="column", y="row")
    return ax


def _cells(p_cont: int, shape: Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        raise ValueError("The model has no Patch that says how columns are laid out: pass shape=.")
    cells = tuple(int(n) for n in shape)
    if not 1 <= len(cells) <= 3 or math.prod(cells) > p_cont:
        raise ValueError(
            f"shape={cells} must have one, two or three lengths, and no more cells than the model "
            f"has continuous columns ({p_cont})."
        )
    return cells


def _columns(posterior: Posterior, cells: tuple[int, ...]) -> list[int]:
    """Return the columns of the grid: those of a patch of this shape, or else the first ones."""
    for component in posterior.settings.get("directions", []):
        if component["kind"] == "patch" and len(component["columns"]) == math.prod(cells):
            return list(component["columns"])
    return list(range(math.prod(cells)))


def _flat_image(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a line or a plane; channels are added up."""
    return np.asarray(values.sum(axis=-1)) if values.ndim == 3 else values
