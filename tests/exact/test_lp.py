"""The linear programme of a cell against HiGHS, on cells made the way the sampler makes them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.probes import probes

AGREEMENT = 1e-9


class Cell(NamedTuple):
    a: np.ndarray
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def maximise(cell: Cell, objective: np.ndarray) -> tuple[str, float]:
    return probes.lp_maximise(*cell, objective)


def by_highs(cell: Cell, objective: np.ndarray) -> tuple[str, float]:
    result = linprog(
        -objective,
        A_ub=cell.a,
        b_ub=cell.b,
        bounds=np.column_stack([cell.lower, cell.upper]),
        method="highs",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
            "presolve": False,
        },
    )
    status = {0: "optimal", 2: "infeasible"}.get(result.status, "failed")
    return status, -result.fun if status == "optimal" else np.nan


def by_fractions(cell: Cell, objective: np.ndarray) -> tuple[str, float]:
    """Dual simplex with Bland's rule in rational numbers: slow and exact."""
    n_rows, n_cols = cell.a.shape
    tableau = [[Fraction(v) for v in row] for row in cell.a.tolist()]
    low: list = [Fraction(v) for v in cell.lower.tolist()] + [Fraction(0)] * n_rows
    high: list = [Fraction(v) for v in cell.upper.tolist()] + [np.inf] * n_rows
    cost = [Fraction(v) for v in objective.tolist()]
    at = [high[j] if cost[j] > 0 else low[j] for j in range(n_cols)]
    basic, nonbasic = list(range(n_cols, n_cols + n_rows)), list(range(n_cols))
    value = [
        Fraction(right) - sum(t * x for t, x in zip(row, at, strict=True))
        for row, right in zip(tableau, cell.b.tolist(), strict=True)
    ]
    while True:
        violated = [
            (basic[i], i) for i in range(n_rows) if not low[basic[i]] <= value[i] <= high[basic[i]]
        ]
        if not violated:
            point = dict(zip(nonbasic + basic, at + value, strict=True))
            terms = (Fraction(c) * point[j] for j, c in enumerate(objective.tolist()))
            return "optimal", float(sum(terms))
        leaving, r = min(violated)
        below = value[r] < low[leaving]
        candidates = []
        for k, variable in enumerate(nonbasic):
            is_upper = at[k] == high[variable]
            alpha = tableau[r][k] if is_upper == below else -tableau[r][k]
            if alpha > 0 and low[variable] < high[variable]:
                candidates.append((abs(cost[k]) / alpha, variable, k))
        if not candidates:
            return "infeasible", np.nan
        e = min(candidates)[2]
        target = low[leaving] if below else high[leaving]
        pivot = tableau[r][e]
        step = (value[r] - target) / pivot
        pivot_row = [t / pivot for t in tableau[r]]
        pivot_row[e] = 1 / pivot
        for i in range(n_rows):
            if i != r:
                value[i] -= tableau[i][e] * step
                tableau[i] = _eliminate(tableau[i], e, pivot_row)
        cost = _eliminate(cost, e, pivot_row)
        tableau[r] = pivot_row
        value[r], at[e] = at[e] + step, target
        basic[r], nonbasic[e] = nonbasic[e], basic[r]


def _eliminate(row: list, e: int, pivot_row: list) -> list:
    factor = row[e]
    if factor == 0:
        return row
    rest = [*row[:e], Fraction(0), *row[e + 1 :]]
    return [t - factor * p for t, p in zip(rest, pivot_row, strict=True)]


def agree(ours: tuple[str, float], theirs: tuple[str, float]) -> bool:
    if ours[0] != theirs[0]:
        return False
    return ours[0] == "infeasible" or abs(ours[1] - theirs[1]) <= AGREEMENT


