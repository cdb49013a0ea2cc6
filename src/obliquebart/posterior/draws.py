"""Kept draws as flat arrays: some of them, or those of one chain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.table import Encoding

__all__ = ["count_leaves", "draws_from_arrays", "split_draws", "take_draws"]


def draws_from_arrays(arrays: dict[str, Any], encoding: Encoding) -> _core.Draws:
    """Return draws of a model with these columns; ValueError if the arrays do not hold such."""
    return _core.Draws.from_arrays(arrays, encoding.p_cont, list(encoding.n_levels))


def count_leaves(arrays: dict[str, Any]) -> NDArray[np.int64]:
    """Return the number of leaves by draw and tree."""
    is_leaf = (arrays["node_kind"] & 3) == 0
    begin = arrays["node_begin"].astype(np.int64)
    of_structure = np.diff(np.concatenate([[0], np.cumsum(is_leaf)])[begin]).astype(np.int64)
    n_leaves: NDArray[np.int64] = of_structure[arrays["structure_of"]]
    return n_leaves


def take_draws(draws: _core.Draws, index: NDArray[np.intp], encoding: Encoding) -> _core.Draws:
    """Return the draws of an index, in its order; all structures are kept."""
    arrays = dict(draws.to_arrays())
    outputs_end = np.cumsum(count_leaves(arrays).sum(axis=1))
    outputs = np.split(arrays["outputs"], outputs_end[:-1])
    arrays["structure_of"] = np.ascontiguousarray(arrays["structure_of"][index])
    arrays["outputs"] = np.concatenate([outputs[draw] for draw in index])
    return draws_from_arrays(arrays, encoding)


def split_draws(draws: _core.Draws, n_chains: int, encoding: Encoding) -> list[_core.Draws]:
    """Return the draws of each chain, with the structures that they use, as before the join."""
    arrays = dict(draws.to_arrays())
    n_nodes = np.diff(arrays["node_begin"].astype(np.int64))
    kind = arrays["node_kind"] & 3
    n_outputs = np.split(count_leaves(arrays), n_chains)
    n_words = (np.array([0, *encoding.n_levels]) + 31)[1:] // 32
    parts = []
    first_output = 0
    for i, chain in enumerate(np.split(arrays["structure_of"], n_chains)):
        used, position = np.unique(chain, return_inverse=True)
        is_used = np.zeros(len(n_nodes), np.bool_)
        is_used[used] = True
        node = np.repeat(is_used, n_nodes)
        continuous, categorical = node[kind == 1], node[kind == 2]
        phi = np.repeat(continuous, arrays["phi_count"])
        words = np.repeat(categorical, n_words[arrays["cat_column"]])
        last_output = first_output + int(n_outputs[i].sum())
        part = {
            "structure_of": position.reshape(chain.shape).astype(np.uint32),
            "node_begin": np.concatenate([[0], np.cumsum(n_nodes[used])]).astype(np.uint64),
            "node_kind": arrays["node_kind"][node],
            "cut": arrays["cut"][continuous],
            "phi_count": arrays["phi_count"][continuous],
            "phi_column": arrays["phi_column"][phi],
            "phi_value": arrays["phi_value"][phi],
            "cat_column": arrays["cat_column"][categorical],
            "level_words": arrays["level_words"][words],
            "outputs": arrays["outputs"][first_output:last_output],
        }
        first_output = last_output
        parts.append(draws_from_arrays(part, encoding))
    return parts
