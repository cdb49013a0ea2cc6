"""Prior masses of row partitions for oblique rules on two continuous columns, depth at most two.

`smooth_masses`: the root rule is drawn, the cut of a child is integrated exactly (spacings), its
direction is drawn once; a child's support {}, {1}, {2}, {1, 2} is summed exactly. Quasi-random
points make the error about 1e-4 with 2^15 roots.
`simulated_masses`: every part of every rule is drawn and dichotomies are counted, nothing else.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.stats import qmc

from .enumeration import Problem, RuleMasses
from .partitions import partition
from .ranges import of_nodes


def _direction(angle: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _half_plane(phi: np.ndarray, cut: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    sign = 1.0 if side == 0 else -1.0
    return sign * phi[:, None, :], sign * cut[:, None]


def _missing(x: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """(N, n): row i lacks a value in a column of rule phi."""
    return ((phi != 0)[:, :, None] & np.isnan(x)[None, :, :]).any(axis=1)


def smooth_masses(problem: Problem, theta: float, n_log2: int = 15, seed: int = 0) -> RuleMasses:
    u = qmc.Sobol(4, seed=seed).random_base2(n_log2)
    n_points = len(u)
    supports = {
        "both": (theta**2, _direction(2 * np.pi * u[:, 0])),
        "first": (theta * (1 - theta), np.tile([1.0, 0.0], (n_points, 1))),
        "second": (theta * (1 - theta), np.tile([0.0, 1.0], (n_points, 1))),
    }
    out = RuleMasses(problem.n_rows)
    for mass, phi in supports.values():
        if mass > 0:
            width = np.abs(phi).sum(axis=1)
            cut = width * (2 * u[:, 1] - 1)
            children = 2 * np.pi * u[:, 2], 2 * np.pi * u[:, 3]
            _add_root(out, problem, theta, mass, phi, cut, children)
    _add_zero_root(out, problem, theta, 2 * np.pi * u[:, 2])
    return out


def _add_root(out, problem, theta, mass, phi, cut, angles) -> None:
    x = problem.x_cont
    missing = _missing(x, phi)
    value = phi @ np.nan_to_num(x)
    bits = 1 << np.arange(problem.n_rows)
    for missing_left in (False, True):
        goes_left = np.where(missing, missing_left, value < cut[:, None])
        left = (goes_left * bits).sum(axis=1)
        for rows in np.unique(left):
            group = left == rows
            weight = 0.5 * mass / len(phi)
            sides = []
            for side, angle in enumerate(angles):
                a, b = _half_plane(phi[group], cut[group], side)
                side_rows = int(rows) if side == 0 else problem.all_rows & ~int(rows)
                sides.append(_child(problem, theta, side_rows, angle[group], a, b))
            _combine(out, problem, weight, int(rows), sides)


def _combine(out, problem, weight, rows, sides) -> None:
    """Sum over roots with the same dichotomy: each side's splits are independent given a root."""
    enough = problem.min_samples_leaf
    other = problem.all_rows & ~rows
    fits = rows.bit_count() >= enough, other.bit_count() >= enough
    (masks_left, q_left), (masks_right, q_right) = sides
    if fits[0] and fits[1]:
        out.root[partition((rows, other))] += weight * len(q_left)
    if fits[1]:
        for a, m in zip(masks_left, q_left.sum(axis=0), strict=True):
            out.one[partition((a, rows & ~a, other))] += weight * m
    if fits[0]:
        for c, m in zip(masks_right, q_right.sum(axis=0), strict=True):
            out.one[partition((rows, c, other & ~c))] += weight * m
    joint = weight * (q_left.T @ q_right)
    for i, a in enumerate(masks_left):
        for j, c in enumerate(masks_right):
            out.both[partition((a, rows & ~a, c, other & ~c))] += joint[i, j]


def _add_zero_root(out, problem, theta, angle) -> None:
    """phi = 0 at the root: all rows left, an empty right cell that cannot be split."""
    if problem.min_samples_leaf > 0 or theta == 1:
        return
    mass = (1 - theta) ** 2
    rows = problem.all_rows
    out.root[partition((rows,))] += mass
    no_cuts = np.zeros((len(angle), 0, 2)), np.zeros((len(angle), 0))
    masks, q = _child(problem, theta, rows, angle, *no_cuts)
    for a, m in zip(masks, q.mean(axis=0), strict=True):
        out.one[partition((a, rows & ~a))] += mass * m


def _child(problem, theta, rows, angle, a, b) -> tuple[list[int], np.ndarray]:
    """Dichotomies of `rows` by a child's rule: masks of one side, masses (N, masks)."""
    n = len(angle)
    columns: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(n))
    enough = problem.min_samples_leaf
    rules = (
        (theta**2, _direction(angle)),
        (theta * (1 - theta), np.tile([1.0, 0.0], (n, 1))),
        (theta * (1 - theta), np.tile([0.0, 1.0], (n, 1))),
    )
    for mass, phi in rules:
        if mass > 0:
            for left, m in _spacings(problem, rows, phi, a, b):
                if left.bit_count() >= enough and (rows & ~left).bit_count() >= enough:
                    columns[left] += mass * m
    if enough == 0 and theta < 1:
        columns[rows] += (1 - theta) ** 2
    masks = list(columns)
    return masks, np.stack([columns[m] for m in masks], axis=1) if masks else np.zeros((n, 0))


