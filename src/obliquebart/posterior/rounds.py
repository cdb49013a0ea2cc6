"""Rounds: chains that run until they have converged, or until sweeps or time are used up.

A round is a plain schedule. If the chains have not converged at its end, all their sweeps become
burn-in, and the next round is at least as long as everything before it, or as long as what is left
of the sweeps allows, if that is half of it or more. The draws are therefore
those of a fit with the last schedule, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import numpy as np

from obliquebart.likelihood import Given, likelihood_of
from obliquebart.model.parameters import WORTHWHILE_SHARE, Schedule
from obliquebart.model.settings import ensemble_prefix
from obliquebart.posterior.convergence import (
    ARRIVED_RHAT,
    ARRIVED_SHARE,
    Convergence,
    FloatArray,
    measure_convergence,
    relative_to_mean,
)
from obliquebart.posterior.joining import as_burn_in
from obliquebart.posterior.probes import rows_between
from obliquebart.sampling.chain import Chain, ChainProgress
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.run import Run, RunRequest, run
from obliquebart.validation import effective_jobs

# If a round is stopped, its draws are kept if each chain has at least this many, or half of its
# draws; otherwise those of the previous round are kept. New draws are thinned more and come later,
# so fewer are as good.
FEWEST_DRAWS = 50

NOTHING_TO_KEEP = "Sampling was interrupted before there were any draws to keep."


class TimeLimit(NamedTuple):
    """The time at which chains must stop."""

    end: float
    """On the clock of `time.monotonic`."""

    @classmethod
    def after(cls, seconds: float) -> TimeLimit:
        """Return a limit this many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """Return the remaining seconds."""
        return max(self.end - time.monotonic(), 0.0)

    def share(self, n: int) -> TimeLimit:
        """Return the end of the first of n equal parts of the remaining time."""
        return TimeLimit.after(self.seconds_left / n)


def run_rounds(
    requests: Sequence[RunRequest],
    max_sweeps: int = 0,
    n_jobs: int | None = None,
    progress: Sequence[FitProgress] | None = None,
    limit: TimeLimit | None = None,
) -> list[Run]:
    """Run the chains of all posteriors of a model, round by round, until they have converged.

    Each request has the schedule of its first round, which always runs; later rounds stop at
    `max_sweeps` sweeps per chain. All posteriors finish a round before any starts the next one, so
    that an interrupt or the time limit leaves a complete model as early as possible. The results
    have the schedules of their chains. If a posterior has no draws, KeyboardInterrupt or
    TimeoutError is raised.
    """
    shown = progress or [FitProgress(False) for _ in requests]
    posteriors = [
        _Rounds(request, max_sweeps, n_jobs, display)
        for request, display in zip(requests, shown, strict=True)
    ]
    try:
        _take_turns(posteriors, limit)
    except KeyboardInterrupt:  # between two rounds, or before the next posterior's turn
        for posterior in posteriors:
            posterior.interrupt()
    finally:
        for posterior in posteriors:
            posterior.progress.close()
    runs = [posterior.result for posterior in posteriors if posterior.result is not None]
    if len(runs) < len(posteriors) or not all(run.chains for run in runs):
        if len(runs) < len(posteriors) or any(run.ending == "interrupted" for run in runs):
            raise KeyboardInterrupt(NOTHING_TO_KEEP)
        raise TimeoutError(_too_short(len(requests), requests[0].schedule.n_burn))
    return runs


def _too_short(n_posteriors: int, n_burn: int) -> str:
    advice = "allow more time, or lower n_burn, n_chains or n_trees."
    if n_posteriors == 1:
        before = f"any chain had its {n_burn} sweeps of burn-in behind it"
        return f"max_seconds was over before {before}: {advice}"
    return (
        f"max_seconds was over before the chains of all {n_posteriors} classes, which share the "
        f"time, had their {n_burn} sweeps of burn-in behind them: {advice}"
    )


