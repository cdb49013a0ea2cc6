"""The parameters of an estimator as plain values that JSON can hold, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from obliquebart.model.directions import to_state

# JSON has no infinity; of all parameters, only `noise_df` may be infinite.
INFINITE = "inf"


def to_plain(name: str, value: Any) -> Any:
    """Return a parameter as a value that JSON can hold."""
    if isinstance(value, np.random.RandomState):
        return None
    if name == "directions":
        return to_state(value)
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if name == "noise_df" and value == math.inf:
        return INFINITE
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if name == "class_weight" and isinstance(value, Mapping):
        value = list(value.items())
    if hasattr(value, "__iter__") and not isinstance(value, (bytes, dict)):
        return [to_plain(name, entry) for entry in value]
    raise TypeError(
        f"{name}={value!r} cannot be saved: {type(value).__name__} is not a plain value."
    )


def number_of(plain: Any) -> Any:
    """Return a parameter that may be infinite."""
    return math.inf if plain == INFINITE else plain
