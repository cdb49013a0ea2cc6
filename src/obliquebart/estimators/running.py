"""How the estimators run their chains: from the prior of each posterior to its draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from obliquebart import _core
from obliquebart.causal.design import CausalDesign
from obliquebart.estimators.arguments import Estimates, FitOptions, RandomState, ReadData
from obliquebart.estimators.ending import (
    CHECK_INTERRUPTED,
    Sampled,
    interrupted_words,
    warn_if_out_of_time,
)
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.judging import Judging
from obliquebart.files.checkpoint import Identity
from obliquebart.model.calibration import calibrate
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.parameters import CheckedHyperparameters, RunLength, SweepCost
from obliquebart.model.settings import (
    has_soft_rules,
    n_trees_in_all,
    settings_from_dict,
    settings_to_dict,
)
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.posterior import Posterior, equal_posteriors
from obliquebart.posterior.rounds import TimeLimit, run_rounds
from obliquebart.sampling.device import DeviceChoice, resolve_device
from obliquebart.sampling.noise import estimate_noise, tails_to_try
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.remote import release
from obliquebart.sampling.run import Run, RunRequest, new_seed, require_run_memory
from obliquebart.validation import check_seed, effective_jobs

# What short fits are given: data, and priors to try.
NoiseFits = tuple[TrainingProblem, list[_core.Settings]]


class Running(Judging):
    """A base of the estimators: new chains for `fit`, and more sweeps for `sample_more`."""

    _fitted: Fitted
    n_jobs: int | None
    device: DeviceChoice
    random_state: RandomState
    progress: bool | Literal["auto"]

    def _sample(
        self,
        parameters: CheckedHyperparameters,
        length: RunLength,
        read: ReadData,
        options: FitOptions,
    ) -> Sampled:
        """Return the posteriors of new chains, or of chains continued from a checkpoint."""
        problem, encoding = read.problem, read.chain_encoding
        likelihood, classes = problem.outcome.likelihood, problem.outcome.classes
        n_posteriors = len(likelihood.titles(classes))
        n_parts = len(likelihood.labels(classes))
        first_round = length.first_round(n_parts)
        require_run_memory(problem.table.n_rows_here, parameters.n_trees, first_round, n_parts)
        estimates = options.estimates()
        settings = [
            self._prior(parameters, problem.part(i), estimates) for i in range(n_posteriors)
        ]
        rng = check_seed(self.random_state)
        seeds = [new_seed(rng) for _ in settings]
        priors = [settings_to_dict(prior) for prior in settings]
        identity = Identity(
            type(self).__name__,
            options.parameters,
            n_parts,
            problem,
            priors,
            length,
            estimates.asked,
        )
        checkpoint = options.open_checkpoint(identity, seeds, self.random_state)
        if checkpoint is not None:
            seeds = checkpoint.seeds

        requests = []
        for i, prior in enumerate(settings):
            request = RunRequest(problem.part(i), prior, first_round, seeds[i])
            if checkpoint is not None:
                recorder = checkpoint.task(i)
                request = request._replace(
                    schedule=recorder.schedule, starts=recorder.starts, recorder=recorder
                )
            requests.append(request)
        cost = None
        if options.limit is None:
            n_trees = n_trees_in_all(settings[0])
            is_soft = has_soft_rules(settings[0])
            n_latents = (parameters.votes - 1) * settings[0].n_ensembles
            cost = SweepCost(problem.table.n_rows, n_trees, n_posteriors, is_soft, n_latents)
        runs = self._run(problem, requests, length.max_sweeps(cost), options.limit)
        posteriors = equal_posteriors(
            [
                Posterior.from_run(result, encoding, prior, problem.outcome.scale)
                for prior, result in zip(settings, runs, strict=True)
            ]
        )
        if any(run.ending == "interrupted" for run in runs):
            is_auto = length.n_draws == "auto"
            words = interrupted_words(posteriors[0], first_round, is_auto)
            return Sampled(posteriors, words, runs[0].device)
        unchecked = None
        if not warn_if_out_of_time(runs, posteriors[0], first_round):
            unchecked = self._check_chains(posteriors, problem, read.design)
        return Sampled(posteriors, unchecked, runs[0].device)

    def _check_chains(
        self, posteriors: list[Posterior], problem: TrainingProblem, design: CausalDesign | None
    ) -> str | None:
        """Warn if the chains disagree; return what to say if the user interrupts this check."""
        try:
            self._warn_if_apart(posteriors, problem, design)
        except KeyboardInterrupt:
            return CHECK_INTERRUPTED
        return None

    def _prior(
        self,
        parameters: CheckedHyperparameters,
        problem: TrainingProblem,
        estimates: Estimates,
    ) -> _core.Settings:
        """Return the settings of one posterior, after estimating the noise if necessary."""
        outcome, noise = problem.outcome, None
        if outcome.likelihood.wants_noise(parameters):
            parameters, noise = self._ask_short_fits(
                parameters, lambda each: self._noise_fits(each, problem), estimates
            )
        return calibrate(parameters, outcome, problem.table.p_cont, noise)

    def _noise_fits(
        self, parameters: CheckedHyperparameters, problem: TrainingProblem
    ) -> NoiseFits:
        """Return what the short fits that estimate the noise are given: data, and priors to try."""
        given, outcome = parameters.noise_df, problem.outcome
        # `nu` says how much an estimate counts, not how short fits make it.
        loose = replace(parameters, nu=None)
        simple = replace(outcome, likelihood=outcome.likelihood.when_estimating)
        return problem, [
            calibrate(replace(loose, noise_df=df), simple, problem.table.p_cont)
            for df in (tails_to_try(problem.table.n_rows) if given is None else (given,))
        ]

    def _ask_short_fits(
        self,
        parameters: CheckedHyperparameters,
        fits: Callable[[CheckedHyperparameters], NoiseFits],
        estimates: Estimates,
    ) -> tuple[CheckedHyperparameters, NoiseEstimate | None]:
        """Return an estimate of the noise, and the parameters with the rules to use."""
        if parameters.soft != "auto":
            problem, priors = fits(parameters)
            return parameters, estimates.next(
                lambda seconds: estimate_noise(problem, priors, self.n_jobs, seconds)
            )
        problem, hard = fits(replace(parameters, soft=False))
        _, soft = fits(replace(parameters, soft=True))
        noise = estimates.next(
            lambda seconds: estimate_noise(problem, hard, self.n_jobs, seconds, soft)
        )
        return replace(parameters, soft=noise is not None and noise.is_soft), noise

    def _continue(self, problem: TrainingProblem, n_draws: int) -> Sampled:
        """Return the posteriors with more draws of the same chains."""
        before = self._fitted.posteriors
        requests = [
            # The state of a chain includes its random number generator, so no seed is needed.
            RunRequest(
                problem.part(i),
                settings_from_dict(posterior.settings),
                replace(posterior.schedule, n_burn=0, n_draws=n_draws),
                seed=0,
                starts=posterior.starts(),
            )
            for i, posterior in enumerate(before)
        ]
        runs = self._run(problem, requests)
        posteriors = equal_posteriors(
            [posterior.extended(result) for posterior, result in zip(before, runs, strict=True)]
        )
        added = posteriors[0].n_draws - before[0].n_draws
        if added != n_draws or any(run.ending == "interrupted" for run in runs):
            return Sampled(
                posteriors,
                f"Sampling was interrupted: {added} of {n_draws} draws per chain were added.",
                runs[0].device,
            )
        words = self._check_chains(posteriors, problem, self._fitted.design)
        return Sampled(posteriors, words, runs[0].device)

    def _run(
        self,
        problem: TrainingProblem,
        requests: list[RunRequest],
        max_sweeps: int = 0,
        limit: TimeLimit | None = None,
    ) -> list[Run]:
        """Run the chains of all posteriors and show their progress."""
        outcome, likelihood = problem.outcome, problem.outcome.likelihood
        units = likelihood.trace_units(outcome.scale)
        shown = {
            scalar.name: (scalar.symbol, units.get(scalar.name, 1.0))
            for scalar in likelihood.noise
            if scalar.sampled and scalar.in_progress
        }
        jobs = effective_jobs(self.n_jobs)
        together = min(jobs, requests[0].schedule.n_chains)
        settings = [request.settings for request in requests]
        device = resolve_device(self.device, problem, settings, together, jobs)
        requests = [request._replace(device=device) for request in requests]
        progress = [
            FitProgress(self.progress, request.schedule.n_sweeps, shown, title, device.name)
            for title, request in zip(likelihood.titles(outcome.classes), requests, strict=True)
        ]
        try:
            return run_rounds(requests, max_sweeps, self.n_jobs, progress, limit)
        finally:
            release(problem)
