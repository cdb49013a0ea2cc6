"""What a fit leaves behind: the posteriors, and the training problem with which chains go on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.seen_rows import Keys
from obliquebart.model.training import Fingerprint, TrainingProblem
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding


class Fitted(NamedTuple):
    """The result of a fit: all that a model file holds besides the estimator's parameters."""

    estimator: str
    """Its name in `ESTIMATORS`."""
    encoding: Encoding
    posteriors: list[Posterior]
    """One for each of the likelihood's `titles`."""
    classes: NDArray[Any] | None
    """The labels of a classification, sorted."""
    n_draws: int
    """Draws in all; all posteriors have as many."""
    training: TrainingProblem | None
    """None if a model file was written without."""
    fingerprint: Fingerprint
    """Of the training problem, also where that is not here."""
    class_weights: NDArray[np.float64] | None = None
    """What draws of the probabilities are multiplied by, for each of `classes`; None for one."""
    seconds: float | None = None
    """How long sampling took; None after `load`, and where a checkpoint may have saved some."""
    target_name: str | None = None
    """What the user calls the outcome."""
    row_keys: Keys | None = None
    """Of the training rows, sorted; None in model files without them."""

    @property
    def n_rows(self) -> int | None:
        """Rows of the fit; None where neither they nor the chains' states were kept."""
        if self.training is not None:
            return self.training.table.n_rows
        states = [state for posterior in self.posteriors for state in posterior.states]
        return len(states[0]["residual"]) if states else None
