"""stochtree's BARTModel: MCMC only, one thread, fixed leaf scale, its defaults otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version
from typing import Any

import numpy as np
from problem import Problem
from stochtree import BARTModel


def version() -> str:
    return _version("stochtree")


def _sample(
    problem: Problem, n_burn: int, n_draws: int, n_threads: int = 1, **more: Any
) -> BARTModel:
    model = BARTModel()
    model.sample(
        X_train=problem.x,
        y_train=problem.y,
        num_gfr=0,
        num_burnin=n_burn,
        num_mcmc=n_draws,
        general_params={"num_threads": n_threads, "num_chains": 1, "random_seed": problem.seed + 1},
        mean_forest_params={"num_trees": problem.n_trees, "sample_sigma2_leaf": False},
        **more,
    )
    return model


def sweeper(problem: Problem, n_burn: int) -> Callable[[int], float]:
    # Two kept draws, because the JSON of a model with one cannot be written in 0.4.5.
    state = _sample(problem, n_burn, 2).to_json()
    resume = {"previous_model_json": state, "previous_model_warmstart_sample_num": 1}

    def seconds(n_sweeps: int) -> float:
        # Burn-in sweeps are neither stored nor predicted; the one kept draw is a fixed cost.
        start = time.perf_counter()
        _sample(problem, n_sweeps, 1, **resume)
        return time.perf_counter() - start

    return seconds


def predictor(problem: Problem, n_draws: int, n_threads: int) -> Callable[[np.ndarray], float]:
    model = _sample(problem, 200, n_draws, n_threads)

    def seconds(x: np.ndarray) -> float:
        start = time.perf_counter()
        draws = model.predict(x, type="posterior", terms="y_hat")
        elapsed = time.perf_counter() - start
        assert draws.shape == (len(x), n_draws)
        return elapsed

    return seconds


def posterior_mean(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, seed: int) -> np.ndarray:
    # The default of sample() for num_gfr (a greedy start) is kept: normal use.
    model = BARTModel()
    model.sample(
        X_train=x,
        y_train=y,
        num_burnin=1000,
        num_mcmc=1000,
        general_params={"num_threads": 1, "random_seed": seed + 1},
    )
    return model.predict(x_test, type="posterior", terms="y_hat").mean(axis=1)
