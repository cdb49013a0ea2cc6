"""Workers as threads of one process: each has some of the rows of a chain."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core


class ThreadCollective:
    """Adds up arrays of threads that wait for each other."""

    def __init__(self, n_workers: int) -> None:
        self._arrays: list[NDArray[np.float64] | None] = [None] * n_workers
        self._barrier = threading.Barrier(n_workers, timeout=60)
        self.n_calls = 0
        self.n_bytes = 0

    def member(self, worker: int) -> Callable[[NDArray[np.float64]], None]:
        """Return the function of one worker."""

        def add_up(values: NDArray[np.float64]) -> None:
            self._arrays[worker] = values.copy()
            self._barrier.wait()
            if worker == 0:
                self.n_calls += 1
                self.n_bytes += values.nbytes
            # In another order in each worker: it must not matter.
            arrays = self._arrays[worker:] + self._arrays[:worker]
            values[:] = np.sum(arrays, axis=0)
            self._barrier.wait()

        return add_up


def on_workers(
    first_rows: Sequence[int],
    columns: tuple[NDArray[np.float32], NDArray[np.uint32], list[int]],
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    settings: Callable[[], _core.Settings],
    work: Callable[[_core.Sampler, slice], Any],
    collective: ThreadCollective | None = None,
) -> list[Any]:
    """Return what each worker makes of its sampler of one chain, given its rows, too."""
    x_cont, x_cat, n_levels = columns
    n, n_workers = len(y), len(first_rows)
    collective = collective or ThreadCollective(n_workers)
    missing = [bool(np.isnan(column).any()) for column in x_cont]

    def run(worker: int) -> Any:
        last = n if worker + 1 == n_workers else first_rows[worker + 1]
        rows = slice(first_rows[worker], last)
        own = [np.ascontiguousarray(x[:, rows]) for x in (x_cont, x_cat)]
        data = _core.Data(*own, n_levels).as_part(rows.start, n, missing)
        workers = _core.Workers(list(first_rows), n, worker, collective.member(worker))
        own_weights = None if weights is None else weights[rows]
        sampler = _core.Sampler(
            data, np.ascontiguousarray(y[rows]), own_weights, settings(), 7, 3, workers
        )
        return work(sampler, rows)

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(run, range(n_workers)))
