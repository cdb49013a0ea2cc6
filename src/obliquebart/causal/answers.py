"""Summaries of effects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class AverageEffect(NamedTuple):
    """An effect averaged over rows, by its posterior."""

    mean: float
    sd: float
    low: float
    high: float
    coverage: float
    """Of the interval from `low` to `high`."""
    probability_positive: float
    n_rows: int
    name: str = ""
    """What is compared."""

    @classmethod
    def of_draws(
        cls, draws: FloatArray, coverage: float, n_rows: int, name: str = ""
    ) -> AverageEffect:
        """Summarise draws of an average."""
        tail = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, [tail, 1.0 - tail])
        sd = float(draws.std(ddof=1)) if len(draws) > 1 else 0.0
        positive = float((draws > 0).mean())
        mean = float(draws.mean())
        return cls(mean, sd, float(low), float(high), coverage, positive, n_rows, name)