def _spacings(problem, rows, phi, a, b):
    """The cut integrated out: the chance of each dichotomy is a gap between projected rows."""
    x = problem.x_cont
    lo, hi = of_nodes(phi, a, b)
    lost = _missing(x, phi)[0]  # one support in a batch, so one pattern of missing values
    present = [i for i in range(problem.n_rows) if rows >> i & 1 and not lost[i]]
    absent = sum(1 << i for i in range(problem.n_rows) if rows >> i & 1 and lost[i])
    value = phi @ np.nan_to_num(x[:, present]) if present else np.zeros((len(phi), 0))
    order = np.argsort(value, axis=1)
    edges = np.concatenate(
        [lo[:, None], np.take_along_axis(value, order, axis=1), hi[:, None]], axis=1
    )
    gaps = np.diff(np.clip(edges, lo[:, None], hi[:, None]), axis=1) / (hi - lo)[:, None]
    bits = (1 << np.array(present, dtype=np.int64))[order] if present else order
    prefix = np.concatenate(
        [np.zeros((len(phi), 1), dtype=np.int64), np.cumsum(bits, axis=1)], axis=1
    )
    for left in np.unique(prefix):
        mass = np.where(prefix == left, gaps, 0.0).sum(axis=1)
        yield int(left), 0.5 * mass
        yield int(left) | absent, 0.5 * mass


def simulated_masses(
    problem: Problem, theta: float, n_rules: int, seed: int = 0, chunk: int = 250_000
) -> RuleMasses:
    """Root, left and right rule drawn n_rules times; relative frequencies of the outcomes."""
    rng = np.random.default_rng(seed)
    counts = {"root": defaultdict(float), "one": defaultdict(float), "both": defaultdict(float)}
    done = 0
    while done < n_rules:
        size = min(chunk, n_rules - done)
        _count(counts, problem, _simulate(problem, theta, size, rng))
        done += size
    out = RuleMasses(problem.n_rows)
    for shape, table in counts.items():
        for blocks, count in table.items():
            getattr(out, shape)[blocks] = count / n_rules
    return out


def _draw_rule(theta, a, b, rng):
    """phi (zero allowed), cut and the side of missing values at N nodes."""
    n = len(a)
    phi = rng.standard_normal((n, 2)) * (rng.random((n, 2)) < theta)
    norm = np.sqrt((phi**2).sum(axis=1))
    zero = norm == 0
    phi = phi / np.where(zero, 1.0, norm)[:, None]
    lo, hi = of_nodes(phi, a, b)
    cut = np.where(zero, 1.0, lo + (hi - lo) * rng.random(n))
    return phi, cut, rng.random(n) < 0.5, zero


def _route(problem, rule, rows) -> np.ndarray:
    phi, cut, missing_right, _ = rule
    x = problem.x_cont
    value = phi @ np.nan_to_num(x)
    right = np.where(_missing(x, phi), missing_right[:, None], value >= cut[:, None])
    bits = 1 << np.arange(problem.n_rows)
    return rows & ~(right * bits).sum(axis=1)


def _simulate(problem, theta, size, rng):
    none = np.zeros((size, 0, 2)), np.zeros((size, 0))
    root = _draw_rule(theta, *none, rng)
    left_rows = _route(problem, root, np.full(size, problem.all_rows))
    phi, cut, _, zero = root
    children = []
    for side in (0, 1):
        a, b = _half_plane(phi, cut, side)
        a, b = np.where(zero[:, None, None], 0.0, a), np.where(zero[:, None], 1.0, b)
        rule = _draw_rule(theta, a, b, rng)
        rows = left_rows if side == 0 else problem.all_rows & ~left_rows
        children.append((rows, _route(problem, rule, rows), rule[3]))
    return zero, children


def _count(counts, problem, simulated) -> None:
    zero, ((rows_l, a, zero_l), (rows_r, c, zero_r)) = simulated
    enough = problem.min_samples_leaf
    fits = [_popcount(m) >= enough for m in (rows_l, rows_r)]
    split_l = (_popcount(a) >= enough) & (_popcount(rows_l & ~a) >= enough)
    split_r = (_popcount(c) >= enough) & (_popcount(rows_r & ~c) >= enough)
    if enough > 0:
        split_l, split_r, zero_ok = split_l & ~zero_l, split_r & ~zero_r, ~zero
    else:
        split_r, zero_ok = split_r & ~zero, np.ones(len(zero), dtype=bool)
    empty = np.zeros_like(a)
    shapes = (
        ("root", fits[0] & fits[1], (rows_l, rows_r, empty, empty)),
        ("one", split_l & fits[1], (a, rows_l & ~a, rows_r, empty)),
        ("one", split_r & fits[0], (rows_l, c, rows_r & ~c, empty)),
        ("both", split_l & split_r, (a, rows_l & ~a, c, rows_r & ~c)),
    )
    for name, valid, blocks in shapes:
        valid = valid & zero_ok
        n = problem.n_rows
        packed = sum(block[valid].astype(np.int64) << (n * k) for k, block in enumerate(blocks))
        values, freq = np.unique(packed, return_counts=True)
        for value, count in zip(values.tolist(), freq.tolist(), strict=True):
            parts = [value >> (n * k) & ((1 << n) - 1) for k in range(4)]
            counts[name][partition(parts)] += count


def _popcount(mask: np.ndarray) -> np.ndarray:
    return sum(mask >> i & 1 for i in range(16))
