"""How long does it take to predict 1000 draws at 10,000 rows?

Each library predicts with its own draws of a fit to 1,000 rows; the answer is the whole matrix.
"""

from __future__ import annotations

import os
from typing import Any

import adapters
import timing
from problem import friedman
from table import print_table

OURS = "obliquebart_core"


def rows(n_rows: int = 10_000, n_draws: int = 1000, repeats: int = 3) -> list[dict[str, Any]]:
    problem, x = friedman(1_000), friedman(n_rows, seed=1).x
    cores = len(os.sched_getaffinity(0))
    contestants = [(OURS, 1), (OURS, cores), ("stochtree_bart", 1)]
    calls = {}
    for name, n_threads in contestants:
        predict = adapters.load(name).predictor(problem, n_draws, n_threads)
        calls[f"{name}, {n_threads} thread(s)"] = lambda predict=predict: predict(x)
    measured = timing.measure_calls(calls, repeats=repeats)
    ours = measured[f"{OURS}, 1 thread(s)"]["best_s"]
    return [
        {
            "library": name,
            "rows": n_rows,
            "draws": n_draws,
            **seconds,
            "ratio": seconds["best_s"] / ours,
        }
        for name, seconds in measured.items()
    ]


QUICK = {"n_draws": 100}

if __name__ == "__main__":
    print_table(timing.run_and_save("predict", rows))
