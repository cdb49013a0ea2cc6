"""The arguments of `fit`, checked: its data, encoded, and how it is to run."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import CausalDesign
from obliquebart.files.checkpoint import Checkpoint, Identity, read_estimates
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.seen_rows import Keys
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.rounds import TimeLimit
from obliquebart.table import Encoding
from obliquebart.validation import check_count

RandomState = int | np.random.RandomState | None
# The share of `max_seconds` for estimating the noise; without an estimate the prior is vague.
NOISE_SHARE = 0.25


class FitOptions(NamedTuple):
    """How long a fit may take, and where and how often it saves its chains."""

    limit: TimeLimit | None
    path: str | PathLike[str] | None
    every: int | None
    parameters: dict[str, Any]
    """Of the estimator, as plain values, for a checkpoint; empty without one."""

    def estimates(self) -> Estimates:
        """Return the estimates of the noise that a checkpoint has, or none yet.

        Bad options are an error here, before short fits take their time.
        """
        if self.every is not None:
            check_count("checkpoint_every", self.every, 1)
            if self.path is None:
                raise ValueError("checkpoint_every requires checkpoint: pass the path of a file.")
        stored = None if self.path is None else read_estimates(self.path)
        return Estimates(self.limit, stored)

    def open_checkpoint(
        self, identity: Identity, seeds: list[int], random_state: RandomState
    ) -> Checkpoint | None:
        """Return the checkpoint of a fit, or None if the user wants none."""
        if self.path is None:
            return None
        any_seed = random_state is None
        return Checkpoint(self.path, self.every, identity, seeds, any_seed=any_seed)


class Estimates:
    """The estimates of the noise that a fit asks for, one after the other.

    A fit that goes on from a checkpoint has them from there; otherwise short fits make them.
    """

    def __init__(
        self, limit: TimeLimit | None, stored: list[NoiseEstimate | None] | None = None
    ) -> None:
        self._limit = limit
        self._stored = stored
        self.asked: list[NoiseEstimate | None] = []

    def next(self, make: Callable[[float | None], NoiseEstimate | None]) -> NoiseEstimate | None:
        """Return the next one; `make` is told how many seconds it may take."""
        if self._stored is None:
            limit = self._limit
            self.asked.append(make(None if limit is None else NOISE_SHARE * limit.seconds_left))
        else:
            # A fit that asks for more than are stored differs from the stored one in its prior.
            stored = self._stored[len(self.asked) :]
            self.asked.append(stored[0] if stored else None)
        return self.asked[-1]


class ReadData(NamedTuple):
    """The arguments of `fit`, checked and encoded."""

    encoding: Encoding
    problem: TrainingProblem
    row_keys: Keys
    design: CausalDesign | None = None
    row_numbers: NDArray[np.int64] | None = None
    """Where the rows are in the user's table; None if they are all of it."""

    @property
    def chain_encoding(self) -> Encoding:
        """The encoding of all columns of the chains."""
        return self.encoding if self.design is None else self.design.wide
