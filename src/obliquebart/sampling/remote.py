"""Chains whose rows are on the workers of a Dask cluster, driven from the client.

Each worker has some of the rows, all of the trees and the same random numbers, so that all take the
same decisions (`docs/decisions/0016-distributed.md`). The client says how many sweeps to do, and
collects draws and states: a chain here looks like one of this process.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.exceptions import WorkerLostError
from obliquebart.model.outcome import Outcome
from obliquebart.model.remote_order import remote_row_order
from obliquebart.model.seen_rows import Keys
from obliquebart.model.settings import settings_to_dict
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling import worker
from obliquebart.sampling.collective import start_meeting
from obliquebart.sampling.worker import PER_ROW, ChainRequest, Place
from obliquebart.sampling.workers import first_rows
from obliquebart.table.remote import RemoteTable, as_table, rows_of

# How long workers sweep before the client looks at them: a chain that is stopped does not stop
# before.
STAGE_SECONDS = 0.5
# How often to look whether all workers are there.
LOOK_SECONDS = 1.0
# How long to wait for the scheduler to notice that a worker is gone.
NOTICE_SECONDS = 10.0


class Placement:
    """The rows of a training problem, in the engine's order, on the workers that have them."""

    def __init__(self, table: RemoteTable, outcome: Outcome) -> None:
        self.client = table.client
        self.table = table
        self.name = f"obliquebart-{uuid.uuid4().hex}"
        addresses = sorted(self.client.nthreads())
        self.first_rows = first_rows(table.n_rows, len(addresses))
        self.workers: list[str] = addresses[: len(self.first_rows)]
        order = remote_row_order(table, outcome.likelihood.order_key(outcome))
        self.order = np.arange(table.n_rows, dtype=np.int64) if order is None else order
        self.y = outcome.values[self.order]
        self._weights = None if outcome.weights is None else outcome.weights[self.order]
        self._parts = [self._part(self.order[rows], at) for rows, at in self._shares()]
        self._is_held = False

    def hold(self) -> None:
        """Let the workers make their rows ready for chains, unless that was done before."""
        if self._is_held:
            return
        table, weights = self.table, self._weights
        with self._watched():
            held = [
                table.submit(
                    worker.hold,
                    self.name,
                    part,
                    table.send(self.y[rows]),
                    None if weights is None else table.send(weights[rows]),
                    Place(self.first_rows, table.n_rows, w, table.has_missing),
                    workers=[at],
                    allow_other_workers=False,
                )
                for w, (part, (rows, at)) in enumerate(
                    zip(self._parts, self._shares(), strict=True)
                )
            ]
            self._wait(held)
        self._is_held, self._parts = True, []

    def release(self) -> None:
        """Let the workers forget the rows."""
        self.tell_those_left(worker.drop, self.name)

    def tell_those_left(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on the workers that are there, to tidy up: errors do not matter."""
        with contextlib.suppress(Exception):
            there = self.client.nthreads()
            left = [address for address in self.workers if address in there]
            self.client.run(function, *arguments, workers=left, on_error="ignore")

    @property
    def rows(self) -> list[slice]:
        """The rows of each worker, in the engine's order."""
        ends = [*self.first_rows[1:], self.table.n_rows]
        return [slice(first, end) for first, end in zip(self.first_rows, ends, strict=True)]

    def _shares(self) -> list[tuple[slice, str]]:
        return list(zip(self.rows, self.workers, strict=True))

    def _part(self, rows: NDArray[np.int64], at: str) -> Any:
        table = self.table
        chosen = table.send(rows)
        pieces = [table.submit(rows_of, column, chosen) for column in table.columns]
        options = {"workers": [at], "allow_other_workers": False}
        return table.submit(as_table, pieces, table.p_cont, table.n_levels, len(rows), **options)

    def row_keys(self, outcomes: NDArray[np.float64]) -> Keys:
        """Return the sorted keys of all rows; before they are held."""
        keys = [
            self.table.submit(worker.keys_of, part, self.table.send(outcomes[self.order[rows]]))
            for part, rows in zip(self._parts, self.rows, strict=True)
        ]
        found: Keys = np.sort(np.concatenate(self.client.gather(keys)))
        return found

    def ask(self, function: Callable[..., Any], *arguments: Any, only: int | None = None) -> Any:
        """Call a function on the workers at the same time; return their answers in order."""
        workers = self.workers if only is None else [self.workers[only]]
        # Those that wait for a lost one answer late.
        with self._watched():
            call = _in_background(lambda: self.client.run(function, *arguments, workers=workers))
            while not wait([call], LOOK_SECONDS).done:
                if self._lost_workers():
                    raise ConnectionError("a worker is gone")
            answers = call.result()
        return [answers[address] for address in workers]

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Name the workers that are gone, if they are why something failed."""
        try:
            yield
        except Exception as error:
            end = time.monotonic() + NOTICE_SECONDS  # the scheduler needs a moment to notice
            while not (lost := self._lost_workers()) and time.monotonic() < end:
                time.sleep(0.1)
            if not lost:
                raise
            raise WorkerLostError(
                f"{' and '.join(lost)} left the Dask cluster during the fit, and the rows there "
                "are lost. Call fit again with the workers that are left, or with new ones: given "
                "a checkpoint, the chains go on from where it was written last."
            ) from error

    def _wait(self, tasks: list[Any]) -> None:
        """Wait for tasks that must run on certain workers, as long as these are there."""
        distributed = import_module("distributed")
        while not all(task.done() for task in tasks):
            with contextlib.suppress(distributed.TimeoutError):
                distributed.wait(tasks, timeout=LOOK_SECONDS)
            if self._lost_workers():
                raise ConnectionError("a worker is gone")
        self.client.gather(tasks)

    def _lost_workers(self) -> list[str]:
        there = self.client.nthreads()
        return [address for address in self.workers if address not in there]


def _in_background(call: Callable[[], Any]) -> Future[Any]:
    """Call a function in a thread that may be left behind."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=work, name="obliquebart", daemon=True).start()
    return future


class RemoteChain:
    """A chain on the workers that is running; see `OpenChain`."""

    def __init__(
        self, placement: Placement, settings: _core.Settings, seed: int, chain: int, n_beside: int
    ) -> None:
        self._placement = placement
        self._name = f"{placement.name}-{uuid.uuid4().hex}"
        self._n_sweeps = 0
        self._stage = 1
        n_workers = len(placement.workers)
        meeting = None
        if n_workers > 1:
            at = placement.workers[0]
            (meeting,) = placement.ask(start_meeting, at, n_workers, only=0)
        plain = settings_to_dict(settings)
        request = ChainRequest(placement.name, plain, seed, chain, meeting, n_beside)
        placement.ask(worker.open_chain, self._name, request)

    def close(self) -> None:
        """Let the workers part."""
        self._placement.tell_those_left(worker.close_chain, self._name)

    @property
    def n_sweeps(self) -> int:
        """Return the sweeps that the chain has done since it began."""
        return self._n_sweeps

    def run(self, n_burn: int, n_draws: int, control: _core.Control) -> None:
        """Sweep in stages, and report after each; stop at the end of a stage if told so."""
        done = 0
        while done < n_burn + n_draws and not control.stopped:
            n = min(self._stage, n_burn + n_draws - done)
            before = min(max(n_burn - done, 0), n)
            began = time.monotonic()
            snapshot = self._placement.ask(worker.advance, self._name, before, n - before)[0]
            pace = (time.monotonic() - began) / n
            self._stage = int(np.clip(STAGE_SECONDS / max(pace, 1e-6), 1, 2 * self._stage))
            done += n
            self._n_sweeps += n
            control.report({**snapshot, "sweep": done})

    def start_from(self, state: dict[str, Any], kept: Sequence[_core.Draws]) -> None:
        """Let the chain go on from a state, and append to these draws."""
        shared = {key: value for key, value in state.items() if key not in PER_ROW}
        for w, rows in enumerate(self._placement.rows):
            own = {key: state[key][rows] for key in PER_ROW}
            self._placement.ask(worker.send_start, self._name, {**shared, **own}, only=w)
        self._n_sweeps = int(state["n_sweeps"])
        table = self._placement.table
        arrays = [draws.to_arrays() for draws in kept]
        self._placement.ask(worker.start_from, self._name, table.p_cont, table.n_levels, arrays)

    def saved(self) -> tuple[tuple[_core.Draws, ...], dict[str, Any], dict[str, Any]]:
        """Return draws, trace and state of the whole chain."""
        table = self._placement.table
        parts = self._placement.ask(worker.save, self._name)
        ((shared, trace, draws),) = self._placement.ask(worker.save_shared, self._name, only=0)
        own = {key: np.concatenate([part[key] for part in parts]) for key in PER_ROW}
        kept = tuple(_core.Draws.from_arrays(d, table.p_cont, table.n_levels) for d in draws)
        return kept, trace, {**shared, **own}


class RemoteProblem(NamedTuple):
    """A training problem on workers; see `CoreProblem`."""

    placement: Placement
    settings: _core.Settings
    n_beside: int
    """Chains that run side by side."""

    @property
    def y(self) -> NDArray[np.float64]:
        """Return the outcomes, in the engine's order."""
        return self.placement.y

    def with_threads(self, n_threads: int) -> RemoteProblem:  # noqa: ARG002
        """Return the same: how many threads a worker uses is its own business."""
        return self

    @contextlib.contextmanager
    def open_chain(self, seed: int, chain: int) -> Iterator[RemoteChain]:
        """Yield a chain at its start."""
        opened = RemoteChain(self.placement, self.settings, seed, chain, self.n_beside)
        try:
            yield opened
        finally:
            opened.close()


class PlacedTable(RemoteTable):
    """A table whose rows are on workers, in the engine's order."""

    def __init__(self, table: RemoteTable, outcome: Outcome) -> None:
        super().__init__(
            table.client, table.columns, table.n_levels, table.n_rows, table.has_missing
        )
        self.placement = Placement(table, outcome)


def is_placed(problem: TrainingProblem) -> bool:
    """Say whether the rows of a problem are on workers."""
    return isinstance(problem.table, PlacedTable)


def remote_problem(
    problem: TrainingProblem, settings: _core.Settings, n_beside: int
) -> RemoteProblem:
    """Return a problem on workers as its chains take it."""
    placement = _placement(problem)
    placement.hold()
    return RemoteProblem(placement, settings, n_beside)


def release(problem: TrainingProblem) -> None:
    """Let workers forget the rows of a problem, if they have them."""
    if is_placed(problem):
        _placement(problem).release()


def _placement(problem: TrainingProblem) -> Placement:
    table: Any = problem.table
    placement: Placement = table.placement
    return placement
