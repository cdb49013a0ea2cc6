"""One tree of one draw in the user's units, as nodes and as text."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.display.numbers import plain
from obliquebart.posterior.draws import CategoricalNode, DecodedDraws, LeafNode, Node
from obliquebart.table import Encoding
from obliquebart.table.scaling import ColumnScale

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

# Maximum number of levels in a rule's text.
LEVELS_SHOWN = 4
# Maximum number of terms in an oblique rule's text; the largest are shown.
TERMS_SHOWN = 6


@dataclass(frozen=True)
class Leaf:
    """A leaf; `output` is what the tree adds to f there, in the units of y.

    If rules are soft, several leaves have a share of a row. It is counted in `n_rows` of the one
    that it reaches if it goes to the larger share at each rule.
    """

    output: float
    n_rows: int | None = None


@dataclass(frozen=True)
class Split:
    """A rule; rows that satisfy it go to `yes`.

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
        The draw, and the number of the tree in it.

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
    """Yield a node and all nodes below it, in preorder."""
    yield node
    if isinstance(node, Split):
        yield from walk(node.yes)
        yield from walk(node.no)


def label(node: Split | Leaf) -> str:
    """Return the text of a single node."""
    if isinstance(node, Split):
        return node.rule
    output = f"{'' if node.output < 0 else '+'}{plain(node.output, 4)}"
    if node.n_rows is None:
        return output
    return f"{output} ({node.n_rows} row{'' if node.n_rows == 1 else 's'})"


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
    decoded = DecodedDraws(posterior.draws, posterior.encoding.n_levels)
    data = None if X is None else posterior.encode(X).to_core()
    trees = []
    for number in numbers:
        _check_range("tree", number, n_trees)
        number %= n_trees
        terms = posterior.likelihood.terms(np.asarray(decoded.outputs(draw, number), np.float64))
        outputs = (terms * posterior.scale.scale).tolist()
        n_rows: list[int | None] = [None] * len(outputs)
        if data is not None:
            codes = posterior.draws.leaf_codes(data, draw, number)
            n_rows = np.bincount(codes, minlength=len(outputs)).tolist()
        nodes = decoded.nodes(int(decoded.structure_of[draw, number]))
        builder = _Builder(posterior.encoding, nodes, list(map(Leaf, outputs, n_rows)))
        trees.append(Tree(builder.next_node(builder.all_levels), draw, number))
    return trees


def _check_range(name: str, value: object, size: int) -> None:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r} must be an integer in [{-size}, {size}).")
    if not -size <= int(value) < size:
        raise ValueError(f"{name}={value} is out of range: it must be in [{-size}, {size}).")


class _Builder:
    """Builds a tree in the user's units from its nodes in preorder."""

    def __init__(self, encoding: Encoding, nodes: list[Node], leaves: list[Leaf]) -> None:
        self._nodes = iter(nodes)
        self._leaves = leaves
        columns = list(zip(encoding.names, encoding.columns, strict=True))
        self._scales = [(name, c) for name, c in columns if isinstance(c, ColumnScale)]
        self._levels = list(encoding.levels.items())
        self.all_levels = [np.ones(n, dtype=np.bool_) for n in encoding.n_levels]

    def next_node(self, levels: list[NDArray[np.bool_]]) -> Split | Leaf:
        """Return the next node with its subtree; `levels` are the levels that reach it."""
        node = next(self._nodes)
        if isinstance(node, LeafNode):
            return self._leaves[node.number]
        if isinstance(node, CategoricalNode):
            return self._categorical(node, levels)
        names = tuple(self._scales[j][0] for j in node.columns)
        scales = [self._scales[j][1] for j in node.columns]
        rule = rule_text(names, scales, node.weights, node.cut, node.width)
        return Split(rule, names, self.next_node(levels), self.next_node(levels))

    def _categorical(self, node: CategoricalNode, levels: list[NDArray[np.bool_]]) -> Split:
        name, values = self._levels[node.column]
        available = levels[node.column]
        yes, no = levels.copy(), levels.copy()
        yes[node.column] = available & ~node.goes_right
        no[node.column] = available & node.goes_right
        rule = f"{name} is {_level_list(values, yes[node.column], no[node.column])}"
        return Split(rule, (name,), self.next_node(yes), self.next_node(no))


def rule_text(
    names: Sequence[str],
    scales: Sequence[ColumnScale],
    phi: NDArray[np.float64],
    cut: float,
    width: float = 0.0,
) -> str:
    """Return φ'x < cut in the units of the columns, if their scaling is linear.

    Otherwise `s(name)` is the scaled column. A rule on one column is always in its units. Of a soft
    rule, whose `width` is not 0, it also says between which values rows go both ways, unless they
    are the same at the digits shown: such a rule is as good as hard.

    Examples
    --------
    >>> scale = ColumnScale.fit(np.array([0.0, 10.0]), "range")
    >>> rule_text(["a", "b"], [scale, scale], np.array([0.6, -0.8]), 0.0)
    'b - 0.75 a > 1.25'
    >>> rule_text(["a"], [scale], np.array([1.0]), 0.0, 0.2)
    'a < 5 (soft, 4 to 6)'
    """
    if len(names) == 0:
        return "always"
    if len(names) == 1 and scales[0].low < scales[0].high:
        values = scales[0].undo(np.array([cut, cut - width, cut + width]) * np.sign(phi[0]))
        shown, *limits = (scales[0].in_words(value, digits=4) for value in values.tolist())
        words = _soft(limits if phi[0] > 0 else limits[::-1]) if width else ""
        return f"{names[0]} {'<' if phi[0] > 0 else '>'} {shown}{words}"
    linear = all(scale.range_share == 1.0 and scale.low < scale.high for scale in scales)
    coefficients, terms_of, threshold = phi, [f"s({name})" for name in names], cut
    if linear:
        half_range = np.array([scale.high / 2.0 - scale.low / 2.0 for scale in scales])
        middle = np.array([scale.high / 2.0 + scale.low / 2.0 for scale in scales])
        with np.errstate(all="ignore"):
            in_units = phi / half_range
            moved = cut + float(in_units @ middle)
        if np.isfinite(in_units).all() and np.isfinite(moved) and in_units.all():
            coefficients, terms_of, threshold = in_units, list(names), moved
    # The column with the largest weight comes first and has coefficient 1.
    order = np.argsort(-np.abs(phi), kind="stable")
    lead = coefficients[order[0]]
    sign = "<" if lead > 0 else ">"
    terms = [
        _term(terms_of[j], coefficients[j] / lead, first=i == 0)
        for i, j in enumerate(order[:TERMS_SHOWN])
    ]
    if len(order) > TERMS_SHOWN:
        terms.append(f"+ … ({len(order) - TERMS_SHOWN} more columns)")
    ends = (threshold / lead + side * width / abs(lead) for side in (-1.0, 1.0))
    words = _soft([plain(end, 4) for end in ends]) if width else ""
    return f"{' '.join(terms)} {sign} {plain(threshold / lead, 4)}{words}"


def _soft(limits: Sequence[str]) -> str:
    return f" (soft, {' to '.join(limits)})" if limits[0] != limits[1] else ""


def _term(name: str, coefficient: float, first: bool) -> str:
    if first:
        return name
    size = abs(coefficient)
    return f"{'-' if coefficient < 0 else '+'} {'' if size == 1.0 else f'{plain(size)} '}{name}"


def _level_list(values: list[Any], yes: NDArray[np.bool_], no: NDArray[np.bool_]) -> str:
    """List the levels that go to yes, or the others if they are fewer."""
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
