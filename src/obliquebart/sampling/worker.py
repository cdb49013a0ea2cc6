"""What runs on a worker of a Dask cluster: its rows, and its share of each chain.

The client calls these functions. A chain has a thread of its own, because its connection to the
other workers belongs to a thread; so Dask's own threads stay free, and chains side by side cannot
wait for each other's turn.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.model.seen_rows import Keys, row_keys
from obliquebart.model.settings import settings_from_dict
from obliquebart.model.training import LocalChain
from obliquebart.sampling.collective import AddUp, Meeting, connected
from obliquebart.table.encoded import EncodedTable

T = TypeVar("T")

# Arrays of a chain's state that have an entry per row.
PER_ROW = ("residual", "target")


class Place(NamedTuple):
    """Which rows a worker has."""

    first_rows: list[int]
    """Of each worker."""
    n_rows: int
    """Of all workers."""
    worker: int
    has_missing: list[bool]
    """Whether a continuous column has missing values anywhere."""


class Part(NamedTuple):
    """The rows of a worker."""

    data: _core.Data
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    place: Place

    def sampler(self, settings: _core.Settings, seed: int, chain: int, add_up: AddUp) -> Any:
        """Return this worker's share of a chain."""
        place = self.place
        workers = _core.Workers(place.first_rows, place.n_rows, place.worker, add_up)
        return _core.Sampler(self.data, self.y, self.weights, settings, seed, chain, workers)


class ChainRequest(NamedTuple):
    """A chain to be opened."""

    part: str
    """Name of the rows."""
    settings: dict[str, Any]
    seed: int
    chain: int
    meeting: Meeting | None
    n_side_by_side: int
    """Chains that share the worker's threads."""


# By names that the client chose.
_PARTS: dict[str, Part] = {}
_CHAINS: dict[str, WorkerChain] = {}


def hold(
    name: str,
    table: EncodedTable,
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    place: Place,
) -> bool:
    """Keep rows under a name until they are dropped."""
    first = place.first_rows[place.worker]
    data = table.to_core().as_part(first, place.n_rows, place.has_missing)
    _PARTS[name] = Part(data, y, weights, place)
    return True


def drop(name: str) -> None:
    """Forget rows."""
    _PARTS.pop(name, None)


def keys_of(table: EncodedTable, outcomes: NDArray[np.float64]) -> Keys:
    """Return the keys of rows, by which they are recognised later."""
    return row_keys(table, outcomes)


class WorkerChain:
    """This worker's share of a chain, in a thread of its own."""

    def __init__(self, request: ChainRequest, n_threads: int) -> None:
        self._request = request
        self._settings = settings_from_dict(request.settings)
        self._settings.n_threads = max(n_threads // request.n_side_by_side, 1)
        self._calls: SimpleQueue[tuple[Callable[[Any], Any], Future[Any]] | None] = SimpleQueue()
        self._start: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._work, name="obliquebart", daemon=True)
        self._thread.start()

    def call(self, function: Callable[[Any], T]) -> Future[T]:
        """Call a function of the sampler in the chain's thread."""
        future: Future[T] = Future()
        self._calls.put((function, future))
        return future

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        self._calls.put(None)

    def add_start(self, values: dict[str, Any]) -> None:
        """Receive a piece of the state from which the chain is to go on."""
        self._start.update(values)

    def take_start(self) -> dict[str, Any]:
        """Return the state from which the chain is to go on."""
        start, self._start = self._start, {}
        return start

    def _work(self) -> None:
        request, sampler = self._request, None
        part = _PARTS[request.part]
        try:
            with connected(request.meeting, part.place.worker) as add_up:
                sampler = part.sampler(self._settings, request.seed, request.chain, add_up)
                while (entry := self._calls.get()) is not None:
                    _answer(entry[1], lambda call=entry[0]: call(sampler))
        except Exception as error:  # noqa: BLE001 - the client must hear of it
            while (entry := self._calls.get()) is not None:
                entry[1].set_exception(error)


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        future.set_result(call())
    except Exception as error:  # noqa: BLE001 - it is raised where the client waits
        future.set_exception(error)


# ---- called by the client, in the event loop of the worker ---------------------------------------


async def open_chain(name: str, request: ChainRequest, dask_worker: Any = None) -> None:
    """Meet the other workers and create a chain's sampler."""
    n_threads = 1 if dask_worker is None else int(dask_worker.state.nthreads)
    _CHAINS[name] = WorkerChain(request, n_threads)
    await _result(name, lambda _: None)


async def advance(name: str, n_burn: int, n_draws: int) -> dict[str, Any]:
    """Sweep; return the last snapshot of the chain."""

    def work(sampler: _core.Sampler) -> dict[str, Any]:
        control = _core.Control()
        sampler.run(n_burn, n_draws, 1, control)
        return dict(control.snapshot())

    return await _result(name, work)


async def save(name: str) -> dict[str, Any]:
    """Return the part of the chain's state that only this worker has."""
    return await _result(name, lambda s: {key: s.state()[key] for key in PER_ROW})


async def save_shared(name: str) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Return what all workers have of a chain: state, trace, draws."""

    def work(sampler: _core.Sampler) -> Any:
        kept, trace, state = LocalChain(sampler).saved()
        shared = {key: value for key, value in state.items() if key not in PER_ROW}
        return shared, trace, [draws.to_arrays() for draws in kept]

    return await _result(name, work)


async def send_start(name: str, values: dict[str, Any]) -> None:
    """Receive a piece of the state from which the chain is to go on."""
    _CHAINS[name].add_start(values)


async def start_from(name: str, p_cont: int, n_levels: list[int], kept: list[Any]) -> None:
    """Let the chain go on from the state that was sent, and append to these draws."""
    state = _CHAINS[name].take_start()

    def work(sampler: _core.Sampler) -> None:
        draws = [_core.Draws.from_arrays(arrays, p_cont, n_levels) for arrays in kept]
        LocalChain(sampler).start_from(state, draws)

    await _result(name, work)


async def close_chain(name: str) -> None:
    """Part from the other workers and forget the chain."""
    chain = _CHAINS.pop(name, None)
    if chain is not None:
        chain.close()


async def _result(name: str, work: Callable[[Any], T]) -> T:
    return await asyncio.wrap_future(_CHAINS[name].call(work))
