"""Kept draws in the engine's arrays; only this module and `packing.py` know their format.

A tree is stored as a *structure*: its shape and its rules. A tree that did not change from one kept
draw to the next shares its structure; only the outputs of its leaves are stored again. The arrays
(`_core.DRAW_FORMAT` gives their types) are

- `structure_of`: the structure of each tree, by draw;
- `node_begin`: where the nodes of each structure begin, and where the last one ends;
- `node_kind`: all nodes in preorder; the lowest two bits tell leaves and rules apart, the highest
  four have the component of the directions that a continuous rule is from;
- `cut`, `phi_count`: of each continuous rule φ'x < cut, the cut and its number of columns;
- `width`: of each continuous rule of an ensemble with soft rules, the half-width h; empty if rules
  are hard;
- `phi_column`, `phi_value`: the entries of φ that are not zero, rule after rule;
- `cat_column`: the column of each categorical rule;
- `level_words`: the levels that go right, 32 to a word; each rule begins with a new word;
- `outputs`: by draw, tree and leaf in preorder.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core

KIND_MASK, LEAF, CONTINUOUS, CATEGORICAL = 3, 0, 1, 2
COMPONENT_SHIFT = 4
WORD_BITS = 32
LARGEST_OUTPUT = 1e38
# The unit of each array: what it has one entry per.
UNITS = {
    "node_kind": "node",
    "cut": "continuous rule",
    "phi_count": "continuous rule",
    "width": "continuous rule",
    "phi_column": "weight",
    "phi_value": "weight",
    "cat_column": "categorical rule",
    "level_words": "word",
}

IntArray = NDArray[np.int64]


class Columns(Protocol):
    """The properties of a model's columns that its draws depend on."""

    @property
    def p_cont(self) -> int:
        """Number of continuous columns."""

    @property
    def n_levels(self) -> list[int]:
        """Number of levels of each categorical column."""


class LeafNode(NamedTuple):
    """A leaf; `number` counts the leaves of its tree in preorder."""

    number: int


class ContinuousNode(NamedTuple):
    """A rule: rows with weights'x[columns] < cut go left.

    `columns` are numbered among the continuous columns. If the rule is soft, rows within `width` of
    the cut go both ways.
    """

    columns: IntArray
    weights: NDArray[np.float64]
    cut: float
    width: float = 0.0
    """0 if the rule is hard."""


class CategoricalNode(NamedTuple):
    """A rule: rows whose level is in `goes_right` go right.

    `column` is numbered among the categorical columns.
    """

    column: int
    goes_right: NDArray[np.bool_]
    """One entry per level."""


Node = LeafNode | ContinuousNode | CategoricalNode


class RuleTable(NamedTuple):
    """The rules of all structures: first the continuous ones, then the categorical ones."""

    structure: IntArray
    """The structure that each rule belongs to."""
    is_continuous: NDArray[np.bool_]
    column_begin: IntArray
    """The columns of rule i are `columns[column_begin[i]:column_begin[i + 1]]`."""
    columns: IntArray
    """Numbered among the columns of the rule's kind."""
    weights: NDArray[np.float64]
    """φ of each entry of `columns`; 0 for categorical rules."""


