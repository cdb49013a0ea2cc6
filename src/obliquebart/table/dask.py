"""Predictions on Dask collections: one lazy task per block of rows."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


def is_dask(values: Any) -> bool:
    """Say whether this is an array, a data frame or a series of Dask."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr")


def computed(values: Any) -> Any:
    """Return a Dask collection as an array or series of this process; anything else as it is."""
    return values.compute() if is_dask(values) else values


def not_two_axes(X: Any) -> str:
    """Say what is wrong with a Dask array that has another number of axes."""
    remedy = "" if X.ndim < 2 else ": flatten images and curves with X.reshape(len(X), -1)"
    return f"Expected 2D array, got a Dask array of shape {X.shape} instead{remedy}."


def map_rows(
    method: Callable[..., Any],
    X: Any,
    shape: tuple[int, ...],
    dtype: Any = np.float64,
    **options: Any,
) -> Any:
    """Return `method(X, **options)` as a lazy Dask array, or None if X is not a Dask collection.

    `method` is a bound method of a fitted estimator. It maps a block of n rows to an array of
    shape (n, *shape). Blocks are the row blocks of a Dask array, or the partitions of a Dask data
    frame.
    """
    if not is_dask(X):
        return None
    # Dask is not a dependency, but a Dask collection implies that it is installed.
    dask, dask_array = import_module("dask"), import_module("dask.array")
    # As a separate task, the model is sent once, not once per block.
    model = dask.delayed(method.__self__)  # type: ignore[attr-defined]
    call = _Call(method.__name__, options)
    if isinstance(X, dask_array.Array):
        return _map_array(call, X, model, shape, dtype)
    return X.map_partitions(call, model, meta=np.empty((0, *shape), dtype=dtype))


class _Call:
    """A method by name, so that it can run on another machine's copy of the model."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options

    def __call__(self, block: Any, model: Any) -> Any:
        return getattr(model, self.name)(block, **self.options)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return (type(self).__name__, self.name, sorted(self.options.items()))


def _map_array(call: _Call, X: Any, model: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(not_two_axes(X))
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    return X.map_blocks(
        call,
        model=model,
        dtype=dtype,
        drop_axis=1,
        new_axis=list(range(1, 1 + len(shape))) or None,
        chunks=(X.chunks[0], *((n,) for n in shape)),
        meta=np.empty((0,) * (1 + len(shape)), dtype=dtype),
    )
