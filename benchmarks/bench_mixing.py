"""How many effective samples of f a second do the moves beyond grow and prune bring?

The default prior with all moves against the same posterior sampled by the textbook: grow and prune,
outputs and scales from their conditional distributions. f at up to 50 rows that were held out; bulk
ESS of one chain, median over the rows, mean over the seeds, over the CPU time of the kept sweeps.

The tables are synthetic ones and those that come with scikit-learn, with a row for each move that
is added; and, where the folder of the paper's data is there (OBLIQUEBART_DATA, or shared/data next
to the repository), the first split of each of its sets but the largest.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from problem import friedman
from sklearn.datasets import load_breast_cancer, load_diabetes

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, UnseenLevelWarning
from obliquebart.diagnostics import measure
from obliquebart.prior import PRESETS
from obliquebart.study.datasets import Library

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("OBLIQUEBART_DATA", FOLDER))
N_HELD_OUT = 50

ALL = PRESETS["default"]
STRETCHED = replace(ALL, p_change=0.0, p_perturb=0.0, output_correlation=0.0)
TEXTBOOK = replace(STRETCHED, stretch=False)
REFERENCE, DEFAULT = "grow and prune", "all moves"
STEPS = {
    REFERENCE: TEXTBOOK,
    "+ stretch": STRETCHED,
    "+ change, perturb": replace(ALL, output_correlation=0.0),
    DEFAULT: ALL,
}


@dataclass(frozen=True)
class Table:
    name: str
    x: Any
    y: np.ndarray
    x_held_out: Any
    classes: bool
    categorical: Any = "auto"
    of_the_paper: bool = False


def _split(name: str, x: np.ndarray, y: np.ndarray, *, classes: bool = False) -> Table:
    held_out = np.random.default_rng(0).permutation(len(y)) < N_HELD_OUT
    return Table(name, x[~held_out], y[~held_out], x[held_out], classes)


def tables() -> Iterator[Table]:
    for n in (200, 1_000):
        problem = friedman(n + N_HELD_OUT, 10, seed=0)
        yield _split(f"Friedman, n = {n}", problem.x, problem.y)
    yield _split("diabetes", *load_diabetes(return_X_y=True))
    yield _split("breast cancer", *load_breast_cancer(return_X_y=True), classes=True)


def paper_tables() -> Iterator[Table]:
    if not (DATA / "datasets.json").exists():
        return
    library = Library(DATA)
    for name in library.names():
        if name == "diamonds":
            continue
        problem = library.load(name).problem(0)
        n = len(problem.y_test)
        chosen = np.random.default_rng(0).permutation(n) < N_HELD_OUT
        yield Table(
            name,
            problem.train.with_codes(),
            problem.y_train,
            problem.test.take(chosen).with_codes(),
            problem.task == "classification",
            problem.train.categorical,
            of_the_paper=True,
        )


def rows(
    n_burn: int = 1000, n_draws: int = 4000, repeats: int = 4, paper: bool = True
) -> list[dict[str, Any]]:
    found = []
    for table in tables():
        found += _compare(table, STEPS, n_burn, n_draws, repeats)
    for table in paper_tables() if paper else ():
        two = {REFERENCE: TEXTBOOK, DEFAULT: ALL}
        found += _compare(table, two, n_burn, n_draws, max(repeats // 2, 1))
    return found


def _compare(
    table: Table, steps: dict[str, Any], n_burn: int, n_draws: int, repeats: int
) -> list[dict[str, Any]]:
    sizes: dict[str, list[float]] = {moves: [] for moves in steps}
    seconds: dict[str, list[float]] = {moves: [] for moves in steps}
    for seed in range(repeats):
        for moves, preset in steps.items():
            size, cpu = _chain(table, preset, seed, n_burn, n_draws)
            sizes[moves].append(size)
            seconds[moves].append(cpu)
    rates = {moves: np.mean(sizes[moves]) / np.mean(seconds[moves]) for moves in steps}
    return [
        {
            "table": table.name,
            "of_the_paper": table.of_the_paper,
            "classes": table.classes,
            "moves": moves,
            "ess_of_1000": float(np.mean(sizes[moves])) * 1000 / n_draws,
            "ess_a_second": float(rates[moves]),
            "over_grow_and_prune": float(rates[moves] / rates[REFERENCE]),
        }
        for moves in steps
    ]


def _chain(
    table: Table, preset: Any, seed: int, n_burn: int, n_draws: int
) -> tuple[float, float]:
    """Median ESS over the held-out rows, CPU seconds of the kept sweeps."""
    PRESETS["mixing"] = preset
    kind = ObliqueBARTClassifier if table.classes else ObliqueBARTRegressor
    model = kind(
        prior="mixing",
        n_chains=1,
        n_burn=n_burn,
        n_draws=1,
        categorical_features=table.categorical,
        random_state=seed,
        n_jobs=1,
        progress=False,
    ).fit(table.x, table.y)
    start = time.process_time()
    model.sample_more(n_draws)
    cpu = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        f = model.posterior_.predict(table.x_held_out)[-n_draws:]
    return float(np.median([measure("f", column[None, :]).ess_bulk for column in f.T])), cpu


QUICK = {"n_burn": 200, "n_draws": 500, "repeats": 1, "paper": False}
