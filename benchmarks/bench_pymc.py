"""How long do a sweep and a whole fit take against pymc-bart, and how good is the fit?

A sweep has all 200 trees in every step of both. A fit has the defaults of both, one core and 1,000
rows; its time is in processor seconds, and its error is that of the posterior mean to the true
function at these rows. (Predicted again there, pymc-bart 0.13.1 differs from its recorded draws.)
"""

from __future__ import annotations

from statistics import median
from typing import Any

import adapters
import numpy as np
import timing
from problem import friedman
from table import print_table

OURS, PEER = "obliquebart_core", "pymc_bart"


def rows(
    sizes: tuple[int, ...] = (1_000, 10_000), n_burn: int = 20, repeats: int = 3, fits: int = 3
) -> list[dict[str, Any]]:
    return [*_sweeps(sizes, n_burn, repeats), *_fits(fits)]


def _sweeps(sizes: tuple[int, ...], n_burn: int, repeats: int) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        problem = friedman(n)
        sweepers = {name: adapters.load(name).sweeper(problem, n_burn) for name in (OURS, PEER)}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5, fewest=2)
        ours, peer = measured[OURS], measured[PEER]
        found.append(
            {
                "what": "sweep",
                "n": n,
                "n_burn": n_burn,
                "ours_ms": ours["best_ms"],
                "pymc_ms": peer["best_ms"],
                **timing.ratios(peer, ours),
                "ratio_median": peer["median_ms"] / ours["median_ms"],
                "pymc_sweeps": peer["sweeps"],
                "repeats": repeats,
            }
        )
    return found


def _fits(repeats: int, n: int = 1_000) -> list[dict[str, Any]]:
    runs: dict[str, list[tuple[float, float]]] = {OURS: [], PEER: []}
    for seed in range(repeats):
        problem = friedman(n, seed=seed)
        for name, found in runs.items():
            seconds, mean = adapters.load(name).default_mean(problem.x, problem.y, seed)
            found.append((seconds, float(np.sqrt(np.mean((mean - problem.truth) ** 2)))))
    return [
        {
            "what": "fit",
            "n": n,
            "library": name.split("_core")[0].replace("_", "-"),
            "cpu_s": median(seconds for seconds, _ in found),
            "rmse": float(np.mean([error for _, error in found])),
            "repeats": repeats,
        }
        for name, found in runs.items()
    ]


QUICK = {"sizes": (1_000,), "n_burn": 5, "repeats": 2, "fits": 1}

if __name__ == "__main__":
    print_table(timing.run_and_save("pymc", rows))
