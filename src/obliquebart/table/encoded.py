"""A table as the engine takes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core

__all__ = ["EncodedTable"]


class EncodedTable(NamedTuple):
    """Encoded columns; unlike `_core.Data` they pickle."""

    x_cont: NDArray[np.float32]
    x_cat: NDArray[np.uint32]
    n_levels: list[int]

    @property
    def p_cont(self) -> int:
        """Return the number of continuous columns."""
        return int(self.x_cont.shape[0])

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.x_cont.shape[1])

    def to_core(self) -> _core.Data:
        """Return the engine's copy of the columns."""
        return _core.Data(self.x_cont, self.x_cat, self.n_levels)