class Judge:
    """HiGHS lets a point leave the cell by 1e-10, which in a thin wedge moves the optimum by more
    than our agreement. Where it differs, rational arithmetic decides who is right."""

    def __init__(self) -> None:
        self.n_compared = 0
        self.n_refereed = 0

    def check(self, cell: Cell, objective: np.ndarray) -> None:
        self.n_compared += 1
        ours = maximise(cell, objective)
        theirs = by_highs(cell, objective)
        if agree(ours, theirs):
            return
        self.n_refereed += 1
        exact = by_fractions(cell, objective)
        assert agree(ours, exact), (ours, theirs, exact, cell, objective)


def draw_direction(rng: np.random.Generator, n_cols: int, single: bool) -> np.ndarray:
    theta = rng.uniform(1 / n_cols, 1)
    phi = np.zeros(n_cols)
    while not phi.any():
        phi = np.where(rng.random(n_cols) < theta, rng.standard_normal(n_cols), 0.0)
    phi /= np.linalg.norm(phi)
    return phi.astype(np.float32).astype(np.float64) if single else phi


def draw_cell(rng: np.random.Generator, n_cols: int, depth: int, single: bool) -> Cell:
    """Half-spaces whose cut is uniform over the range of the direction, now and then at its edge.

    `single`: directions and cuts are rounded to float32, as the sampler stores them.
    """
    box = np.ones(n_cols)
    cell = Cell(np.zeros((0, n_cols)), np.zeros(0), -box, box)
    for _ in range(depth):
        phi = draw_direction(rng, n_cols, single)
        status_high, high = maximise(cell, phi)
        status_low, low = maximise(cell, -phi)
        if status_high != "optimal" or status_low != "optimal":
            break  # rounding a cut to float32 can empty a thin cell
        low = -low
        if high - low < 1e-9:
            continue
        u = rng.random() if rng.random() < 0.95 else 10.0 ** rng.uniform(-6, -2)
        cut = low + u * (high - low)
        cut = float(np.float32(cut)) if single else cut
        side = rng.choice([-1.0, 1.0])
        cell = cell._replace(a=np.vstack([cell.a, side * phi]), b=np.append(cell.b, side * cut))
    return cell


def with_row(cell: Cell, row: np.ndarray, right: float) -> Cell:
    return cell._replace(a=np.vstack([cell.a, row]), b=np.append(cell.b, right))


def draw_small(rng: np.random.Generator, max_depth: int = 25) -> tuple[Cell, np.ndarray]:
    n_cols = int(rng.integers(1, 11))
    single = bool(rng.random() < 0.5)
    cell = draw_cell(rng, n_cols, int(rng.integers(1, max_depth + 1)), single)
    return cell, draw_direction(rng, n_cols, single)


@pytest.mark.parametrize("seed", range(8))
def test_cells_of_the_sampler(seed):
    rng, judge = np.random.default_rng([1, seed]), Judge()
    for _ in range(1250):
        judge.check(*draw_small(rng))
    assert judge.n_refereed <= 0.01 * judge.n_compared


def test_wide_cells():
    rng, judge = np.random.default_rng(2), Judge()
    for _ in range(60):
        n_cols = int(rng.integers(50, 201))
        cell = draw_cell(rng, n_cols, int(rng.integers(1, 9)), single=True)
        judge.check(cell, draw_direction(rng, n_cols, single=True))


@pytest.mark.parametrize("n_cols", [784, 2_000, 4_096])
def test_cells_as_wide_as_images(n_cols):
    """Up to the largest patch."""
    rng, judge = np.random.default_rng([4, n_cols]), Judge()
    for _ in range(40):
        cell = draw_cell(rng, n_cols, int(rng.integers(1, 9)), single=True)
        judge.check(cell, draw_direction(rng, n_cols, single=True))


def duplicated(rng, cell, phi):
    i = rng.integers(len(cell.b), size=3)
    return cell._replace(a=np.vstack([cell.a, cell.a[i]]), b=np.append(cell.b, cell.b[i])), phi


def near_parallel(rng, cell, phi):
    i = rng.integers(len(cell.b))
    tilt = 10.0 ** rng.uniform(-14, -3)
    row = cell.a[i] + tilt * rng.standard_normal(len(phi))
    side, shift = rng.choice([-1.0, 1.0]), tilt * rng.uniform(-1, 1)
    return with_row(cell, side * row, side * cell.b[i] + shift), phi


