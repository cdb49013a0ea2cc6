"""Run the chains of a posterior: in threads of this process, or on a joblib backend."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, Literal, NamedTuple

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from obliquebart import _core
from obliquebart.model.parameters import Schedule
from obliquebart.model.settings import n_trees_in_all, settings_from_dict, settings_to_dict
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling.chain import (
    Chain,
    ChainProgress,
    ChainRunner,
    ChainSource,
    ChainTask,
    Recorder,
    State,
    Trace,
)
from obliquebart.sampling.device import CPU, Device
from obliquebart.sampling.interrupts import Interrupts
from obliquebart.sampling.memory import require_memory, require_threads
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.remote import is_placed, remote_problem
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_seed, effective_jobs

POLL_SECONDS = 0.1
# What a kept tree costs at least: its structure's number and one leaf output.
SMALLEST_TREE_BYTES = 8


class RunRequest(NamedTuple):
    """The chains of one posterior."""

    problem: TrainingProblem
    settings: _core.Settings
    schedule: Schedule
    seed: int
    """Unsigned, 64 bits; chain c takes the c-th stream of it."""
    starts: Sequence[ChainProgress | None] | None = None
    """Where each chain continues; None starts a new one. The draws are those of a chain that was
    never interrupted, bit for bit."""
    recorder: Recorder | None = None
    """Receives the chains while they run; in other processes, when a chain has finished."""
    device: Device = CPU

    @property
    def tasks(self) -> list[ChainTask]:
        """What each chain has to do."""
        starts = self.starts or [None] * self.schedule.n_chains
        return [
            ChainTask(self.schedule, self.seed, chain, start) for chain, start in enumerate(starts)
        ]


Ending = Literal["finished", "interrupted", "out of time"]


class Run(NamedTuple):
    """The chains of a posterior; they are shorter than scheduled if they were stopped."""

    chains: list[Chain]
    schedule: Schedule
    ending: Ending
    """"Interrupted" means by the user."""
    device: str = CPU.name
    """What the chains ran on, for users."""


def new_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a 64-bit seed from a random state as scikit-learn defines it."""
    halves = check_seed(random_state).randint(0, 2**32, size=2, dtype=np.uint64)
    return int(halves[0]) << 32 | int(halves[1])


def run(
    request: RunRequest,
    n_jobs: int | None = None,
    progress: FitProgress | None = None,
    seconds: float | None = None,
) -> Run:
    """Run the chains of one posterior, and update `progress` ten times a second.

    A chain's draws depend only on the seed and its number, never on `n_jobs`, the backend or the
    device. If there are more jobs than chains, a chain may use several threads, and uses as many of
    them as pay. A KeyboardInterrupt stops all chains, and so does the end of the `seconds`, which
    chains that wait for each other share. Chains that have kept no draw are left out.
    """
    require_run_memory(
        request.problem.table.n_rows_here, n_trees_in_all(request.settings), request.schedule
    )
    jobs = effective_jobs(n_jobs)
    if seconds is not None:
        seconds /= math.ceil(request.schedule.n_chains / jobs)
    shown = progress or FitProgress(False)
    try:
        return _run_somewhere(request, jobs, shown, seconds)
    except _core.CardError:  # its memory may be full, for example
        if not request.device.is_optional:
            raise
    return _run_somewhere(request._replace(device=CPU), jobs, shown, seconds)


def _run_somewhere(
    request: RunRequest, jobs: int, progress: FitProgress, seconds: float | None
) -> Run:
    if _wants_processes() and not is_placed(request.problem):
        return _run_on_backend(request, jobs, seconds)
    return _run_in_threads(request, jobs, progress, seconds)


def _wants_processes() -> bool:
    """Say whether the user has chosen a backend that does not share this process's memory."""
    # With prefer="threads" joblib uses threads unless a context names another backend.
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


def require_run_memory(
    n_rows: int, n_trees: int, schedule: Schedule, n_posteriors: int = 1
) -> None:
    """Raise MemoryError, saying what to lower, if chains of this size would not fit."""
    require_memory(
        n_posteriors * schedule.n_chains * schedule.n_draws * n_trees * SMALLEST_TREE_BYTES,
        f"Keeping {schedule.n_chains} chains of {schedule.n_draws} draws of {n_trees} trees",
        "Lower n_draws, n_chains or n_trees, or keep fewer sweeps with n_thin.",
    )
    require_memory(
        _core.chain_bytes(n_rows, n_trees),
        f"A chain with {n_trees} trees on {n_rows} rows",
        "Lower n_trees or fit a sample of the rows.",
    )


