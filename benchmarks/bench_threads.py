"""How much faster is one chain with two threads, and are the draws the same?

Two chains of one seed, on one thread and on two, take turns sweep by sweep. They do the same work,
because their draws have the same bits, so each pair of sweeps gives a ratio.

Two more questions need a machine with many cores (python benchmarks/bench_threads.py --only ...):

    scaling   one chain, by number of threads: forced, and as many as the chain chooses
    jobs      fits of several chains, by n_jobs: is any slower with more jobs than with fewer?

--minutes says how long the two take together, about; --large adds ten million rows.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import timing
from adapters.obliquebart_core import engine_problem, sampler
from problem import friedman
from table import print_table

from obliquebart import _core
from obliquebart.model.parameters import Schedule
from obliquebart.model.training import CoreProblem, TrainingProblem
from obliquebart.sampling.run import RunRequest, run

Row = dict[str, Any]

THREADS = (1, 2, 4, 8, 16)
SCALING_SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGE = 10_000_000
JOB_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
CHAINS = JOBS = (1, 2, 4, 8, 16)
BURN = 60  # sweeps in which trees grow and a chain chooses
FEWEST_SWEEPS, MOST_SWEEPS = 10, 1000
TOLERANCE = 1.05

# ---- two threads ---------------------------------------------------------------------------------


def rows(n: int = 200_000, n_burn: int = 50, n_pairs: int = 100) -> list[Row]:
    problem = friedman(n)
    one, two = (sampler(problem, n_threads=k, threads_fixed=True) for k in (1, 2))
    one.sweep(n_burn)
    two.sweep(n_burn)
    load_before = os.getloadavg()[0]
    pairs = [(_seconds(one), _seconds(two)) for _ in range(n_pairs)]
    walls = [[pair[k][0] for pair in pairs] for k in (0, 1)]
    return [
        {
            "n": n,
            "one_thread_ms": 1e3 * statistics.median(walls[0]),
            "two_threads_ms": 1e3 * statistics.median(walls[1]),
            "speedup": statistics.median(a[0] / b[0] for a, b in pairs),
            "speedup_best": min(walls[0]) / min(walls[1]),
            "cpu_ratio": statistics.median(b[1] / a[1] for a, b in pairs),
            "same_bits": _same_bits(one, two),
            "pairs": n_pairs,
            "load_before": load_before,
            "load_after": os.getloadavg()[0],
        }
    ]


def _same_bits(one: _core.Sampler, other: _core.Sampler) -> bool:
    return bool(one.sigma == other.sigma and np.array_equal(one.residual(), other.residual()))


def _seconds(chain: _core.Sampler) -> tuple[float, float]:
    """Wall time of a sweep and processor time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    chain.sweep(1)
    return time.perf_counter() - wall, time.process_time() - cpu


# ---- one chain, many threads ---------------------------------------------------------------------


def scaling(
    sizes: Sequence[int] = SCALING_SIZES,
    threads: Sequence[int] = THREADS,
    seconds: float = 60.0,
) -> list[Row]:
    """Milliseconds per sweep; all chains have the same draws, and are timed one after another."""
    most = max(threads)
    return [
        row for n in sizes for row in _scaling_at(n, [*threads, None], most, seconds / len(sizes))
    ]


def _scaling_at(n: int, numbers: Sequence[int | None], most: int, seconds: float) -> list[Row]:
    problem, settings = engine_problem(friedman(n))
    core = problem.to_core(settings)

    def chain_with(n_threads: int | None) -> _core.Sampler:
        engine = settings.copy()
        engine.n_threads, engine.threads_fixed = n_threads or most, n_threads is not None
        return core._replace(settings=engine).sampler(seed=0, chain=0)

    # The burn-in of large tables on one thread would take all the time there is.
    first = chain_with(None)
    n_burn = _count_sweeps(first.sweep, seconds / 6, BURN)
    first.sweep(n_burn)
    start = first.state()
    del first
    found, times = [], {}
    for number in numbers:
        chain = chain_with(number)
        chain.set_state(start)
        if number is None:
            chain.sweep(n_burn)  # it chooses
            chain.set_state(start)
        chain.sweep(2)
        each = seconds / 2 / len(numbers)
        walls = _timed_sweeps(chain, each)
        times[number] = statistics.median(walls)
        found.append(
            {
                "n": n,
                "threads": "chosen" if number is None else str(number),
                "used": chain.n_threads,
                "ms": 1e3 * times[number],
                "best_ms": 1e3 * min(walls),
                "speedup": times[numbers[0]] / times[number],
                "sweeps": len(walls),
            }
        )
    return found


def _timed_sweeps(chain: _core.Sampler, seconds: float, most: int = 500) -> list[float]:
    end = time.perf_counter() + seconds
    walls: list[float] = []
    while len(walls) < 4 or (time.perf_counter() < end and len(walls) < most):
        walls.append(_seconds(chain)[0])
    return walls


