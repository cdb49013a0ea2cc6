"""The training problem: the rows of a fit in the engine's units, and how to recognise them."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.model.outcome import Outcome
from obliquebart.model.row_order import row_order
from obliquebart.table.encoded import EncodedTable

# SHA-256 digests by the name of the argument of `fit`; None for weights that were not given.
Fingerprint = dict[str, str | None]
ARGUMENTS = ("X", "y", "sample_weight")


class TrainingProblem(NamedTuple):
    """The rows of a fit: shared by chains, checkpoints, model files and other processes."""

    table: EncodedTable
    outcome: Outcome

    def part(self, i: int) -> TrainingProblem:
        """Return the problem of posterior i of a model."""
        return self._replace(outcome=self.outcome.likelihood.part(self.outcome, i))

    def fingerprint(self) -> Fingerprint:
        """Return digests, by which the same data can be recognised."""
        x_cont, x_cat, n_levels = self.table
        weights = self.outcome.weights
        return {
            "X": _digest(x_cont, x_cat, np.array(n_levels, np.int64)),
            "y": _digest(self.outcome.values, *self.outcome.more),
            "sample_weight": None if weights is None else _digest(weights),
        }

    def to_core(self, settings: _core.Settings) -> CoreProblem:
        """Return the engine's copy of one posterior's problem, with its rows in a fast order."""
        y, weights = self.outcome.values, self.outcome.weights
        key = self.outcome.likelihood.order_key(self.outcome)
        order = row_order(self.table.x_cont, self.table.x_cat, key)
        if self.outcome.more:
            y = np.stack([y, *self.outcome.more])
        if order is not None:
            y, weights = y[..., order], None if weights is None else weights[order]
        return CoreProblem(self.table.to_core(order), y, weights, settings)


class CoreProblem(NamedTuple):
    """The engine's copy of a training problem; shared by the chains of a process."""

    data: _core.Data
    y: NDArray[np.float64]
    """(n,), or (k, n) where an outcome has k numbers."""
    weights: NDArray[np.float64] | None
    settings: _core.Settings

    def sampler(self, seed: int, chain: int) -> _core.Sampler:
        """Return a chain at its start."""
        return _core.Sampler(self.data, self.y, self.weights, self.settings, seed, chain)


def differences(old: Fingerprint, new: Fingerprint) -> list[str]:
    """Return the names of the arguments of `fit` that differ."""
    names = [name for name in old if old[name] != new.get(name)]
    # Weights decide which rows are used and how y is standardised, so they explain the others.
    return ["sample_weight"] if "sample_weight" in names else names


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
