"""Named arrays and header entries of a file, each checked as it is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from obliquebart.exceptions import ModelFileError

Arrays = dict[str, NDArray[Any]]


class ArrayReader:
    """Hands out the arrays of a file, each once; `finish` makes sure that none is left."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = dict(arrays)

    def array(self, name: str, dtype: DTypeLike, *shape: int | None) -> NDArray[Any]:
        """Return an array of this type and shape, where None stands for any length."""
        array = self._arrays.pop(name, None)
        if array is None:
            raise ModelFileError(f"it has no array {name!r}")
        fits = len(shape) == array.ndim and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not fits:
            wanted = tuple("any" if length is None else length for length in shape)
            raise ModelFileError(
                f"array {name!r} is {array.dtype} of shape {array.shape}, "
                f"not {np.dtype(dtype)} of shape {wanted}"
            )
        return array

    def numbers(
        self,
        name: str,
        shape: tuple[int | None, ...],
        low: float,
        high: float,
        *,
        nan: bool = False,
    ) -> NDArray[np.float64]:
        """Return a writable array of float64 in [low, high]; `nan` allows NaN too."""
        values: NDArray[np.float64] = self.array(name, np.float64, *shape).copy()
        fine = (values >= low) & (values <= high) & np.isfinite(values)
        if not (fine | np.isnan(values) if nan else fine).all():
            raise ModelFileError(f"array {name!r} has a number that is not in [{low:g}, {high:g}]")
        return values

    def has(self, name: str) -> bool:
        """Say whether there is an array that has not been handed out yet."""
        return name in self._arrays

    def group(self, prefix: str) -> Arrays:
        """Return all arrays whose name begins with a prefix, under the rest of their name."""
        names = [name for name in self._arrays if name.startswith(prefix)]
        return {name.removeprefix(prefix): self._arrays.pop(name) for name in names}

    def finish(self) -> None:
        """Raise ModelFileError if an array was not asked for."""
        if self._arrays:
            raise ModelFileError(
                f"it has an array {min(self._arrays)!r} that does not belong in a model"
            )


def field(values: Any, name: str, kind: type) -> Any:
    """Return an entry of a dictionary that must be of this type; a float must be finite."""
    if not isinstance(values, dict):
        raise ModelFileError(f"its header has {type(values).__name__} where {name!r} should be")
    if name not in values:
        raise ModelFileError(f"its header has no {name!r}")
    value: Any = values[name]
    if type(value) is not kind:
        raise ModelFileError(f"{name!r} in its header is not of type {kind.__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelFileError(f"{name!r} in its header is not finite")
    return value