def _take_turns(posteriors: list[_Rounds], limit: TimeLimit | None) -> None:
    """Run one round of each posterior in turn, until all are done or the user interrupts."""
    waiting = posteriors
    while waiting:
        for i, posterior in enumerate(waiting):
            posterior.run_next(limit and limit.share(len(waiting) - i))
            posterior.look_ahead(limit and limit.share(len(waiting)))
            if posterior.is_interrupted:
                return
            if len(posteriors) > 1:
                # Only one progress display at a time.
                posterior.progress.close()
        waiting = [posterior for posterior in waiting if not posterior.is_over]


class _Rounds:
    """The rounds of one posterior.

    `result` is what to keep if no other round follows. It is None before the end of the first
    round, and if the user interrupted the first round in other processes.
    """

    def __init__(
        self, request: RunRequest, max_sweeps: int, n_jobs: int | None, progress: FitProgress
    ) -> None:
        self.result: Run | None = None
        self.is_over = False
        self.is_interrupted = False
        self.progress = progress
        self._request = request
        self._max_sweeps = max_sweeps
        self._n_jobs = n_jobs
        self._following: Schedule | None = None
        self._pace = 0.0

    def run_next(self, limit: TimeLimit | None) -> None:
        """Run the first round, or the round planned by `look_ahead` if there is time for it."""
        try:
            if self.result is None:
                self.progress.open()
            elif _is_time_for(self._following, self._pace, limit):
                self._begin(self._following, self.result)
            else:
                self.is_over = True
                return
            began = time.monotonic()
            seconds = None if limit is None else limit.seconds_left
            latest = run(self._request, self._n_jobs, self.progress, seconds)
        except KeyboardInterrupt:
            # If chains run in other processes, the draws of this round are lost with them.
            self.interrupt()
            return
        self._pace = _seconds_per_sweep(self._request, time.monotonic() - began)
        self.is_over = latest.ending != "finished"
        self.result = _better(latest, self.result) if self.is_over else latest
        self.is_interrupted = latest.ending == "interrupted"

    def look_ahead(self, limit: TimeLimit | None) -> None:
        """Plan the next round, unless the chains have converged or no other is allowed."""
        if self.is_over or self.result is None:
            return
        schedule = self.result.schedule
        self._following = schedule.next_round(self._max_sweeps)
        self.is_over = True
        if not _is_time_for(self._following, self._pace, limit):
            return
        try:
            jobs = effective_jobs(self._n_jobs)
            convergence = measure_chains(self._request, self.result.chains, jobs)
        except KeyboardInterrupt:
            self.interrupt()
            return
        self.is_over = convergence.arrived
        longer = f"Continuing to {self._following.n_sweeps:,} sweeps."
        outlook = "Converged." if self.is_over else longer
        self.progress.tell(f"{_in_words(schedule, convergence.worst)}. {outlook}")

    def _begin(self, following: Schedule, latest: Run) -> None:
        """Turn the chains into starting points of the next round."""
        request = self._request
        table, n_done = request.problem.table, latest.schedule.n_sweeps
        starts = [as_burn_in(chain, latest.schedule, table) for chain in latest.chains]
        if request.recorder is not None:
            request.recorder.begin_round(following, starts)
        self.progress.extend(following.n_sweeps)
        self._request = request._replace(
            schedule=following, starts=[ChainProgress(start, n_done) for start in starts]
        )

    def interrupt(self) -> None:
        """End the rounds as if the user had stopped the latest one; its draws are kept."""
        self.is_over = self.is_interrupted = True
        if self.result is not None:
            self.result = self.result._replace(ending="interrupted")


class ChainsConvergence(NamedTuple):
    """The convergence of the chains of one posterior."""

    f: Convergence
    effects: list[Convergence]
    """Of each treatment. Their variance has no noise in it, so it is enough that they are fine."""

    @property
    def arrived(self) -> bool:
        """Whether a run that chooses its own length may stop."""
        return self.f.arrived and all(effect.tier == "fine" for effect in self.effects)

    @property
    def worst(self) -> Convergence:
        """The least certain of them."""
        return max([self.f, *self.effects], key=lambda each: each.rhat_f)


