"""How many independent draws of f is a second of sampling worth, with and without our moves?

The default prior with all moves against the same posterior sampled by the textbook: grow and prune,
outputs and scales from their conditional distributions. f at up to 50 rows that were held out.

A chain's autocorrelation does not tell: one that stays where it began looks as if it mixed well,
and so do several that began at the same place. So the effective size is taken from what it is for,
the error of a mean: the variance of f over the mean squared distance between a chain's mean and the
posterior's, which long chains with all moves give (their own error, from the differences between
them, is taken off). Median over the rows; a second is one of CPU time in the kept sweeps.

The tables are synthetic ones and those that come with scikit-learn, with a row for each move that
is added; and, where the folder of the paper's data is there (OBLIQUEBART_DATA, or shared/data next
to the repository), the first split of each of its sets of up to 2,000 training rows.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from problem import friedman
from sklearn.datasets import load_breast_cancer, load_diabetes

from obliquebart import UnseenLevelWarning, _core
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.calibration import calibrate
from obliquebart.model.parameters import PRESETS, Hyperparameters
from obliquebart.model.training import TrainingProblem
from obliquebart.study.datasets import Library
from obliquebart.table import Encoding

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("OBLIQUEBART_DATA", FOLDER))
N_HELD_OUT = 50
MOST_ROWS = 2_000
SEED, REFERENCE_SEED = 0, 1

ALL = PRESETS["default"]
SCALED = replace(ALL, p_change=0.0, p_perturb=0.0, output_correlation=0.0)
TEXTBOOK = replace(SCALED, scale_jointly=False)
REFERENCE, DEFAULT = "grow and prune", "all moves"
STEPS = {
    REFERENCE: TEXTBOOK,
    "+ joint scaling": SCALED,
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
        problem = library.load(name).problem(0)
        if len(problem.y_train) > MOST_ROWS:
            continue
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


@dataclass(frozen=True)
class Length:
    """Chains, sweeps before the first draw, draws per chain."""

    n_chains: int
    n_burn: int
    n_draws: int


USUAL, LONG = Length(16, 1_000, 1_000), Length(12, 2_000, 5_000)


def rows(
    length: Length = USUAL, reference: Length = LONG, paper: bool = True
) -> list[dict[str, Any]]:
    two = {REFERENCE: TEXTBOOK, DEFAULT: ALL}
    work = [(table, STEPS, length, reference) for table in tables()]
    work += [(table, two, length, reference) for table in (paper_tables() if paper else ())]
    with Pool(2) as pool:
        return [row for found in pool.starmap(_compare, work, chunksize=1) for row in found]


def _compare(
    table: Table, steps: dict[str, Any], length: Length, reference: Length
) -> list[dict[str, Any]]:
    f, _ = _sample(table, ALL, reference, REFERENCE_SEED)
    mean, variance = f.mean(axis=(1, 2)), f.var(axis=(1, 2))
    mean_error = f.mean(axis=2).var(axis=1, ddof=1) / reference.n_chains
    sizes = {}
    rates = {}
    for moves, preset in steps.items():
        f, cpu = _sample(table, preset, length, SEED)
        error = ((f.mean(axis=2) - mean[:, None]) ** 2).mean(axis=1) - mean_error
        sizes[moves] = float(np.median(variance / np.maximum(error, 1e-3 * variance)))
        rates[moves] = sizes[moves] * length.n_chains / cpu
    return [
        {
            "table": table.name,
            "of_the_paper": table.of_the_paper,
            "classes": table.classes,
            "moves": moves,
            "ess_of_1000": sizes[moves] * 1000 / length.n_draws,
            "ess_a_second": rates[moves],
            "over_grow_and_prune": rates[moves] / rates[REFERENCE],
        }
        for moves in steps
    ]


def _sample(table: Table, preset: Any, length: Length, seed: int) -> tuple[np.ndarray, float]:
    """f at the held-out rows (rows x chains x draws), CPU seconds of the kept sweeps."""
    PRESETS["mixing"] = preset
    hyper = Hyperparameters(prior="mixing").validated()
    encoding, encoded = Encoding.fit_transform(
        table.x, categorical_features=table.categorical, feature_scaling=hyper.feature_scaling
    )
    likelihood = LIKELIHOODS["probit" if table.classes else "gaussian"]
    y = table.y == table.y.max() if table.classes else np.asarray(table.y, float)
    outcome = likelihood.part(likelihood.encode(y), 0)
    settings = calibrate(hyper, outcome, encoding.p_cont)
    problem = TrainingProblem(encoded, outcome).to_core(settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        held_out = encoding.transform(table.x_held_out)
    data = held_out.to_core()
    f = []
    seconds = 0.0
    for chain in range(length.n_chains):
        sampler = problem.sampler(seed, chain)
        sampler.sweep(length.n_burn)
        start = time.process_time()
        sampler.run(0, length.n_draws, 1, _core.Control())
        seconds += time.process_time() - start
        f.append(np.asarray(sampler.draws.predict(data), float))
    return np.array(f).transpose(2, 0, 1), seconds


QUICK = {"length": Length(4, 200, 200), "reference": Length(4, 500, 500), "paper": False}
