"""Numbers and tables as plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number_text(value: float, digits: int = 3) -> str:
    """Return a number for people: so many digits, and no exponent where it can be avoided.

    Examples
    --------
    >>> [number_text(value) for value in (0.01234, 12.34, 123456.0, 1e12, float("nan"))]
    ['0.0123', '12.3', '123456', '1e+12', '–']
    """
    if math.isnan(value):
        return "–"
    large = 10**digits <= abs(value) < 1e7
    return format(value, ".0f" if large else f".{digits}g")


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if j == 0 else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
