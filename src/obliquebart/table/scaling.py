"""The map of one continuous column to [-1, 1], learned from its training rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.display.numbers import plain, plain_alike
from obliquebart.table.words import as_date

FEATURE_SCALINGS = ("range", "rank", "blend", "joint")

# Keeps model files small. With more distinct values, the rank map interpolates between this many,
# evenly spread over the ranks; the error is less than 1/4096 of the ranks.
MAX_KNOTS = 4096

# Far outside any sensible range, but sums of many such values stay finite in float32.
LARGEST = 1e30

# Columns whose largest magnitude is outside 2**±900 are shifted before anything is subtracted
# or divided; after that, numbers below TINY are zero to the rank map, whose slopes stay finite.
EXTREME_EXPONENT = 900
TINY = 1e-284


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """A monotone map of one column; the training minimum becomes -1, the maximum 1.

    A column with at most one distinct training value always maps to 0.
    """

    low: float  # NaN, like `high`, if all training values were missing
    high: float
    # Weight of the min-max map: 1 for "range" and "joint", 0 for "rank", ½ for "blend". The rank
    # map has the remaining weight.
    range_share: float
    # Training values, increasing, shifted if extreme; empty if `range_share` is 1.
    knots: NDArray[np.float64]
    heights: NDArray[np.float64]  # their mid-ranks, stretched to [-1, 1]
    # Whether the values are days since 1970-01-01, made from a column of dates.
    is_date: bool = False

    @classmethod
    def fit(
        cls,
        values: NDArray[np.float64],
        feature_scaling: str,
        limits: tuple[float, float] | None = None,
        *,
        is_date: bool = False,
    ) -> ColumnScale:
        """Learn the map from training values, which may be NaN (missing) but not infinite.

        `limits`, if given, replace the column's own minimum and maximum (joint scaling).

        Examples
        --------
        >>> scale = ColumnScale.fit(np.array([0.0, 1.0, 10.0]), "rank")
        >>> scale.apply(np.array([0.0, 0.5, 1.0, 10.0, 99.0]))
        array([-1. , -0.5,  0. ,  1. ,  1. ], dtype=float32)
        """
        low, high = limits_of(values)
        if limits is not None and not np.isnan(low):
            low, high = limits
        share = {"range": 1.0, "joint": 1.0, "rank": 0.0, "blend": 0.5}[feature_scaling]
        knots = heights = np.empty(0)
        if share < 1.0 and low < high:
            knots, heights = _mid_ranks(_flush(np.ldexp(values, -_shift(low, high))))
        return cls(low, high, share, knots, heights, is_date)

    @property
    def is_empty(self) -> bool:
        """Whether all training values were missing."""
        return bool(np.isnan(self.low))

    @property
    def is_constant(self) -> bool:
        """Whether there was at most one training value, so that all values map to 0."""
        return not self.low < self.high

    def in_words(self, value: float, digits: int = 6) -> str:
        """Format a value in the column's units."""
        return as_date(value) if self.is_date else plain(value, digits)

    def range_in_words(self) -> str:
        """Format the range of the training values."""
        if self.is_empty:
            return "no value"
        ends = [self.low, self.high]
        return " to ".join(map(as_date, ends) if self.is_date else plain_alike(ends, 6))

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Map values; NaN stays NaN. If all training values were missing, the result is 0."""
        if self.is_empty:
            return np.zeros(len(values), dtype=np.float32)
        if self.low == self.high:
            return np.where(np.isnan(values), np.nan, 0.0).astype(np.float32)
        if self.range_share == 1.0:
            scaled = self._by_range(values)
        elif self.range_share == 0.0:
            scaled = self._by_rank(values)
        else:
            scaled = self.range_share * self._by_range(values)
            scaled += (1.0 - self.range_share) * self._by_rank(values)
        return np.clip(scaled, -LARGEST, LARGEST, out=scaled).astype(np.float32)

    def undo(self, scaled: NDArray[Any]) -> NDArray[np.float64]:
        """Invert the map where possible; NaN stays NaN.

        A column with at most one training value gives that value. The rank map clips to the
        training range.

        Examples
        --------
        >>> scale = ColumnScale.fit(np.array([0.0, 1.0, 10.0]), "blend")
        >>> scale.undo(scale.apply(np.array([0.5, 10.0, 20.0]))).round(6)
        array([ 0.5, 10. , 20. ])
        """
        scaled = np.asarray(scaled, dtype=np.float64)
        if self.is_constant:
            return np.where(np.isnan(scaled), np.nan, self.low)
        inside = np.clip(scaled, -1.0, 1.0)
        if self.range_share == 1.0:
            values = self.low * (0.5 - 0.5 * inside) + self.high * (0.5 + 0.5 * inside)
        else:
            knots = np.ldexp(self.knots, _shift(self.low, self.high))
            values = np.interp(inside, self.apply(knots), knots)
        if self.range_share > 0.0:
            half = self.high / 2.0 - self.low / 2.0
            with np.errstate(over="ignore"):
                values = values + (scaled - inside) / self.range_share * half
        return np.asarray(values, dtype=np.float64)

    def _by_range(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = self._shifted(np.array([self.low, self.high]))
        # exactly 1 at `high`; values far outside a tiny range become infinite, and the caller
        # clips them
        with np.errstate(over="ignore"):
            scaled: NDArray[np.float64] = self._shifted(values) - low
            scaled /= high - low
            scaled *= 2.0
        scaled -= 1.0
        return scaled

    def _by_rank(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = np.clip(values, self.low, self.high)
        return np.interp(_flush(self._shifted(inside)), self.knots, self.heights)

    def _shifted(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        shift = _shift(self.low, self.high)
        with np.errstate(over="ignore"):
            return np.ldexp(values, -shift) if shift else values

    def to_state(self) -> dict[str, Any]:
        """JSON-able state."""
        return {
            "low": None if self.is_empty else self.low,
            "high": None if self.is_empty else self.high,
            "range_share": self.range_share,
            "knots": self.knots.tolist(),
            "heights": self.heights.tolist(),
            **({"is_date": True} if self.is_date else {}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ColumnScale:
        """Rebuild from `to_state`'s dictionary, which may come from an untrusted file."""
        low, high = (np.nan if state[key] is None else float(state[key]) for key in ("low", "high"))
        share = float(state["range_share"])
        knots = np.asarray(state["knots"], dtype=np.float64)
        heights = np.asarray(state["heights"], dtype=np.float64)
        empty = np.isnan(low) and np.isnan(high)
        if not (empty or (np.isfinite([low, high]).all() and low <= high)):
            raise ValueError(f"invalid limits of a column: {low}, {high}")
        if share not in (0.0, 0.5, 1.0):
            raise ValueError(f"range_share must be 0, 0.5 or 1, got {share}")
        if knots.ndim != 1 or knots.shape != heights.shape:
            raise ValueError("knots and heights must be lists of equal length")
        if len(knots) != 0 or (share < 1.0 and low < high):
            _check_knots(knots, heights, low, high)
        is_date = state.get("is_date", False)
        if not isinstance(is_date, bool):
            raise ValueError(f"is_date must be true or false, got {is_date!r}")
        return cls(low, high, share, knots, heights, is_date)