class DecodedDraws:
    """Kept draws, decoded on demand.

    Attributes
    ----------
    structure_of : ndarray of shape (n_draws, n_trees)
        The structure of each tree.
    n_structures : int
        Number of structures; some may not be used by any tree.
    """

    def __init__(self, draws: _core.Draws, n_levels: Sequence[int]) -> None:
        self.arrays: dict[str, NDArray[Any]] = draws.to_arrays()
        self.structure_of: NDArray[np.uint32] = self.arrays["structure_of"]
        self.n_structures = len(self.arrays["node_begin"]) - 1
        self._n_levels = list(n_levels)
        self._kind = self.arrays["node_kind"] & KIND_MASK
        self.is_soft = len(self.arrays["width"]) > 0

    @property
    def units(self) -> dict[str, str]:
        """The arrays by structure, with their units; hard rules have no width."""
        return {name: unit for name, unit in UNITS.items() if name != "width" or self.is_soft}

    @cached_property
    def sizes(self) -> dict[str, IntArray]:
        """Numbers of nodes, leaves, rules, weights and words of each structure, by unit."""
        arrays = self.arrays
        begin: IntArray = arrays["node_begin"].astype(np.int64)
        n_nodes = begin[1:] - begin[:-1]
        structure = np.repeat(np.arange(self.n_structures), n_nodes)
        n_words = np.array([_n_words(n) for n in self._n_levels], np.int64)

        def count(kind: int, times: NDArray[Any] | None = None) -> IntArray:
            total = np.bincount(structure[self._kind == kind], times, self.n_structures)
            return total.astype(np.int64)

        return {
            "node": n_nodes,
            "leaf": count(LEAF),
            "continuous rule": count(CONTINUOUS),
            "weight": count(CONTINUOUS, arrays["phi_count"]),
            "categorical rule": count(CATEGORICAL),
            "word": count(CATEGORICAL, n_words[arrays["cat_column"]]),
        }

    @cached_property
    def n_leaves(self) -> IntArray:
        """The number of leaves of each tree, by draw."""
        n_leaves: IntArray = self.sizes["leaf"][self.structure_of]
        return n_leaves

    def rules(self) -> RuleTable:
        """Return the rules of all structures."""
        arrays, sizes = self.arrays, self.sizes
        n_categorical = len(arrays["cat_column"])
        n_columns = np.concatenate([arrays["phi_count"], np.ones(n_categorical)]).astype(np.int64)
        each = np.arange(self.n_structures)
        kinds = ("continuous rule", "categorical rule")
        return RuleTable(
            structure=np.concatenate([np.repeat(each, sizes[kind]) for kind in kinds]),
            is_continuous=np.arange(len(n_columns)) < len(arrays["phi_count"]),
            column_begin=_begin(n_columns),
            columns=np.concatenate([arrays["phi_column"], arrays["cat_column"]]).astype(np.int64),
            weights=np.concatenate([arrays["phi_value"], np.zeros(n_categorical)]),
        )

    def nodes(self, structure: int) -> list[Node]:
        """Return the nodes of a structure in preorder; the left child comes first."""
        source: dict[int, Iterator[Node]] = {
            LEAF: map(LeafNode, itertools.count()),
            CONTINUOUS: self._continuous(structure),
            CATEGORICAL: self._categorical(structure),
        }
        kinds = self._part("node_kind", structure) & KIND_MASK
        return [next(source[kind]) for kind in kinds.tolist()]

    def outputs(self, draw: int, tree: int) -> NDArray[np.float32]:
        """Return the outputs of the leaves of a tree, in preorder."""
        begin = int(self.n_leaves[:draw].sum() + self.n_leaves[draw, :tree].sum())
        outputs: NDArray[np.float32] = self.arrays["outputs"]
        return outputs[begin : begin + self.n_leaves[draw, tree]]

    def draw_outputs(self, draw: int) -> NDArray[np.float32]:
        """Return the outputs of all trees of a draw, tree after tree."""
        ends = self._output_ends
        outputs: NDArray[np.float32] = self.arrays["outputs"]
        return outputs[ends[draw] : ends[draw + 1]]

    @cached_property
    def _output_ends(self) -> IntArray:
        return _begin(self.n_leaves.sum(axis=1))

    def split_outputs(self, n_parts: int) -> list[NDArray[np.float32]]:
        """Return all outputs in parts with the same number of draws."""
        n_outputs = [part.sum() for part in np.split(self.n_leaves, n_parts)]
        return np.split(self.arrays["outputs"], np.cumsum(n_outputs)[:-1])

    def _continuous(self, structure: int) -> Iterator[ContinuousNode]:
        columns = self._part("phi_column", structure).astype(np.int64)
        weights = self._part("phi_value", structure).astype(np.float64)
        cuts = self._part("cut", structure).tolist()
        widths = self._part("width", structure).tolist() if self.is_soft else [0.0] * len(cuts)
        ends = np.cumsum(self._part("phi_count", structure)).tolist()
        for cut, width, begin, end in zip(cuts, widths, [0, *ends], ends, strict=False):
            yield ContinuousNode(columns[begin:end], weights[begin:end], cut, width)

    def _categorical(self, structure: int) -> Iterator[CategoricalNode]:
        words = self._part("level_words", structure).astype("<u4")
        begin = 0
        for column in self._part("cat_column", structure).tolist():
            n_levels = self._n_levels[column]
            end = begin + _n_words(n_levels)
            bits = np.unpackbits(words[begin:end].view(np.uint8), bitorder="little")
            yield CategoricalNode(column, bits[:n_levels].astype(np.bool_))
            begin = end

    @cached_property
    def _begins(self) -> dict[str, IntArray]:
        return {unit: _begin(size) for unit, size in self.sizes.items()}

    def _part(self, name: str, structure: int) -> NDArray[Any]:
        begin = self._begins[UNITS[name]]
        return self.arrays[name][begin[structure] : begin[structure + 1]]


