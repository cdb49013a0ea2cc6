"""Survival times as users give them: an event and a time, or the limits of an interval."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.table.frames import unmasked

FloatArray = NDArray[np.float64]
# Of the logarithm of a time: there is no such limit. Files and the engine want finite numbers.
NO_LIMIT = 1e300
FORMS = (
    "y must have two columns: whether the event was observed and the time (a structured array with "
    "a bool and a float field, a data frame, or an array of shape (n, 2)); or, for interval "
    'censoring, a structured array or data frame with the columns "lower" and "upper"'
)


class Times(NamedTuple):
    """What is known of each time: it is observed (equal limits), or in (lower, upper]."""

    lower: FloatArray
    """0 if there is no lower limit."""
    upper: FloatArray
    """Infinite if there is no upper limit."""

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Whether each time was observed."""
        return np.asarray(self.lower == self.upper)

    @property
    def is_right_censored(self) -> NDArray[np.bool_]:
        """Whether nothing is known but that the event was later than a time."""
        return np.asarray(np.isinf(self.upper))

    @property
    def middle(self) -> FloatArray:
        """The time, the middle of an interval, or the only limit."""
        inside = 0.5 * (self.lower + self.upper)
        return np.asarray(np.where(self.is_right_censored, self.lower, inside))

    def take(self, rows: NDArray[Any]) -> Times:
        """Return some rows."""
        return Times(self.lower[rows], self.upper[rows])

    def to_log(self) -> FloatArray:
        """Return the logarithms of the limits, shape (2, n), with `NO_LIMIT` where there is none.

        The engine's logarithm has the same bits on every machine.
        """
        lower = np.where(self.lower > 0.0, self.lower, 1.0)
        upper = np.where(self.is_right_censored, 1.0, self.upper)
        return np.stack(
            [
                np.where(self.lower > 0.0, _core.log(lower), -NO_LIMIT),
                np.where(self.is_right_censored, NO_LIMIT, _core.log(upper)),
            ]
        )

    @classmethod
    def from_log(cls, limits: FloatArray) -> Times:
        """Return the times of the logarithms of limits."""
        lower, upper = limits
        with np.errstate(over="ignore"):
            return cls(np.exp(lower), np.exp(upper))


def read_times(y: Any, n_rows: int) -> Times:
    """Return what the user's outcomes say; an error names the problem and the fix."""
    names, (first, second) = _two_columns(y)
    if len(first) != n_rows:
        raise ValueError(
            f"X and y have inconsistent numbers of rows: {n_rows} in X, {len(first)} in y."
        )
    lowered = [str(name).strip().lower() for name in names]
    if set(lowered) == {"lower", "upper"}:
        columns = {"lower": first, "upper": second}
        if lowered[0] == "upper":
            columns = {"lower": second, "upper": first}
        return _read_limits(*(_numbers(columns[name], name) for name in ("lower", "upper")))
    if _is_bool(second) and not _is_bool(first):
        first, second = second, first
    return _read_events(first, second)


def _two_columns(y: Any) -> tuple[list[Any], list[NDArray[Any]]]:
    """Return the names of the columns, if they have some, and their values."""
    names: list[Any]
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: call fit(X, y)."
        )
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = list(frame.columns)
        columns = [_frame_column(frame[name]) for name in names]
    else:
        array = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        if array.dtype.names is not None and array.ndim == 1:
            names = list(array.dtype.names)
            columns = [unmasked(array[name]) for name in names]
        elif array.ndim == 2:
            names = list(range(array.shape[1]))
            columns = [unmasked(column) for column in array.T]
        else:
            raise ValueError(f"{FORMS}; it is an array of shape {array.shape}.")
    if len(columns) != 2:
        raise ValueError(f"{FORMS}; it has {len(columns)} columns.")
    return names, columns


def _frame_column(column: Any) -> NDArray[Any]:
    if column.null_count():
        column = column.cast(nw.Float64) if column.dtype.is_numeric() else column
    return np.asarray(column.to_numpy())


def _is_bool(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "O":
        return len(values) > 0 and all(isinstance(v, (bool, np.bool_)) for v in values.tolist())
    return values.dtype.kind == "b"


def _numbers(values: NDArray[Any], name: str) -> FloatArray:
    """Return a column as numbers without NaN."""
    if values.dtype.kind in "mM":
        raise TypeError(f"{name} in y has dtype {values.dtype}: convert it to numbers, e.g. days.")
    is_text = values.dtype.kind in "US" or any(isinstance(v, (str, bytes)) for v in values.tolist())
    try:
        if is_text or values.dtype.kind == "c":
            raise TypeError("text or complex numbers")
        numbers = np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} in y must be numeric, but its dtype is {values.dtype} ({error}): convert it."
        ) from error
    if np.isnan(numbers).any():
        raise ValueError(
            f"{name} in y contains NaN (row {_first(np.isnan(numbers))}): drop these rows. If only "
            "one limit is known, use 0 for the lower and infinity for the upper."
        )
    return numbers


def _read_events(event: NDArray[Any], time: NDArray[Any]) -> Times:
    flags = _numbers(event, "event")
    odd = (flags != 0.0) & (flags != 1.0)
    if odd.any():
        row = _first(odd)
        raise ValueError(
            f"The event in y must be boolean (or 0 and 1), but row {row} has {event[row]!s}. The "
            "order is event, time: the first column says whether the event was observed. Is the "
            "time first? Then swap the columns."
        )
    times = _numbers(time, "time")
    _require_positive("time", times, "times start at 0, and no event can be at or before the start")
    if np.isinf(times).any():
        raise ValueError(
            f"The time in y is infinite at row {_first(np.isinf(times))}: a row without an event "
            "is censored at the last time at which it was observed."
        )
    return Times(times, np.where(flags == 1.0, times, np.inf))


def _read_limits(lower: FloatArray, upper: FloatArray) -> Times:
    lower = np.where(np.isneginf(lower), 0.0, lower)
    if (lower < 0.0).any():
        row = _first(lower < 0.0)
        raise ValueError(
            f"lower is negative at row {row} ({lower[row]:g}): times are positive; use 0 for no "
            "lower limit."
        )
    _require_positive("upper", upper, "use infinity for no upper limit")
    if (lower > upper).any():
        row = _first(lower > upper)
        raise ValueError(
            f"lower > upper at row {row} ({lower[row]:g} > {upper[row]:g}): swap the limits."
        )
    if np.isinf(lower).any():
        raise ValueError(f"lower is infinite at row {_first(np.isinf(lower))}: drop these rows.")
    nothing = (lower == 0.0) & np.isinf(upper)
    if nothing.any():
        raise ValueError(
            f"Row {_first(nothing)} of y has no limit at all, so it says nothing: drop such rows."
        )
    return Times(lower, upper)


def _require_positive(name: str, values: FloatArray, reason: str) -> None:
    if (values <= 0.0).any():
        row = _first(values <= 0.0)
        raise ValueError(
            f"The {name} in y must be positive, but it is {values[row]:g} at row {row}: {reason}. "
            "Drop these rows, or replace 0 by a time within the first unit, such as half a day."
        )


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(mask)[0])
