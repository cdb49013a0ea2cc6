"""Run the chains: in threads of this process, or as pickled work on a joblib backend."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from obliquebart import _core
from obliquebart.memory import require_memory
from obliquebart.prior import settings_from_dict, settings_to_dict
from obliquebart.progress import FitProgress
from obliquebart.validation import check_count

__all__ = [
    "Chain",
    "Columns",
    "Problem",
    "Run",
    "Schedule",
    "Trace",
    "check_seed",
    "effective_jobs",
    "new_seed",
    "run",
]

POLL_SECONDS = 0.1
# What a kept tree costs at least: its structure's number and one leaf output.
SMALLEST_TREE_BYTES = 8

Trace = dict[str, NDArray[np.float64]]


class Columns(NamedTuple):
    """Encoded columns; unlike `_core.Data` they pickle."""

    x_cont: NDArray[np.float32]
    x_cat: NDArray[np.uint32]
    n_levels: list[int]

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.x_cont.shape[1])

    def to_core(self) -> _core.Data:
        """Return the engine's copy of the columns."""
        return _core.Data(self.x_cont, self.x_cat, self.n_levels)


class Problem(NamedTuple):
    """What every chain of a fit shares, in the engine's units."""

    columns: Columns
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    settings: _core.Settings


@dataclass(frozen=True)
class Schedule:
    """How long to run: `n_burn` sweeps, then `n_draws` kept ones, `n_thin` sweeps apart."""

    n_chains: int = 4
    n_burn: int = 1000
    n_draws: int = 1000
    n_thin: int = 1

    def validated(self) -> Schedule:
        """Return the same with plain integers, or raise an error that names the culprit."""
        return Schedule(
            n_chains=check_count("n_chains", self.n_chains, 1),
            n_burn=check_count("n_burn", self.n_burn, 0),
            n_draws=check_count("n_draws", self.n_draws, 1),
            n_thin=check_count("n_thin", self.n_thin, 1),
        )

    @property
    def n_sweeps(self) -> int:
        """Return the number of sweeps a chain."""
        return self.n_burn + self.n_draws * self.n_thin


class Chain(NamedTuple):
    """One chain's kept ensembles and trace."""

    draws: _core.Draws
    trace: Trace


class Run(NamedTuple):
    """The chains of a fit; shorter ones than asked for where the user stopped it."""

    chains: list[Chain]
    interrupted: bool


