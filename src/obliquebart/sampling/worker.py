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
from importlib import import_module
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


# By names that the client chose and the address of the worker: a process may have several.
_PARTS: dict[tuple[str, str], Part] = {}
_CHAINS: dict[tuple[str, str], WorkerChain] = {}


def hold(
    name: str,
    table: EncodedTable,
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    place: Place,
) -> bool:
    """Keep rows under a name until they are dropped; a task of Dask."""
    address = import_module("distributed").get_worker().address
    first = place.first_rows[place.worker]
    data = table.to_core().as_part(first, place.n_rows, place.has_missing)
    _PARTS[name, address] = Part(data, y, weights, place)
    return True


def drop(name: str, dask_worker: Any) -> None:
    """Forget rows."""
    _PARTS.pop((name, dask_worker.address), None)


def keys_of(table: EncodedTable, outcomes: NDArray[np.float64]) -> Keys:
    """Return the keys of rows, by which they are recognised later."""
    return row_keys(table, outcomes)


class WorkerChain:
    """A worker's share of a chain, in a thread of its own."""

    def __init__(self, request: ChainRequest, part: Part, n_threads: int) -> None:
        self._request, self._part = request, part
        self._settings = settings_from_dict(request.settings)
        self._settings.n_threads = max(n_threads // request.n_side_by_side, 1)
        self._calls: SimpleQueue[tuple[Callable[[Any], Any], Future[Any]] | None] = SimpleQueue()
        self.start: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._work, name="obliquebart", daemon=True)
        self._thread.start()

    async def result(self, function: Callable[[Any], T]) -> T:
        """Call a function of the sampler in the chain's thread, and wait for its result."""
        future: Future[T] = Future()
        self._calls.put((function, future))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        self._calls.put(None)

    def _work(self) -> None:
        request, part = self._request, self._part
        try:
            with connected(request.meeting, part.place.worker) as add_up:
                sampler = part.sampler(self._settings, request.seed, request.chain, add_up)
                while (entry := self._calls.get()) is not None:
                    _answer(*entry, sampler)
        except Exception as error:
            while (entry := self._calls.get()) is not None:
                entry[1].set_exception(error)


def _answer(call: Callable[[Any], Any], future: Future[Any], sampler: Any) -> None:
    try:
        future.set_result(call(sampler))
    except Exception as error:
        future.set_exception(error)


# ---- called by the client, in the event loop of the worker ---------------------------------------


# Dask passes the worker as `dask_worker`.


async def open_chain(name: str, request: ChainRequest, dask_worker: Any) -> None:
    """Meet the other workers and create a chain's sampler."""
    part = _PARTS[request.part, dask_worker.address]
    chain = WorkerChain(request, part, int(dask_worker.state.nthreads))
    _CHAINS[name, dask_worker.address] = chain
    await chain.result(lambda _: None)


async def advance(name: str, n_burn: int, n_draws: int, dask_worker: Any) -> dict[str, Any]:
    """Sweep; return the last snapshot of the chain."""

    def work(sampler: _core.Sampler) -> dict[str, Any]:
        control = _core.Control()
        sampler.run(n_burn, n_draws, 1, control)
        return dict(control.snapshot())

    return await _CHAINS[name, dask_worker.address].result(work)


async def save(name: str, dask_worker: Any) -> dict[str, Any]:
    """Return the part of the chain's state that only this worker has."""

    def work(sampler: _core.Sampler) -> dict[str, Any]:
        state = sampler.state()
        return {key: state[key] for key in PER_ROW}

    return await _CHAINS[name, dask_worker.address].result(work)


async def save_shared(name: str, dask_worker: Any) -> Any:
    """Return what all workers have of a chain: state, trace, draws."""

    def work(sampler: _core.Sampler) -> Any:
        kept, trace, state = LocalChain(sampler).saved()
        shared = {key: value for key, value in state.items() if key not in PER_ROW}
        return shared, trace, [draws.to_arrays() for draws in kept]

    return await _CHAINS[name, dask_worker.address].result(work)


async def send_start(name: str, values: dict[str, Any], dask_worker: Any) -> None:
    """Receive the state from which the chain is to go on."""
    _CHAINS[name, dask_worker.address].start = values


async def start_from(
    name: str, p_cont: int, n_levels: list[int], kept: list[Any], dask_worker: Any
) -> None:
    """Let the chain go on from the state that was sent, and append to these draws."""
    chain = _CHAINS[name, dask_worker.address]

    def work(sampler: _core.Sampler) -> None:
        draws = [_core.Draws.from_arrays(arrays, p_cont, n_levels) for arrays in kept]
        LocalChain(sampler).start_from(chain.start, draws)
        chain.start = {}

    await chain.result(work)


async def close_chain(name: str, dask_worker: Any) -> None:
    """Part from the other workers and forget the chain."""
    chain = _CHAINS.pop((name, dask_worker.address), None)
    if chain is not None:
        chain.close()
