"""How many effective samples of f a second do the moves beyond grow and prune bring?

The default prior with all moves against the same posterior sampled by the textbook: grow and prune,
outputs and scales from their conditional distributions. f at up to 50 rows that were held out; bulk
ESS of four chains together, median over the rows, over the CPU time of the kept sweeps. A chain by
itself would not do: one that stays in a corner looks as if it mixed well.

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

from obliquebart import UnseenLevelWarning, _core
from obliquebart.chains import Columns, Problem
from obliquebart.diagnostics import measure
from obliquebart.encoding import Encoding
from obliquebart.prior import (
    PRESETS,
    Hyperparameters,
    binary_outcome,
    calibrate,
    continuous_outcome,
)
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
    n_burn: int = 1000, n_draws: int = 3000, n_chains: int = 4, paper: bool = True
) -> list[dict[str, Any]]:
    found = []
    for table in tables():
        found += _compare(table, STEPS, n_burn, n_draws, n_chains)
    for table in paper_tables() if paper else ():
        two = {REFERENCE: TEXTBOOK, DEFAULT: ALL}
        found += _compare(table, two, n_burn, n_draws, n_chains)
    return found


def _compare(
    table: Table, steps: dict[str, Any], n_burn: int, n_draws: int, n_chains: int
) -> list[dict[str, Any]]:
    sizes = {}
    rates = {}
    for moves, preset in steps.items():
        f, cpu = _sample(table, preset, n_burn, n_draws, n_chains)
        sizes[moves] = float(np.median([measure("f", row).ess_bulk for row in f]))
        rates[moves] = sizes[moves] / cpu
    return [
        {
            "table": table.name,
            "of_the_paper": table.of_the_paper,
            "classes": table.classes,
            "moves": moves,
            "ess_of_1000": sizes[moves] * 1000 / (n_draws * n_chains),
            "ess_a_second": rates[moves],
            "over_grow_and_prune": rates[moves] / rates[REFERENCE],
        }
        for moves in steps
    ]


def _sample(
    table: Table, preset: Any, n_burn: int, n_draws: int, n_chains: int
) -> tuple[np.ndarray, float]:
    """f at the held-out rows (rows x chains x draws), CPU seconds of the kept sweeps."""
    PRESETS["mixing"] = preset
    hyper = Hyperparameters(prior="mixing").validated()
    encoding, encoded = Encoding.fit_transform(
        table.x,
        categorical_features=table.categorical,
        feature_scaling=hyper.feature_scaling,
    )
    if table.classes:
        outcome = binary_outcome(table.y == table.y.max())
    else:
        outcome = continuous_outcome(np.asarray(table.y, float))
    settings = calibrate(hyper, outcome, encoding.p_cont)
    columns = Columns(encoded.x_cont, encoded.x_cat, encoding.n_levels)
    problem = Problem(columns, outcome.values, None, settings).to_core()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        held_out = encoding.transform(table.x_held_out)
    data = Columns(held_out.x_cont, held_out.x_cat, encoding.n_levels).to_core()
    f = []
    seconds = 0.0
    for chain in range(n_chains):
        sampler = problem.sampler(0, chain)
        sampler.sweep(n_burn)
        start = time.process_time()
        sampler.run(0, n_draws, 1, _core.Control())
        seconds += time.process_time() - start
        f.append(np.asarray(sampler.draws.predict(data), float))
    return np.array(f).transpose(2, 0, 1), seconds


QUICK = {"n_burn": 200, "n_draws": 500, "n_chains": 2, "paper": False}
