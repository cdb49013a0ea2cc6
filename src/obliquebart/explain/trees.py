"""One tree of one draw, in the user's units: its rules, its leaves, its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.table import Encoding
from obliquebart.table.levels import LevelTable
from obliquebart.table.scaling import ColumnScale

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

__all__ = ["Leaf", "Split", "Tree", "read_tree", "read_trees", "walk"]

KIND_MASK, LEAF, CONTINUOUS = 3, 0, 1
# A list of levels is cut after these.
LEVELS_SHOWN = 4
# Terms of an oblique rule that a text shows, by size.
TERMS_SHOWN = 6


@dataclass(frozen=True)
class Leaf:
    """A leaf: what the tree adds to f there, in the units of y."""

    output: float
    n_rows: int | None = None


@dataclass(frozen=True)
class Split:
    """A rule; rows for which it is true go to `yes`.

    `columns` are the names of the columns that the rule uses.
    """

    rule: str
    columns: tuple[str, ...]
    yes: Split | Leaf
    no: Split | Leaf


@dataclass(frozen=True)
class Tree:
    """One tree; prints as text.

    Attributes
    ----------
    root : Split or Leaf
        The first node.
    draw, number : int
        Where the tree comes from.

    Examples
    --------
    >>> left = Leaf(-1.5)
    >>> print(Tree(Split("age < 40", ("age",), left, Leaf(2.0)), draw=0, number=0))
    age < 40
    ├─ yes: -1.5
    └─ no: +2
    """

    root: Split | Leaf
    draw: int
    number: int

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves, from the first yes to the last no."""
        return [node for node in walk(self.root) if isinstance(node, Leaf)]

    @property
    def depth(self) -> int:
        """The number of rules above the deepest leaf."""
        return _depth(self.root)

    def __str__(self) -> str:
        return "\n".join(_lines(self.root, "", ""))


def walk(node: Split | Leaf) -> Iterator[Split | Leaf]:
    """Yield a node and all below it, in preorder."""
    yield node
    if isinstance(node, Split):
        yield from walk(node.yes)
        yield from walk(node.no)


def label(node: Split | Leaf) -> str:
    """Return the text of a node alone."""
    if isinstance(node, Split):
        return node.rule
    if node.n_rows is None:
        return f"{node.output:+.4g}"
    return f"{node.output:+.4g} ({node.n_rows} row{'' if node.n_rows == 1 else 's'})"


def read_tree(posterior: Posterior, draw: int = -1, tree: int = 0, X: Any = None) -> Tree:
    """Return one tree of a posterior; see `Posterior.tree`."""
    return read_trees(posterior, draw, [tree], X)[0]


def read_trees(
    posterior: Posterior, draw: int, numbers: Iterable[int], X: Any = None
) -> list[Tree]:
    """Return some trees of a draw."""
    n_draws, n_trees = int(posterior.draws.n_draws), posterior.n_trees
    _check_range("draw", draw, n_draws)
    draw %= n_draws
    arrays = posterior.draws.to_arrays()
    data = None if X is None else posterior.encode(X).to_core()
    trees = []
    for number in numbers:
        _check_range("tree", number, n_trees)
        number %= n_trees
        counts = None
        if data is not None:
            counts = np.bincount(posterior.draws.leaf_codes(data, draw, number), minlength=256)
        reader = _Reader(posterior, arrays, draw, number, counts)
        trees.append(Tree(reader.node(_all_levels(posterior.encoding)), draw, number))
    return trees


def _check_range(name: str, value: int, size: int) -> None:
    if not -size <= value < size:
        raise ValueError(f"{name}={value} is out of range: there are {size}, from 0.")