def check_seed(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return scikit-learn's random state, with the parameter's name in the error."""
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer in [0, 2^32) or a "
            "numpy.random.RandomState."
        ) from error
    return state


def new_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a 64-bit seed from scikit-learn's idea of a random state."""
    halves = check_seed(random_state).randint(0, 2**32, size=2, dtype=np.uint64)
    return int(halves[0]) << 32 | int(halves[1])


def effective_jobs(n_jobs: int | None) -> int:
    """Return how many jobs `n_jobs` means here, as joblib counts (None: 1, or the context's)."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer))
    ):
        raise TypeError(
            f"n_jobs={n_jobs!r} must be None or an integer, not {type(n_jobs).__name__}."
        )
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 is out of range: use None, a positive number, or -1 for all cores."
        )
    return max(int(joblib.effective_n_jobs(n_jobs)), 1)


def run(
    problem: Problem,
    schedule: Schedule,
    seed: int,
    n_jobs: int | None = None,
    progress: FitProgress | None = None,
) -> Run:
    """Run the chains of one fit.

    A chain's draws depend on the seed and its number only, never on `n_jobs` or on the
    backend. A KeyboardInterrupt stops all chains and returns what they have kept; it is raised
    again where no chain has kept a draw.

    Parameters
    ----------
    problem : Problem
        Columns, outcomes and settings.
    schedule : Schedule
        Chains and sweeps.
    seed : int
        Unsigned, 64 bits; chain c takes the c-th stream of it.
    n_jobs : int or None
        Chains at a time, and threads within a chain where there are more jobs than chains.
    progress : FitProgress or None
        Told every tenth of a second how far the chains are.

    Returns
    -------
    Run
        One `Chain` a chain, in order; chains without a draw are left out after an interrupt.
    """
    _require_memory(problem, schedule)
    jobs = effective_jobs(n_jobs)
    if _wants_processes():
        return _run_on_backend(problem, schedule, seed, jobs)
    return _run_in_threads(problem, schedule, seed, jobs, progress or FitProgress(False))


def _wants_processes() -> bool:
    """Say whether the user has chosen a backend that does not share this process's memory."""
    # With prefer="threads" joblib answers threads unless a context names another backend.
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


def _require_memory(problem: Problem, schedule: Schedule) -> None:
    n_trees = int(problem.settings.n_trees)
    kept = schedule.n_chains * schedule.n_draws * n_trees * SMALLEST_TREE_BYTES
    require_memory(
        kept,
        f"Keeping {schedule.n_chains} chains of {schedule.n_draws} draws of {n_trees} trees",
        "Lower n_draws, n_chains or n_trees, or keep fewer sweeps with n_thin.",
    )
    require_memory(
        # A leaf code a row and tree is one byte, for the current and for the proposed partition.
        2 * problem.columns.n_rows * n_trees,
        f"A chain with {n_trees} trees on {problem.columns.n_rows} rows",
        "Lower n_trees or fit a sample of the rows.",
    )


def _run_in_threads(
    problem: Problem, schedule: Schedule, seed: int, jobs: int, progress: FitProgress
) -> Run:
    n_workers = min(jobs, schedule.n_chains)
    problem.settings.n_threads = max(jobs // schedule.n_chains, 1)
    data = problem.columns.to_core()
    controls = [_core.Control() for _ in range(schedule.n_chains)]

    def work(chain: int) -> Chain | None:
        control = controls[chain]
        if control.stopped:
            return None
        sampler = _core.Sampler(data, problem.y, problem.weights, problem.settings, seed, chain)
        sampler.run(schedule.n_burn, schedule.n_draws, schedule.n_thin, control)
        return Chain(sampler.draws, sampler.trace)

    pool = ThreadPoolExecutor(n_workers, thread_name_prefix="obliquebart")
    futures = [pool.submit(work, chain) for chain in range(schedule.n_chains)]
    interrupted = False
    try:
        _watch(futures, controls, progress)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # After an interrupt or an error; a chain that has finished does not mind.
        for control in controls:
            control.stop()
        progress.close()
        pool.shutdown(wait=True)
    finished = [future.result() for future in futures]
    chains = [chain for chain in finished if chain is not None and chain.draws.n_draws > 0]
    if interrupted and not chains:
        raise KeyboardInterrupt
    return Run(chains, interrupted)


def _watch(
    futures: list[Future[Chain | None]], controls: list[_core.Control], progress: FitProgress
) -> None:
    """Wait for all chains, reporting progress, and return early if one of them failed."""
    progress.open(len(futures))
    pending: set[Future[Chain | None]] = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            return
        progress.update([control.snapshot() for control in controls])


class _Work(NamedTuple):
    """One chain as plain arrays, for another process or machine."""

    columns: Columns
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    settings: dict[str, Any]
    schedule: Schedule
    seed: int
    chain: int


def _run_remotely(work: _Work) -> tuple[dict[str, Any], Trace]:
    sampler = _core.Sampler(
        work.columns.to_core(),
        work.y,
        work.weights,
        settings_from_dict(work.settings),
        work.seed,
        work.chain,
    )
    schedule = work.schedule
    sampler.run(schedule.n_burn, schedule.n_draws, schedule.n_thin, _core.Control())
    return sampler.draws.to_arrays(), sampler.trace


def _run_on_backend(problem: Problem, schedule: Schedule, seed: int, jobs: int) -> Run:
    columns = problem.columns
    settings = settings_to_dict(problem.settings)
    task: Callable[..., Any] = joblib.delayed(_run_remotely)
    results = joblib.Parallel(n_jobs=jobs)(
        task(_Work(columns, problem.y, problem.weights, settings, schedule, seed, chain))
        for chain in range(schedule.n_chains)
    )
    p_cont = len(columns.x_cont)
    chains = [
        Chain(_core.Draws.from_arrays(arrays, p_cont, columns.n_levels), trace)
        for arrays, trace in results
    ]
    return Run(chains, interrupted=False)
