"""xgboost with its defaults on one core."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version

from problem import Problem
from xgboost import XGBRegressor


def version() -> str:
    return _version("xgboost")


def fitter(problem: Problem) -> Callable[[], float]:
    def seconds() -> float:
        model = XGBRegressor(n_jobs=1, random_state=problem.seed)
        start = time.perf_counter()
        model.fit(problem.x, problem.y)
        return time.perf_counter() - start

    return seconds
