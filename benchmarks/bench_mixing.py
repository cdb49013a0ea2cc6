"""How many effective samples of f a second do the moves beyond grow and prune bring?

The default prior with all moves against the same with grow and prune only. f at 50 rows that were
held out; bulk ESS of one chain, median over the rows, mean over the seeds, over the CPU time of the
kept sweeps.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from problem import friedman
from sklearn.datasets import load_breast_cancer, load_diabetes

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.diagnostics import measure

MOVES = {"all moves": {}, "grow and prune": {"p_change": 0.0, "p_perturb": 0.0}}
N_HELD_OUT = 50
Table = tuple[np.ndarray, np.ndarray, bool]


def tables() -> dict[str, Table]:
    """By name: x, y, whether y are classes."""
    return {
        **{f"Friedman, n = {n}": _friedman(n) for n in (200, 1_000)},
        "diabetes": (*load_diabetes(return_X_y=True), False),
        "breast cancer": (*load_breast_cancer(return_X_y=True), True),
    }


def _friedman(n: int) -> Table:
    problem = friedman(n + N_HELD_OUT, 10, seed=0)
    return problem.x, problem.y, False


def rows(n_burn: int = 1000, n_draws: int = 4000, repeats: int = 4) -> list[dict[str, Any]]:
    found = []
    for name, table in tables().items():
        sizes: dict[str, list[float]] = {moves: [] for moves in MOVES}
        seconds: dict[str, list[float]] = {moves: [] for moves in MOVES}
        for seed in range(repeats):
            for moves, shares in MOVES.items():
                size, cpu = _chain(table, seed, n_burn, n_draws, shares)
                sizes[moves].append(size)
                seconds[moves].append(cpu)
        rates = {moves: np.mean(sizes[moves]) / np.mean(seconds[moves]) for moves in MOVES}
        found += [
            {
                "table": name,
                "moves": moves,
                "ess_of_1000": float(np.mean(sizes[moves])) * 1000 / n_draws,
                "ess_a_second": float(rates[moves]),
                "over_grow_and_prune": float(rates[moves] / rates["grow and prune"]),
            }
            for moves in MOVES
        ]
    return found


def _chain(
    table: Table, seed: int, n_burn: int, n_draws: int, shares: dict[str, float]
) -> tuple[float, float]:
    """Median ESS over the held-out rows, CPU seconds of the kept sweeps."""
    x, y, classes = table
    held_out = np.random.default_rng(0).permutation(len(y)) < N_HELD_OUT
    kind = ObliqueBARTClassifier if classes else ObliqueBARTRegressor
    model = kind(
        n_chains=1, n_burn=n_burn, n_draws=1, random_state=seed, n_jobs=1, progress=False, **shares
    ).fit(x[~held_out], y[~held_out])
    start = time.process_time()
    model.sample_more(n_draws)
    cpu = time.process_time() - start
    f = model.posterior_.predict(x[held_out])[-n_draws:]
    return float(np.median([measure("f", column[None, :]).ess_bulk for column in f.T])), cpu


QUICK = {"n_burn": 200, "n_draws": 500, "repeats": 1}
