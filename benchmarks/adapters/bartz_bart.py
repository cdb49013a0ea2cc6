"""bartz: compiled chains on the CPU, with all the cores that XLA takes, unless JAX_PLATFORMS says
otherwise; its defaults for the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.metadata import version as _version
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from bartz import Bart
from bartz.mcmcloop import run_mcmc
from problem import Problem


def version() -> str:
    return _version("bartz")


def _fit(problem: Problem, n_sweeps: int, n_chains: int | None) -> Bart:
    return Bart(
        problem.x.T.astype(np.float32),
        problem.y.astype(np.float32),
        num_trees=problem.n_trees,
        n_burn=0,
        n_save=1,
        n_skip=n_sweeps,
        num_chains=n_chains,
        printevery=None,  # one inner loop, no callback from the compiled code
        seed=problem.seed,
    )


def sweeper(problem: Problem, n_burn: int, n_chains: int | None = None) -> Callable[[int], float]:
    state = _fit(problem, n_burn, n_chains)._mcmc_state
    key = jax.random.key(problem.seed + 1)

    def seconds(n_sweeps: int) -> float:
        # run_mcmc takes its state's buffers over, so it gets a copy. With n_save = 1 the number of
        # sweeps is n_skip, which is no static argument: nothing is compiled again.
        own = jax.block_until_ready(jax.tree.map(_copy, state))
        start = time.perf_counter()
        jax.block_until_ready(run_mcmc(key, own, 1, n_skip=n_sweeps).final_state)
        return time.perf_counter() - start

    return seconds


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, jax.Array) else leaf


def posterior_mean(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, seed: int) -> np.ndarray:
    fitted = Bart(
        x.T.astype(np.float32),
        y.astype(np.float32),
        n_burn=1000,
        n_save=1000,
        num_chains=None,
        printevery=None,
        seed=seed,
    )
    return np.asarray(fitted.predict(x_test.T.astype(np.float32), kind="mean"))
