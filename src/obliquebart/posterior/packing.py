"""Kept draws in fewer bytes, for files; `draws.py` explains the arrays.

Packing is lossless: `unpack_draws` returns the same arrays, bit for bit. The packed arrays differ
from those of draws as follows:

- `node_begin` is omitted: in preorder, a structure ends with its last open subtree;
- `node_kind` has the lower halves of two nodes per byte, the first in the lower half;
- `component`, packed in the same way, has the upper halves of the continuous rules, which are the
  components of their directions; it is omitted if all are 0;
- integers have the narrowest sufficient unsigned type;
- `is_new`, one bit per tree and draw, replaces `structure_of`. It is 1 if the tree has the next
  structure, and 0 if it has the same structure as in the previous draw;
- `phi_sign`, one bit per rule with a single column, replaces the entries of `phi_value` that are
  1 or -1 there; it is 1 for -1.

Draws that cannot be represented by the last two, which no chain produces, keep the plain arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.posterior.draws import COMPONENT_SHIFT, CONTINUOUS, KIND_MASK, LEAF

Arrays = dict[str, NDArray[Any]]
Bits = NDArray[np.bool_]

NARROWED = ("structure_of", "phi_count", "phi_column", "cat_column")
# With the largest number of each type.
UNSIGNED = {np.dtype(kind): int(np.iinfo(kind).max) for kind in (np.uint8, np.uint16, np.uint32)}
PACKED_ONLY = ("is_new", "phi_sign", "component")
LOWER_HALF = 15


def pack_draws(draws: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays of draws in fewer bytes."""
    packed = {name: array for name, array in draws.items() if name != "node_begin"}
    kinds = draws["node_kind"]
    packed["node_kind"] = _pack_halves(kinds & LOWER_HALF)
    is_continuous = kinds & KIND_MASK == CONTINUOUS
    components: NDArray[np.uint8] = (kinds >> COMPONENT_SHIFT)[is_continuous].astype(np.uint8)
    if components.any():
        packed["component"] = _pack_halves(components)
    is_new = _new_structures(draws["structure_of"])
    if is_new is not None:
        del packed["structure_of"]
        packed["is_new"] = np.packbits(is_new, axis=1, bitorder="little")
    alone = _is_alone(draws["phi_count"])
    weights = draws["phi_value"]
    if (np.abs(weights[alone]) == 1.0).all():
        packed["phi_value"] = weights[~alone]
        packed["phi_sign"] = np.packbits(weights[alone] < 0, bitorder="little")
    for name in NARROWED:
        if name in packed:
            packed[name] = _narrow(packed[name])
    return packed


def unpack_draws(packed: Mapping[str, NDArray[Any]], n_trees: int) -> Arrays:
    """Return the arrays that `pack_draws` packed.

    Packed arrays may be damaged or malicious. This function checks the types and lengths that it
    relies on; `draws_from_arrays` has to check the rest. Errors are ValueErrors.
    """
    unknown = set(packed) - ({*_core.DRAW_FORMAT, *PACKED_ONLY} - {"node_begin"})
    if unknown:
        raise ValueError(f"unknown array {min(unknown)!r}")
    arrays = {name: array for name, array in packed.items() if name not in PACKED_ONLY}
    kinds = _unpack_halves(_take(packed, "node_kind", np.uint8, 1))
    if len(kinds) and kinds[-1] == KIND_MASK:
        kinds = kinds[:-1]
    if "component" in packed:
        _add_components(kinds, _unpack_halves(_take(packed, "component", np.uint8, 1)))
    arrays["node_kind"] = kinds
    arrays["node_begin"] = _ends_of_structures(arrays["node_kind"])
    if "is_new" in packed:
        if "structure_of" in packed:
            raise ValueError("is_new and structure_of exclude each other")
        n_outputs = _take(packed, "outputs", np.float32, 1).size
        arrays["structure_of"] = _structures(_read_new(packed, n_trees, n_outputs))
    for name in NARROWED:
        arrays[name] = _widen(arrays, name)
    if "phi_sign" in packed:
        arrays["phi_value"] = _weights(packed, arrays["phi_count"])
    return arrays


def _take(arrays: Mapping[str, NDArray[Any]], name: str, dtype: Any, ndim: int) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    if array.dtype != dtype or array.ndim != ndim:
        raise ValueError(f"{name} is {array.dtype} with {array.ndim} dimensions")
    return array


