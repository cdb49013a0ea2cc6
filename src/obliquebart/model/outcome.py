"""The outcome in the engine's units, and the way back to the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from obliquebart.likelihood.base import Likelihood

# Scales beyond these, in the engine's units, leave nothing of a float32 residual.
SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e6


@dataclass(frozen=True)
class OutcomeScale:
    """The way back from the engine's units to the user's.

    A draw f of the ensemble is `location + scale * f` for the user, and the engine's sigma is
    `sigma_unit * sigma` (they differ from `scale` where observation weights have mean other
    than one).
    """

    location: float = 0.0
    scale: float = 1.0
    sigma_unit: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """Outcomes in the engine's units."""

    # (n,): what the likelihood makes of y, standardised numbers or the numbers of classes.
    values: NDArray[Any]
    weights: NDArray[np.float64] | None  # with mean 1; None where all are equal
    scale: OutcomeScale
    likelihood: Likelihood
    classes: NDArray[Any] | None = None  # the labels, sorted or in their order
    # If an outcome has several numbers, such as the limits of an interval, those after the first.
    more: tuple[NDArray[np.float64], ...] = ()

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn: one row, or all outcomes equal."""
        return self.likelihood.is_constant(self)


class NoiseEstimate(NamedTuple):
    """What short fits say about a table: the noise around f, in the engine's units, and rules."""

    sigma: float
    """The scale of a row of weight one; with normal noise the standard deviation."""
    df: float
    """Degrees of freedom of Student's t; infinite for normal noise."""
    likelihood: str = ""
    """Name of the likelihood whose noise it is."""
    is_soft: bool = False
    """Whether it is that of short fits with soft rules."""


def require_scale(source: str, what: str, ratio: float, outcome: Outcome) -> None:
    """Raise ValueError if a standard deviation in the engine's units is far from 1."""
    if not SMALLEST_SCALE <= ratio <= LARGEST_SCALE:
        raise ValueError(
            f"{source} is out of range for this y: the {what} would have a standard deviation of "
            f"{ratio:g} times {outcome.likelihood.unit(outcome.scale)}; allowed is "
            f"{SMALLEST_SCALE:g} to {LARGEST_SCALE:g}."
        )
