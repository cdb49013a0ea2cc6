"""The training problem: the rows of a fit in the engine's units, and how to recognise them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.model.outcome import Outcome
from obliquebart.model.row_order import row_order
from obliquebart.table.encoded import EncodedTable, digest_of

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
        weights = self.outcome.weights
        return {
            "X": self.table.digest(),
            "y": digest_of(self.outcome.values, *self.outcome.more),
            "sample_weight": None if weights is None else digest_of(weights),
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

    def with_threads(self, n_threads: int) -> CoreProblem:
        """Return the same for a chain that may use so many threads."""
        settings = self.settings.copy()
        settings.n_threads = n_threads
        return self._replace(settings=settings)

    @contextmanager
    def open_chain(self, seed: int, chain: int) -> Iterator[LocalChain]:
        """Yield a chain at its start."""
        yield LocalChain(self.sampler(seed, chain))


class LocalChain(NamedTuple):
    """A chain of this process that is running."""

    sampler: _core.Sampler

    @property
    def n_sweeps(self) -> int:
        """Return the sweeps that the chain has done since it began."""
        return int(self.sampler.n_sweeps)

    def run(self, n_burn: int, n_draws: int, control: _core.Control) -> None:
        """Sweep; the draws of the last sweeps are kept."""
        self.sampler.run(n_burn, n_draws, 1, control)

    def start_from(self, state: dict[str, Any], kept: Sequence[_core.Draws]) -> None:
        """Let the chain go on from a state, and append to these draws."""
        self.sampler.set_state(state)
        for e, draws in enumerate(kept):
            self.sampler.set_draws(draws, e)

    def saved(self) -> tuple[tuple[_core.Draws, ...], dict[str, Any], dict[str, Any]]:
        """Return the draws of each ensemble, trace and state."""
        sampler = self.sampler
        kept = tuple(sampler.draws_of(e) for e in range(sampler.n_ensembles))
        return kept, sampler.trace, sampler.state()


def differences(old: Fingerprint, new: Fingerprint) -> list[str]:
    """Return the names of the arguments of `fit` that differ."""
    names = [name for name in old if old[name] != new.get(name)]
    # Weights decide which rows are used and how y is standardised, so they explain the others.
    return ["sample_weight"] if "sample_weight" in names else names
