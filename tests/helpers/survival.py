"""Simulated survival times, censored in every way."""

from __future__ import annotations

import numpy as np

from helpers.estimators import OPTIONS
from obliquebart import ObliqueBARTSurvival


def survival_model(**more):
    return ObliqueBARTSurvival(**{**OPTIONS, "random_state": 0, **more})


def simulated_times(n=120, seed=0):
    """Return a table, the times, and the ends of observation."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 3))
    time = np.exp(1.0 + 2.0 * x[:, 0] + 0.4 * rng.standard_normal(n))
    return x, time, rng.uniform(2.0, 30.0, size=n)


def structured(event, time):
    y = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return y


def right_censored(n=120, seed=0):
    x, time, end = simulated_times(n, seed)
    return x, structured(time <= end, np.minimum(time, end))


def intervals(n=120, seed=0):
    """Return limits: of every fourth row equal, and of the others one or both known."""
    x, time, _ = simulated_times(n, seed)
    kind = np.arange(n) % 4
    lower = np.select([kind == 1, kind == 2, kind == 3], [0.6 * time, 0.0 * time, 0.8 * time], time)
    upper = np.select([kind == 1, kind == 2, kind == 3], [np.inf, 1.5 * time, 1.1 * time], time)
    y = np.empty(n, dtype=[("lower", float), ("upper", float)])
    y["lower"], y["upper"] = lower, upper
    return x, y
