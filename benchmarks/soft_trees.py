"""How many trees do soft rules need?

The five known functions of intervals.py, with three sets of noise each, are fitted with soft rules
and 10 to 200 trees: 4 chains of 3,000 + 2,000 sweeps, normal noise, 1,000 new rows. A line per
number of trees and of rows says how large the errors of f are, how much 90% intervals of f(x) hold,
and how well chains of this length agree.

    python benchmarks/soft_trees.py [--trees 50 100] [--sizes 300] [--workers 2]
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import time
import warnings
from typing import Any

import intervals
import numpy as np

from obliquebart import ObliqueBARTRegressor

TREES = (10, 20, 50, 100, 200)
LENGTH = {"n_burn": 3000, "n_draws": 250, "n_thin": 8, "n_chains": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trees", nargs="*", type=int, default=TREES)
    parser.add_argument("--sizes", nargs="*", type=int, default=intervals.SIZES)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    cases = list(itertools.product(intervals.FUNCTIONS, intervals.NOISES))
    print(
        "| rows | trees | error of f, geometric mean | 90% intervals of f(x) hold "
        "| cases with 0.85 to 0.95 | R-hat of f, median | CPU s per fit |\n" + "|---" * 7 + "|"
    )
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        for n, n_trees in itertools.product(options.sizes, options.trees):
            tasks = [(name, noise, n, n_trees) for name, noise in cases]
            print(line(n, n_trees, pool.map(measure, tasks, chunksize=1)), flush=True)


def measure(task: tuple[str, float, int, int]) -> dict[str, float]:
    """Fit one table; return the error of f and how much its intervals hold."""
    name, noise, n, n_trees = task
    rng = np.random.default_rng(n)
    x = rng.uniform(size=(n + intervals.N_NEW, 10))
    f = intervals.FUNCTIONS[name](x)
    sd = f.std()
    y = f + noise * sd * rng.normal(size=len(f))
    model = ObliqueBARTRegressor(
        n_trees, soft=True, noise_df=np.inf, random_state=0, n_jobs=1, **LENGTH
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:n], y[:n])
    seconds = time.process_time() - start
    draws = model.posterior_.predict(x[n:])
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    chains = draws.reshape(LENGTH["n_chains"], -1, intervals.N_NEW)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    within = chains.var(axis=1).mean(axis=0)
    return {
        "error": float(np.sqrt(np.mean((draws.mean(axis=0) - f[n:]) ** 2)) / sd),
        "held": float(np.mean((low <= f[n:]) & (f[n:] <= high))),
        "rhat": float(np.median(np.sqrt(1 + between / within))),
        "seconds": seconds,
    }


def line(n: int, n_trees: int, found: list[dict[str, Any]]) -> str:
    """Return a row of the table."""
    error, held, rhat, seconds = (
        np.array([one[key] for one in found]) for key in ("error", "held", "rhat", "seconds")
    )
    within = int(np.sum((held >= 0.85) & (held <= 0.95)))
    return (
        f"| {n:,} | {n_trees} | {np.exp(np.log(error).mean()):.4f} "
        f"| {held.min():.2f} to {held.max():.2f} | {within} of {len(found)} "
        f"| {np.median(rhat):.3f} | {seconds.mean():.1f} |"
    )


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    main()
