"""The result of a fit: the posteriors, and the training problem to continue the chains."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import CausalDesign
from obliquebart.likelihood import Likelihood
from obliquebart.model.seen_rows import Keys
from obliquebart.model.training import Fingerprint, TrainingProblem
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding


class Fitted(NamedTuple):
    """The result of a fit: what a model file contains besides the estimator's parameters."""

    estimator: str
    """Its name in `ESTIMATORS`."""
    encoding: Encoding
    likelihood: Likelihood
    """How the outcome depends on the trees; the same for all posteriors but for their noise."""
    posteriors: list[Posterior]
    """One for each title of the likelihood."""
    classes: NDArray[Any] | None
    """The labels of a classification as numbered for the engine: sorted; three or more that have an
    order, in it."""
    n_draws: int
    """Total number of draws, the same for all posteriors."""
    training: TrainingProblem | None
    """None if loaded from a model file without training data."""
    fingerprint: Fingerprint
    """Fingerprint of the training problem, present even if the problem is not."""
    class_weights: NDArray[np.float64] | None = None
    """Factors for the draws of the probabilities, one per class; None without class weights."""
    seconds: float | None = None
    """How long sampling took; None after `load` or with a checkpoint."""
    device: str | None = None
    """What the chains ran on last; None after `load`."""
    target_name: str | None = None
    """What the user calls the outcome."""
    row_keys: Keys | None = None
    """Of the training rows, sorted; None in model files without them."""
    design: CausalDesign | None = None
    """Treatments and propensities of a causal model."""
    row_numbers: NDArray[np.int64] | None = None
    """Where the training rows of a causal model are in the table of `fit`; None if they are all of
    it, or in files without them."""

    @property
    def parts(self) -> list[Posterior]:
        """The posterior of each class, or the only one there is."""
        return [part for posterior in self.posteriors for part in posterior.parts()]

    @property
    def n_rows(self) -> int | None:
        """Number of training rows; None if neither they nor the chains' states were kept."""
        if self.training is not None:
            return self.training.table.n_rows
        states = [state for posterior in self.posteriors for state in posterior.states]
        return len(states[0]["residual"]) if states else None
