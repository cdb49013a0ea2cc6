"""Prior masses of the row partitions made by trees of depth at most two.

Categorical rules and axis-aligned cuts (one continuous column, or phi = e_j): level sets are
enumerated, the cut of a child is integrated exactly (spacings), the cut of the root by
Gauss-Legendre quadrature between neighbouring rows, where the integrand is analytic.
The masses of rules and the probabilities of splitting are kept apart, so that one enumeration
serves every alpha and beta.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .partitions import Partition, partition
from .prior import Table


@dataclass(frozen=True)
class Problem(Table):
    """Rows and the rules that may separate them."""

    min_samples_leaf: int = 1

    @property
    def all_rows(self) -> int:
        return (1 << self.n_rows) - 1


@dataclass(frozen=True)
class Cell:
    """Interval of each continuous column and available levels (bit mask) of each categorical."""

    bounds: tuple[tuple[float, float], ...]
    levels: tuple[int, ...]


@dataclass
class RuleMasses:
    """Masses of partitions by shape of tree: the root split alone, with one child, with both."""

    n_rows: int
    root: dict[Partition, float] = field(default_factory=lambda: defaultdict(float))
    one: dict[Partition, float] = field(default_factory=lambda: defaultdict(float))
    both: dict[Partition, float] = field(default_factory=lambda: defaultdict(float))

    def partition_masses(self, alpha: float, beta: float) -> dict[Partition, float]:
        """Branching process with max_depth = 2: a node at depth 2 is a leaf for sure."""
        p0, p1 = alpha, alpha * 2.0**-beta
        out: dict[Partition, float] = defaultdict(float)
        out[partition([(1 << self.n_rows) - 1])] += 1 - p0
        shapes = ((self.root, (1 - p1) ** 2), (self.one, (1 - p1) * p1), (self.both, p1**2))
        for masses, factor in shapes:
            for blocks, mass in masses.items():
                out[blocks] += p0 * factor * mass
        return dict(out)


Split = tuple[float, int, int]  # mass, rows left, rows right


def rule_masses(problem: Problem, n_nodes: int = 24) -> RuleMasses:
    out = RuleMasses(problem.n_rows)
    enough = problem.min_samples_leaf
    root = Cell(
        ((-1.0, 1.0),) * problem.x_cont.shape[0], tuple((1 << k) - 1 for k in problem.n_levels)
    )
    for mass, left, right, cell_left, cell_right in root_rules(problem, root, n_nodes):
        left_splits = _child_splits(problem, cell_left, left)
        right_splits = _child_splits(problem, cell_right, right)
        left_fits, right_fits = left.bit_count() >= enough, right.bit_count() >= enough
        if left_fits and right_fits:
            out.root[partition((left, right))] += mass
        for m, a, b in left_splits if right_fits else []:
            out.one[partition((a, b, right))] += mass * m
        for m, a, b in right_splits if left_fits else []:
            out.one[partition((left, a, b))] += mass * m
        for m, a, b in left_splits:
            for k, c, d in right_splits:
                out.both[partition((a, b, c, d))] += mass * m * k
    return out


def root_rules(
    problem: Problem, cell: Cell, n_nodes: int
) -> Iterator[tuple[float, int, int, Cell, Cell]]:
    """(mass, rows left, rows right, left cell, right cell) of every rule or quadrature node."""
    p_cont, p_cat = len(cell.bounds), len(cell.levels)
    p = p_cont + p_cat
    rows = problem.all_rows
    for j in range(p_cont):
        lo, hi = cell.bounds[j]
        for cut, weight in _cut_nodes(problem.x_cont[j], lo, hi, n_nodes):
            cells = (
                Cell(_replaced(cell.bounds, j, (lo, cut)), cell.levels),
                Cell(_replaced(cell.bounds, j, (cut, hi)), cell.levels),
            )
            for mass, left in _route_cut(problem.x_cont[j], rows, cut):
                yield mass * weight / p, left, rows & ~left, *cells
    for j in range(p_cat):
        for mass, level_set in _level_sets(cell.levels[j]):
            left = _rows_with(problem.x_cat[j], rows, level_set)
            other = cell.levels[j] & ~level_set
            cells = (
                Cell(cell.bounds, _replaced(cell.levels, j, level_set)),
                Cell(cell.bounds, _replaced(cell.levels, j, other)),
            )
            yield mass / p, left, rows & ~left, *cells


def _replaced(values: tuple, j: int, value: object) -> tuple:
    return (*values[:j], value, *values[j + 1 :])


def _child_splits(problem: Problem, cell: Cell, rows: int) -> list[Split]:
    """The dichotomies of `rows` by one more rule, with exact masses; leaves with too few gone."""
    masses: dict[int, float] = defaultdict(float)
    p_cont, p_cat = len(cell.bounds), len(cell.levels)
    p = p_cont + p_cat
    for j in range(p_cont):
        lo, hi = cell.bounds[j]
        x = problem.x_cont[j]
        inside = sorted({x[i] for i in range(len(x)) if rows >> i & 1 and lo < x[i] < hi})
        edges = [lo, *inside, hi]
        for a, b in pairwise(edges):
            for mass, left in _route_cut(x, rows, 0.5 * (a + b)):
                masses[left] += mass * (b - a) / (hi - lo) / p
    for j in range(p_cat):
        for mass, level_set in _level_sets(cell.levels[j]):
            masses[_rows_with(problem.x_cat[j], rows, level_set)] += mass / p
    enough = problem.min_samples_leaf
    return [
        (mass, left, rows & ~left)
        for left, mass in masses.items()
        if left.bit_count() >= enough and (rows & ~left).bit_count() >= enough
    ]


def _cut_nodes(x: np.ndarray, lo: float, hi: float, n_nodes: int) -> Iterator[tuple[float, float]]:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    edges = [lo, *sorted({v for v in x if lo < v < hi}), hi]
    for a, b in pairwise(edges):
        for t, w in zip(nodes, weights, strict=True):
            yield 0.5 * (a + b) + 0.5 * (b - a) * t, 0.5 * w * (b - a) / (hi - lo)


def _route_cut(x: np.ndarray, rows: int, cut: float) -> list[tuple[float, int]]:
    """Rows left of the cut, for both sides that missing values may take."""
    left = missing = 0
    for i in range(len(x)):
        if rows >> i & 1:
            if np.isnan(x[i]):
                missing |= 1 << i
            elif x[i] < cut:
                left |= 1 << i
    return [(0.5, left), (0.5, left | missing)] if missing else [(1.0, left)]


def _level_sets(available: int) -> Iterator[tuple[float, int]]:
    """Every proper subset, each with mass 2^-L; the empty and the full one are not valid."""
    mass = 0.5 ** available.bit_count()
    subset = (available - 1) & available
    while subset:
        yield mass, subset
        subset = (subset - 1) & available


def _rows_with(codes: np.ndarray, rows: int, level_set: int) -> int:
    return sum(
        1 << i for i in range(len(codes)) if rows >> i & 1 and level_set >> int(codes[i]) & 1
    )