def _count_sweeps(sweep: Callable[[int], None], seconds: float, most: int) -> int:
    """Sweep a few times; return how many more take about so long."""
    sweep(2)
    start = time.perf_counter()
    sweep(2)
    return int(min(max(2 * seconds / (time.perf_counter() - start), 4), most))


# ---- chains and jobs -----------------------------------------------------------------------------


def by_jobs(
    sizes: Sequence[int] = JOB_SIZES,
    chains: Sequence[int] = CHAINS,
    jobs: Sequence[int] = JOBS,
    seconds: float = 90.0,
    n_sweeps: int | None = None,
) -> list[Row]:
    """Seconds of the chains of a fit, and how they compare with the best of fewer jobs.

    Without `n_sweeps` it has as many as the time allows.
    """
    return [
        row for n in sizes for row in _by_jobs_at(n, chains, jobs, seconds / len(sizes), n_sweeps)
    ]


class _Prepared(TrainingProblem):
    """A problem whose rows are put in order once, not in every fit."""

    core: CoreProblem

    def to_core(self, settings: _core.Settings) -> CoreProblem:
        return self.core._replace(settings=settings)


def _by_jobs_at(
    n: int, chains: Sequence[int], jobs: Sequence[int], seconds: float, n_sweeps: int | None
) -> Iterator[Row]:
    plain, settings = engine_problem(friedman(n))
    problem = _Prepared(*plain)
    problem.core = plain.to_core(settings)
    repeats = 1 if n > 300_000 else 3
    if n_sweeps is None:
        each = _fit_seconds(problem, settings, n_chains=1, n_jobs=1, n_sweeps=8) / 8
        load = each * sum(chains) * sum(1 / k for k in jobs) * repeats
        n_sweeps = int(min(max(seconds / load, FEWEST_SWEEPS), MOST_SWEEPS))
    cells = list(itertools.product(chains, jobs))
    walls: dict[tuple[int, int], list[float]] = {cell: [] for cell in cells}
    for _ in range(repeats):
        for cell in cells:
            walls[cell].append(_fit_seconds(problem, settings, *cell, n_sweeps))
    best = {cell: min(found) for cell, found in walls.items()}
    for n_chains, n_jobs in cells:
        fewer = [best[n_chains, k] for k in jobs if k < n_jobs]
        ratio = best[n_chains, n_jobs] / min(fewer) if fewer else 1.0
        yield {
            "n": n,
            "chains": n_chains,
            "n_jobs": n_jobs,
            "s": best[n_chains, n_jobs],
            "sweeps": n_sweeps,
            "over_fewer_jobs": ratio,
            "slower": ratio > TOLERANCE,
        }


def _fit_seconds(
    problem: TrainingProblem, settings: _core.Settings, n_chains: int, n_jobs: int, n_sweeps: int
) -> float:
    """Wall time of the chains of a fit, as `fit` runs them."""
    schedule = Schedule(n_burn=n_sweeps - 1, n_draws=1, n_chains=n_chains, n_thin=1)
    start = time.perf_counter()
    run(RunRequest(problem, settings, schedule, seed=0), n_jobs)
    return time.perf_counter() - start


# ---- all of it -----------------------------------------------------------------------------------

QUICK = {"n_burn": 10, "n_pairs": 20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=("pairs", "scaling", "jobs"))
    parser.add_argument("--minutes", type=float, default=10.0, help="for scaling and jobs together")
    parser.add_argument("--large", action="store_true", help="ten million rows too")
    parser.add_argument("--sizes", type=int, nargs="+", help="rows, in place of the usual ones")
    parser.add_argument("--chains", type=int, nargs="+", default=CHAINS)
    parser.add_argument("--jobs", type=int, nargs="+", default=JOBS)
    parser.add_argument("--sweeps", type=int, help="of each chain of jobs; more for large sizes")
    parser.add_argument("--quick", action="store_true", help="small sizes, saved in --folder")
    parser.add_argument("--folder", type=Path, default=timing.RESULTS)
    options = parser.parse_args()
    sizes = options.sizes or [*SCALING_SIZES, *[LARGE] * options.large]
    job_sizes, minutes = options.sizes or JOB_SIZES, options.minutes
    if options.quick:
        sizes, job_sizes, minutes = [1_000, 20_000], (100, 20_000), 0.2
    cells = options.chains, options.jobs
    questions: dict[str, tuple[str, Callable[[], list[Row]]]] = {
        "pairs": ("threads", lambda: rows(**(QUICK if options.quick else {}))),
        "scaling": ("thread_scaling", lambda: scaling(sizes, seconds=24 * minutes)),
        "jobs": ("thread_jobs", lambda: by_jobs(job_sizes, *cells, 30 * minutes, options.sweeps)),
    }
    for name in options.only or questions:
        question, ask = questions[name]
        print(f"\n{name}", flush=True)
        print_table(timing.run_and_save(question, ask, options.folder))


if __name__ == "__main__":
    main()
