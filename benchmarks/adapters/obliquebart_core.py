"""obliquebart's own sampler with the paper's prior, one chain."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version
from typing import Any

import numpy as np
from problem import Problem

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, _core
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.calibration import calibrate
from obliquebart.model.parameters import Hyperparameters
from obliquebart.model.training import TrainingProblem as EngineProblem
from obliquebart.table.encoded import EncodedTable


def version() -> str:
    return _version("obliquebart")


def scale(x: np.ndarray) -> np.ndarray:
    """Uniform columns on [0, 1] as the engine wants them: float32 on [-1, 1], a row a column."""
    return np.ascontiguousarray(2 * x.T - 1, dtype=np.float32)


def columns(x: np.ndarray) -> _core.Data:
    return _core.Data(scale(x), np.empty((0, len(x)), np.uint32), [])


def sampler(
    problem: Problem, likelihood: str = "gaussian", prior: str = "paper", **settings: Any
) -> _core.Sampler:
    """The paper's prior has its moves, grow and prune; `settings` override the engine's.

    The rows are in the order that `fit` gives them.
    """
    scaled, engine = engine_problem(problem, likelihood, prior)
    for name, value in settings.items():
        setattr(engine, name, value)
    return scaled.to_core(engine).sampler(problem.seed, 0)


def engine_problem(
    problem: Problem, likelihood: str = "gaussian", prior: str = "paper"
) -> tuple[EngineProblem, _core.Settings]:
    """What `fit` makes of a table, and the settings of its chains."""
    model = LIKELIHOODS[likelihood]
    outcome = model.part(model.encode(problem.binary if model.has_classes else problem.y), 0)
    hyper = Hyperparameters(prior=prior, n_trees=problem.n_trees, min_samples_leaf=1)
    engine = calibrate(hyper.validated(), outcome, problem.x.shape[1])
    scaled = EncodedTable(scale(problem.x), np.empty((0, len(problem.y)), np.uint32), [])
    return EngineProblem(scaled, outcome), engine


def categorical_sampler(
    problem: Problem, n_levels: int, n_columns: int, *, continuous: bool = True
) -> _core.Sampler:
    """The paper's prior; every level of the new columns adds its own standard normal to y."""
    rng = np.random.default_rng(problem.seed)
    codes = rng.integers(n_levels, size=(n_columns, len(problem.y)), dtype=np.uint32)
    effects = rng.normal(size=(n_columns, n_levels))
    y = problem.y + np.take_along_axis(effects, codes.astype(np.intp), axis=1).sum(axis=0)
    x = problem.x if continuous else problem.x[:, :0]
    data = _core.Data(
        np.ascontiguousarray(2 * x.T - 1, dtype=np.float32), codes, [n_levels] * n_columns
    )
    outcome = LIKELIHOODS["gaussian"].encode(y)
    hyper = Hyperparameters(prior="paper", n_trees=problem.n_trees, min_samples_leaf=1)
    engine = calibrate(hyper.validated(), outcome, x.shape[1])
    return _core.Sampler(data, outcome.values, None, engine, problem.seed, 0)


def mean_leaves(chain: _core.Sampler) -> float:
    """Leaves a tree."""
    draws = chain.ensemble()
    kinds = draws.to_arrays()["node_kind"] & 3
    return float(np.count_nonzero(kinds == 0) / draws.n_trees)


def sweeper(problem: Problem, n_burn: int, **settings: Any) -> Callable[[int], float]:
    chain = sampler(problem, **settings)
    chain.sweep(n_burn)
    return timed(chain)


def timed(chain: _core.Sampler) -> Callable[[int], float]:
    """The wall time of so many more sweeps."""

    def seconds(n_sweeps: int) -> float:
        start = time.perf_counter()
        chain.sweep(n_sweeps)
        return time.perf_counter() - start

    return seconds


def fitter(problem: Problem, **parameters: Any) -> Callable[[], float]:
    """One chain of 1000 + 1000 sweeps, the whole call from Python."""

    def seconds() -> float:
        model = ObliqueBARTRegressor(
            n_chains=1,
            n_burn=1000,
            n_draws=1000,
            n_jobs=1,
            random_state=problem.seed,
            **parameters,
        )
        start = time.perf_counter()
        model.fit(problem.x, problem.y)
        return time.perf_counter() - start

    return seconds


def default_model(classes: bool, n_jobs: int) -> Any:
    """The estimator with its defaults."""
    kind = ObliqueBARTClassifier if classes else ObliqueBARTRegressor
    return kind(n_jobs=n_jobs, random_state=0)


def default_mean(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """A fit with all defaults but hard rules, on one core."""
    model = default_model(classes=False, n_jobs=1).set_params(random_state=seed, soft=False)
    start = time.process_time()
    model.fit(x, y)
    return time.process_time() - start, model.predict(x)


def predictor(problem: Problem, n_draws: int, n_threads: int) -> Callable[[np.ndarray], float]:
    chain = sampler(problem)
    chain.run(200, n_draws, 1, _core.Control())
    draws = chain.draws

    def seconds(x: np.ndarray) -> float:
        start = time.perf_counter()
        values = draws.predict(columns(x), "identity", 0.0, n_threads)
        elapsed = time.perf_counter() - start
        assert values.shape == (n_draws, len(x))
        return elapsed

    return seconds


def posterior_mean(
    x: np.ndarray, y: np.ndarray, x_test: np.ndarray, seed: int, **parameters: Any
) -> np.ndarray:
    """Our defaults with hard rules; `parameters` override them."""
    model = ObliqueBARTRegressor(random_state=seed, **{"soft": False, **parameters})
    return model.fit(x, y).predict(x_test)
