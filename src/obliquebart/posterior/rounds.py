"""Rounds: chains that run until they have arrived, or until sweeps or time are spent.

A round is a plain schedule. If the chains have not arrived at its end, all their sweeps become
burn-in, and the next round is at least as long as everything before it. So the draws are those of
a fit with the last schedule, bit for bit.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from obliquebart.likelihood import LIKELIHOODS, Given
from obliquebart.model.parameters import Schedule
from obliquebart.posterior.convergence import (
    ARRIVED_RHAT,
    ARRIVED_SHARE,
    Convergence,
    measure_convergence,
)
from obliquebart.posterior.joining import as_burn_in
from obliquebart.posterior.probes import rows_between
from obliquebart.sampling.chain import Chain, ChainProgress
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.run import Run, RunRequest, run
from obliquebart.validation import effective_jobs

# If a round is stopped, its draws count if each chain has so many of them; else those of the round
# before do. They are further apart, and later, than those, so fewer are as good.
FEWEST_DRAWS = 50
# What there must be time for of a round. Its draws then span as many sweeps as the round before.
WORTHWHILE_SHARE = 0.5


class TimeLimit(NamedTuple):
    """The time at which chains must stop."""

    end: float
    """As `time.monotonic` counts."""

    @classmethod
    def after(cls, seconds: float) -> TimeLimit:
        """Return the time so many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """Return the time until then."""
        return max(self.end - time.monotonic(), 0.0)

    def share(self, n: int) -> TimeLimit:
        """Return the end of the first of n equal parts of the time that is left."""
        return TimeLimit.after(self.seconds_left / n)


def run_rounds(
    request: RunRequest,
    max_sweeps: int = 0,
    n_jobs: int | None = None,
    progress: FitProgress | None = None,
    limit: TimeLimit | None = None,
) -> Run:
    """Run one round after another until the chains have arrived or there may be no other.

    The request has the schedule of the first round, which is run in any case; no other may lead to
    more than `max_sweeps` sweeps of a chain. The result has the schedule of its chains. Without a
    single draw, KeyboardInterrupt or TimeoutError is raised.
    """
    progress = progress or FitProgress(False)
    progress.open()
    try:
        result = _run_rounds(request, max_sweeps, n_jobs, progress, limit)
    finally:
        progress.close()
    if not result.chains and result.ending == "interrupted":
        raise KeyboardInterrupt
    if not result.chains:
        raise TimeoutError(
            f"max_seconds was over before any chain had its {request.schedule.n_burn} sweeps of "
            "burn-in behind it: allow more time, or lower n_burn, n_chains or n_trees."
        )
    return result


def _run_rounds(
    request: RunRequest,
    max_sweeps: int,
    n_jobs: int | None,
    progress: FitProgress,
    limit: TimeLimit | None,
) -> Run:
    before: Run | None = None
    while True:
        began = time.monotonic()
        try:
            latest = run(request, n_jobs, progress, None if limit is None else limit.seconds_left)
        except KeyboardInterrupt:
            # Other processes are gone with the draws of this round.
            if before is None:
                raise
            return before._replace(ending="interrupted")
        if latest.ending != "finished":
            return _better(latest, before)
        following = latest.schedule.next_round(max_sweeps)
        pace = _seconds_per_sweep(request, time.monotonic() - began)
        if following is None or not _is_time_for(following, pace, limit):
            return latest
        try:
            convergence = measure_chains(request, latest.chains, effective_jobs(n_jobs))
            if convergence.arrived:
                progress.tell(f"{_in_words(latest.schedule, convergence)}. Arrived.")
                return latest
            starts = [
                as_burn_in(chain, latest.schedule, request.problem.table) for chain in latest.chains
            ]
            if request.recorder is not None:
                request.recorder.begin_round(following, starts)
        except KeyboardInterrupt:
            return latest._replace(ending="interrupted")
        progress.tell(
            f"{_in_words(latest.schedule, convergence)}. On to {following.n_sweeps:,} sweeps."
        )
        progress.extend(following.n_sweeps)
        before = latest
        n_done = latest.schedule.n_sweeps
        request = request._replace(
            schedule=following, starts=[ChainProgress(start, n_done) for start in starts]
        )


def measure_chains(request: RunRequest, chains: list[Chain], n_threads: int) -> Convergence:
    """Return how far finished chains of one posterior have got, in the engine's units."""
    problem, settings = request.problem, request.settings
    likelihood = LIKELIHOODS[settings.likelihood]
    x = rows_between(problem.table).to_core()
    f = np.stack([chain.draws.predict(x, "identity", 0.0, n_threads) for chain in chains])
    trace = {name: np.stack([c.trace[name] for c in chains]) for name in chains[0].trace}
    given = Given(f.astype(np.float64), likelihood.noise_of(trace, (*f.shape[:2], 1)))
    is_fixed = {"sigma": settings.sigma_fixed, "leaf_sd": settings.leaf_sd_fixed}
    scales = {name: trace[name] for name in is_fixed if not is_fixed[name]}
    noise = likelihood.noise_on_f(given).mean(axis=(0, 1))
    return measure_convergence(given.f, noise, scales)


def _better(stopped: Run, before: Run | None) -> Run:
    """Return the round that was stopped, or the one before it, if its draws are too few."""
    lengths = [int(chain.draws.n_draws) for chain in stopped.chains]
    is_useful = len(lengths) == stopped.schedule.n_chains and min(lengths) >= FEWEST_DRAWS
    return stopped if before is None or is_useful else before._replace(ending=stopped.ending)


def _seconds_per_sweep(request: RunRequest, seconds: float) -> float:
    """Return what a sweep of all chains took in a round; 0 if none was needed."""
    schedule = request.schedule
    starts = request.starts or [None] * schedule.n_chains
    done = [0 if start is None else start.n_done for start in starts]
    n_sweeps = schedule.n_sweeps - sum(done) / len(done)
    return seconds / n_sweeps if n_sweeps > 0 else 0.0


def _is_time_for(following: Schedule, pace: float, limit: TimeLimit | None) -> bool:
    if limit is None:
        return True
    left = limit.seconds_left
    n_sweeps = following.n_sweeps - following.n_burn
    return left > 0 and WORTHWHILE_SHARE * n_sweeps * pace <= left


def _in_words(schedule: Schedule, convergence: Convergence) -> str:
    return (
        f"{schedule.n_sweeps:,} sweeps: Monte Carlo share {convergence.mc_share:.1%} "
        f"(aim {ARRIVED_SHARE:.0%}), R-hat {convergence.rhat_f:.3f} (aim {ARRIVED_RHAT})"
    )
