"""The arguments of `fit`, checked: its data, encoded, and how it is to run."""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import CausalDesign
from obliquebart.files.checkpoint import Checkpoint, Identity
from obliquebart.model.seen_rows import Keys
from obliquebart.model.training import TrainingProblem
from obliquebart.posterior.rounds import TimeLimit
from obliquebart.table import Encoding

RandomState = int | np.random.RandomState | None


class FitOptions(NamedTuple):
    """How long a fit may take, and where and how often it saves its chains."""

    limit: TimeLimit | None
    path: str | PathLike[str] | None
    every: int | None

    def open_checkpoint(
        self, identity: Identity, seeds: list[int], random_state: RandomState
    ) -> Checkpoint | None:
        """Return the checkpoint of a fit, or None if the user wants none."""
        if self.path is not None:
            any_seed = random_state is None
            return Checkpoint(self.path, self.every, identity, seeds, any_seed=any_seed)
        if self.every is not None:
            raise ValueError("checkpoint_every requires checkpoint: pass the path of a file.")
        return None


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
