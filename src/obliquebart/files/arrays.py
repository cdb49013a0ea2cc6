"""Draws, traces and states as named arrays of a container: written, and read with distrust."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from obliquebart import _core
from obliquebart.exceptions import ModelFileError
from obliquebart.posterior.draws import CategoricalNode, DecodedDraws, LeafNode
from obliquebart.sampling.chain import State, Trace

__all__ = ["Reader", "Writer", "field"]

# Counters stay exact in any language below this, and cannot overflow when the chain goes on.
MAX_COUNT = 2**53
N_MOVES = 4


class Writer:
    """Collects arrays under their names."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def draws(self, prefix: str, draws: _core.Draws) -> None:
        """Add kept draws."""
        self.arrays.update({prefix + name: a for name, a in draws.to_arrays().items()})

    def trace(self, prefix: str, trace: Trace) -> None:
        """Add a trace."""
        self.arrays.update({prefix + name: values for name, values in trace.items()})

    def state(self, prefix: str, state: State) -> dict[str, Any]:
        """Add a sampler's state, and return its numbers for the header."""
        numbers: dict[str, Any] = {}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                self.arrays[prefix + name] = value
            else:
                numbers[name] = value
        return numbers


class Reader:
    """Takes arrays out of untrusted contents; in the end there must be none left.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Of a file.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)
        self.p_cont = 0
        self.n_levels: list[int] = []

    def set_columns(self, p_cont: int, n_levels: Sequence[int]) -> None:
        """Say what columns the model has, before draws or states are read."""
        self.p_cont = p_cont
        self.n_levels = list(n_levels)

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
        self, name: str, shape: tuple[int | None, ...], low: float, high: float, *, nan: bool
    ) -> NDArray[np.float64]:
        """Return float64 numbers of a range; NaN only where allowed. They may be written to."""
        values: NDArray[np.float64] = self.array(name, np.float64, *shape).copy()
        fine = (values >= low) & (values <= high) & np.isfinite(values)
        if not (fine | np.isnan(values) if nan else fine).all():
            raise ModelFileError(f"array {name!r} has a number that is not in [{low:g}, {high:g}]")
        return values

    def draws(self, prefix: str, n_draws: int | None, n_trees: int) -> _core.Draws:
        """Return kept draws, checked to the last index."""
        ndim = {"structure_of": 2}
        arrays = {
            name: self.array(prefix + name, dtype, *((None,) * ndim.get(name, 1)))
            for name, dtype in _core.DRAW_FORMAT.items()
        }
        try:
            draws = _core.Draws.from_arrays(arrays, self.p_cont, self.n_levels)
        except (ValueError, TypeError, OverflowError) as error:
            raise ModelFileError(f"{prefix}: {error}") from error
        if draws.n_trees != n_trees or (n_draws is not None and draws.n_draws != n_draws):
            raise ModelFileError(
                f"{prefix} holds {draws.n_draws} draws of {draws.n_trees} trees, "
                f"not {'any' if n_draws is None else n_draws} of {n_trees}"
            )
        return draws

    def trace(self, prefix: str, names: Sequence[str], shape: tuple[int, ...]) -> Trace:
        """Return the named quantities of a trace."""
        trace = {}
        for name in names:
            is_share = name in ("theta", "axis_share", "grow", "prune", "change", "perturb")
            is_share |= name.startswith("accept_")
            high = 1.0 if is_share else np.inf
            trace[name] = self.numbers(prefix + name, shape, 0.0, high, nan=is_share)
        return trace

    def state(
        self, prefix: str, numbers: Any, last_leaves: NDArray[np.int64], *, has_target: bool
    ) -> State:
        """Return a sampler's state; what only the sampler can tell, it checks when it takes it.

        `last_leaves` has the number of leaves of each tree in the chain's last draw.
        """
        n_trees = len(last_leaves)
        state: State = {
            "n_sweeps": field(numbers, "n_sweeps", int),
            "sigma": field(numbers, "sigma", float),
            "leaf_sd": field(numbers, "leaf_sd", float),
            "theta": self.numbers(prefix + "theta", (None,), 0.0, 1.0, nan=False),
        }
        if not (
            0 <= state["n_sweeps"] <= MAX_COUNT
            and state["sigma"] > 0
            and state["leaf_sd"] > 0
            # A sampler that can draw no column at all would try for ever.
            and (state["theta"].any() or self.p_cont == 0)
        ):
            raise ModelFileError(f"{prefix} has numbers out of range")
        ensemble = self.draws(prefix, 1, n_trees)
        state.update(ensemble.to_arrays())
        decoded = DecodedDraws(ensemble, self.n_levels)
        if not _splits_levels(decoded, self.n_levels):
            raise ModelFileError(f"{prefix} has a rule that does not split its node's levels")
        state["leaf_code"] = self.array(prefix + "leaf_code", np.uint8, len(state["outputs"]))
        state["residual"] = self.array(prefix + "residual", np.float32, None)
        rows = [state["residual"]]
        if has_target:
            state["target"] = self.array(prefix + "target", np.float64, len(state["residual"]))
            rows.append(state["target"])
        if not all(np.isfinite(values).all() for values in rows):
            raise ModelFileError(f"{prefix} has a row that is not finite")
        state["changed"] = self.array(prefix + "changed", np.uint8, n_trees)
        # A tree that did not change since then shares its structure with the last draw.
        is_other = decoded.n_leaves[0] != last_leaves
        if (is_other & (state["changed"] == 0) & (last_leaves > 0)).any():
            raise ModelFileError(f"{prefix} does not follow its chain's last draw")
        state["rng"] = self.array(prefix + "rng", np.uint64, 4)
        if not state["rng"].any():
            raise ModelFileError(f"{prefix} has a random engine that stands still")
        for name in ("proposed", "accepted", "invalid"):
            state[name] = self.array(prefix + name, np.int64, N_MOVES)
            if (state[name] < 0).any() or (state[name] > MAX_COUNT).any():
                raise ModelFileError(f"{prefix}{name} is out of range")
        return state

    def finish(self) -> None:
        """Raise ModelFileError if an array was not asked for."""
        if self._arrays:
            raise ModelFileError(f"it has an array {min(self._arrays)!r} that no model has")


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
                if not (goes_right.any() and (levels & ~goes_right).any()):
                    return False
                if (goes_right & ~levels).any():
                    return False
                left[node.column], right[node.column] = levels & ~goes_right, goes_right
            ahead += [right, left]
    return True


def field(values: Any, name: str, kind: type) -> Any:
    """Return an entry of a dictionary that must be of this type; a float must be finite."""
    if not isinstance(values, dict):
        raise ModelFileError(f"its header has {type(values).__name__} where {name!r} should be")
    if name not in values:
        raise ModelFileError(f"its header has no {name!r}")
    value: Any = values[name]
    if type(value) is not kind:
        raise ModelFileError(f"{name!r} in its header is no {kind.__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelFileError(f"{name!r} in its header is not finite")
    return value
