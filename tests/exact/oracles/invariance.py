"""Prior invariance: draw (theta, scales, ensemble) from the prior, y given them, run sweeps.

If each sweep leaves the posterior invariant, then what is left after k sweeps has the prior's
distribution again, jointly with y. Both the start and the reference come from the NumPy simulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from obliquebart import _core

from . import columnar, core, directions
from .compare import p_value
from .prior import Prior, Sample, Table, simulate


@dataclass(frozen=True)
class Setup:
    name: str
    table: Table
    prior: Prior
    n_sweeps: int = 10
    weighted: bool = False
    likelihood: str = "gaussian"
    offset: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0  # of the replicates, where one costs much

    def settings(self) -> _core.Settings:
        return core.settings(
            self.prior, likelihood=self.likelihood, offset=self.offset, **self.more
        )

    def weights(self) -> np.ndarray | None:
        n = self.table.n_rows
        if self.likelihood == "weighted_probit":
            first = (1 + (7 * np.arange(n // 2)) % 11) / 13
            return np.concatenate([first, 1.0 - first])
        return 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if self.weighted else None


def make_table(
    n: int, p_cont: int, n_levels: tuple[int, ...] = (), missing: float = 0.0, seed: int = 1
) -> Table:
    """Columns scaled to [-1, 1]; the first rows go through the levels."""
    rng = np.random.default_rng([seed, n, p_cont, len(n_levels)])
    x = rng.uniform(-1, 1, (p_cont, n))
    if p_cont and n > 1:
        lo, hi = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
        x = 2 * (x - lo) / (hi - lo) - 1
    x = np.where(rng.random(x.shape) < missing, np.nan, x).astype(np.float32).astype(float)
    codes = np.array([rng.integers(0, k, n) for k in n_levels], dtype=int).reshape(-1, n)
    for j, k in enumerate(n_levels):
        codes[j, : min(k, n)] = np.arange(min(k, n))
    return Table(x, codes, n_levels)


def twice(table: Table) -> Table:
    """Every row once more, after all of them."""
    return Table(np.tile(table.x_cont, 2), np.tile(table.x_cat, 2), table.n_levels)


def draw_y(setup: Setup, fit: np.ndarray, sigma: np.ndarray, rng) -> np.ndarray:
    if setup.likelihood == "student_t":
        noise = rng.standard_t(setup.more["more"]["df"], fit.shape)
    else:
        noise = rng.standard_normal(fit.shape)
    if setup.likelihood == "probit":
        return (setup.offset + fit + noise > 0).astype(float)
    if setup.likelihood == "weighted_probit":
        # A row is there twice, with weights that add up to one: together they are one label.
        labels = (setup.offset + fit + noise > 0).astype(float)
        return np.tile(labels[:, : labels.shape[1] // 2], 2)
    weights = setup.weights()
    return fit + sigma[:, None] * noise / (1.0 if weights is None else np.sqrt(weights))


def statistics(
    setup: Setup, arrays: dict, y: np.ndarray, theta, sigma, leaf_sd, tree_scales=None, weights=None
) -> columnar.Statistics:
    """Of the ensemble, of the scales, and of both together with y."""
    table, prior = setup.table, setup.prior
    nodes = columnar.NodeTable(arrays, table.x_cont.shape[0], table.n_levels)
    fit = nodes.fit(table)
    out = columnar.statistics(nodes, table)
    out["fit of the first row"] = (fit[:, 0], False)
    out["y'fit"] = ((y * fit).sum(axis=1), False)
    if isinstance(prior.theta, tuple):
        first = 0
        if prior.directions and prior.theta_by_column:
            by_theta = directions.theta_columns(prior.directions, theta.shape[1])
            first, theta = by_theta[0], theta[:, by_theta]
        uses = nodes.uses_of_column(first) if prior.theta_by_column else out["nonzeros"][0]
        out["theta"] = (theta[:, 0], False)
        out["theta times its uses"] = (theta[:, 0] * (1 + uses), False)
        out["largest theta"] = (theta.max(axis=1), False)
    if prior.directions:
        out |= _directions(nodes, weights, len(prior.directions))
    if prior.width_scale is not None:
        out |= _widths(nodes)
    if isinstance(prior.leaf_sd, tuple):
        out["leaf_sd"] = (leaf_sd, False)
        out["scaled square output"] = (out["mean square output"][0] / leaf_sd**2, False)
    if prior.tree_df > 0:
        out |= _tree_scales(nodes, leaf_sd, tree_scales)
    if setup.likelihood.endswith("probit"):
        w = setup.weights()
        log_p = special.log_ndtr((2 * y - 1) * (setup.offset + fit))
        out["log likelihood"] = (((1.0 if w is None else w) * log_p).sum(axis=1), False)
    else:
        w = setup.weights()
        squares = (1.0 if w is None else w) * (y - fit) ** 2
        out["sum of squared residuals"] = (squares.sum(axis=1), False)
        out["scaled squared residuals"] = (squares.sum(axis=1) / sigma**2, False)
        out["y of the first row"] = (y[:, 0] - fit[:, 0], False)
        if isinstance(prior.sigma, tuple):
            out["sigma"] = (sigma, False)
    return out


def _directions(nodes: columnar.NodeTable, weights: np.ndarray, n: int) -> columnar.Statistics:
    """How often each component is used, its weight, and what the root of the first tree looks at.

    Neighbours are columns next to each other, which they are in a grid's last axis too.
    """
    out: columnar.Statistics = {}
    continuous = nodes.kind == columnar.CONTINUOUS
    for c in range(n):
        rules = nodes.per_draw((continuous & (nodes.component == c)) * 1.0)
        out[f"rules of component {c}"] = (rules, True)
        if weights.shape[1] > 0:
            out[f"weight of component {c}"] = (weights[:, c], False)
            out[f"weight times rules of component {c}"] = (weights[:, c] * (1 + rules), False)
    root = nodes.start[:: nodes.n_trees][: nodes.n_draws]
    phi, has = nodes.phi[root], (nodes.phi[root] != 0).any(axis=1)
    is_in = phi != 0

    def among(values: np.ndarray) -> np.ndarray:
        return np.where(has, values, np.nan)

    out["root support"] = (among(is_in @ 2.0 ** np.arange(phi.shape[1])), True)
    out["root sum"] = (among(phi.sum(axis=1)), False)
    out["root neighbours"] = (among((phi[:, :-1] * phi[:, 1:]).sum(axis=1)), False)
    out["root squared length"] = (among(np.round((phi**2).sum(axis=1), 3)), True)
    out["root largest"] = (among(np.abs(phi).max(axis=1)), False)
    out["root last coefficient"] = (np.where(is_in[:, -1], phi[:, -1], np.nan), False)
    return out


def _widths(nodes: columnar.NodeTable) -> columnar.Statistics:
    """The widths of a draw, and that of the first tree's root, in units of ||phi||_1."""
    half_range = np.abs(nodes.phi).sum(axis=1)
    at = np.flatnonzero((nodes.kind == columnar.CONTINUOUS) & (half_range > 0))
    width = np.full(len(nodes.tree), np.nan)
    width[at] = nodes.width[at] / half_range[at]
    largest = np.full(nodes.n_draws, -np.inf)
    np.maximum.at(largest, nodes.draw[at], width[at])
    root = nodes.start[:: nodes.n_trees][: nodes.n_draws]
    return {
        "root width": (width[root], False),
        "root width in units of x": (width[root] * half_range[root], False),
        "largest width": (np.where(np.isfinite(largest), largest, np.nan), False),
        "root width times its output": (width[root] * _first_output(nodes, root), False),
    }