# ---- whole numbers -------------------------------------------------------------------------------


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    largest = int(values.max(initial=0))
    return values.astype(next(dtype for dtype, most in UNSIGNED.items() if largest <= most))


def _widen(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.uint32]:
    if name not in arrays or arrays[name].dtype not in UNSIGNED:
        raise ValueError(f"{name} is missing or not of an unsigned type of up to 32 bits")
    return arrays[name].astype(np.uint32)


# ---- nodes ---------------------------------------------------------------------------------------


def _pack_halves(kinds: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return two nodes per byte; an odd last node is paired with an invalid node."""
    padded = np.full(len(kinds) + len(kinds) % 2, KIND_MASK, np.uint8)
    padded[: len(kinds)] = kinds
    halves: NDArray[np.uint8] = padded[::2] + 16 * padded[1::2]
    return halves


def _unpack_halves(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.stack([packed & LOWER_HALF, packed >> 4], axis=1).reshape(-1)


def _add_components(kinds: NDArray[np.uint8], components: NDArray[np.uint8]) -> None:
    is_continuous = kinds & KIND_MASK == CONTINUOUS
    n_rules = int(is_continuous.sum())
    if len(components) != n_rules + n_rules % 2:
        raise ValueError("component must have one entry per continuous rule")
    kinds[is_continuous] |= components[:n_rules] << COMPONENT_SHIFT


def _ends_of_structures(kinds: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return where structures begin, and where the last one ends."""
    # A rule opens one subtree more than it closes, a leaf closes one. A structure ends when the
    # number of open subtrees reaches a new minimum.
    n_open = np.cumsum(np.where(kinds & KIND_MASK == LEAF, -1, 1))
    fewest = np.minimum.accumulate(np.concatenate([[0], n_open]))
    ends = np.flatnonzero(fewest[1:] < fewest[:-1]) + 1
    return np.concatenate([[0], ends]).astype(np.uint64)


# ---- the structures of trees ---------------------------------------------------------------------


def _new_structures(structure_of: NDArray[np.uint32]) -> Bits | None:
    """Return which trees have a new structure, or None if `is_new` cannot represent the draws."""
    is_new = np.ones(structure_of.shape, np.bool_)
    # The structures of a chain follow those of the previous chain, so numbers increase.
    is_new[1:] = structure_of[1:] != structure_of[:-1]
    return is_new if (_structures(is_new) == structure_of).all() else None


def _structures(is_new: Bits) -> NDArray[np.uint32]:
    numbers = np.cumsum(is_new, dtype=np.int64).reshape(is_new.shape) - 1
    found = np.maximum.accumulate(np.where(is_new, numbers, 0), axis=0)
    return found.astype(np.uint32)


def _read_new(packed: Mapping[str, NDArray[Any]], n_trees: int, n_outputs: int) -> Bits:
    bits = _take(packed, "is_new", np.uint8, 2)
    # Every tree has an output, so a small file cannot request much memory.
    if bits.shape[1] != -(-n_trees // 8) or len(bits) * n_trees > n_outputs:
        raise ValueError("is_new must have one bit per tree and draw")
    is_new = np.unpackbits(bits, axis=1, count=n_trees, bitorder="little").astype(np.bool_)
    if not is_new[:1].all():
        raise ValueError("is_new must be set in the first draw")
    return is_new


# ---- the weights of rules ------------------------------------------------------------------------


def _is_alone(phi_count: NDArray[np.uint32]) -> Bits:
    """Return which entries of φ are the only entry of their rule."""
    return np.repeat(phi_count == 1, phi_count)


def _weights(
    packed: Mapping[str, NDArray[Any]], phi_count: NDArray[np.uint32]
) -> NDArray[np.float32]:
    others = _take(packed, "phi_value", np.float32, 1)
    signs = _take(packed, "phi_sign", np.uint8, 1)
    # Check before allocating anything of a length read from the file.
    n_alone = int((phi_count == 1).sum())
    n_weights = int(phi_count.sum(dtype=np.uint64))
    if n_weights - n_alone != len(others) or len(signs) != -(-n_alone // 8):
        raise ValueError("the lengths of phi_value and phi_sign do not match phi_count")
    alone = _is_alone(phi_count)
    weights = np.empty(n_weights, np.float32)
    weights[~alone] = others
    is_negative = np.unpackbits(signs, count=n_alone, bitorder="little")
    weights[alone] = np.where(is_negative, np.float32(-1), np.float32(1))
    return weights
