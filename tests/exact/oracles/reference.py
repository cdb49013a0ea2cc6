"""A slow Metropolis-Hastings sampler for one tree: axis-aligned cuts, level sets; grow and prune.

It follows the paper's appendix with the readings of docs/math.md, so that the ratios themselves
are checked against enumeration, apart from any C++. Rules are proposed from the prior as it
stands; an invalid proposal is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .marginal import LeafMarginal
from .partitions import Partition, partition
from .prior import Prior, Table


@dataclass
class Leaf:
    depth: int
    rows: int
    bounds: tuple[tuple[float, float], ...]
    levels: tuple[int, ...]


@dataclass
class Split:
    leaf: Leaf  # what it was before the split
    left: Leaf | Split
    right: Leaf | Split


class ReferenceSampler:
    """Gibbs is not needed: outputs are integrated out, and only the tree moves."""

    def __init__(
        self,
        table: Table,
        prior: Prior,
        log_marginal: LeafMarginal,
        seed: int,
        root_factor: bool = True,
    ):
        self.table, self.prior, self.root_factor = table, prior, root_factor
        self.rng = np.random.default_rng(seed)
        cache: dict[int, float] = {}
        self.log_marginal: Callable[[int], float] = lambda rows: (
            cache[rows] if rows in cache else cache.setdefault(rows, log_marginal(rows))
        )
        everything = (1 << table.n_rows) - 1
        full = tuple((1 << k) - 1 for k in table.n_levels)
        self.tree: Leaf | Split = Leaf(0, everything, ((-1.0, 1.0),) * table.x_cont.shape[0], full)

    def p_split(self, depth: int) -> float:
        if depth >= self.prior.max_depth:
            return 0.0
        return self.prior.alpha * (1 + depth) ** -self.prior.beta

    def step(self) -> None:
        is_root = isinstance(self.tree, Leaf)
        grow = is_root or self.rng.random() < 0.5
        if grow:
            self._grow(is_root)
        else:
            self._prune()

    def partition(self) -> Partition:
        return partition(leaf.rows for leaf in leaves(self.tree))

    def _grow(self, is_root: bool) -> None:
        options = leaves(self.tree)
        nx = options[self.rng.integers(len(options))]
        split = self._draw_rule(nx)
        if split is None or self.p_split(nx.depth) == 0:
            return
        grown = replaced(self.tree, nx, split)
        log_ratio = self._log_gain(split) + math.log(len(options) / len(nogs(grown)))
        if is_root and self.root_factor:
            log_ratio += math.log(0.5)
        if math.log(self.rng.random()) < log_ratio:
            self.tree = grown

    def _prune(self) -> None:
        options = nogs(self.tree)
        split = options[self.rng.integers(len(options))]
        pruned = replaced(self.tree, split, split.leaf)
        log_ratio = -self._log_gain(split) + math.log(len(options) / len(leaves(pruned)))
        if isinstance(pruned, Leaf) and self.root_factor:
            log_ratio += math.log(2.0)
        if math.log(self.rng.random()) < log_ratio:
            self.tree = pruned

    def _log_gain(self, split: Split) -> float:
        """Prior of the shape and marginal likelihood, split against not split."""
        d = split.leaf.depth
        shape = self.p_split(d) * (1 - self.p_split(d + 1)) ** 2 / (1 - self.p_split(d))
        both = self.log_marginal(split.left.rows) + self.log_marginal(split.right.rows)
        return math.log(shape) + both - self.log_marginal(split.leaf.rows)

    def _draw_rule(self, nx: Leaf) -> Split | None:
        p_cont, p_cat = len(nx.bounds), len(nx.levels)
        j = int(self.rng.integers(p_cont + p_cat))
        rows_right = 0
        if j < p_cont:
            lo, hi = nx.bounds[j]
            cut = self.rng.uniform(lo, hi)
            missing_right = self.rng.random() < 0.5
            for i, x in enumerate(self.table.x_cont[j]):
                if missing_right if np.isnan(x) else x >= cut:
                    rows_right |= 1 << i
            sides = [
                ((*nx.bounds[:j], interval, *nx.bounds[j + 1 :]), nx.levels)
                for interval in ((lo, cut), (cut, hi))
            ]
        else:
            k = j - p_cont
            right = int(self.rng.integers(0, 1 << 62)) & nx.levels[k]
            if right in (0, nx.levels[k]):
                return None
            for i, code in enumerate(self.table.x_cat[k]):
                if right >> int(code) & 1:
                    rows_right |= 1 << i
            sides = [
                (nx.bounds, (*nx.levels[:k], chosen, *nx.levels[k + 1 :]))
                for chosen in (nx.levels[k] & ~right, right)
            ]
        rows = nx.rows & ~rows_right, nx.rows & rows_right
        if min(r.bit_count() for r in rows) < self.prior.min_samples_leaf:
            return None
        children = [Leaf(nx.depth + 1, r, *s) for r, s in zip(rows, sides, strict=True)]
        return Split(nx, *children)


def leaves(tree: Leaf | Split) -> list[Leaf]:
    return [tree] if isinstance(tree, Leaf) else leaves(tree.left) + leaves(tree.right)


def nogs(tree: Leaf | Split) -> list[Split]:
    if isinstance(tree, Leaf):
        return []
    if isinstance(tree.left, Leaf) and isinstance(tree.right, Leaf):
        return [tree]
    return nogs(tree.left) + nogs(tree.right)


def replaced(tree: Leaf | Split, old: Leaf | Split, new: Leaf | Split) -> Leaf | Split:
    if tree is old:
        return new
    if isinstance(tree, Leaf):
        return tree
    return Split(tree.leaf, replaced(tree.left, old, new), replaced(tree.right, old, new))
