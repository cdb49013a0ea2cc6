"""The training problem: the rows of a fit in the engine's units, and how to recognise them."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.sampling.row_order import row_order
from obliquebart.table.encoded import EncodedTable

__all__ = [
    "ARGUMENTS",
    "CoreProblem",
    "Fingerprint",
    "TrainingData",
    "TrainingProblem",
    "differences",
]

# SHA-256 digests by the name of the argument of `fit`; None for weights that were not given.
Fingerprint = dict[str, str | None]

ARGUMENTS = ("X", "y", "sample_weight")


class TrainingData(NamedTuple):
    """The rows of a fit in the engine's units."""

    columns: EncodedTable
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


class TrainingProblem(NamedTuple):
    """What every chain of a fit shares, in the engine's units."""

    columns: EncodedTable
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    settings: _core.Settings

    def to_core(self) -> CoreProblem:
        """Return what the engine works on, with the rows in the order that suits it."""
        x_cont, x_cat, n_levels = self.columns
        order = row_order(x_cont, x_cat, self.y)
        data = _core.Data(x_cont, x_cat, n_levels, order)
        if order is None:
            return CoreProblem(data, self.y, self.weights, self.settings)
        weights = None if self.weights is None else self.weights[order]
        return CoreProblem(data, self.y[order], weights, self.settings)


class CoreProblem(NamedTuple):
    """The same with the engine's own copy of the columns; shared by the chains of a process."""

    data: _core.Data
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    settings: _core.Settings

    def sampler(self, seed: int, chain: int) -> _core.Sampler:
        """Return a chain at its start."""
        return _core.Sampler(self.data, self.y, self.weights, self.settings, seed, chain)


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