def measure_chains(request: RunRequest, chains: list[Chain], n_threads: int) -> ChainsConvergence:
    """Measure the convergence of finished chains of one posterior, in the engine's units."""
    problem, settings = request.problem, request.settings
    likelihood = likelihood_of(settings.likelihood, settings.more)
    x = rows_between(problem.table).to_core()
    trace = {name: np.stack([c.trace[name] for c in chains]) for name in chains[0].trace}

    def predict(e: int, link: str) -> FloatArray:
        return np.stack([c.ensembles[e].predict(x, link, 0.0, n_threads) for c in chains]).astype(
            np.float64
        )

    f = predict(0, likelihood.sum_link)
    noise = likelihood.noise_of(trace, (*f.shape[:2], 1))
    n_others = settings.n_ensembles - 1
    others = [predict(e + 1, link) for e, link in enumerate(likelihood.other_links(n_others))]
    effects: list[FloatArray] = []
    if likelihood.is_joint:
        f = np.concatenate(relative_to_mean([f, *others]), axis=-1)
    elif others:
        scalars, noise = noise, likelihood.noise_at_rows(noise, others)
        effects = likelihood.effects(scalars, others)
        f = f + likelihood.added(scalars, others)
    is_fixed = {s.name: not s.sampled for s in likelihood.noise if s.is_scale}
    is_fixed["sigma"] = settings.sigma_fixed
    for e in range(settings.n_ensembles):
        is_fixed[f"{ensemble_prefix(e)}leaf_sd"] = settings.ensemble(e).leaf_sd_fixed
    scales = {name: trace[name] for name in is_fixed if not is_fixed[name]}
    usual = f + (settings.offset + likelihood.usual_shift(settings.more))
    variance = likelihood.noise_on_f(Given(usual, noise)).mean(axis=(0, 1))
    return ChainsConvergence(
        measure_convergence(f, variance, scales),
        [measure_convergence(effect, 0.0, {}) for effect in effects],
    )


def _better(stopped: Run, before: Run | None) -> Run:
    """Return the stopped round, or the previous one if the stopped one has too few draws."""
    if before is None or has_enough_draws(stopped):
        return stopped
    return before._replace(ending=stopped.ending)


def has_enough_draws(stopped: Run) -> bool:
    """Return whether a round that was stopped has enough draws to be worth keeping."""
    lengths = [int(chain.draws.n_draws) for chain in stopped.chains]
    enough = min(FEWEST_DRAWS, math.ceil(stopped.schedule.n_draws / 2))
    return len(lengths) == stopped.schedule.n_chains and min(lengths) >= enough


def _seconds_per_sweep(request: RunRequest, seconds: float) -> float:
    """Return the seconds per sweep of all chains in a round; 0 if no sweep was needed."""
    schedule = request.schedule
    starts = request.starts or [None] * schedule.n_chains
    done = [0 if start is None else start.n_done for start in starts]
    n_sweeps = schedule.n_sweeps - sum(done) / len(done)
    return seconds / n_sweeps if n_sweeps > 0 else 0.0


def _is_time_for(
    following: Schedule | None, pace: float, limit: TimeLimit | None
) -> TypeGuard[Schedule]:
    """Return whether there is a next round, and time for enough of it."""
    if following is None or limit is None:
        return following is not None
    left = limit.seconds_left
    n_sweeps = following.n_sweeps - following.n_burn
    return left > 0 and WORTHWHILE_SHARE * n_sweeps * pace <= left


def _in_words(schedule: Schedule, convergence: Convergence) -> str:
    return (
        f"{schedule.n_sweeps:,} sweeps: Monte Carlo share {convergence.mc_share:.1%} "
        f"(target {ARRIVED_SHARE:.0%}), R-hat {convergence.rhat_f:.3f} (target {ARRIVED_RHAT})"
    )