def draws_from_arrays(arrays: Mapping[str, NDArray[Any]], columns: Columns) -> _core.Draws:
    """Return the draws in arrays, after checking every length, index and number.

    Raises a ValueError that names the array if they are not valid draws for these columns. Arrays
    that are older than soft rules have no `width`.
    """
    return _core.Draws.from_arrays(dict(arrays), columns.p_cont, list(columns.n_levels))


def constant_draws(n_draws: int, n_trees: int, columns: Columns) -> _core.Draws:
    """Return draws of trees that are a single leaf with output 0."""
    arrays = {name: np.zeros(0, dtype) for name, dtype in _core.DRAW_FORMAT.items()}
    arrays["structure_of"] = np.zeros((n_draws, n_trees), np.uint32)
    arrays["node_begin"] = np.array([0, 1], np.uint64)
    arrays["node_kind"] = np.array([LEAF], np.uint8)
    arrays["outputs"] = np.zeros(n_draws * n_trees, np.float32)
    return draws_from_arrays(arrays, columns)


def no_draws(n_trees: int, columns: Columns) -> _core.Draws:
    """Return the draws of a chain that has kept none yet."""
    arrays = {name: np.zeros(0, dtype) for name, dtype in _core.DRAW_FORMAT.items()}
    arrays["structure_of"] = np.zeros((0, n_trees), np.uint32)
    arrays["node_begin"] = np.zeros(1, np.uint64)
    return draws_from_arrays(arrays, columns)


def take_draws(draws: _core.Draws, index: NDArray[np.intp], columns: Columns) -> _core.Draws:
    """Return the draws of an index, in its order; all structures are kept."""
    decoded = DecodedDraws(draws, columns.n_levels)
    outputs = decoded.split_outputs(len(decoded.structure_of))
    arrays = {
        **decoded.arrays,
        "structure_of": np.ascontiguousarray(decoded.structure_of[index]),
        "outputs": np.concatenate([outputs[draw] for draw in index]),
    }
    return draws_from_arrays(arrays, columns)


def change_outputs(
    draws: _core.Draws, factor: NDArray[np.float64], shift: NDArray[np.float64], columns: Columns
) -> _core.Draws:
    """Return draws whose sums are `factor` times those of others plus `shift`, draw by draw.

    The columns may be fewer than those of the draws, if no rule has the others.
    """
    decoded = DecodedDraws(draws, columns.n_levels)
    n_trees = decoded.n_leaves.shape[1]
    n_outputs = decoded.n_leaves.sum(axis=1)
    # Numbers from a file may be of any size; those of a fit are far from these limits.
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = decoded.arrays["outputs"] * np.repeat(factor, n_outputs)
        outputs += np.repeat(shift / n_trees, n_outputs)
    outputs = np.clip(np.nan_to_num(outputs), -LARGEST_OUTPUT, LARGEST_OUTPUT)
    arrays = {**decoded.arrays, "outputs": outputs.astype(np.float32)}
    return draws_from_arrays(arrays, columns)


def split_draws(draws: _core.Draws, n_chains: int, columns: Columns) -> list[_core.Draws]:
    """Return the draws of each chain with the structures they use, undoing the join."""
    decoded = DecodedDraws(draws, columns.n_levels)
    outputs = decoded.split_outputs(n_chains)
    parts = []
    for i, structure_of in enumerate(np.split(decoded.structure_of, n_chains)):
        used, position = np.unique(structure_of, return_inverse=True)
        is_used = np.isin(np.arange(decoded.n_structures), used)
        part = {
            name: decoded.arrays[name][np.repeat(is_used, decoded.sizes[unit])]
            for name, unit in decoded.units.items()
        }
        part["structure_of"] = position.reshape(structure_of.shape).astype(np.uint32)
        part["node_begin"] = _begin(decoded.sizes["node"][used]).astype(np.uint64)
        part["outputs"] = outputs[i]
        parts.append(draws_from_arrays(part, columns))
    return parts


def _n_words(n_levels: int) -> int:
    return -(-n_levels // WORD_BITS)


def _begin(sizes: NDArray[Any]) -> IntArray:
    """Return where consecutive parts of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
