"""What the estimators share: their parameters, `fit` and `sample_more`."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.arguments import FitOptions, RandomState, ReadData
from obliquebart.estimators.collections import read_collection, require_in_memory
from obliquebart.estimators.documentation import with_shared_parameters
from obliquebart.estimators.ending import Sampled
from obliquebart.estimators.explaining import Explaining
from obliquebart.estimators.exporting import Exporting
from obliquebart.estimators.fitted import Fitted
from obliquebart.estimators.judging import Judging
from obliquebart.estimators.running import Running
from obliquebart.estimators.saving import Savable
from obliquebart.estimators.showing import Showing
from obliquebart.exceptions import (
    ConstantOutcomeWarning,
    warn_caller,
)
from obliquebart.files.plain import to_plain
from obliquebart.likelihood import Likelihood
from obliquebart.model.directions import core_directions, grids_of, warn_of_unused
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import (
    MOST_ROWS_OF_AUTO,
    CheckedHyperparameters,
    Hyperparameters,
    RunLength,
)
from obliquebart.model.seen_rows import training_keys
from obliquebart.model.training import TrainingProblem, differences
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.rounds import TimeLimit
from obliquebart.sampling.device import DEVICES, DeviceChoice, check_device
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.remote import is_placed
from obliquebart.table import Encoding
from obliquebart.table.dask import computed, is_dask
from obliquebart.validation import (
    check_choice,
    check_count,
    check_number,
    check_seed,
    check_target_name,
    count_rows,
    effective_jobs,
)

Self = TypeVar("Self", bound="ObliqueBART")

_HYPERPARAMETERS = tuple(Hyperparameters.__dataclass_fields__)
# Parameters that say how chains run, or what is done with their draws.
_NOT_OF_DRAWS = (
    *("n_chains", "n_burn", "n_draws", "n_thin", "random_state"),
    *("n_jobs", "device", "progress", "class_weight"),
)


def _kept(problem: TrainingProblem) -> TrainingProblem | None:
    """Return what a model keeps of its training data: nothing that is on a cluster."""
    return None if is_placed(problem) else problem


def _check_leaf_size(parameters: CheckedHyperparameters, n_rows: int) -> None:
    if parameters.min_samples_leaf > n_rows:
        raise ValueError(
            f"min_samples_leaf={parameters.min_samples_leaf} is larger than the number of "
            f"training rows ({n_rows})."
        )


class ObliqueBART(Running, Savable, Judging, Explaining, Exporting, Showing, BaseEstimator):
    """Base class of the estimators; each has its own likelihood."""

    # What outcomes are, as far as the class alone says it.
    _family: ClassVar[Likelihood]
    # What has the directions as given, and nothing beside them.
    _rules_of_directions: ClassVar[str] = "rule"
    # The key in `ESTIMATORS` used in model files; a user's subclass is saved as its base class.
    _saved_as: ClassVar[str]

    n_trees: int
    n_burn: int
    n_draws: int | Literal["auto"]
    n_thin: int
    n_chains: int
    categorical_features: Any
    dates: Literal["auto"] | None
    n_jobs: int | None
    device: DeviceChoice
    random_state: RandomState
    progress: bool | Literal["auto"]

    def _assign(self, arguments: dict[str, Any]) -> None:
        """Set the constructor's arguments, given as its `locals()`."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def _checked_parameters(self) -> tuple[CheckedHyperparameters, RunLength]:
        """Return the parameters as plain values; raise an error if one is invalid."""
        parameters = self.get_params(deep=False)
        given = {name: parameters[name] for name in _HYPERPARAMETERS if name in parameters}
        FitProgress(self.progress)
        check_choice("dates", self.dates, (None, "auto"))
        effective_jobs(self.n_jobs)
        check_choice("device", self.device, DEVICES)
        check_seed(self.random_state)
        length = RunLength(self.n_chains, self.n_burn, self.n_draws, self.n_thin)
        return Hyperparameters(**given).validated(), length.validated()

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters that draws depend on, but for the run length and the seed."""
        return {
            name: to_plain(name, value)
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_OF_DRAWS
        }

    def _read(
        self, parameters: CheckedHyperparameters, X: Any, y: Any, sample_weight: Any
    ) -> ReadData:
        """Check and encode the arguments of `fit`."""
        owner = type(self).__name__
        likelihood = self._choose_likelihood(y)
        if is_dask(X):
            require_in_memory(X, owner, likelihood)
            read = read_collection(
                X,
                y,
                sample_weight,
                likelihood,
                parameters,
                categorical_features=self.categorical_features,
                dates=self.dates,
                owner=owner,
            )
            _check_leaf_size(parameters, read.problem.table.n_rows)
            return read
        rows, values, weights, more = likelihood.read(y, sample_weight, count_rows(X, owner))
        encoding, table = Encoding.fit_transform(
            X,
            categorical_features=self.categorical_features,
            dates=self.dates,
            feature_scaling=parameters.feature_scaling,
            grids=grids_of(parameters.directions),
            rows=rows,
            owner=owner,
        )
        _check_leaf_size(parameters, table.n_rows)
        outcome = likelihood.encode(values, weights)
        if more:
            outcome = replace(outcome, more=more)
        keys = training_keys(table, values if outcome.classes is None else outcome.values, rows)
        return ReadData(encoding, TrainingProblem(table, outcome), keys)

    @classmethod
    def _takes(cls, likelihood: Likelihood) -> bool:
        """Say whether a model of this class may have the likelihood."""
        return likelihood.task == cls._family.task

    def _choose_likelihood(self, y: Any) -> Likelihood:  # noqa: ARG002
        """Return the likelihood that the parameters ask for, and perhaps the kind of y."""
        return self._family

    def _shift(self, X: Any, exposure: Any = None) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Return what is added to f at each row of X: the log of its exposure."""
        if exposure is not None:
            raise TypeError(f"{type(self).__name__} has no exposures: only counts have them.")
        return None

    def _class_weights(self, outcome: Outcome) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Return the factors for the class probabilities, if any."""
        return None

    @with_shared_parameters
    def fit(
        self: Self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_seconds: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        target_name: str | None = None,
    ) -> Self:
        """Draw from the posterior given training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            NumPy, pandas, polars, PyArrow or any other table that narwhals supports. A regressor
            with ``noise="constant"`` also takes a Dask array or data frame, whose rows then stay on
            the workers of the cluster.
        y : array-like of shape (n,)
            Finite numbers for a regressor; text, integers or booleans for a classifier. For
            survival, events and times, or limits, in two columns.
        sample_weight : array-like of shape (n,), optional
            The noise of row i has variance sigma² / sample_weight[i]. For a classifier or for
            survival, row i counts sample_weight[i] times, which for a classifier need not be an
            integer. Rows of weight 0 are ignored.
        max_seconds : float, optional
            Wall time after which the chains stop; all classes share it. With ``n_draws="auto"``
            it replaces the limit on CPU seconds, and a round starts only if there is time for at
            least half of it. If the first round, or a fixed `n_draws`, does not finish in time,
            the fit keeps the draws so far and warns. The draws depend on the speed of the machine.
            The limit also applies on joblib's process backends.
        checkpoint : str or path, optional
            A file in which to save the chains while they run. If the process dies, the same call
            continues from the file and gives the same draws, bit for bit, as an uninterrupted
            fit. The file is kept at the end; the checkpoint of a different fit raises an error.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C. If every class has draws, the model keeps them and can be used; the
            message gives their number. The exception is raised in any case, so that
            `cross_val_score`, `GridSearchCV` and scripts stop instead of scoring a shortened fit.
            In a notebook, the next cell can use the model; a script can catch the exception.
        """
        require_in_memory(X, type(self).__name__, self._family)
        y = computed(y)
        limit = None
        if max_seconds is not None:
            limit = TimeLimit.after(check_number("max_seconds", max_seconds, 0, math.inf))
        target_name = check_target_name(target_name, y)
        parameters, length = self._checked_parameters()
        check_device(self.device, on_cluster=is_dask(X), is_soft=parameters.soft is True)
        read = self._read(parameters, X, y, sample_weight)
        encoding, problem = read.encoding, read.problem
        directions = core_directions(parameters.directions, encoding)
        warn_of_unused(directions, encoding, self._rules_of_directions)
        outcome = problem.outcome
        parameters = replace(parameters, core_directions=directions)
        if parameters.soft == "auto" and not self._may_be_soft(parameters, problem):
            parameters = replace(parameters, soft=False)
        class_weights = self._class_weights(outcome)
        seconds = None
        if outcome.constant:
            warn_caller(outcome.likelihood.constant_warning(outcome), ConstantOutcomeWarning)
            shape = (length.n_chains, length.first_round().n_draws)
            sampled = Sampled(
                [
                    Posterior.constant(encoding, parameters.n_trees, shape, outcome)
                    for _ in outcome.likelihood.titles(outcome.classes)
                ]
            )
        else:
            own = {} if checkpoint is None else self._plain_parameters()
            options = FitOptions(limit, checkpoint, checkpoint_every, own)
            start = time.perf_counter()
            sampled = self._sample(parameters, length, read, options)
            seconds = time.perf_counter() - start if checkpoint is None else None
        posteriors = sampled.posteriors
        n_draws = length.n_chains * length.first_round().n_draws
        if posteriors:
            n_draws = posteriors[0].n_chains * posteriors[0].n_draws
        self._set_fitted(
            Fitted(
                estimator=self._saved_as,
                encoding=encoding,
                likelihood=outcome.likelihood,
                posteriors=posteriors,
                classes=outcome.classes,
                n_draws=n_draws,
                training=_kept(problem),
                fingerprint=problem.fingerprint(),
                class_weights=class_weights,
                seconds=seconds,
                device=sampled.device,
                target_name=target_name,
                row_keys=read.row_keys,
                design=read.design,
                row_numbers=read.row_numbers,
            )
        )
        sampled.raise_if_interrupted()
        return self

    def sample_more(
        self: Self, n_draws: int, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue the chains of a finished fit.

        The result is the same, bit for bit, as that of `fit` with the total number of draws and
        the `n_burn` and `n_thin` of `posterior_.schedule`. For this, a fitted model keeps its
        encoded training data in memory, 4 bytes per value.

        Parameters
        ----------
        n_draws : int
            Additional draws per chain, with the same thinning as the existing ones.
        X, y, sample_weight : optional
            The training data, exactly as passed to `fit`. Required after `load` or `pickle`,
            unless the file was saved with `include_data=True`. Different data raise an error.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, as in `fit`. The model keeps the new draws that every chain of every
            class has completed.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTRegressor
        >>> x = np.linspace(0, 1, 50).reshape(-1, 1)
        >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=50, n_draws=30, random_state=0)
        >>> model.fit(x, x[:, 0]).sample_more(20).posterior_.n_draws
        50
        """
        check_is_fitted(self)
        n_draws = check_count("n_draws", n_draws, 1)
        fitted = self._fitted
        start = time.perf_counter()
        problem = self._same_problem(X, y, sample_weight)
        if problem.outcome.constant:
            sampled = Sampled(
                [
                    Posterior.constant(
                        fitted.encoding,
                        p.n_trees,
                        (p.n_chains, p.n_draws + n_draws),
                        problem.outcome,
                    )
                    for p in fitted.posteriors
                ]
            )
        else:
            sampled = self._continue(problem, n_draws)
        posteriors = sampled.posteriors
        n_kept = fitted.n_draws + self.n_chains * n_draws
        if posteriors:
            n_kept = posteriors[0].n_chains * posteriors[0].n_draws
        seconds = fitted.seconds
        if seconds is not None:
            seconds += time.perf_counter() - start
        self._set_fitted(
            fitted._replace(
                posteriors=posteriors,
                training=_kept(problem),
                n_draws=n_kept,
                seconds=seconds,
                device=sampled.device,
            )
        )
        sampled.raise_if_interrupted()
        return self

    def _same_problem(self, X: Any, y: Any, sample_weight: Any) -> TrainingProblem:
        """Return the training data: the stored data, or the given data if they are the same."""
        fitted = self._fitted
        if X is None:
            if fitted.training is None:
                raise ValueError(
                    "This model was loaded without its training data: pass the X and y of fit (and "
                    "sample_weight, if used) to sample_more."
                )
            return fitted.training
        require_in_memory(X, type(self).__name__, self._family)
        read = self._read(self._checked_parameters()[0], X, y, sample_weight)
        problem, other = read.problem, self._differences(read)
        if other:
            old, new = fitted.encoding, read.encoding
            if "X" in other and old.feature_scaling != new.feature_scaling:
                raise ValueError(
                    f"The chains can only continue with feature_scaling={old.feature_scaling!r}, "
                    f"as in fit, not {new.feature_scaling!r}."
                )
            if "votes" in self.get_params(deep=False):
                other = [
                    name.replace("sample_weight", "sample_weight times votes") for name in other
                ]
            raise ValueError(
                "The chains can only continue with the training data of fit, but "
                f"{' and '.join(other)} {'differs' if len(other) == 1 else 'differ'}."
            )
        return problem

    def _differences(self, read: ReadData) -> list[str]:
        """Return the names of the arguments of `fit` that differ from those now."""
        return differences(self._fitted.fingerprint, read.problem.fingerprint())

    def _may_be_soft(self, parameters: CheckedHyperparameters, problem: TrainingProblem) -> bool:
        """Say whether soft="auto" has a choice: the fits that estimate the noise make it."""
        table = problem.table
        return (
            problem.outcome.likelihood.wants_noise(parameters)
            and self.device != "cuda"
            and not is_placed(problem)
            and table.p_cont > 0
            and table.n_rows <= MOST_ROWS_OF_AUTO
        )

    @property
    def soft_(self) -> bool:
        """Whether the rules of the fitted trees are soft."""
        check_is_fitted(self)
        return any(posterior.is_soft for posterior in self._fitted.posteriors)

    def _set_fitted(self: Self, fitted: Fitted) -> Self:
        self._fitted = fitted
        self.__dict__.pop("_importances", None)
        self.n_features_in_ = fitted.encoding.n_features_in_
        self.target_name_ = fitted.target_name
        self.device_ = fitted.device
        if fitted.encoding.is_named:
            self.feature_names_in_ = fitted.encoding.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
