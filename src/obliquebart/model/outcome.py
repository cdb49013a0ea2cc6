"""The outcome in the engine's units, and the way back to the user's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outcome", "OutcomeScale", "binary_outcome", "continuous_outcome"]


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
    """Outcomes in the engine's units.

    `values` are standardised for a "gaussian" likelihood, and 0 or 1 for a "probit" one;
    `weights` have mean 1, and are None where all are equal.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    scale: OutcomeScale
    likelihood: str

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn: one row, or all outcomes equal."""
        return bool(self.values.min() == self.values.max())


def continuous_outcome(
    y: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Outcome:
    """Standardise y by its (weighted) mean and its standard deviation.

    The first step divides by a power of two, which is exact: outcomes of any magnitude work, and
    outcomes multiplied by a power of two give the same standardised values. Weights multiplied
    by a constant give the same weights, and sigma takes up the constant.
    """
    exponent = math.frexp(float(np.abs(y).max()))[1]
    mantissa = np.ldexp(y, -exponent)
    mean_weight = 1.0
    if weights is not None:
        relative = weights / weights.max()
        mean_weight = float(weights.max() * relative.mean())
        weights = None if (relative == 1.0).all() else relative / relative.mean()
    # A constant y must come out as exactly zero, also where its mean would be rounded.
    constant = bool(mantissa.min() == mantissa.max())
    mean = float(mantissa[0] if constant else np.average(mantissa, weights=weights))
    sd = 0.0 if constant else float(np.std(mantissa, ddof=1))
    scale = math.ldexp(sd, exponent)
    return Outcome(
        values=(mantissa - mean) / sd if sd > 0 else np.zeros_like(y),
        weights=weights,
        scale=OutcomeScale(
            location=math.ldexp(mean, exponent),
            scale=scale,
            sigma_unit=scale * math.sqrt(mean_weight),
        ),
        likelihood="gaussian",
    )


def binary_outcome(labels: NDArray[np.bool_]) -> Outcome:
    """Outcomes of a probit likelihood; the latent scale is the user's."""
    return Outcome(labels.astype(np.float64), None, OutcomeScale(), "probit")