def limits_of(values: NDArray[np.float64]) -> tuple[float, float]:
    """Minimum and maximum, ignoring missing values; (NaN, NaN) if all are missing."""
    if len(values) == 0:
        return np.nan, np.nan
    return float(np.fmin.reduce(values)), float(np.fmax.reduce(values))


def _shift(low: float, high: float) -> int:
    """Power of two that scales an extreme column to a safe range, or 0."""
    exponent = math.frexp(max(abs(low), abs(high)))[1]
    return exponent - max(-EXTREME_EXPONENT, min(exponent, EXTREME_EXPONENT))


def _flush(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) < TINY, 0.0, values)


def _mid_ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct values and their mid-ranks, stretched so that the ends are at -1 and 1."""
    knots, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    # Of one type: where memory is about to end, NumPy can crash as it converts on the way.
    counts = counts.astype(np.float64)
    mid = np.cumsum(counts) - 0.5 * counts
    if len(knots) > MAX_KNOTS:
        kept = np.unique(np.searchsorted(mid, np.linspace(mid[0], mid[-1], MAX_KNOTS)))
        knots, mid = knots[kept], mid[kept]
    heights = 2.0 * ((mid - mid[0]) / (mid[-1] - mid[0])) - 1.0
    return knots, heights


def _check_knots(
    knots: NDArray[np.float64], heights: NDArray[np.float64], low: float, high: float
) -> None:
    ends = _flush(np.ldexp([low, high], -_shift(low, high)))
    increasing = bool((np.diff(knots) > 0).all() and (np.diff(heights) > 0).all())
    if not (
        increasing
        and len(knots) >= 2
        and (knots[[0, -1]] == ends).all()
        and (heights[[0, -1]] == [-1.0, 1.0]).all()
    ):
        raise ValueError("knots must increase from low to high, heights from -1 to 1")
