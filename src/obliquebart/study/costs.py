"""Estimates of how long a unit takes, to order the work and keep to a time limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from obliquebart.study import synthetic
from obliquebart.study.datasets import Library
from obliquebart.study.methods import OURS, PAPER
from obliquebart.study.units import Unit

N_TREES = 500


class Shape(NamedTuple):
    """The size of a data set."""

    task: str
    n: int
    p_cont: int
    p_cat: int


def shape_of(data: str, library: Library | None) -> Shape:
    """Return the size of a data set or of a synthetic problem."""
    cell = synthetic.parse(data)
    if cell is not None:
        return Shape("regression", cell.n * 4 // 3, 2, 0)
    if library is None:
        raise FileNotFoundError(f"The size of {data} is not known without the data sets.")
    record = library.records[data]
    return Shape(record["task"], record["n"], record["p_cont"], record["p_cat"])


def cost_model(library: Library | None) -> Callable[[Unit], float]:
    """Return a function that guesses the seconds of a unit on one core.

    The constants were fitted by eye to a dozen units; they are good to a factor of two.
    """

    def seconds(unit: Unit) -> float:
        shape = shape_of(unit.data, library)
        settings = dict(unit.settings)
        n, columns = 0.75 * shape.n, shape.p_cont * max(unit.rotations, 1) + shape.p_cat
        base = unit.method.removeprefix("rot")
        if "BART" in base:
            ours = unit.method in ("obliqueBART", "BART-ours")
            length = {**({"n_chains": 8, **OURS} if ours else PAPER), **settings}
            sweeps = length["n_burn"] + length["n_draws"] * length.get("n_thin", 1)
            return float(length["n_chains"] * (0.15 + 1.7e-4 * n) * sweeps / 2000)
        if base.startswith("XGB"):
            return 0.02 + 4e-7 * n * columns
        if base == "stochtree":
            return 10 * (0.2 + 1e-3 * n)
        trees = float(settings.get("n_estimators", N_TREES))
        sorted_rows = n * math.log2(max(n, 2)) * trees
        if base == "RF":
            share = columns / 3 if shape.task == "regression" else math.sqrt(columns)
            return 8e-4 * trees + 3.5e-8 * sorted_rows * share
        return 4.5e-4 * trees + sorted_rows * (2.5e-8 + 6e-9 * math.sqrt(columns))

    return seconds
