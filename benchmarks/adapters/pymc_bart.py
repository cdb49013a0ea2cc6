"""pymc-bart with full sweeps: by default its PGBART updates a tenth of the trees a step.

A tree is updated by a particle filter (ten particles, the default), not by one small move, so a
sweep of it does more than a sweep of the others. The noise has a half-normal prior and a slice
step. The kept trees go nowhere: storing them, in a process of its own, is no part of a sweep.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version
from typing import Any

import pymc as pm
import pymc_bart as pmb
from problem import Problem


def version() -> str:
    return _version("pymc-bart")


class _Nowhere(list[Any]):
    def append(self, _: Any) -> None:
        pass


def sweeper(problem: Problem, n_burn: int) -> Callable[[int], float]:
    with pm.Model() as model:
        mean = pmb.BART("mean", X=problem.x, Y=problem.y, m=problem.n_trees)
        sigma = pm.HalfNormal("sigma", problem.y.std())
        pm.Normal("y", mean, sigma, observed=problem.y)
        trees = pmb.PGBART([mean], batch=(1.0, 1.0), rng=problem.seed)
        step = pm.CompoundStep([trees, pm.Slice([sigma], rng=problem.seed + 1)])
    if trees.batch != (problem.n_trees, problem.n_trees):
        raise RuntimeError(f"pymc-bart would update {trees.batch} of {problem.n_trees} trees")
    type(trees.bart).all_trees = _Nowhere()
    point = model.initial_point(problem.seed)

    def sweep(n_sweeps: int) -> None:
        nonlocal point
        for _ in range(n_sweeps):
            point, _stats = step.step(point)

    sweep(n_burn)
    step.stop_tuning()

    def seconds(n_sweeps: int) -> float:
        start = time.perf_counter()
        sweep(n_sweeps)
        return time.perf_counter() - start

    return seconds
