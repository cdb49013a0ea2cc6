"""obliquebart's causal forest and its g-formula with their defaults, on one core."""

from __future__ import annotations

from typing import Any

import numpy as np
from causal_study import Effects, Problem

from obliquebart import ObliqueBARTCausal, ObliqueBARTRegressor

TREATMENT = "treatment"


def _settings(problem: Problem, settings: dict[str, Any]) -> dict[str, Any]:
    return {"n_jobs": 1, "random_state": problem.seed, "progress": False, **settings}


def _n_sweeps(model: Any) -> int:
    schedule = model.posterior_.schedule
    return int(schedule.n_chains * schedule.n_sweeps)


def forest(problem: Problem, **settings: Any) -> Effects:
    model = ObliqueBARTCausal(**_settings(problem, settings))
    model.fit(problem.x, problem.y, problem.z)
    return Effects(model.effect_draws(), _n_sweeps(model))


def g_formula(problem: Problem, **settings: Any) -> Effects:
    """The treatment is one more column, set to 1 and to 0 for all rows afterwards."""
    model = ObliqueBARTRegressor(soft=False, **_settings(problem, settings))
    model.fit(problem.x.assign(**{TREATMENT: problem.z}), problem.y)
    treated, control = (
        np.asarray(model.posterior_.predict(problem.x.assign(**{TREATMENT: arm})))
        for arm in (1.0, 0.0)
    )
    return Effects(treated - control, _n_sweeps(model))
