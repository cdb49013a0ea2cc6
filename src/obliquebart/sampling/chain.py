"""One chain: how it runs, stops and goes on in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.model.parameters import Schedule
from obliquebart.model.training import CoreProblem

Trace = dict[str, NDArray[np.float64]]
# What `_core.Sampler.state` returns: arrays and numbers.
State = dict[str, Any]


class Chain(NamedTuple):
    """One chain's kept ensembles and trace, and the state from which it can go on."""

    draws: _core.Draws
    trace: Trace
    state: State | None = None


class ChainProgress(NamedTuple):
    """A chain to go on with, and how many sweeps of the schedule it has behind it."""

    chain: Chain
    n_done: int


class ChainTask(NamedTuple):
    """What one chain has to do; without a start it begins anew."""

    schedule: Schedule
    seed: int
    chain: int
    start: ChainProgress | None = None


class Recorder(Protocol):
    """Saves chains while they run; called by the threads that run them."""

    def stage(self, chain: int) -> int:
        """Return the number of sweeps after which the chain should visit again."""

    def visit(self, chain: int, so_far: Callable[[], Chain]) -> None:
        """Save the chain if it is time to."""

    def keep(self, chain: int, result: Chain, *, finished: bool) -> None:
        """Save a chain that has ended, at the end of the schedule or stopped before."""

    def report(self) -> None:
        """Warn of what went wrong since the last report; called by the watching thread."""

    def flush(self) -> None:
        """Write what has not been written yet."""


class ChainRunner:
    """Runs one chain, stage by stage, from its start to the end of the schedule.

    Where the stages end makes no difference to the draws, nor does going on from a start.
    """

    def __init__(self, task: ChainTask, recorder: Recorder | None = None) -> None:
        self._task = task
        self._schedule = task.schedule
        self._recorder = recorder
        self._n_done = 0 if task.start is None else task.start.n_done
        # Sweeps before the engine's present call, and what tells how far that is.
        self._now = (self._n_done, _core.Control())
        self._stopped = False
        self._shown: dict[str, Any] = self._now[1].snapshot()

    @property
    def stopped(self) -> bool:
        """Say whether the chain was told to stop."""
        return self._stopped

    def stop(self) -> None:
        """Tell the chain to stop; called by another thread.

        A chain stops after its present sweep, or before it where sweeps take long.
        """
        self._stopped = True
        self._now[1].stop()

    @property
    def start(self) -> Chain | None:
        """Return the chain as it was before the first sweep of this run."""
        return None if self._task.start is None else self._task.start.chain

    def run(self, problem: CoreProblem) -> Chain:
        """Return the chain when it has done all its sweeps, or when it was stopped."""
        task, recorder, n_sweeps = self._task, self._recorder, self._schedule.n_sweeps
        if task.start is not None and self._n_done == n_sweeps:
            return task.start.chain
        sampler = problem.sampler(task.seed, task.chain)
        if task.start is not None:
            # A target without latent variables is y, and is not kept with every chain.
            sampler.set_state({"target": problem.y, **(task.start.chain.state or {})})
            sampler.set_draws(task.start.chain.draws)
        while self._n_done < n_sweeps and not self._stopped:
            stage = n_sweeps if recorder is None else recorder.stage(task.chain)
            self._advance(sampler, min(self._n_done + stage, n_sweeps))
            if recorder is not None and self._n_done < n_sweeps and not self._stopped:
                recorder.visit(task.chain, lambda: self._so_far(sampler))
        result = self._so_far(sampler)
        if recorder is not None:
            recorder.keep(task.chain, result, finished=self._n_done == n_sweeps)
        return result

    def snapshot(self) -> dict[str, Any]:
        """Return sweep, acceptance and the noise's scalars now; called by the watching thread."""
        n_done, control = self._now
        snapshot = control.snapshot()
        if snapshot["sweep"] > 0:
            self._shown = snapshot
        return {**self._shown, "sweep": n_done + int(snapshot["sweep"])}

    def _so_far(self, sampler: _core.Sampler) -> Chain:
        new: Trace = sampler.trace
        old = {} if self.start is None else self.start.trace
        trace = {name: np.concatenate([old[name], new[name]]) for name in new} if old else new
        return Chain(sampler.draws, trace, sampler.state())

    def _advance(self, sampler: _core.Sampler, goal: int) -> None:
        """Sweep up to a place in the schedule, which may be between two kept sweeps."""
        n_burn, n_thin = self._schedule.n_burn, self._schedule.n_thin
        origin = int(sampler.state()["n_sweeps"]) - self._n_done
        if self._n_done < n_burn:
            n = min(goal, n_burn) - self._n_done
            self._run(sampler, n, 0, 1)
        past = max(self._n_done - n_burn, 0) % n_thin
        if past > 0:
            n = min(n_thin - past, goal - self._n_done)
            is_kept = past + n == n_thin
            self._sweep(sampler, n - is_kept)
            self._run(sampler, 0, int(is_kept), 1)
        n_kept, rest = divmod(goal - self._n_done, n_thin)
        self._run(sampler, 0, n_kept, n_thin)
        self._sweep(sampler, rest)
        if self._stopped:
            self._n_done = int(sampler.state()["n_sweeps"]) - origin

    def _sweep(self, sampler: _core.Sampler, n: int) -> None:
        if n > 0:
            sampler.advance(n, self._control())
            self._n_done += n

    def _run(self, sampler: _core.Sampler, n_burn: int, n_draws: int, n_thin: int) -> None:
        sampler.run(n_burn, n_draws, n_thin, self._control())
        self._n_done += n_burn + n_draws * n_thin

    def _control(self) -> _core.Control:
        """Return what stops the engine's next call, stopped if the chain is."""
        control = _core.Control()
        self._now = (self._n_done, control)
        # Who stopped the chain before that line has told the control before.
        if self._stopped:
            control.stop()
        return control
