"""A chain that is told to stop in the middle of a sweep goes back to the sweep's start, exactly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.arrays import assert_same
from obliquebart import _core

# Rows times trees above which the engine may stop in the middle of a sweep.
LONG = 2**24
N_TREES = 500
N = LONG // N_TREES + 100

MODELS: dict[str, dict[str, Any]] = {
    "oblique": {"p_change": 0.2, "p_perturb": 0.3, "theta_by_column": True, "theta_a": 2.0},
    "paper": {"min_samples_leaf": 0},
    "axis, two threads": {"axis_rules": True, "n_threads": 2, "threads_fixed": True},
    "probit": {"likelihood": "probit", "leaf_sd_fixed": False},
    "weighted_probit": {"likelihood": "weighted_probit", "weighted": True},
    "weighted": {"weighted": True},
    "student_t": {"likelihood": "student_t", "more": {"df": 4.0}, "weighted": True},
}


def columns(rng, n: int = N) -> _core.Data:
    x_cont = rng.uniform(-1, 1, (3, n)).astype(np.float32)
    x_cont[1, :50] = np.nan
    x_cat = rng.integers(0, 40, (1, n)).astype(np.uint32)
    return _core.Data(x_cont, x_cat, [40])


def maker(rng, weighted: bool = False, n: int = N, **changes: Any) -> Callable[[], _core.Sampler]:
    data = columns(rng, n)
    settings = _core.Settings()
    settings.n_trees = N_TREES
    settings.leaf_sd = 0.1
    settings.long_sweep = 0.0  # seconds: these are long
    for name, value in changes.items():
        setattr(settings, name, value)
    y = rng.standard_normal(n)
    if settings.likelihood.endswith("probit"):
        y = (y > 0).astype(float)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    return lambda: _core.Sampler(data, y, weights, settings, 3, 0)


def stop_after(seconds: float) -> tuple[_core.Control, threading.Timer]:
    control = _core.Control()
    timer = threading.Timer(seconds, control.stop)
    timer.start()
    return control, timer


@pytest.mark.parametrize("name", MODELS)
def test_the_state_is_that_of_the_last_whole_sweep(name, rng):
    make = maker(rng, **MODELS[name])
    plain, chain = make(), make()
    plain.sweep(60)  # the residual is rebuilt after the 64th
    states = [plain.state()]
    n_sweeps, seconds = 6, 0.0
    for _ in range(n_sweeps):
        start = time.perf_counter()
        plain.sweep(1)
        seconds += (time.perf_counter() - start) / n_sweeps
        states.append(plain.state())
    # On a busy machine all stops may come too late; then once more.
    assert any(stops(chain, states, lambda: seconds * rng.uniform(0.05, 1.5)) for _ in range(10))


def stops(chain, states, moment):
    """Go from the first state to the last with stops in between, and count them."""
    chain.set_state(states[0])
    first, n_sweeps = int(states[0]["n_sweeps"]), len(states) - 1
    done, n_stops = 0, 0
    while done < n_sweeps:
        control, timer = stop_after(moment())
        chain.advance(n_sweeps - done, control)
        timer.cancel()
        now = chain.state()
        assert int(now["n_sweeps"]) - first == done + control.snapshot()["sweep"]
        done = int(now["n_sweeps"]) - first
        assert_same(now, states[done])
        assert chain.check() == []
        n_stops += control.stopped
        if n_stops > 12:  # a slow machine: the rest without stops
            chain.advance(n_sweeps - done, _core.Control())
            done = n_sweeps
    assert_same(chain.state(), states[n_sweeps])
    return n_stops


def test_kept_draws_are_whole(rng):
    make = maker(rng, p_change=0.2, p_perturb=0.2)
    plain, chain = make(), make()
    plain.run(2, 5, 1, _core.Control())
    control, timer = stop_after(0.03)
    chain.run(2, 5, 1, control)
    timer.cancel()
    n_done = int(chain.state()["n_sweeps"])
    chain.run(max(2 - n_done, 0), 7 - max(n_done, 2), 1, _core.Control())
    assert_same(chain.draws.to_arrays(), plain.draws.to_arrays())
    assert_same(chain.state(), plain.state())
    for name, values in plain.trace.items():
        np.testing.assert_array_equal(chain.trace[name], values)


def test_quick_sweeps_end_first(rng):
    """The copy that a stop in the middle needs costs more than waiting for them."""
    chain = maker(rng, n=4 * N, long_sweep=1e6)()
    start = time.perf_counter()
    chain.advance(4, _core.Control())  # now it knows
    quarter = (time.perf_counter() - start) / 16
    n_ended = 0
    for _ in range(15):
        before = int(chain.state()["n_sweeps"])
        control, timer = stop_after(quarter)
        chain.advance(50, control)
        timer.cancel()
        assert control.stopped
        assert control.snapshot()["sweep"] == int(chain.state()["n_sweeps"]) - before
        n_ended += control.snapshot()["sweep"] > 0
    assert n_ended > 7  # on a busy machine some stops come before the sweep has begun
    assert chain.check() == []


def test_short_sweeps_end_first(rng):
    chain = maker(rng, n=100)()
    control = _core.Control()
    control.stop()
    chain.advance(5, control)
    chain.run(5, 5, 1, control)
    assert chain.state()["n_sweeps"] == 0
    chain.advance(5, _core.Control())
    assert chain.state()["n_sweeps"] == 5