def threads_by_chain(jobs: int, n_chains: int) -> list[int]:
    """Return how many threads each chain may use, such that no job is left over.

    Chains start in order, as many at a time as there are jobs. Those of the last turn share all
    jobs for which there are cores; the earlier ones have one thread each.
    """
    last_turn = n_chains % jobs or min(n_chains, jobs)
    threads = max(min(jobs, joblib.cpu_count()), last_turn)
    shares = [threads // last_turn + (chain < threads % last_turn) for chain in range(last_turn)]
    return [1] * (n_chains - last_turn) + shares


def _run_in_threads(
    request: RunRequest, jobs: int, progress: FitProgress, seconds: float | None
) -> Run:
    tasks, recorder = request.tasks, request.recorder
    source: ChainSource
    if is_placed(request.problem):
        source = remote_problem(request.problem, request.settings, min(jobs, len(tasks)))
    else:  # once: all chains read the same columns
        request = request._replace(device=request.device.made_ready(min(jobs, len(tasks))))
        source = request.problem.to_core(request.device.applied_to(request.settings))
    runners = [ChainRunner(task, recorder) for task in tasks]
    most_threads = threads_by_chain(jobs, len(tasks))

    def work(runner: ChainRunner, n_threads: int) -> Chain | None:
        if runner.stopped:
            return runner.start
        return runner.run(source.with_threads(n_threads), seconds)

    def stop_all() -> None:
        for runner in runners:
            runner.stop()

    require_threads(min(jobs, len(tasks)))
    futures: list[Future[Chain | None]] = []
    with Interrupts(stop_all) as interrupts:
        pool = ThreadPoolExecutor(min(jobs, len(tasks)), thread_name_prefix="obliquebart")
        try:
            # One by one: those that were submitted must end even if another cannot be.
            futures.extend(
                pool.submit(work, *each) for each in zip(runners, most_threads, strict=True)
            )
            _watch(futures, runners, progress, recorder)
        except KeyboardInterrupt:  # of a program that handles Ctrl-C in its own way
            interrupts.heard = True
        finally:
            # After an interrupt or an error; this has no effect on a chain that has finished.
            stop_all()
            _wait_for_end(futures)
            pool.shutdown(wait=True)
            if recorder is not None:
                recorder.flush()
        if interrupts.heard and any(_failed_on_card(future) for future in futures):
            raise KeyboardInterrupt  # and do not begin again on the CPU
        finished = [future.result() for future in futures]
        if recorder is not None:
            recorder.report()
        done = [
            ChainProgress(chain, runner.n_done)
            for chain, runner in zip(finished, runners, strict=True)
            if chain is not None
        ]
        result = _new_run(request, done)
    return result._replace(ending="interrupted") if interrupts.heard else result


def _failed_on_card(future: Future[Chain | None]) -> bool:
    return isinstance(future.exception(), _core.CardError)


def _wait_for_end(futures: list[Future[Chain | None]]) -> None:
    """Wait for chains that were told to stop, which takes moments, also if the user is impatient.

    Another Ctrl-C would leave threads behind, whose draws are lost and which can crash the process
    on its way out.
    """
    while not all(future.done() for future in futures):
        with contextlib.suppress(KeyboardInterrupt):
            wait(futures)


def _new_run(request: RunRequest, done: list[ChainProgress]) -> Run:
    schedule = request.schedule
    n_finished = sum(progress.n_done == schedule.n_sweeps for progress in done)
    ending: Ending = "finished" if n_finished == schedule.n_chains else "out of time"
    chains = [progress.chain for progress in done if progress.chain.draws.n_draws > 0]
    return Run(chains, schedule, ending, request.device.name)


def _watch(
    futures: list[Future[Chain | None]],
    runners: list[ChainRunner],
    progress: FitProgress,
    recorder: Recorder | None,
) -> None:
    """Wait for all chains, reporting progress, and return early if one of them failed."""
    pending: set[Future[Chain | None]] = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            return
        progress.update([runner.snapshot() for runner in runners])
        if recorder is not None:
            recorder.report()


# A chain as arrays and numbers that pickle: draws, trace, state, sweeps done.
_PlainChain = tuple[list[dict[str, Any]], Trace, State | None, int]


def _run_remotely(
    problem: TrainingProblem,
    settings: dict[str, Any],
    task: ChainTask,
    start: _PlainChain | None,
    seconds: float | None,
    device: Device,
) -> _PlainChain:
    if start is not None:
        task = task._replace(start=_from_plain(problem.table, start))
    runner = ChainRunner(task)
    own_settings = device.made_ready(1).applied_to(settings_from_dict(settings))
    chain = runner.run(problem.to_core(own_settings), seconds)
    return _to_plain(ChainProgress(chain, runner.n_done))


def _run_on_backend(request: RunRequest, jobs: int, seconds: float | None) -> Run:
    problem, recorder = request.problem, request.recorder
    settings = settings_to_dict(request.settings)
    call: Callable[..., Any] = joblib.delayed(_run_remotely)
    calls = [
        call(
            problem,
            settings,
            task._replace(start=None),
            task.start and _to_plain(task.start),
            seconds,
            request.device,
        )
        for task in request.tasks
    ]
    # One after another, if possible, so that a finished chain is saved at once.
    backend, _ = get_active_backend()
    return_as = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    done: list[ChainProgress] = []
    for number, result in enumerate(joblib.Parallel(n_jobs=jobs, return_as=return_as)(calls)):
        done.append(_from_plain(problem.table, result))
        if recorder is not None:
            finished = done[-1].n_done == request.schedule.n_sweeps
            recorder.keep(number, done[-1].chain, finished=finished)
            recorder.flush()
            recorder.report()
    return _new_run(request, done)


def _to_plain(progress: ChainProgress) -> _PlainChain:
    ensembles, trace, state = progress.chain
    return [draws.to_arrays() for draws in ensembles], trace, state, progress.n_done


def _from_plain(table: EncodedTable, plain: _PlainChain) -> ChainProgress:
    arrays, trace, state, n_done = plain
    p_cont, n_levels = len(table.x_cont), table.n_levels
    ensembles = tuple(_core.Draws.from_arrays(each, p_cont, n_levels) for each in arrays)
    return ChainProgress(Chain(ensembles, trace, state), n_done)
