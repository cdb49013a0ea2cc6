"""One chain: how it runs, stops and continues."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.exceptions import ModelFileError
from obliquebart.model.parameters import Schedule

# The kept draws of each ensemble of a chain; most models have one.
Ensembles = tuple[_core.Draws, ...]
Trace = dict[str, NDArray[np.float64]]
# What `_core.Sampler.state` returns: arrays and numbers.
State = dict[str, Any]


class Chain(NamedTuple):
    """One chain's kept ensembles and trace, and the state from which it can continue.

    `trace["burn_sigma"]` has sigma in the sweeps that were not kept, including those between kept
    ones; everything else in the trace is from kept sweeps.
    """

    ensembles: Ensembles
    trace: Trace
    state: State | None = None

    @property
    def draws(self) -> _core.Draws:
        """The draws of the first ensemble."""
        return self.ensembles[0]


class ChainProgress(NamedTuple):
    """A chain to continue, and how many sweeps of the schedule it has done."""

    chain: Chain
    n_done: int


class ChainTask(NamedTuple):
    """What one chain has to do; without a start it is a new chain."""

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

    def begin_round(self, schedule: Schedule, starts: Sequence[Chain]) -> None:
        """Save the chains as the starts of a longer schedule."""

    def keep(self, chain: int, result: Chain, *, finished: bool) -> None:
        """Save a chain that has ended, at the end of the schedule or stopped before."""

    def report(self) -> None:
        """Warn about what went wrong since the last report; called by the watching thread."""

    def flush(self) -> None:
        """Write what has not been written yet."""


class OpenChain(Protocol):
    """A chain that is running, here or elsewhere."""

    @property
    def n_sweeps(self) -> int:
        """Return the sweeps that the chain has done since it began."""

    def run(self, n_burn: int, n_draws: int, control: _core.Control) -> None:
        """Sweep; the draws of the last sweeps are kept."""

    def start_from(self, state: State, kept: Sequence[_core.Draws]) -> None:
        """Let the chain go on from a state, and append to these draws."""

    def saved(self) -> tuple[Ensembles, Trace, State]:
        """Return draws, trace and state."""


class ChainSource(Protocol):
    """A training problem whose chains can run."""

    @property
    def y(self) -> NDArray[np.float64]:
        """The outcomes, in the engine's order."""

    def open_chain(self, seed: int, chain: int) -> AbstractContextManager[OpenChain]:
        """Return a chain at its start."""

    def with_threads(self, n_threads: int) -> ChainSource:
        """Return the same for a chain that may use so many threads of this process."""


class ChainRunner:
    """Runs one chain, stage by stage, from its start to the end of the schedule.

    The draws do not depend on where the stages end, or on whether the chain was continued.
    """

    def __init__(self, task: ChainTask, recorder: Recorder | None = None) -> None:
        self._task = task
        self._schedule = task.schedule
        self._recorder = recorder
        self._n_done = 0 if task.start is None else task.start.n_done
        # Sweeps before the engine's current call, and the object that tells how far that call is.
        self._now = (self._n_done, _core.Control())
        self._stopped = False
        self._shown: dict[str, Any] = {}

    @property
    def stopped(self) -> bool:
        """Say whether the chain was told to stop."""
        return self._stopped

    def stop(self) -> None:
        """Tell the chain to stop; called by another thread.

        A chain stops after its current sweep, or during it if sweeps take long.
        """
        self._stopped = True
        self._now[1].stop()

    @property
    def start(self) -> Chain | None:
        """Return the chain as it was before the first sweep of this run."""
        return None if self._task.start is None else self._task.start.chain

    @property
    def n_done(self) -> int:
        """Return the sweeps of the schedule that the chain has done, when it is not running."""
        return self._n_done

    @property
    def finished(self) -> bool:
        """Say whether the chain has done all its sweeps."""
        return self._n_done == self._schedule.n_sweeps

    def run(self, problem: ChainSource, seconds: float | None = None) -> Chain:
        """Run until the sweeps are done, the chain is stopped or the time is up; return it."""
        with self._stopped_after(seconds):
            return self._run_stages(problem)

    @contextmanager
    def _stopped_after(self, seconds: float | None) -> Iterator[None]:
        if seconds is None:
            yield
            return
        timer = threading.Timer(min(max(seconds, 0.0), threading.TIMEOUT_MAX), self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _run_stages(self, problem: ChainSource) -> Chain:
        task, recorder, n_sweeps = self._task, self._recorder, self._schedule.n_sweeps
        if task.start is not None and self._n_done == n_sweeps:
            return task.start.chain
        with problem.open_chain(task.seed, task.chain) as chain:
            if task.start is not None:
                # A target without latent variables is y, and is not kept with every chain.
                state = {"target": problem.y, **(task.start.chain.state or {})}
                chain.start_from(state, task.start.chain.ensembles)
            while self._n_done < n_sweeps and not self._stopped:
                stage = n_sweeps if recorder is None else recorder.stage(task.chain)
                self._advance(chain, min(self._n_done + stage, n_sweeps))
                if recorder is not None and self._n_done < n_sweeps and not self._stopped:
                    recorder.visit(task.chain, lambda: self._so_far(chain))
            result = self._so_far(chain)
        if recorder is not None:
            recorder.keep(task.chain, result, finished=self.finished)
        return result

    def snapshot(self) -> dict[str, Any]:
        """Return the sweep and, after the first in this run, acceptance and the noise's scalars.

        Called by the watching thread.
        """
        n_done, control = self._now
        snapshot = control.snapshot()
        if snapshot["sweep"] > 0:
            self._shown = snapshot
        return {**self._shown, "sweep": n_done + int(snapshot["sweep"])}

    def _so_far(self, chain: OpenChain) -> Chain:
        ensembles, new, state = chain.saved()
        self._require_finite(state)
        old = {} if self.start is None else self.start.trace
        trace = {name: np.concatenate([old[name], new[name]]) for name in new} if old else new
        return Chain(ensembles, trace, state)

    def _require_finite(self, state: State) -> None:
        """Raise an error if a number has overflowed, as only a damaged file makes it."""
        if all(np.isfinite(value) for value in state.values() if isinstance(value, float)):
            return
        if self.start is None:
            raise OverflowError("The numbers of a chain have overflowed. Please report this fit.")
        raise ModelFileError(
            "The numbers of a chain have overflowed: the file that it went on from is damaged."
        )

    def _advance(self, chain: OpenChain, goal: int) -> None:
        """Sweep up to a point in the schedule, which may be between two kept sweeps."""
        schedule = self._schedule
        origin = chain.n_sweeps - self._n_done
        while self._n_done < goal and not self._stopped:
            # In sweeps of the schedule; those before it leave their sigma in the burn-in's.
            next_kept = schedule.n_burn + (schedule.n_kept(self._n_done) + 1) * schedule.n_thin
            n_kept = 0
            if next_kept <= goal:
                n_kept = 1 if schedule.n_thin > 1 else goal - next_kept + 1
            n_before = min(next_kept - 1, goal) - self._n_done
            chain.run(n_before, n_kept, self._control())
            self._n_done += n_before + n_kept
        if self._stopped:
            self._n_done = chain.n_sweeps - origin

    def _control(self) -> _core.Control:
        """Return what stops the engine's next call, stopped if the chain is."""
        control = _core.Control()
        self._now = (self._n_done, control)
        # Who stopped the chain before that line has told the control before.
        if self._stopped:
            control.stop()
        return control
