"""What both estimators share: the parameters, the table and the chains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from obliquebart.estimators.saving import Persistent
from obliquebart.exceptions import InterruptedFitWarning
from obliquebart.files.checkpoint import Checkpoint, Identity
from obliquebart.model.calibration import calibrate
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import CheckedHyperparameters, Hyperparameters, Schedule
from obliquebart.model.settings import settings_to_dict
from obliquebart.model.training import TrainingData, TrainingProblem
from obliquebart.posterior.posterior import Posterior
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.run import check_seed, effective_jobs, new_seed, run
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable

__all__ = [
    "CheckpointOptions",
    "ObliqueBART",
    "Plan",
    "RandomState",
    "Training",
    "check_leaf_size",
    "warn",
    "warn_interrupted",
]

RandomState = int | np.random.RandomState | None

_HYPERPARAMETERS = tuple(Hyperparameters.__dataclass_fields__)


class Plan(NamedTuple):
    """The validated parameters of one call of fit."""

    hyper: CheckedHyperparameters
    schedule: Schedule


class Training(NamedTuple):
    """An encoded training table."""

    encoding: Encoding
    columns: EncodedTable


class CheckpointOptions(NamedTuple):
    """Where and how often a fit puts its chains away."""

    path: str | PathLike[str] | None
    every: int | None


class ObliqueBART(Persistent, BaseEstimator):
    """What both estimators share: the parameters, the table and the chains."""

    def _plan(self) -> Plan:
        parameters = self.get_params(deep=False)
        given = {name: parameters[name] for name in _HYPERPARAMETERS if name in parameters}
        FitProgress(self.progress)
        effective_jobs(self.n_jobs)
        check_seed(self.random_state)
        schedule = Schedule(self.n_chains, self.n_burn, self.n_draws, self.n_thin)
        return Plan(Hyperparameters(**given).validated(), schedule.validated())

    def _encode_training(self, X: Any, rows: NDArray[np.int64] | None, plan: Plan) -> Training:
        encoding, encoded = Encoding.fit_transform(
            X,
            categorical_features=self.categorical_features,
            feature_scaling=plan.hyper.feature_scaling,
            rows=rows,
            owner=type(self).__name__,
        )
        return Training(encoding, encoded)

    def _sample(
        self,
        plan: Plan,
        encoding: Encoding,
        data: TrainingData,
        outcomes: Mapping[str, Callable[[], Outcome]],
        keeping: CheckpointOptions,
    ) -> tuple[list[Posterior], bool]:
        """Run the chains of each outcome, by title; also say whether the user stopped them."""
        if keeping.path is None and keeping.every is not None:
            raise ValueError("checkpoint_every says how often, but not where: give checkpoint too.")
        settings = [
            calibrate(plan.hyper, make_outcome(), encoding.p_cont)
            for make_outcome in outcomes.values()
        ]
        rng = check_seed(self.random_state)
        seeds = [new_seed(rng) for _ in outcomes]
        checkpoint = None
        if keeping.path is not None:
            priors = [settings_to_dict(prior) for prior in settings]
            identity = Identity(type(self).__name__, data, priors, plan.schedule)
            any_seed = self.random_state is None
            checkpoint = Checkpoint(keeping.path, keeping.every, identity, seeds, any_seed=any_seed)
            seeds = checkpoint.seeds
        posteriors = []
        for i, (title, make_outcome) in enumerate(outcomes.items()):
            outcome = make_outcome()
            sigma_unit = outcome.scale.sigma_unit if outcome.likelihood == "gaussian" else None
            progress = FitProgress(self.progress, plan.schedule.n_sweeps, sigma_unit, title)
            problem = TrainingProblem(data.columns, outcome.values, outcome.weights, settings[i])
            recorder = None if checkpoint is None else checkpoint.task(i)
            starts = None if recorder is None else recorder.starts
            result = run(problem, plan.schedule, seeds[i], self.n_jobs, progress, starts, recorder)
            if result.interrupted and len(outcomes) > 1:
                # The other classes have no draws yet, so there is no model to keep.
                raise KeyboardInterrupt
            posteriors.append(Posterior.from_run(result, encoding, settings[i], outcome.scale))
        return posteriors, result.interrupted

    def _remember(self, encoding: Encoding) -> None:
        self.n_features_in_ = encoding.n_features_in_
        if encoding.is_named:
            self.feature_names_in_ = encoding.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posteriors_") or hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def check_leaf_size(min_samples_leaf: int, n_rows: int) -> None:
    """Raise ValueError where no tree could have a leaf."""
    if min_samples_leaf > n_rows:
        raise ValueError(
            f"min_samples_leaf={min_samples_leaf} is more than the {n_rows} training rows: "
            "no tree could have a leaf."
        )


def warn(message: str, category: type[Warning], depth: int = 3) -> None:
    """Warn the caller of `fit`."""
    warnings.warn(message, category, stacklevel=depth)


def warn_interrupted(posterior: Posterior, schedule: Schedule, depth: int = 4) -> None:
    """Say how much of an interrupted fit was kept."""
    warn(
        f"The fit was interrupted: it keeps {posterior.n_draws} of {schedule.n_draws} draws of "
        f"{posterior.n_chains} of {schedule.n_chains} chains. Check posterior_.trace for "
        "convergence before using it.",
        InterruptedFitWarning,
        depth,
    )
