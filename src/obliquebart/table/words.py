"""Text with a meaning: booleans, and dates in ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The text that pandas, polars and PyArrow read as booleans.
BOOLEANS = {"False": 0, "FALSE": 0, "false": 0, "True": 1, "TRUE": 1, "true": 1}

MICROSECONDS_PER_DAY = 86_400_000_000
_ISO_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*(?:Z|([+-])(\d\d):?(\d\d))?)?",
    re.ASCII,
)


def are_booleans(values: Iterable[Any]) -> bool:
    """Return whether all values, at least one, are booleans as text.

    Examples
    --------
    >>> are_booleans(["TRUE", "False"]), are_booleans(["True", "yes"]), are_booleans([])
    (True, False, False)
    """
    distinct = set(values)
    return bool(distinct) and distinct <= BOOLEANS.keys()


def days_of_text(text: str) -> float | None:
    """Return days since 1970-01-01, or None if the text is not an ISO 8601 date.

    Times of day are fractions; with an offset from UTC, they are converted to UTC.

    Examples
    --------
    >>> days_of_text("1970-01-03"), days_of_text("1970-01-03T12:00+06:00"), days_of_text("3.1.1970")
    (2.0, 2.25, None)
    """
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        return None
    day, time, sign, hours, minutes = match.groups()
    try:
        moment = np.datetime64(f"{day}T{time or '00:00'}", "us")
    except ValueError:
        return None
    if sign is not None:
        moment -= np.timedelta64(int(f"{sign}1") * (60 * int(hours) + int(minutes)), "m")
    return float(days_of_moments(np.array([moment]))[0])


def days_of_moments(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Return days since 1970-01-01, NaN for NaT."""
    microseconds = moments.astype("M8[us]")
    days = microseconds.astype(np.int64) / MICROSECONDS_PER_DAY
    return np.where(np.isnat(microseconds), np.nan, days)


def as_date(days: float) -> str:
    """Format days since 1970-01-01 as a date.

    Examples
    --------
    >>> as_date(2.0), as_date(2.25)
    ('1970-01-03', '1970-01-03 06:00')
    """
    moment = np.datetime64(round(days * 1440.0), "m")
    text = str(moment).replace("T", " ")
    return text.removesuffix(" 00:00")
