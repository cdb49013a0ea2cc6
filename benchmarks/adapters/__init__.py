"""One small adapter a library, one call convention.

A module here offers any of these functions; a benchmark asks only for those it needs.

    version() -> str
    sweeper(problem, n_burn) -> Callable[[int], float]
        runs `n_burn` sweeps, then returns `seconds(n_sweeps)`: the wall time of that many more
        sweeps from the burned-in state. Nothing is kept and nothing is predicted in them.
        Fixed costs of a call may be included: `timing.measure` takes differences.
    fitter(problem) -> Callable[[], float]
        the wall time of one complete fit in its normal use.
    predictor(problem, n_draws, n_threads) -> Callable[[x], float]
        fits, then returns `seconds(x)`: the wall time of the prediction of all draws at the rows x.
    default_model(classes, n_jobs) -> estimator, default_models(classes, n_jobs) -> dict of them
        with default settings, for tables with named columns.
    default_mean(x, y, seed) -> seconds, array
        processor seconds of a fit with default settings on one core, and the function at its rows.
    posterior_mean(x, y, x_test, seed) -> array
        of the function at x_test, after 1000 + 1000 sweeps of one chain in the normal use.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The adapter of that name; its library is imported here and not before."""
    return importlib.import_module(f"adapters.{name}")
