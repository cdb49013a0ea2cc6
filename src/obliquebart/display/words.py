"""Names for what is predicted, shared by plots, tables and pages."""

from __future__ import annotations

from typing import Any


def probability_of(label: Any, target: str | None = None) -> str:
    """Name the probability of a label.

    Examples
    --------
    >>> probability_of("virginica"), probability_of("virginica", "species")
    ('probability of virginica', 'probability that species is virginica')
    """
    return f"probability of {label}" if target is None else f"probability that {target} is {label}"
