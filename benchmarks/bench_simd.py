"""What do wider registers bring? A sweep and a prediction with each set of kernels.

The kernels are chosen when the core is loaded, so each set has a process of its own
(OBLIQUEBART_SIMD); the processes take turns. All give the same draws.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import timing
from problem import friedman
from table import print_table

VARIABLE = "OBLIQUEBART_SIMD"
LEVELS = ("baseline", "avx2", "avx512")  # the slowest first: ratios are to it
SWEEP, PREDICT = "a sweep", "prediction of the draws"
SECONDS = 0.2  # about what one timing lasts


def rows(
    sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000),
    n_draws: int = 200,
    n_rows: int = 10_000,
    rounds: int = 7,
) -> list[dict[str, Any]]:
    with _workers() as ask:
        found = []
        tasks = [(SWEEP, n, 0) for n in sizes] + [(PREDICT, n_rows, n_draws)]
        for task in tasks:
            answers: dict[str, list[dict[str, Any]]] = {level: [] for level in ask}
            for _ in range(rounds):
                for level, answer in ask.items():
                    answers[level].append(answer(task))
            best = {
                level: {key: min(each[key] for each in all_) for key in ("wall_s", "cpu_s")}
                for level, all_ in answers.items()
            }
            slowest = best[next(iter(best))]
            finals = {level: all_[-1]["check"] for level, all_ in answers.items()}
            found += [
                {
                    "what": task[0],
                    "n": task[1],
                    "draws": task[2],
                    "level": level,
                    "ms": 1e3 * seconds["wall_s"],
                    "cpu_ms": 1e3 * seconds["cpu_s"],
                    "faster": slowest["wall_s"] / seconds["wall_s"],
                    "faster_cpu": slowest["cpu_s"] / seconds["cpu_s"],
                    "same_bits": len(set(finals.values())) == 1,
                }
                for level, seconds in best.items()
            ]
    return found


Task = tuple[str, int, int]
Ask = Callable[[Task], dict[str, Any]]


@contextmanager
def _workers() -> Iterator[dict[str, Ask]]:
    """One process for each set of kernels that this machine can run."""
    context = multiprocessing.get_context("spawn")
    asks, ends, before = {}, [], os.environ.get(VARIABLE)
    for level in LEVELS:
        here, there = context.Pipe()
        os.environ[VARIABLE] = level
        process = context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        if here.recv() == level:
            asks[level] = _asker(here)
            ends.append((here, process))
    if before is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = before
    try:
        yield asks
    finally:
        for here, process in ends:
            here.close()
            process.join()


def _asker(pipe: Connection) -> Ask:
    def ask(task: Task) -> dict[str, Any]:
        pipe.send(task)
        return pipe.recv()

    return ask


def _work(pipe: Connection) -> None:
    from obliquebart import _core

    try:
        pipe.send(_core.simd_level())
    except RuntimeError:  # this machine has no such registers
        pipe.send(None)
        return
    jobs: dict[Task, Callable[[], dict[str, Any]]] = {}
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task not in jobs:
            jobs.clear()  # the tasks come one after the other
            jobs[task] = _sweep_job(task[1]) if task[0] == SWEEP else _predict_job(*task[1:])
        pipe.send(jobs[task]())


def _sweep_job(n: int) -> Callable[[], dict[str, Any]]:
    from adapters.obliquebart_core import sampler

    chain = sampler(friedman(n))
    chain.sweep(100)
    # The same number for all kernels, or their chains would not be at the same place in the end.
    n_sweeps = max(2, round(SECONDS / (2e-4 + 2e-7 * n)))

    def job() -> dict[str, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        chain.sweep(n_sweeps)
        return {
            "wall_s": (time.perf_counter() - wall) / n_sweeps,
            "cpu_s": (time.process_time() - cpu) / n_sweeps,
            "check": chain.residual().tobytes(),
        }

    return job


def _predict_job(n_rows: int, n_draws: int) -> Callable[[], dict[str, Any]]:
    from adapters.obliquebart_core import columns, sampler

    from obliquebart import _core

    chain = sampler(friedman(1_000))
    chain.run(200, n_draws, 1, _core.Control())
    draws, x = chain.draws, columns(friedman(n_rows, seed=1).x)

    def job() -> dict[str, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        values = draws.predict(x, "identity", 0.0, 1)
        return {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "check": values.tobytes(),
        }

    return job


QUICK = {"sizes": (100, 10_000), "rounds": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("simd", rows))
