"""The part of the estimators that outlives a process: saving, pickling, sampling on."""

from __future__ import annotations

import os
import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import InterruptedFitWarning
from obliquebart.model.parameters import Schedule
from obliquebart.model.settings import settings_from_dict
from obliquebart.model.training import TrainingData, TrainingProblem, differences
from obliquebart.posterior.posterior import Posterior
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.run import run
from obliquebart.validation import check_count

__all__ = ["Persistent"]

Self = TypeVar("Self", bound="Persistent")

# Attributes that `_set_fitted` makes, so that a pickle need not hold them.
RESTORED = (
    *("posterior_", "posteriors_", "classes_", "n_features_in_", "feature_names_in_"),
    *("_encoding", "_probabilities"),
)


class Persistent:
    """A base of the estimators; `_fitted` is set by their `_set_fitted`."""

    _fitted: Fitted
    n_chains: int
    n_jobs: int | None
    n_thin: int
    progress: Any

    def _set_fitted(self: Self, fitted: Fitted) -> Self:
        """Set the fitted attributes; every estimator has its own."""
        raise NotImplementedError

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Encode rows as `fit` did; every estimator has its own."""
        raise NotImplementedError

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        include_state: bool = True,
        include_data: bool = False,
    ) -> None:
        """Write the fitted model to one file that `obliquebart.load` reads.

        The file is in the safetensors format and holds no code. It is written whole or not at all:
        an older file of that name is replaced at the end.

        Parameters
        ----------
        path : str or path
            The file, by custom with the ending `.obart`.
        include_state : bool, default=True
            Keep the state of each chain, so that `sample_more` can go on. That is, for each row of
            the training data, the residual (4 bytes a chain) and for a classifier the latent
            outcome (8 bytes a chain): leave it out where these must not leave the house.
        include_data : bool, default=False
            Keep the encoded training data too, so that `sample_more` needs no others.

        Notes
        -----
        Kept are the draws, their trace, the prior, the parameters, and names and levels of the
        columns. A `RandomState` as `random_state` becomes None.
        """
        from obliquebart.files import model_file

        check_is_fitted(self)
        model_file.save(self, path, include_state=include_state, include_data=include_data)

    def sample_more(
        self: Self, n_draws: int, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on with the chains of a finished fit.

        The model then is the same, bit for bit, as if `fit` had been asked for as many draws. For
        this a fitted model keeps its encoded training data in memory, 4 bytes a value.

        Parameters
        ----------
        n_draws : int
            Draws that each chain keeps in addition, `n_thin` sweeps apart.
        X, y, sample_weight : optional
            The training data, as they were in `fit`. They are needed after `load` or `pickle`,
            unless the file was saved with `include_data=True`; others are refused.

        Returns
        -------
        self

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
        n_thin = check_count("n_thin", self.n_thin, 1)
        fitted = self._fitted
        training = self._same_training_data(X, y, sample_weight)
        posteriors = []
        for i, posterior in enumerate(fitted.posteriors):
            schedule = Schedule(posterior.n_chains, 0, n_draws, n_thin)
            y_of_posterior = fitted.outcome(training, i)
            more, interrupted = self._go_on(posterior, training, y_of_posterior, schedule)
            if interrupted and len(fitted.posteriors) > 1:
                # The other classes have no new draws, so the model stays as it was.
                raise KeyboardInterrupt
            if interrupted:
                warnings.warn(
                    f"Sampling was interrupted: {more.n_draws - posterior.n_draws} of {n_draws} "
                    "draws a chain were added.",
                    InterruptedFitWarning,
                    stacklevel=2,
                )
            posteriors.append(more)
        n_kept = fitted.n_draws + self.n_chains * n_draws
        if posteriors:
            n_kept = posteriors[0].n_chains * posteriors[0].n_draws
        return self._set_fitted(
            fitted._replace(posteriors=posteriors, training=training, n_draws=n_kept)
        )

    def _same_training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Return the data of the fit: those that were kept, or the given ones if they are it."""
        fitted = self._fitted
        if X is None:
            if fitted.training is None:
                raise ValueError(
                    "This model was loaded without its training data: pass the X and y of fit (and "
                    "sample_weight, if there was one) to sample_more."
                )
            return fitted.training
        training = self._training_data(X, y, sample_weight)
        other = differences(fitted.fingerprint, training.fingerprint())
        if other:
            raise ValueError(
                "The chains can only go on with the training data of fit, but "
                f"{' and '.join(other)} {'is' if len(other) == 1 else 'are'} not the same."
            )
        return training

    def _go_on(
        self,
        posterior: Posterior,
        training: TrainingData,
        y: NDArray[np.float64],
        schedule: Schedule,
    ) -> tuple[Posterior, bool]:
        if posterior.scale.scale == 0.0:
            shape = (posterior.n_chains, posterior.n_draws + schedule.n_draws)
            n_trees = posterior.n_trees
            return Posterior.constant(posterior.encoding, n_trees, shape, posterior.scale), False
        if not posterior.states:
            raise ValueError(
                "This model was saved without the state of its chains (include_state=False), so "
                "they cannot go on: fit it again."
            )
        settings = settings_from_dict(posterior.settings)
        is_gaussian = settings.likelihood == "gaussian"
        sigma_unit = posterior.scale.sigma_unit if is_gaussian else None
        progress = FitProgress(self.progress, schedule.n_sweeps, sigma_unit)
        problem = TrainingProblem(training.columns, y, training.weights, settings)
        result = run(problem, schedule, 0, self.n_jobs, progress, posterior.starts(y))
        return posterior.extended(result), result.interrupted

    def __getstate__(self) -> dict[str, Any]:
        from obliquebart.files import model_file

        # BaseEstimator's, which is a dictionary; mypy sees that of object.
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        fitted = state.pop("_fitted", None)
        if fitted is not None:
            for name in RESTORED:
                state.pop(name, None)
            state["_model_file"] = model_file.to_bytes(fitted, {})
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from obliquebart.files import model_reader

        state = dict(state)
        data = state.pop("_model_file", None)
        super().__setstate__(state)  # type: ignore[misc]
        if data is not None:
            self._set_fitted(model_reader.read_model(data).fitted)
