"""How many milliseconds does a sweep take against pymc-bart, with all its trees in every step?

It is slow, so it gets few sweeps after a short burn-in, and no more than 10,000 rows.
"""

from __future__ import annotations

from typing import Any

import adapters
import timing
from problem import friedman
from table import print_table

OURS, PEER = "obliquebart_core", "pymc_bart"


def rows(
    sizes: tuple[int, ...] = (1_000, 10_000), n_burn: int = 20, repeats: int = 3
) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        problem = friedman(n)
        sweepers = {name: adapters.load(name).sweeper(problem, n_burn) for name in (OURS, PEER)}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5, fewest=2)
        ours, peer = measured[OURS], measured[PEER]
        found.append(
            {
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


QUICK = {"sizes": (1_000,), "n_burn": 5, "repeats": 2}

if __name__ == "__main__":
    print_table(timing.run_and_save("pymc", rows))
