"""Whose posterior mean is nearest to the truth? Friedman's function, with and without noise.


Everybody gets 1000 + 1000 sweeps of one chain, 200 trees, the package's defaults otherwise; our
default of four chains is shown as well. RMSE to the true function at 2,000 new rows, mean over
repeats of the data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import adapters
import numpy as np
import timing
from problem import friedman
from table import print_table

N_ROWS, N_TEST = 1_000, 2_000
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def contestants() -> dict[str, Predict]:
    """By name: (x, y, x_test, seed) -> posterior mean at x_test."""
    ours = adapters.load("obliquebart_core").posterior_mean
    return {
        "obliquebart, one chain": lambda *data: ours(*data, n_chains=1),
        "obliquebart": lambda *data: ours(*data, n_chains=4),
        "obliquebart, axis rules, one chain": lambda *data: ours(*data, n_chains=1, rules="axis"),
        "stochtree": adapters.load("stochtree_bart").posterior_mean,
        "bartz": adapters.load("bartz_bart").posterior_mean,
    }


def rows(repeats: int = 3) -> list[dict[str, Any]]:
    found = []
    for p in (10, 100):
        errors: dict[str, list[float]] = {}
        for seed in range(repeats):
            train = friedman(N_ROWS, p, seed=2 * seed)
            test = friedman(N_TEST, p, seed=2 * seed + 1)
            for name, predict in contestants().items():
                mean = predict(train.x, train.y, test.x, seed)
                error = float(np.sqrt(np.mean((mean - test.truth) ** 2)))
                errors.setdefault(name, []).append(error)
        found += [
            {"p": p, "library": name, "rmse": float(np.mean(each)), "each": each}
            for name, each in errors.items()
        ]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print_table(timing.run_and_save("accuracy", lambda: rows(args.repeats)))
