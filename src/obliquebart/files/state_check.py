"""Can a sampler go on from this state? To be answered by the engine's `check_state` instead."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from obliquebart import _core
from obliquebart.posterior.draws import (
    CategoricalNode,
    DecodedDraws,
    LeafNode,
    draws_from_arrays,
)
from obliquebart.sampling.chain import State

__all__ = ["check_state"]

# Counters up to this are exact in any language, and cannot overflow when the chain goes on.
MAX_COUNT = 2**53
COUNTS = ("proposed", "accepted", "invalid")
NUMBERS = {"n_sweeps": int, "sigma": float, "leaf_sd": float}


class _Columns(NamedTuple):
    p_cont: int
    n_levels: list[int]


def check_state(
    settings: _core.Settings,
    p_cont: int,
    n_levels: list[int],
    state: State,
    kept: _core.Draws | None,
) -> None:
    """Raise ValueError, which names what is wrong, if a sampler could not go on from a state.

    Parameters
    ----------
    settings : Settings
        The settings of the sampler.
    p_cont, n_levels : int and list of int
        The columns of the model.
    state : dict
        What `Sampler.state` returns.
    kept : Draws or None
        The draws of the chain; those trees that did not change since have the structure of the
        last draw.
    """
    ensemble = draws_from_arrays(
        {name: state[name] for name in _core.DRAW_FORMAT if name in state},
        _Columns(p_cont, n_levels),
    )
    _require(
        (ensemble.n_draws, ensemble.n_trees) == (1, settings.n_trees),
        f"it must hold one ensemble of {settings.n_trees} trees",
    )
    decoded = DecodedDraws(ensemble, n_levels)
    _check_fields(state, settings.n_trees, int(decoded.n_leaves.sum()))
    _check_values(state, p_cont)
    _require(
        _splits_levels(decoded, n_levels), "it has a rule that does not split its node's levels"
    )
    if kept is not None and kept.n_draws > 0:
        is_other = decoded.n_leaves[0] != DecodedDraws(kept, n_levels).n_leaves[-1]
        follows = not (is_other & (state["changed"] == 0)).any()
        _require(follows, "it does not follow its chain's last draw")


def _check_fields(state: State, n_trees: int, n_leaves: int) -> None:
    """Check names, types and lengths; None stands for any length."""
    n_rows = np.size(state.get("residual", 0))
    arrays: dict[str, tuple[Any, int | None]] = {
        "theta": (np.float64, None),
        "leaf_code": (np.uint8, n_leaves),
        "residual": (np.float32, n_rows),
        "target": (np.float64, n_rows),
        "changed": (np.uint8, n_trees),
        "rng": (np.uint64, 4),
        **dict.fromkeys(COUNTS, (np.int64, len(_core.MOVES))),
    }
    known = {*_core.DRAW_FORMAT, *arrays, *NUMBERS}
    for name in sorted(known - set(state)):
        raise ValueError(f"it has no {name}")
    for name in sorted(set(state) - known):
        raise ValueError(f"it has {name[:80]!r}, which no state has")
    for name, kind in NUMBERS.items():
        _require(type(state[name]) is kind, f"{name} is not of type {kind.__name__}")
    for name, (dtype, length) in arrays.items():
        array = state[name]
        fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1
        fits = fits and length in (None, len(array))
        _require(fits, f"{name} must be {np.dtype(dtype)}, with {length or 'any'} entries")


def _check_values(state: State, p_cont: int) -> None:
    _require(0 <= state["n_sweeps"] <= MAX_COUNT, "n_sweeps is out of range")
    for name in ("sigma", "leaf_sd"):
        _require(state[name] > 0 and math.isfinite(state[name]), f"{name} is out of range")
    theta = state["theta"]
    _require(bool(((theta >= 0) & (theta <= 1)).all()), "theta is out of range")
    # A sampler that can draw no column at all would try for ever.
    _require(p_cont == 0 or bool(theta.any()), "theta is zero for all columns")
    for name in ("residual", "target"):
        _require(bool(np.isfinite(state[name]).all()), f"{name} is not finite")
    _require(bool(state["rng"].any()), "its random numbers would all be the same")
    for name in COUNTS:
        in_range = (state[name] >= 0) & (state[name] <= MAX_COUNT)
        _require(bool(in_range.all()), f"{name} is out of range")


def _splits_levels(decoded: DecodedDraws, n_levels: list[int]) -> bool:
    """Say whether every categorical rule sends some of its node's levels left and some right.

    Predictions do not depend on it, but a sampler chooses among these levels.
    """
    for structure in range(decoded.n_structures):
        # The levels of each column that reach the nodes still to come, the next node's last.
        ahead = [[np.ones(n, np.bool_) for n in n_levels]]
        for node in decoded.nodes(structure):
            here = ahead.pop()
            if isinstance(node, LeafNode):
                continue
            left, right = here.copy(), here.copy()
            if isinstance(node, CategoricalNode):
                levels, goes_right = here[node.column], node.goes_right
                left[node.column], right[node.column] = levels & ~goes_right, levels & goes_right
                if not (left[node.column].any() and right[node.column].any()):
                    return False
                if (goes_right & ~levels).any():
                    return False
            ahead += [right, left]
    return True


def _require(is_fine: bool, message: str) -> None:
    if not is_fine:
        raise ValueError(message)
