"""Numbers as people write them: 1,250,000 and not 1.25e+06."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Outside this range an exponent is easier to read.
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-5, 1e12
# Smaller numbers have no separators, so that years look like years.
SEPARATED_FROM = 10_000


def plain(value: float, digits: int = 3, *, separated: bool | None = None) -> str:
    """Return a number with so many digits, or with all of those before its decimal point.

    Thousands are `separated` from ten thousand on, unless it is said whether they are.

    Examples
    --------
    >>> [plain(value) for value in (1234567.8, 2015.5, 0.0012345, 1e-9)]
    ['1,234,568', '2016', '0.00123', '1e-9']
    >>> plain(2015.5, 5)
    '2015.5'
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return with_exponent(value, digits)
    decimals = max(digits - 1 - _magnitude(value, digits), 0)
    if separated is None:
        separated = _is_long(value)
    return fixed(value, decimals, separated=separated, short=True)


def plain_alike(values: Sequence[float], digits: int = 3) -> list[str]:
    """Return numbers that stand together: if one of them has separators, all have.

    Examples
    --------
    >>> plain_alike([1477, 159_000], 4), plain_alike([1950, 2010], 4)
    (['1,477', '159,000'], ['1950', '2010'])
    """
    separated = any(map(_is_long, values))
    return [plain(value, digits, separated=separated) for value in values]


def about(value: float, digits: int = 2) -> str:
    """Return an estimate, rounded to so many digits, with separators: it is not a year.

    Examples
    --------
    >>> [about(value) for value in (37123.4, 5432.1, 0.0567, 110.0)]
    ['37,000', '5,400', '0.057', '110']
    """
    if not math.isfinite(value) or value == 0:
        return plain(value)
    rounded = round(value, digits - 1 - _magnitude(value, digits))
    return plain(rounded, digits, separated=True)


def fixed(value: float, decimals: int, *, separated: bool, short: bool = False) -> str:
    """Format a number with a fixed number of decimals; `short` strips trailing zeros."""
    text = f"{value:,.{decimals}f}" if separated else f"{value:.{decimals}f}"
    if short and "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def with_exponent(value: float, digits: int) -> str:
    """Format a number like 1.5e-9."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def duration(seconds: float) -> str:
    """Format a duration, rounded up."""
    if seconds < 90.0:
        return f"{max(math.ceil(seconds), 1)} s"
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60.0:.0f} h"


def counted(n: int, noun: str) -> str:
    """Write a number of things, in the singular if there is one.

    Examples
    --------
    >>> counted(1, "chain"), counted(8, "chain")
    ('1 chain', '8 chains')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _is_long(value: float) -> bool:
    return SEPARATED_FROM <= abs(value) < LARGEST_PLAIN


def _magnitude(value: float, digits: int) -> int:
    """Return the power of ten of the first digit, after rounding."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])