class _Reader:
    """Reads a structure's nodes in preorder."""

    def __init__(
        self,
        posterior: Posterior,
        arrays: dict[str, Any],
        draw: int,
        tree: int,
        counts: NDArray[np.intp] | None,
    ) -> None:
        self.arrays = arrays
        self.encoding = posterior.encoding
        self.unit = posterior.scale.scale
        self.counts = counts
        kinds = arrays["node_kind"] & KIND_MASK
        begin = arrays["node_begin"].astype(np.int64)
        leaves_before = np.concatenate([[0], np.cumsum(kinds == LEAF)])[begin]
        n_leaves = np.diff(leaves_before)
        structures = arrays["structure_of"].ravel()
        position = draw * arrays["structure_of"].shape[1] + tree
        self.output = int(n_leaves[structures[:position]].sum())
        self.node_number = int(begin[structures[position]])
        before = kinds[: self.node_number]
        self.continuous = int((before == CONTINUOUS).sum())
        self.phi = int(arrays["phi_count"][: self.continuous].sum())
        self.categorical = int((before > CONTINUOUS).sum())
        self.n_words = [(count + 31) // 32 for count in self.encoding.n_levels]
        self.word = sum(self.n_words[j] for j in arrays["cat_column"][: self.categorical])
        self.leaf = 0

    def node(self, levels: list[NDArray[np.bool_]]) -> Split | Leaf:
        """Read the next node and all below it; `levels` are those that reach it."""
        kind = int(self.arrays["node_kind"][self.node_number]) & KIND_MASK
        self.node_number += 1
        if kind == LEAF:
            output = float(self.arrays["outputs"][self.output]) * self.unit
            n_rows = None if self.counts is None else int(self.counts[self.leaf])
            self.output += 1
            self.leaf += 1
            return Leaf(output, n_rows)
        if kind == CONTINUOUS:
            rule, columns = self._continuous()
            return Split(rule, columns, self.node(levels), self.node(levels))
        return self._categorical(levels)

    def _continuous(self) -> tuple[str, tuple[str, ...]]:
        count = int(self.arrays["phi_count"][self.continuous])
        cut = float(self.arrays["cut"][self.continuous])
        part = slice(self.phi, self.phi + count)
        self.continuous += 1
        self.phi += count
        chosen = self.arrays["phi_column"][part]
        phi = self.arrays["phi_value"][part].astype(np.float64)
        pairs = [
            (name, column)
            for name, column in zip(self.encoding.names, self.encoding.columns, strict=True)
            if isinstance(column, ColumnScale)
        ]
        names = [pairs[j][0] for j in chosen]
        scales = [pairs[j][1] for j in chosen]
        return rule_text(names, scales, phi, cut), tuple(names)

    def _categorical(self, levels: list[NDArray[np.bool_]]) -> Split:
        column = int(self.arrays["cat_column"][self.categorical])
        words = self.arrays["level_words"][self.word : self.word + self.n_words[column]]
        self.categorical += 1
        self.word += self.n_words[column]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        goes_right = bits[: self.encoding.n_levels[column]].astype(np.bool_)
        name, values = list(self.encoding.levels.items())[column]
        available = levels[column]
        yes, no = levels.copy(), levels.copy()
        yes[column], no[column] = available & ~goes_right, available & goes_right
        rule = f"{name} is {_level_list(values, yes[column], no[column])}"
        return Split(rule, (name,), self.node(yes), self.node(no))


def rule_text(
    names: list[str], scales: list[ColumnScale], phi: NDArray[np.float64], cut: float
) -> str:
    """Return φ'x < cut in the units of the columns where their scaling is linear.

    Elsewhere `s(name)` is the scaled column. A rule of one column is always in its units.

    Examples
    --------
    >>> scale = ColumnScale.fit(np.array([0.0, 10.0]), "range")
    >>> rule_text(["a", "b"], [scale, scale], np.array([0.6, -0.8]), 0.0)
    'b - 0.75 a > 1.25'
    """
    if len(names) == 0:
        return "always"
    if len(names) == 1:
        value = _unscaled(scales[0], cut * np.sign(phi[0]))
        if value is not None:
            return f"{names[0]} {'<' if phi[0] > 0 else '>'} {value:.4g}"
    linear = all(scale.range_share == 1.0 and scale.low < scale.high for scale in scales)
    coefficients, shown, threshold = phi, [f"s({name})" for name in names], cut
    if linear:
        width = np.array([scale.high / 2.0 - scale.low / 2.0 for scale in scales])
        middle = np.array([scale.high / 2.0 + scale.low / 2.0 for scale in scales])
        with np.errstate(all="ignore"):
            in_units = phi / width
            moved = cut + float(in_units @ middle)
        if np.isfinite(in_units).all() and np.isfinite(moved) and in_units.all():
            coefficients, shown, threshold = in_units, list(names), moved
    # The column with the largest weight comes first and has coefficient 1.
    order = np.argsort(-np.abs(phi), kind="stable")
    lead = coefficients[order[0]]
    sign = "<" if lead > 0 else ">"
    terms = [
        _term(shown[j], coefficients[j] / lead, first=i == 0)
        for i, j in enumerate(order[:TERMS_SHOWN])
    ]
    if len(order) > TERMS_SHOWN:
        terms.append(f"+ … ({len(order) - TERMS_SHOWN} more columns)")
    return f"{' '.join(terms)} {sign} {threshold / lead:.4g}"


def _term(name: str, coefficient: float, first: bool) -> str:
    if first:
        return name
    size = abs(coefficient)
    return f"{'-' if coefficient < 0 else '+'} {'' if size == 1.0 else f'{size:.3g} '}{name}"


def _unscaled(scale: ColumnScale, value: float) -> float | None:
    """Return the number that is scaled to a value, None for a column without variation."""
    if not scale.low < scale.high:
        return None
    if scale.range_share == 1.0:
        return scale.low + (scale.high - scale.low) * (value + 1.0) / 2.0
    heights = scale.apply(scale.knots)
    if heights[0] != -1.0 or heights[-1] != 1.0:
        # The knots of an extreme column are stored in other units.
        return None
    return float(np.interp(value, heights, scale.knots))


def _all_levels(encoding: Encoding) -> list[NDArray[np.bool_]]:
    return [
        np.ones(column.n_levels, dtype=np.bool_)
        for column in encoding.columns
        if isinstance(column, LevelTable)
    ]


def _level_list(values: list[Any], yes: NDArray[np.bool_], no: NDArray[np.bool_]) -> str:
    """Name the levels that go to yes, or those that do not where they are fewer."""
    negate = no.sum() < yes.sum()
    chosen = [
        "missing" if value is None else str(value)
        for value, here in zip(values, no if negate else yes, strict=True)
        if here
    ]
    more = len(chosen) - LEVELS_SHOWN
    if more > 1:
        chosen = [*chosen[:LEVELS_SHOWN], f"{more} more"]
    if len(chosen) == 1:
        return f"{'not ' if negate else ''}{chosen[0]}"
    return f"{'none' if negate else 'one'} of {', '.join(chosen)}"


def _depth(node: Split | Leaf) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.yes), _depth(node.no))


def _lines(node: Split | Leaf, lead: str, indent: str) -> Iterator[str]:
    yield lead + label(node)
    if isinstance(node, Split):
        yield from _lines(node.yes, f"{indent}├─ yes: ", f"{indent}│  ")
        yield from _lines(node.no, f"{indent}└─ no: ", f"{indent}   ")
