"""scikit-learn's random forest, extremely randomised trees and histogram gradient boosting.

The fitters have 500 trees and one core. `default_models` have scikit-learn's defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version as _version
from typing import Any

from problem import Problem
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


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


def default_models(classes: bool, n_jobs: int) -> dict[str, Any]:
    """The forest gets a column for each level; boosting takes categories, and all cores."""
    forest = RandomForestClassifier if classes else RandomForestRegressor
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    levels = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_include="category"),
        ),
        remainder="passthrough",
    )
    return {
        "random forest": make_pipeline(levels, forest(n_jobs=n_jobs, random_state=0)),
        "histogram gradient boosting": boosting(random_state=0),
    }
