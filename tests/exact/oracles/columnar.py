"""Kept ensembles as node tables: who is whose parent, which rows arrive, and statistics of a draw.

`NodeTable` works on all trees of all draws at once; `plain_fit` is the slow traversal, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import ranges
from .prior import CATEGORICAL, CONTINUOUS, LEAF, Table

Arrays = dict[str, np.ndarray]


class NodeTable:
    """One entry a node; trees numbered draw * n_trees + tree, nodes of a tree in preorder.

    tree, depth, parent (-1 at a root), side (0 left, 1 right), kind, missing_right: per node.
    cut, phi (dense), component, width: per node, zero where the rule is not continuous; width is
    zero where it is hard. column,
    level_words (dense, uint32): per node, zero where it is not categorical. output: per node,
    zero where not a leaf.
    """

    def __init__(self, arrays: Arrays, p_cont: int, n_levels: tuple[int, ...]):
        self.n_draws, self.n_trees = arrays["structure_of"].shape
        begin = arrays["node_begin"].astype(np.int64)
        parent, side, depth = _preorder(arrays["node_kind"] & 3, begin)
        structure = arrays["structure_of"].astype(np.int64).ravel()
        size = begin[structure + 1] - begin[structure]
        start = np.concatenate([[0], np.cumsum(size)])
        self.start = start  # first node of each tree
        self.tree = np.repeat(np.arange(len(structure)), size)
        source = (
            np.arange(start[-1]) - np.repeat(start[:-1], size) + np.repeat(begin[structure], size)
        )
        shift = np.repeat(start[:-1] - begin[structure], size)
        self.parent = np.where(parent[source] < 0, -1, parent[source] + shift)
        self.side, self.depth = side[source], depth[source]
        bits = arrays["node_kind"][source]
        self.kind = bits & 3
        self.component = bits >> 4
        self.missing_right = (bits & 4) > 0
        self.more_right = (bits & 8) > 0
        dense = _dense_rules(arrays, p_cont, n_levels)
        self.cut, self.phi = dense["cut"][source], dense["phi"][source]
        self.width = dense["width"][source]
        self.column, self.level_words = dense["column"][source], dense["level_words"][source]
        self.is_leaf = self.kind == LEAF
        self.output = np.zeros(len(source))
        self.output[self.is_leaf] = arrays["outputs"]
        self.draw = self.tree // self.n_trees

    def rows(self, table: Table) -> np.ndarray:
        """(nodes, n) bool: which rows reach a node."""
        reach = np.zeros((len(self.tree), table.n_rows), dtype=bool)
        reach[self.depth == 0] = True
        for d in range(1, int(self.depth.max(initial=0)) + 1):
            at = np.flatnonzero(self.depth == d)
            up = self.parent[at]
            right = self.goes_right(up, table)
            reach[at] = reach[up] & (right == self.side[at].astype(bool)[:, None])
        return reach

    def shares(self, table: Table) -> np.ndarray:
        """(nodes, n): how much of a row each node has."""
        share = np.ones((len(self.tree), table.n_rows))
        for d in range(1, int(self.depth.max(initial=0)) + 1):
            at = np.flatnonzero(self.depth == d)
            up = self.parent[at]
            left = self.left_share(up, table)
            share[at] = share[up] * np.where(self.side[at][:, None] == 0, left, 1.0 - left)
        return share

    def left_share(self, nodes: np.ndarray, table: Table) -> np.ndarray:
        left = 1.0 - self.goes_right(nodes, table)
        is_zero = ~self.phi[nodes].any(axis=1)
        at = np.flatnonzero((self.width[nodes] > 0) & ~is_zero)
        if len(at):
            phi = self.phi[nodes[at]]
            lost = ((phi != 0)[:, :, None] & np.isnan(table.x_cont)[None]).any(axis=1)
            value = phi @ np.nan_to_num(table.x_cont)
            z = (self.cut[nodes[at]][:, None] - value) / self.width[nodes[at]][:, None]
            z = np.clip(z, -1.0, 1.0)
            left[at] = np.where(lost, left[at], (2.0 + 3.0 * z - z**3) / 4.0)
        return left

    def goes_right(self, nodes: np.ndarray, table: Table) -> np.ndarray:
        right = np.zeros((len(nodes), table.n_rows), dtype=bool)
        at = np.flatnonzero(self.kind[nodes] == CONTINUOUS)
        if len(at):
            phi = self.phi[nodes[at]]
            lost = ((phi != 0)[:, :, None] & np.isnan(table.x_cont)[None]).any(axis=1)
            value = phi @ np.nan_to_num(table.x_cont)
            missing = self.missing_right[nodes[at]][:, None]
            right[at] = np.where(lost, missing, value >= self.cut[nodes[at]][:, None])
        at = np.flatnonzero(self.kind[nodes] == CATEGORICAL)
        if len(at):
            words = self.level_words[nodes[at]]
            codes = table.x_cat[self.column[nodes[at]]].astype(np.int64)
            right[at] = np.take_along_axis(words, codes >> 5, axis=1) >> (codes & 31) & 1
        return right

    def fit(self, table: Table) -> np.ndarray:
        """(n_draws, n): sums of trees."""
        leaves = np.flatnonzero(self.is_leaf)
        reach = (self.shares(table) if self.width.any() else self.rows(table))[leaves]
        out = np.zeros((self.n_draws, table.n_rows))
        np.add.at(out, self.draw[leaves], reach * self.output[leaves][:, None])
        return out

    def half_spaces(self, node: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """a'x <= b of a node's continuous ancestors; whether the cell lies right of a zero rule."""
        a, b, empty = [], [], False
        while self.parent[node] >= 0:
            up, side = self.parent[node], self.side[node]
            if self.kind[up] == CONTINUOUS:
                if not self.phi[up].any():
                    empty = empty or side == 1
                else:
                    sign = 1.0 - 2.0 * side
                    a.append(sign * self.phi[up])
                    b.append(sign * self.cut[up])
            node = up
        return np.array(a).reshape(-1, self.phi.shape[1]), np.array(b), empty

    def available(self, node: int, column: int, n_levels: int) -> set[int]:
        """Levels of a categorical column that can reach the node."""
        levels = set(range(n_levels))
        while self.parent[node] >= 0:
            up, side = self.parent[node], self.side[node]
            if self.kind[up] == CATEGORICAL and self.column[up] == column:
                right = self.right_set(up)
                levels &= right if side else levels - right
            node = up
        return levels

    def right_set(self, node: int) -> set[int]:
        words = self.level_words[node].tolist()
        return {32 * w + k for w, word in enumerate(words) for k in range(32) if word >> k & 1}

    def uses_of_column(self, column: int) -> np.ndarray:
        """Per draw, the continuous rules that use a column."""
        return self.per_draw((self.phi[:, column] != 0) * 1.0)

    def per_draw(self, values: np.ndarray, nodes: np.ndarray | slice = slice(None)) -> np.ndarray:
        return np.bincount(self.draw[nodes], weights=values, minlength=self.n_draws)


def _preorder(kind: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parent, side and depth of every node, all structures stepped through together."""
    parent = np.full(len(kind), -1, dtype=np.int64)
    side = np.full(len(kind), -1, dtype=np.int64)
    depth = np.zeros(len(kind), dtype=np.int64)
    size = np.diff(begin)
    n, longest = len(size), int(size.max(initial=0))
    stack = np.zeros((n, longest + 2), dtype=np.int64)  # ancestors that wait for a child
    seen = np.zeros((n, longest + 2), dtype=np.int64)  # how many children each has had
    top = np.zeros(n, dtype=np.int64)
    for t in range(longest):
        s = np.flatnonzero(size > t)
        node = begin[s] + t
        below = s[top[s] > 0]
        child = begin[below] + t
        above = stack[below, top[below] - 1]
        parent[child], side[child] = above, seen[below, top[below] - 1]
        depth[child] = depth[above] + 1
        seen[below, top[below] - 1] += 1
        inner = s[kind[node] != LEAF]
        stack[inner, top[inner]], seen[inner, top[inner]] = begin[inner] + t, 0
        top[inner] += 1
        while True:
            full = s[(top[s] > 0) & (seen[s, top[s] - 1] == 2)]
            if not len(full):
                break
            top[full] -= 1
    assert (top == 0).all(), "a tree ends before its nodes have two children each"
    return parent, side, depth


