"""Simulator of the restricted prior: branching process, rules, outputs, theta, sigma, leaf_sd.

All nodes of a depth are drawn at once, for many replicates. A replicate (theta and all its trees)
is thrown away as a whole as soon as one of its rules or leaves is not valid; where theta is not
random the trees are independent and one tree is thrown away at a time. Cells are kept as lists of
half-spaces, ranges come from their vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import directions, ranges

LEAF, CONTINUOUS, CATEGORICAL = 0, 1, 2


@dataclass(frozen=True)
class Table:
    """Predictors. NaN in x_cont is a missing value."""

    x_cont: np.ndarray  # (p_cont, n)
    x_cat: np.ndarray  # (p_cat, n) codes
    n_levels: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        return int(max(self.x_cont.shape[1], self.x_cat.shape[1]))


@dataclass(frozen=True)
class Prior:
    n_trees: int = 1
    alpha: float = 0.95
    beta: float = 2.0
    max_depth: int = 250
    min_samples_leaf: int = 1
    axis_rules: bool = False
    theta: float | tuple[float, float] = 1.0  # fixed, or (a, b) of the Beta
    theta_by_column: bool = False  # a theta for each column; axis rules: Dirichlet(a, ..., a)
    sigma: float | tuple[float, float] = 1.0  # fixed, or (nu, lambda)
    leaf_sd: float | tuple[float, float] = 1.0  # fixed, or (shape, rate) of leaf_sd^2
    tree_df: float = 0.0  # of the scales of trees; 0: all are one
    directions: tuple[directions.Component, ...] = ()  # in place of oblique and axis rules
    width_scale: float | None = None  # the median of widths over ||phi||_1; None: hard rules


@dataclass
class Level:
    """The nodes of one depth: whose they are, the rows that reach them, their cells."""

    tree: np.ndarray  # (N,) index of the tree
    path: np.ndarray  # (N,) one bit a step, 1 = right
    rows: np.ndarray  # (N, n) bool
    empty: np.ndarray  # (N,) right of a zero rule
    a: np.ndarray  # (N, depth, p_cont) half-spaces a'x <= b; 0'x <= 1 for other ancestors
    b: np.ndarray  # (N, depth)
    levels: np.ndarray  # (N, p_cat) available levels as bits

    def take(self, chosen: np.ndarray) -> Level:
        return Level(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass
class Nodes:
    """Kept nodes of one depth."""

    depth: int
    tree: np.ndarray
    path: np.ndarray
    kind: np.ndarray
    n_left: np.ndarray
    n_right: np.ndarray
    cut: np.ndarray
    phi: np.ndarray
    component: np.ndarray
    missing_right: np.ndarray
    column: np.ndarray
    right_levels: np.ndarray


@dataclass
class Sample:
    """Ensembles in the columnar form of Draws.to_arrays, and the scales of each."""

    arrays: dict[str, np.ndarray]
    theta: np.ndarray  # (n_draws, 1), or (n_draws, p_cont) by column
    sigma: np.ndarray
    leaf_sd: np.ndarray
    tree_scales: np.ndarray  # (n_draws, n_trees), or (n_draws, 0) where all are one
    n_attempts: int
    n_valid: int  # of the attempts, before the last batch was cut to the number asked for
    # (n_draws, number of components), or (n_draws, 0) where there is one
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


def simulate(table: Table, prior: Prior, n_draws: int, seed: int, batch: int = 20_000) -> Sample:
    batch = min(batch, 4_000_000 // table.n_rows)
    rng = np.random.default_rng(seed)
    n_trees = prior.n_trees
    random_theta = isinstance(prior.theta, tuple)
    is_shared = random_theta or len(prior.directions) > 1
    together = n_trees if is_shared else 1
    wanted = n_draws if is_shared else n_draws * n_trees
    kept: list[Nodes] = []
    thetas: list[np.ndarray] = []
    all_weights: list[np.ndarray] = []
    n_kept = n_attempts = 0
    while n_kept < wanted:
        theta = _draw_theta(prior, batch, table.x_cont.shape[0], rng)
        weights = _draw_weights(prior, batch, rng)
        shared = [np.repeat(values, together, axis=0) for values in (theta, weights)]
        valid, nodes = _attempt(table, prior, *shared, together, rng)
        number = np.cumsum(valid) - 1 + n_kept  # new index of a replicate
        for level in nodes:
            level.tree = number[level.tree // together] * together + level.tree % together
        kept += nodes
        thetas.append(theta[valid])
        all_weights.append(weights[valid])
        n_kept += int(valid.sum())
        n_attempts += batch
    theta = np.concatenate(thetas)[:wanted]
    if not random_theta:
        theta = np.full((n_draws, 1), prior.theta)
    n_weights = len(prior.directions) if len(prior.directions) > 1 else 0
    weights = np.concatenate(all_weights)[:n_draws, :n_weights]
    sigma = _scale(prior.sigma, "sigma", n_draws, rng)
    leaf_sd = _scale(prior.leaf_sd, "leaf_sd", n_draws, rng)
    tree_scales = _tree_scales(prior, n_draws, rng)
    of_trees = leaf_sd[:, None] * (tree_scales if tree_scales.size else np.ones(n_trees))
    arrays = _columnar(table, kept, n_draws, n_trees, of_trees, rng)
    if prior.width_scale is not None:
        arrays["width"] = _widths(arrays, prior.width_scale, rng)
    return Sample(arrays, theta, sigma, leaf_sd, tree_scales, n_attempts, n_kept, weights)


def _tree_scales(prior: Prior, n_draws: int, rng) -> np.ndarray:
    if prior.tree_df == 0.0:
        return np.zeros((n_draws, 0))
    precision = rng.chisquare(prior.tree_df, (n_draws, prior.n_trees)) / prior.tree_df
    return precision**-0.5


def _widths(arrays: dict[str, np.ndarray], scale: float, rng) -> np.ndarray:
    """Half-widths of the continuous rules; that of a zero rule means nothing."""
    n_rules = len(arrays["cut"])
    rule = np.repeat(np.arange(n_rules), arrays["phi_count"])
    half_range = np.bincount(rule, np.abs(arrays["phi_value"]), minlength=n_rules)
    odds = rng.exponential(size=n_rules) / rng.exponential(size=n_rules)
    width = np.clip(scale * half_range * odds**2, 1e-12, 1e12)
    return np.where(half_range > 0, width, 1.0).astype(np.float32)


def _draw_theta(prior: Prior, size: int, p_cont: int, rng) -> np.ndarray:
    if not isinstance(prior.theta, tuple):
        return np.full((size, 1), prior.theta)
    if not prior.theta_by_column:
        return rng.beta(*prior.theta, (size, 1))
    if prior.axis_rules:
        return rng.dirichlet(np.full(p_cont, prior.theta[0]), size)
    return rng.beta(*prior.theta, (size, p_cont))


def _draw_weights(prior: Prior, size: int, rng) -> np.ndarray:
    """Weights of the components, from their Dirichlet prior."""
    if not prior.directions:
        return np.ones((size, 1))
    return rng.dirichlet([c.get("concentration", 1.0) for c in prior.directions], size)


def _scale(spec: float | tuple[float, float], name: str, n: int, rng) -> np.ndarray:
    """An inverse-gamma variance: (nu, lambda) for sigma, (shape, rate) for leaf_sd."""
    if not isinstance(spec, tuple):
        return np.full(n, float(spec))
    shape, rate = (0.5 * spec[0], 0.5 * spec[0] * spec[1]) if name == "sigma" else spec
    return np.sqrt(rate / rng.gamma(shape, size=n))


def _attempt(
    table: Table, prior: Prior, theta, weights, together, rng
) -> tuple[np.ndarray, list[Nodes]]:
    """Trees by depth; which replicates are valid, and the nodes of those."""
    n_trees, n, p_cont = len(theta), table.n_rows, table.x_cont.shape[0]
    alive = np.ones(n_trees // together, dtype=bool)
    full = np.array([(1 << k) - 1 for k in table.n_levels], dtype=np.int64)
    level = Level(
        np.arange(n_trees),
        np.zeros(n_trees, dtype=np.int64),
        np.ones((n_trees, n), dtype=bool),
        np.zeros(n_trees, dtype=bool),
        np.zeros((n_trees, 0, p_cont)),
        np.zeros((n_trees, 0)),
        np.tile(full, (n_trees, 1)),
    )
    kept: list[Nodes] = []
    depth = 0
    while len(level.tree):
        p_split = prior.alpha * (1.0 + depth) ** -prior.beta if depth < prior.max_depth else 0.0
        split = rng.random(len(level.tree)) < p_split
        if depth > 0:
            short = ~split & (level.rows.sum(axis=1) < prior.min_samples_leaf)
            alive[level.tree[short] // together] = False
        nodes, valid, right = _draw_rules(table, prior, level, split, theta, weights, depth, rng)
        alive[level.tree[~valid] // together] = False
        kept.append(nodes)
        level = _children(level, nodes, right, alive[level.tree // together] & split)
        depth += 1
        assert depth < 62
    for nodes in kept:
        chosen = alive[nodes.tree // together]
        for name in nodes.__dataclass_fields__:
            if name != "depth":
                setattr(nodes, name, getattr(nodes, name)[chosen])
    return alive, kept


def _draw_rules(table, prior, level, split, theta, weights, depth, rng):
    """Rules for the nodes that split: the node table, validity, and the rows that go right."""
    size, n = level.rows.shape
    p_cont, p_cat = table.x_cont.shape[0], table.x_cat.shape[0]
    kind = np.zeros(size, dtype=np.uint8)
    continuous = rng.random(size) < p_cont / (p_cont + p_cat)
    kind[split] = np.where(continuous[split], CONTINUOUS, CATEGORICAL)
    cut = np.zeros(size)
    phi = np.zeros((size, p_cont))
    component = np.zeros(size, dtype=np.uint8)
    missing_right = np.zeros(size, dtype=bool)
    column = np.zeros(size, dtype=np.int64)
    right_levels = np.zeros(size, dtype=np.int64)
    valid = np.ones(size, dtype=bool)
    right = np.zeros((size, n), dtype=bool)

    at = np.flatnonzero(kind == CONTINUOUS)
    if len(at):
        tree = level.tree[at]
        phi[at], component[at] = _draw_phi(prior, theta[tree], weights[tree], p_cont, rng)
        zero = (phi[at] == 0).all(axis=1)
        lo, hi = ranges.of_nodes(phi[at], level.a[at], level.b[at])
        cut[at] = np.where(zero, 1.0, lo + (hi - lo) * rng.random(len(at)))
        legal = np.where(zero, prior.min_samples_leaf == 0, hi - lo > 1e-9)
        valid[at] = legal & ~level.empty[at]
        lost = ((phi[at] != 0)[:, :, None] & np.isnan(table.x_cont)[None]).any(axis=1)
        missing_right[at] = (rng.random(len(at)) < 0.5) & lost.any(axis=1)
        value = phi[at] @ np.nan_to_num(table.x_cont)
        right[at] = np.where(lost, missing_right[at][:, None], value >= cut[at][:, None])

    at = np.flatnonzero(kind == CATEGORICAL)
    if len(at):
        column[at] = rng.integers(0, p_cat, len(at))
        available = level.levels[at, column[at]]
        right_levels[at] = rng.integers(0, 1 << 62, len(at)) & available
        valid[at] = (right_levels[at] != 0) & (right_levels[at] != available) & ~level.empty[at]
        codes = table.x_cat[column[at]]
        right[at] = (right_levels[at][:, None] >> codes & 1).astype(bool)

    n_right = (level.rows & right).sum(axis=1)
    n_left = level.rows.sum(axis=1) - n_right
    nodes = Nodes(
        depth,
        level.tree,
        level.path,
        kind,
        n_left,
        n_right,
        cut,
        phi,
        component,
        missing_right,
        column,
        right_levels,
    )
    return nodes, valid, right


def _draw_phi(prior: Prior, theta, weights, p_cont: int, rng) -> tuple[np.ndarray, np.ndarray]:
    if prior.directions:
        return directions.draw(prior.directions, weights, theta, p_cont, rng)
    return _draw_plain_phi(prior, theta, p_cont, rng), np.zeros(len(theta), dtype=np.uint8)


def _draw_plain_phi(prior: Prior, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    size = len(theta)
    if prior.axis_rules:
        if not prior.theta_by_column:
            return np.eye(p_cont)[rng.integers(0, p_cont, size)]
        above = rng.random((size, 1)) > np.cumsum(theta, axis=1)
        return np.eye(p_cont)[np.minimum(above.sum(axis=1), p_cont - 1)]
    phi = rng.standard_normal((size, p_cont)) * (rng.random((size, p_cont)) < theta)
    norm = np.sqrt((phi**2).sum(axis=1, keepdims=True))
    return phi / np.where(norm > 0, norm, 1.0)


def _children(level: Level, nodes: Nodes, right: np.ndarray, goes_on: np.ndarray) -> Level:
    parent = level.take(goes_on)
    continuous = nodes.kind[goes_on] == CONTINUOUS
    phi, cut = nodes.phi[goes_on], nodes.cut[goes_on]
    zero = continuous & (phi == 0).all(axis=1)
    plane = continuous & ~zero
    column, right_levels = nodes.column[goes_on], nodes.right_levels[goes_on]
    sides = []
    for side in (0, 1):
        sign = 1.0 - 2.0 * side
        a = np.where(plane[:, None], sign * phi, 0.0)[:, None, :]
        b = np.where(plane, sign * cut, 1.0)[:, None]
        levels = parent.levels.copy()
        at = np.flatnonzero(~continuous)
        keep = right_levels[at] if side else ~right_levels[at]
        levels[at, column[at]] &= keep
        sides.append(
            Level(
                parent.tree,
                parent.path * 2 + side,
                parent.rows & (right[goes_on] == bool(side)),
                parent.empty | (zero if side else False),
                np.concatenate([parent.a, a], axis=1),
                np.concatenate([parent.b, b], axis=1),
                levels,
            )
        )
    both = [
        np.concatenate([getattr(s, name) for s in sides]) for name in Level.__dataclass_fields__
    ]
    return Level(*both)


def _columnar(table, kept, n_draws, n_trees, leaf_sd_of_trees, rng) -> dict[str, np.ndarray]:
    """Nodes of all depths in preorder: along the path, a node before its left descendants."""
    names = [name for name in Nodes.__dataclass_fields__ if name != "depth"]
    joined = {name: np.concatenate([getattr(k, name) for k in kept]) for name in names}
    depth = np.concatenate([np.full(len(k.tree), k.depth) for k in kept])
    wanted = joined["tree"] < n_draws * n_trees
    joined = {name: value[wanted] for name, value in joined.items()}
    depth = depth[wanted]
    order = np.lexsort((depth, joined["path"] << (62 - depth), joined["tree"]))
    node = {name: value[order] for name, value in joined.items()}
    kind = node["kind"]
    counts = np.bincount(node["tree"], minlength=n_draws * n_trees)
    bits = (
        kind
        + 16 * node["component"]
        + 4 * node["missing_right"]
        + 8 * ((kind > 0) & (node["n_right"] > node["n_left"]))
    )
    continuous, categorical = kind == CONTINUOUS, kind == CATEGORICAL
    phi = node["phi"][continuous].astype(np.float32)
    rule, column = np.nonzero(phi)
    leaf = kind == LEAF
    scale = leaf_sd_of_trees.ravel()[node["tree"][leaf]]
    return {
        "structure_of": np.arange(n_draws * n_trees, dtype=np.uint32).reshape(n_draws, n_trees),
        "node_begin": np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        "node_kind": bits.astype(np.uint8),
        "cut": node["cut"][continuous].astype(np.float32),
        "phi_count": (phi != 0).sum(axis=1).astype(np.uint32),
        "phi_column": column.astype(np.uint32),
        "phi_value": phi[rule, column],
        "cat_column": node["column"][categorical].astype(np.uint32),
        "level_words": _words(
            node["right_levels"][categorical], node["column"][categorical], table.n_levels
        ),
        "outputs": (scale * rng.standard_normal(len(scale))).astype(np.float32),
    }


def _words(levels: np.ndarray, column: np.ndarray, n_levels: tuple[int, ...]) -> np.ndarray:
    if not n_levels:
        return np.zeros(0, dtype=np.uint32)
    size = np.array([-(-k // 32) for k in n_levels], dtype=np.int64)
    low, high = levels & 0xFFFFFFFF, levels >> 32
    pairs = np.stack([low, high], axis=1)
    used = np.arange(2)[None, :] < size[column][:, None]
    return pairs[used].astype(np.uint32)
