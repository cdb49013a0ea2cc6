"""How often the directions of a mixture have a column, under the prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def prior_shares(
    trace: Mapping[str, FloatArray],
    components: Sequence[Mapping[str, Any]],
    p_cont: int,
    is_zero_legal: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities that a rule has each column, and that it has one.

    By draw, as theta and the weights of the components in the trace are: of shapes
    (p_cont, n_draws) and (n_draws,).
    """
    theta = trace["theta"].ravel()
    used, valid = np.zeros((p_cont, len(theta))), np.zeros(len(theta))
    for c, component in enumerate(components):
        weight = trace[f"direction.{c}"].ravel() if len(components) > 1 else np.ones(len(theta))
        if component["kind"] in ("sparse", "signs"):
            columns = np.array(component["columns"] or range(p_cont), dtype=np.int64)
            used[columns] += weight * theta
            valid += weight * (1.0 if is_zero_legal else 1.0 - (1.0 - theta) ** len(columns))
        else:
            used += np.outer(_inclusion(component, p_cont), weight)
            valid += weight
    return used, valid


def _inclusion(component: Mapping[str, Any], p_cont: int) -> FloatArray:
    """Return the probability that a column is in a direction that is never zero."""
    out = np.zeros(p_cont)
    if component["kind"] == "groups":
        inclusion, groups = component["inclusion"], component["groups"]
        for group in groups:
            out[group] += inclusion / (1.0 - (1.0 - inclusion) ** len(group)) / len(groups)
        return out
    if component["kind"] == "axis":
        columns = component["columns"] or list(range(p_cont))
        out[columns] = 1.0 / len(columns)
        return out
    along = [
        _coverage(*sizes)
        for sizes in zip(component["shape"], component["least"], component["most"], strict=True)
    ]
    out[component["columns"]] = reduce(np.multiply.outer, along).ravel()
    return out


def _coverage(length: int, least: int, most: int) -> FloatArray:
    """Return the share of the runs of an axis that have each cell."""
    count, n_runs = np.zeros(length), 0
    for size in range(least, most + 1):
        n_starts = length - size + 1
        count += np.convolve(np.ones(n_starts), np.ones(size))
        n_runs += n_starts
    return count / n_runs
