"""pymc-bart with full sweeps: by default its PGBART updates a tenth of the trees a step.

A tree is updated by a particle filter (ten particles, the default), not by one small move, so a
sweep of it does more than a sweep of the others. The noise has a half-normal prior and a slice
step. From 0.13 on the sampler is written in Rust (the package bartrs).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version

import numpy as np
import pymc as pm
import pymc_bart as pmb
from bartrs import PGBART
from problem import Problem


def version() -> str:
    return _version("pymc-bart")


def sweeper(problem: Problem, n_burn: int) -> Callable[[int], float]:
    with pm.Model() as model:
        mean = pmb.BART("mean", X=problem.x, Y=problem.y, m=problem.n_trees)
        sigma = pm.HalfNormal("sigma", problem.y.std())
        pm.Normal("y", mean, sigma, observed=problem.y)
        trees = PGBART([mean], batch=(1.0, 1.0))
        noise = pm.Slice([sigma], rng=np.random.default_rng(problem.seed))
    step = pm.CompoundStep([trees, noise])
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


def default_mean(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """A fit with all defaults but on one core: 50 trees, a tenth of them a step, two chains."""
    start = time.process_time()
    with pm.Model():
        mean = pmb.BART("mean", X=x, Y=y)
        sigma = pm.HalfNormal("sigma", y.std())
        pm.Normal("y", mean, sigma, observed=y)
        fitted = pm.sample(
            cores=1, random_seed=seed, progressbar=False, compute_convergence_checks=False
        )
    seconds = time.process_time() - start
    return seconds, fitted.posterior["mean"].mean(("chain", "draw")).to_numpy()
