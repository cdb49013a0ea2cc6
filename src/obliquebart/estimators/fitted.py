"""What a fit leaves behind: the posteriors, and the training data with which chains can go on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.training import Fingerprint, TrainingData
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding

__all__ = ["Fitted"]


class Fitted(NamedTuple):
    """The result of a fit: all that a model file holds besides the estimator's parameters."""

    encoding: Encoding
    posteriors: list[Posterior]
    """One; for a classification none for one class, and one a class for more than two."""
    classes: NDArray[Any] | None
    """The labels of a classification, sorted."""
    n_draws: int
    """Draws in all; all posteriors have as many."""
    training: TrainingData | None
    """None if a model file was written without."""
    fingerprint: Fingerprint
    """Of the training data, also where they are not here."""

    def outcome(self, training: TrainingData, i: int) -> NDArray[np.float64]:
        """Return the engine's y of posterior i."""
        return training.outcome(1 if len(self.posteriors) == 1 else i)