def _dense_rules(arrays: Arrays, p_cont: int, n_levels: tuple[int, ...]) -> Arrays:
    kind = arrays["node_kind"] & 3
    n = len(kind)
    cut, phi = np.zeros(n), np.zeros((n, p_cont))
    column = np.zeros(n, dtype=np.int64)
    n_words = max([-(-k // 32) for k in n_levels], default=0)
    words = np.zeros((n, n_words), dtype=np.int64)
    at = np.flatnonzero(kind == CONTINUOUS)
    cut[at] = arrays["cut"]
    width = np.zeros(n)
    if len(arrays.get("width", ())):
        width[at] = arrays["width"]
    phi[np.repeat(at, arrays["phi_count"]), arrays["phi_column"]] = arrays["phi_value"]
    at = np.flatnonzero(kind == CATEGORICAL)
    column[at] = arrays["cat_column"]
    if len(at):
        size = np.array([-(-k // 32) for k in n_levels])[column[at]]
        first = np.concatenate([[0], np.cumsum(size)])
        for w in range(n_words):
            has = np.flatnonzero(size > w)
            words[at[has], w] = arrays["level_words"][first[has] + w]
    return {"cut": cut, "phi": phi, "width": width, "column": column, "level_words": words}


def plain_fit(nodes: NodeTable, table: Table, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum of trees of one draw, row by row; also which rows come too near a cut to be sure."""
    fit, unsure = np.zeros(table.n_rows), np.zeros(table.n_rows, dtype=bool)
    children = _children(nodes)
    for tree in range(draw * nodes.n_trees, (draw + 1) * nodes.n_trees):
        for i in range(table.n_rows):
            node = int(nodes.start[tree])
            while nodes.kind[node] != LEAF:
                right = _step(nodes, table, node, i, unsure)
                node = children[node][right]
            fit[i] += nodes.output[node]
    return fit, unsure


def _children(nodes: NodeTable) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for node in range(len(nodes.tree)):
        if nodes.parent[node] >= 0:
            out.setdefault(int(nodes.parent[node]), []).append(node)
    return out


def _step(nodes: NodeTable, table: Table, node: int, row: int, unsure: np.ndarray) -> int:
    if nodes.kind[node] == CATEGORICAL:
        code = int(table.x_cat[nodes.column[node], row])
        return int(code in nodes.right_set(node))
    score = 0.0
    for j in np.flatnonzero(nodes.phi[node]):
        if np.isnan(table.x_cont[j, row]):
            return int(nodes.missing_right[node])
        score += nodes.phi[node, j] * table.x_cont[j, row]
    if nodes.phi[node].any() and abs(score - nodes.cut[node]) < 1e-6:
        unsure[row] = True
    return int(score >= nodes.cut[node])


def broken_rules(nodes: NodeTable, table: Table) -> Iterator[str]:
    """Cuts outside their range (by linprog), level sets that are not proper."""
    for node in range(len(nodes.tree)):
        name = f"draw {nodes.draw[node]} node {node}"
        if nodes.kind[node] == CONTINUOUS:
            a, b, empty = nodes.half_spaces(node)
            phi, cut = nodes.phi[node], nodes.cut[node]
            if empty:
                yield f"{name}: splits an empty cell"
            elif not phi.any():
                if cut != 1:
                    yield f"{name}: zero rule with cut {cut}"
            else:
                lo, hi = ranges.by_linprog(phi, a, b)
                if not (lo - 1e-6 <= cut <= hi + 1e-6):
                    yield f"{name}: cut {cut} outside ({lo}, {hi})"
                if abs(phi @ phi - 1) > 1e-5:
                    yield f"{name}: phi has squared norm {phi @ phi}"
        elif nodes.kind[node] == CATEGORICAL:
            column = int(nodes.column[node])
            levels = nodes.available(node, column, table.n_levels[column])
            right = nodes.right_set(node)
            if not (right and right < levels):
                yield f"{name}: right set {sorted(right)} of levels {sorted(levels)}"


# Statistics of a draw: name -> (values, is it discrete). NaN where a draw does not have it.
Statistics = dict[str, tuple[np.ndarray, bool]]


def statistics(nodes: NodeTable, table: Table) -> Statistics:
    one = np.ones(len(nodes.tree))
    leaf, inner = nodes.is_leaf, ~nodes.is_leaf
    continuous, categorical = nodes.kind == CONTINUOUS, nodes.kind == CATEGORICAL
    nonzeros = (nodes.phi != 0).sum(axis=1)
    out: Statistics = {
        "leaves": (nodes.per_draw(leaf * one), True),
        "depth": (_max_per_draw(nodes, nodes.depth), True),
        "decision nodes below the root": (nodes.per_draw(inner * (nodes.depth > 0) * one), True),
    }
    if len(table.n_levels):
        out |= {
            "categorical rules": (nodes.per_draw(categorical * one), True),
            "levels right": (nodes.per_draw(_level_count(nodes) * one), True),
        }
    if table.x_cont.shape[0]:
        out |= {
            "continuous rules": (nodes.per_draw(continuous * one), True),
            "zero rules": (nodes.per_draw((continuous & (nonzeros == 0)) * one), True),
            "axis rules": (nodes.per_draw((continuous & (nonzeros == 1)) * one), True),
            "nonzeros": (nodes.per_draw(nonzeros * one), True),
            "missing right": (nodes.per_draw(_missing_right(nodes, table) * one), True),
        }
    return out | _first_tree(nodes, table) | _outputs(nodes)


def _missing_right(nodes: NodeTable, table: Table) -> np.ndarray:
    """Only of rules that meet a missing value; elsewhere the side is not part of the model."""
    has_missing = np.isnan(table.x_cont).any(axis=1)
    return nodes.missing_right & ((nodes.phi != 0) & has_missing).any(axis=1)


def _max_per_draw(nodes: NodeTable, values: np.ndarray) -> np.ndarray:
    out = np.zeros(nodes.n_draws)
    np.maximum.at(out, nodes.draw, values)
    return out


def _level_count(nodes: NodeTable) -> np.ndarray:
    bits = nodes.level_words[:, :, None] >> np.arange(32) & 1
    return bits.sum(axis=(1, 2))


def _outputs(nodes: NodeTable) -> Statistics:
    first_leaf = np.flatnonzero(nodes.is_leaf)
    _, at = np.unique(nodes.draw[first_leaf], return_index=True)
    square = nodes.per_draw(nodes.output**2) / nodes.per_draw(nodes.is_leaf * 1.0)
    return {
        "first output": (nodes.output[first_leaf[at]], False),
        "mean square output": (square, False),
    }


def _first_tree(nodes: NodeTable, table: Table) -> Statistics:
    """The root rule of the first tree, and its left child's cut."""
    root = nodes.start[:: nodes.n_trees][: nodes.n_draws]
    kind = nodes.kind[root]
    out: Statistics = {"root kind": (kind.astype(float), True)}
    if len(table.n_levels):
        set_size = np.where(kind == CATEGORICAL, _level_count(nodes)[root], np.nan)
        out["root levels right"] = (set_size, True)
    if not table.x_cont.shape[0]:
        return out
    phi, cut = nodes.phi[root], nodes.cut[root]
    width = np.abs(phi).sum(axis=1)
    oblique = (kind == CONTINUOUS) & (width > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        position = np.where(oblique, 0.5 + 0.5 * cut / width, np.nan)
    out["root cut position"] = (position, False)
    out["root first coefficient"] = (np.where(oblique, phi[:, 0], np.nan), False)
    out["root nonzeros"] = (np.where(kind == CONTINUOUS, (phi != 0).sum(axis=1), np.nan), True)
    last = len(nodes.tree) - 1
    for side, name in ((0, "left"), (1, "right")):
        child = _child_of_root(nodes, root, side)
        at = np.clip(child, 0, last)
        has = oblique & (child >= 0) & (nodes.kind[at] == CONTINUOUS)
        has &= np.abs(nodes.phi[at]).sum(axis=1) > 0
        out[f"{name} child cut position"] = (np.full(len(root), np.nan), False)
        if has.any():
            sign = 1.0 - 2.0 * side
            lo, hi = ranges.by_duality(nodes.phi[at[has]], sign * phi[has], sign * cut[has])
            out[f"{name} child cut position"][0][has] = (nodes.cut[at[has]] - lo) / (hi - lo)
    return out


def _child_of_root(nodes: NodeTable, root: np.ndarray, side: int) -> np.ndarray:
    """Index of the child of each root, -1 where the root is a leaf."""
    child = np.full(len(nodes.tree), -1, dtype=np.int64)
    at = np.flatnonzero((nodes.depth == 1) & (nodes.side == side))
    child[nodes.parent[at]] = at
    return child[root]