def thin(rng, cell, phi):
    i = rng.integers(len(cell.b))
    return with_row(cell, -cell.a[i], -cell.b[i] + rng.choice([5e-6, 1e-7, 2e-9])), phi


def emptied(rng, cell, phi):
    i = rng.integers(len(cell.b))
    return with_row(cell, -cell.a[i], -cell.b[i] - rng.choice([1e-8, 1e-5, 1e-1])), phi


def moved(rng, cell, phi):
    return cell._replace(b=cell.b - 10.0 ** rng.uniform(-12, 0)), phi


def along_a_row(rng, cell, _phi):
    return cell, rng.choice([-1.0, 1.0]) * cell.a[rng.integers(len(cell.b))]


def without_objective(_rng, cell, phi):
    return cell, np.zeros(len(phi))


def with_fixed_columns(rng, cell, phi):
    lower, upper = cell.lower.copy(), cell.upper.copy()
    j = rng.integers(len(phi), size=max(1, len(phi) // 3))
    lower[j] = upper[j] = rng.uniform(-1, 1, size=len(j))
    return cell._replace(lower=lower, upper=upper), phi


def on_a_lattice(rng, cell, phi):
    a = rng.integers(-1, 2, size=cell.a.shape).astype(float)
    b = rng.integers(-1, 3, size=len(cell.b)).astype(float)
    return cell._replace(a=a, b=b), rng.integers(-1, 2, size=len(phi)).astype(float)


@pytest.mark.parametrize(
    "degenerate",
    [
        duplicated,
        near_parallel,
        thin,
        emptied,
        moved,
        along_a_row,
        without_objective,
        with_fixed_columns,
        on_a_lattice,
    ],
)
def test_degenerate_cells(degenerate):
    rng, judge = np.random.default_rng([3, len(degenerate.__name__)]), Judge()
    for _ in range(200):
        judge.check(*degenerate(rng, *draw_small(rng, max_depth=10)))


def square(*rows: tuple[float, float, float]) -> Cell:
    table = np.array(rows, dtype=float).reshape(-1, 3)
    return Cell(table[:, :2].copy(), table[:, 2].copy(), -np.ones(2), np.ones(2))


def test_no_rows_gives_the_box():
    assert maximise(square(), np.array([3.0, -4.0])) == ("optimal", 7.0)


def test_one_row_is_a_knapsack():
    cell = square((1, 1, 0.5))
    assert maximise(cell, np.array([2.0, 1.0])) == ("optimal", pytest.approx(1.5, abs=1e-14))


def test_cell_without_thickness_still_has_a_range():
    for right in (0.3, 0.1 + 0.2, 1 / 3):
        cell = square((0.6, 0.8, right), (-0.6, -0.8, -right))
        status, value = maximise(cell, np.array([0.6, 0.8]))
        assert status == "optimal"
        assert value == pytest.approx(right, abs=1e-12)


def test_empty_cells_are_infeasible():
    for cell in (
        square((0, 0, -1)),
        square((1, 0, -1.5)),
        square((1, 1, -2.5), (1, -1, 0)),
        square((1, 0, 0), (-1, 0, -1e-9)),
        square((1, 1, 0))._replace(lower=np.array([0.5, -1.0]), upper=np.array([0.4, 1.0])),
    ):
        status, value = maximise(cell, np.array([1.0, 2.0]))
        assert status == "infeasible"
        assert np.isnan(value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["a", "b", "lower", "upper", "objective"])
def test_numbers_that_are_not_finite_fail(bad, where):
    cell = square((1, 1, 0.5), (1, -1, 0.5))
    arrays = {**cell._asdict(), "objective": np.array([1.0, 2.0])}
    arrays[where] = arrays[where].copy()
    arrays[where].flat[0] = bad
    status, value = probes.lp_maximise(*arrays.values())
    assert status == "failed"
    assert np.isnan(value)
