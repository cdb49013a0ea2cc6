"""Chains in a file: their draws, trace and state, in model files and in checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.exceptions import ModelFileError
from obliquebart.files.arrays import ArrayReader, Arrays
from obliquebart.likelihood import likelihood_of
from obliquebart.model.settings import ensemble_prefix
from obliquebart.posterior.draws import Columns, draws_from_arrays
from obliquebart.posterior.packing import unpack_draws
from obliquebart.sampling.chain import Ensembles, State, Trace

# The ranges of what the trace has of every ensemble. Shares are NaN in sweeps to which they do
# not apply.
SIZE, SHARE = (0.0, np.inf), (0.0, 1.0)
TRACE = {
    **dict.fromkeys(("leaf_sd", "n_leaves", "depth"), SIZE),
    **dict.fromkeys(("theta", "axis_share"), SHARE),
}


def add_draws(arrays: Arrays, prefix: str, ensembles: Sequence[Arrays], trace: Trace) -> None:
    """Add the arrays of the draws of each ensemble and their trace to those of a file."""
    for e, draws in enumerate(ensembles):
        within = f"{prefix}{ensemble_prefix(e)}draws."
        arrays.update({within + name: array for name, array in _without_widths(draws).items()})
    arrays.update({f"{prefix}trace.{name}": values for name, values in trace.items()})


def add_state(arrays: Arrays, prefix: str, state: State) -> dict[str, Any]:
    """Add the arrays of a sampler's state, and return its numbers, which belong in the header."""
    found = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    arrays.update({prefix + name: array for name, array in _without_widths(found).items()})
    return {name: value for name, value in state.items() if name not in found}


def _without_widths(arrays: Arrays) -> Arrays:
    """Leave out the widths of hard rules, which are none: older versions do not know them."""
    return {
        name: array
        for name, array in arrays.items()
        if array.size > 0 or name.rpartition(".")[2] != "width"
    }


class ChainReader:
    """Reads the chains of one posterior; whatever is wrong raises ModelFileError."""

    def __init__(self, arrays: ArrayReader, settings: _core.Settings, columns: Columns) -> None:
        self._arrays = arrays
        self._settings = settings
        self._columns = columns

    def ensembles(self, prefix: str, *, packed: bool = False) -> Ensembles:
        """Return the draws of each ensemble."""
        return tuple(
            self._draws(f"{prefix}{ensemble_prefix(e)}draws.", e, packed)
            for e in range(self._settings.n_ensembles)
        )

    def _draws(self, prefix: str, e: int, packed: bool) -> _core.Draws:
        """Return draws of an ensemble with the right number of trees."""
        arrays = self._arrays.group(prefix)
        n_trees = int(self._settings.ensemble(e).n_trees)
        try:
            if packed:
                arrays = unpack_draws(arrays, n_trees)
            unknown = set(arrays) - set(_core.DRAW_FORMAT)
            if unknown:
                raise ValueError(f"no model has an array {min(unknown)!r}")
            draws = draws_from_arrays(arrays, self._columns)
            n_widths = len(arrays["cut"]) if self._settings.ensemble(e).soft else 0
            if len(arrays.get("width", ())) != n_widths:
                raise ValueError(f"width must have {n_widths} entries")
        except (ValueError, TypeError, OverflowError) as error:
            raise ModelFileError(f"{prefix[:-1]}: {error}") from error
        if draws.n_trees != n_trees:
            raise ModelFileError(f"{prefix[:-1]} has {draws.n_trees} trees per draw, not {n_trees}")
        return draws

    def trace(
        self,
        prefix: str,
        shape: tuple[int, ...],
        burn_shape: tuple[int | None, ...],
        rate_prefix: str,
    ) -> Trace:
        """Return a trace; its acceptance rates have the moves' names after `rate_prefix`."""
        noise = likelihood_of(self._settings.likelihood, self._settings.more).noise
        rates = {rate_prefix + move: SHARE for move in _core.MOVES}
        ranges = {
            **{scalar.name: (-np.inf, np.inf) for scalar in noise},
            "sigma": SIZE,
            **{
                ensemble_prefix(e) + name: limits
                for e in range(self._settings.n_ensembles)
                for name, limits in {**TRACE, **rates, **self._direction_weights(e)}.items()
            },
        }
        trace = {
            name: self._arrays.numbers(prefix + name, shape, low, high, nan=(low, high) == SHARE)
            for name, (low, high) in ranges.items()
        }
        trace["burn_sigma"] = self._arrays.numbers(prefix + "burn_sigma", burn_shape, *SIZE)
        return trace

    def _direction_weights(self, e: int) -> dict[str, tuple[float, float]]:
        """Return what the trace has of a mixture of directions, with the range of weights."""
        n_components = len(self._settings.ensemble(e).directions)
        return {f"direction.{c}": SHARE for c in range(n_components if n_components > 1 else 0)}

    def state(self, prefix: str, numbers: Any, kept: Ensembles, *, has_target: bool) -> State:
        """Return a sampler's state: all arrays with a prefix, and the numbers of the header.

        `kept` are the chain's draws, or the last of each ensemble alone. `has_target` tells whether
        the file has the target, which without latent variables is y.
        """
        arrays = self._arrays.group(prefix)
        if not isinstance(numbers, dict) or set(numbers) & set(arrays):
            raise ModelFileError(f"its header does not have the numbers of {prefix[:-1]}")
        state = {**numbers, **arrays}
        if ("target" in state) != has_target:
            raise ModelFileError(
                f"{prefix[:-1]} should {'' if has_target else 'not '}have a target"
            )
        columns = self._columns
        try:
            whole = state if has_target else {**state, "target": _any_target(state)}
            _core.check_state(self._settings, columns.p_cont, list(columns.n_levels), whole, kept)
        except (ValueError, TypeError, OverflowError) as error:
            raise ModelFileError(f"{prefix[:-1]}: {error}") from error
        return state


def _any_target(state: State) -> NDArray[np.float64]:
    return np.zeros(np.size(state.get("residual", ())))