def _tree_scales(nodes: columnar.NodeTable, leaf_sd, scales: np.ndarray) -> columnar.Statistics:
    """The scale of the first tree, and its outputs in units of it."""
    root = nodes.start[:: nodes.n_trees][: nodes.n_draws]
    unit = _first_output(nodes, root) / (leaf_sd * scales[:, 0])
    return {
        "scale of the first tree": (scales[:, 0], False),
        "largest scale of a tree": (scales.max(axis=1), False),
        "first output in its unit": (unit, False),
        "scale times the output's unit": (np.log(scales[:, 0]) * np.abs(unit), False),
    }


def _first_output(nodes: columnar.NodeTable, root: np.ndarray) -> np.ndarray:
    """The output of the first leaf of the first tree."""
    leaves = np.flatnonzero(nodes.is_leaf)
    return nodes.output[leaves[np.searchsorted(leaves, root)]]


def sample_statistics(setup: Setup, sample: Sample, seed: int) -> columnar.Statistics:
    """The reference: prior draws with a fresh y each."""
    rng = np.random.default_rng(seed)
    nodes = columnar.NodeTable(sample.arrays, setup.table.x_cont.shape[0], setup.table.n_levels)
    y = draw_y(setup, nodes.fit(setup.table), sample.sigma, rng)
    return statistics(
        setup,
        sample.arrays,
        y,
        sample.theta,
        sample.sigma,
        sample.leaf_sd,
        sample.tree_scales,
        sample.weights,
    )


def after_sweeps(setup: Setup, sample: Sample, seed: int) -> columnar.Statistics:
    """The chain: from every prior draw, y, then n_sweeps sweeps."""
    rng = np.random.default_rng(seed)
    table = setup.table
    nodes = columnar.NodeTable(sample.arrays, table.x_cont.shape[0], table.n_levels)
    y = draw_y(setup, nodes.fit(table), sample.sigma, rng)
    start = core.draws(sample.arrays, table)
    n = len(y)
    theta, weights = np.zeros_like(sample.theta), np.zeros_like(sample.weights)
    tree_scales = np.zeros_like(sample.tree_scales)
    chain = _core.Sampler(core.data(table), y[0], setup.weights(), setup.settings(), seed, 0)
    scales = np.zeros((2, n))
    kept = None
    for i in range(n):
        chain.sigma, chain.leaf_sd = sample.sigma[i], sample.leaf_sd[i]
        chain.column_theta = sample.theta[i].tolist()
        chain.direction_weights = sample.weights[i].tolist()
        chain.set_tree_scales(sample.tree_scales[i].tolist())
        chain.set_y(y[i])
        chain.set_ensemble(start, i)
        chain.sweep(setup.n_sweeps)
        theta[i], weights[i] = chain.column_theta, chain.direction_weights
        tree_scales[i] = chain.tree_scales
        scales[:, i] = chain.sigma, chain.leaf_sd
        if kept is None:
            kept = chain.ensemble()
        else:
            kept.append(chain.ensemble())
    assert chain.check() == []
    return statistics(setup, kept.to_arrays(), y, theta, *scales, tree_scales, weights)


def compare(a: columnar.Statistics, b: columnar.Statistics) -> dict[str, float]:
    assert a.keys() == b.keys()
    return {name: p_value(a[name][0], b[name][0], a[name][1]) for name in a}


def p_values(setup: Setup, n_replicates: int, n_reference: int, seed: int) -> dict[str, float]:
    n_start, n_reference = int(setup.share * n_replicates), int(setup.share * n_reference)
    start = simulate(setup.table, setup.prior, n_start, seed)
    reference = simulate(setup.table, setup.prior, n_reference, seed + 1)
    return compare(
        after_sweeps(setup, start, seed + 2), sample_statistics(setup, reference, seed + 3)
    )
