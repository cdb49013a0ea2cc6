"""From how many rows on do several workers pay, and what does the latency of the network cost?

Workers are processes of this machine with `--threads` threads each. They exchange sums over
loopback, as those of `fit` on a Dask collection do. A sum over the workers can be delayed, as if
the network were slower. One process with as many threads as a worker has does the same sweeps; the
draws must have the same bits.

    python bench_distributed.py            some minutes
    python bench_distributed.py --short    about two minutes on 16 cores
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import timing
from adapters.obliquebart_core import scale
from numpy.typing import NDArray
from problem import friedman
from table import print_table

from obliquebart import _core
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.calibration import calibrate
from obliquebart.model.parameters import Hyperparameters
from obliquebart.model.row_order import row_order
from obliquebart.sampling.collective import connected, start_meeting
from obliquebart.sampling.workers import first_rows

LATENCIES_US = (0, 50, 200, 1000)


class Task(NamedTuple):
    """What all workers have to do."""

    n: int
    n_trees: int
    n_threads: int
    n_burn: int
    n_sweeps: int
    latencies_us: Sequence[int]


class Rows(NamedTuple):
    """The rows of a worker, in the order that `fit` gives them."""

    x: NDArray[np.float32]
    y: NDArray[np.float64]
    starts: list[int]
    worker: int


class Counted:
    """A collective that counts, and waits as a slower network would."""

    def __init__(self, add_up: Any) -> None:
        self.add_up = add_up
        self.latency = 0.0
        self.n_calls = self.n_bytes = 0
        self.seconds = 0.0

    def __call__(self, values: NDArray[np.float64]) -> None:
        start = time.perf_counter()
        # Sleeping takes some 60 microseconds more than it should; so the wait is busy.
        while time.perf_counter() - start < self.latency:
            pass
        self.add_up(values)
        self.n_calls += 1
        self.n_bytes += values.nbytes
        self.seconds += time.perf_counter() - start


def meet(rows: Rows, meetings: Any) -> Any:
    """Return where the workers meet; the first one tells the others."""
    if len(rows.starts) == 1:
        return None
    if rows.worker > 0:
        return meetings.get()
    meeting = start_meeting("tcp://127.0.0.1:0", len(rows.starts))
    for _ in rows.starts[1:]:
        meetings.put(meeting)
    return meeting


def run_worker(task: Task, rows: Rows, meetings: Any, results: Any) -> None:
    """Sweep with each latency, and report what it took."""
    first = rows.starts[rows.worker]
    data = _core.Data(rows.x, np.empty((0, len(rows.y)), np.uint32), [])
    part = data.as_part(first, task.n, [False] * len(rows.x))
    hyper = Hyperparameters(n_trees=task.n_trees, sigma_quantile=0.9).validated()
    # The prior depends on all rows; any one of this size will do here.
    prior = calibrate(hyper, LIKELIHOODS["gaussian"].encode(friedman(2000).y), len(rows.x))
    prior.n_threads = task.n_threads
    found = []
    with connected(meet(rows, meetings), rows.worker) as add_up:
        collective = Counted(add_up)
        workers = _core.Workers(rows.starts, task.n, rows.worker, collective)
        chain = _core.Sampler(part, rows.y, None, prior, 0, 0, workers)
        chain.sweep(task.n_burn)
        for latency in task.latencies_us:
            collective.latency = 1e-6 * latency
            collective.n_calls = collective.n_bytes = 0
            collective.seconds = 0.0
            seconds = []
            for _ in range(task.n_sweeps):
                start = time.perf_counter()
                chain.sweep()
                seconds.append(time.perf_counter() - start)
            found.append(
                {
                    "latency_us": latency,
                    "sweep_ms": 1e3 * statistics.median(seconds),
                    "sums_a_sweep": collective.n_calls / task.n_sweeps,
                    "bytes_a_sum": collective.n_bytes / collective.n_calls,
                    "sum_us": 1e6 * collective.seconds / collective.n_calls,
                }
            )
    digest = hashlib.sha256(chain.ensemble().to_arrays()["outputs"].tobytes()).hexdigest()
    results.put((rows.worker, found, digest))


def run_workers(task: Task, n_workers: int) -> tuple[list[dict[str, Any]], str]:
    """Return the figures of the first worker, and a digest of the trees that all have."""
    problem = friedman(task.n, n_trees=task.n_trees)
    x, y = scale(problem.x), LIKELIHOODS["gaussian"].encode(problem.y).values
    order = row_order(x, np.empty((0, task.n), np.uint32), y)
    if order is not None:
        x, y = x[:, order], y[order]
    starts = first_rows(task.n, n_workers)
    ends = [*starts[1:], task.n]
    context = multiprocessing.get_context("spawn")
    meetings, results = context.SimpleQueue(), context.SimpleQueue()
    processes = [
        context.Process(
            target=run_worker,
            args=(
                task,
                Rows(np.ascontiguousarray(x[:, first:end]), y[first:end], starts, w),
                meetings,
                results,
            ),
        )
        for w, (first, end) in enumerate(zip(starts, ends, strict=True))
    ]
    for process in processes:
        process.start()
    answers = sorted(results.get() for _ in processes)
    for process in processes:
        process.join()
    digests = {digest for _, _, digest in answers}
    if len(digests) > 1:
        raise RuntimeError("the workers do not have the same trees")
    return answers[0][1], digests.pop()


def rows(
    sizes: Sequence[int] = (100_000, 1_000_000, 4_000_000),
    workers: Sequence[int] = (1, 2, 4),
    n_threads: int = 1,
    n_trees: int = 200,
    n_burn: int = 20,
    n_sweeps: int = 10,
    latencies_us: Sequence[int] = LATENCIES_US,
) -> list[dict[str, Any]]:
    """Return seconds a sweep for each size, number of workers and latency."""
    return list(_rows(sizes, workers, n_threads, n_trees, n_burn, n_sweeps, latencies_us))


def _rows(
    sizes: Sequence[int],
    workers: Sequence[int],
    n_threads: int,
    n_trees: int,
    n_burn: int,
    n_sweeps: int,
    latencies_us: Sequence[int],
) -> Iterator[dict[str, Any]]:
    for n in sizes:
        alone, trees = 0.0, ""
        for n_workers in workers:
            # Without others there is nothing to wait for; the sweeps must be as many.
            shown = latencies_us if n_workers > 1 else (0,) * len(latencies_us)
            task = Task(n, n_trees, n_threads, n_burn, n_sweeps, shown)
            figures, digest = run_workers(task, n_workers)
            if n_workers == 1:
                alone = statistics.median(one["sweep_ms"] for one in figures)
                figures, trees = [{**figures[0], "sweep_ms": alone}], digest
            for one in figures:
                yield {
                    "n": n,
                    "workers": n_workers,
                    "threads": n_threads,
                    **one,
                    "speedup": alone / one["sweep_ms"],
                    "same_bits": digest == trees,
                }


QUICK = {"sizes": (20_000,), "workers": (1, 2), "n_trees": 20, "n_burn": 3, "n_sweeps": 3}
SHORT = {"n_burn": 8, "n_sweeps": 5}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="fewer sweeps")
    parser.add_argument("--threads", type=int, default=1, help="threads of each worker")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rows")
    chosen = parser.parse_args()
    options: dict[str, Any] = {**(SHORT if chosen.short else {}), "n_threads": chosen.threads}
    if chosen.sizes:
        options["sizes"] = chosen.sizes
    print_table(timing.run_and_save("distributed", lambda: rows(**options)))
