"""scikit-learn's random forest and extremely randomised trees with 500 trees on one core."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version

from problem import Problem
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor


def version() -> str:
    return _version("scikit-learn")


def _fitter(kind: type, problem: Problem) -> Callable[[], float]:
    def seconds() -> float:
        model = kind(n_estimators=500, n_jobs=1, random_state=problem.seed)
        start = time.perf_counter()
        model.fit(problem.x, problem.y)
        return time.perf_counter() - start

    return seconds


def fitter(problem: Problem) -> Callable[[], float]:
    return _fitter(RandomForestRegressor, problem)


def extra_trees_fitter(problem: Problem) -> Callable[[], float]:
    return _fitter(ExtraTreesRegressor, problem)
