"""What a fit leaves behind: the posteriors, and the training data with which chains can go on."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.chains import Columns
from obliquebart.encoding import Encoding
from obliquebart.posterior import Posterior

__all__ = ["ARGUMENTS", "Fingerprint", "Fitted", "TrainingData", "differences"]

# SHA-256 digests by the name of the argument of `fit`; None for weights that were not given.
Fingerprint = dict[str, str | None]
ARGUMENTS = ("X", "y", "sample_weight")


class TrainingData(NamedTuple):
    """The rows of a fit in the engine's units."""

    columns: Columns
    target: NDArray[Any]
    """Standardised outcomes (float64) of a regression, class numbers (int64) otherwise."""
    weights: NDArray[np.float64] | None

    def outcome(self, code: int) -> NDArray[np.float64]:
        """Return what the engine calls y, for a class that of this class against the others."""
        is_continuous = self.target.dtype.kind == "f"
        values: NDArray[np.float64] = self.target if is_continuous else self.target == code
        return values.astype(np.float64, copy=False)

    def fingerprint(self) -> Fingerprint:
        """Return digests that tell whether other data are the same."""
        x_cont, x_cat, n_levels = self.columns
        return {
            "X": _digest(x_cont, x_cat, np.array(n_levels, np.int64)),
            "y": _digest(self.target),
            "sample_weight": None if self.weights is None else _digest(self.weights),
        }


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


def differences(old: Fingerprint, new: Fingerprint) -> list[str]:
    """Return the names of the arguments of `fit` that are not the same."""
    names = [name for name in old if old[name] != new.get(name)]
    # Weights decide which rows are used and how y is standardised, so they explain the others.
    return ["sample_weight"] if "sample_weight" in names else names


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
