"""How many milliseconds does a sweep take, against the fastest peers on the CPU?

Friedman data, p = 10, 200 trees; every contestant is burned in, then timed in turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import adapters
import timing
from problem import friedman
from table import print_table

PEERS = ("stochtree_bart", "bartz_bart")
OURS = "obliquebart_core"
SIZES = (1_000, 10_000, 100_000)
BURN_IN = {1_000: 300, 10_000: 200, 100_000: 100}  # the same for all; trees have settled by then


def rows(
    sizes: Sequence[int] = SIZES, names: Sequence[str] = (OURS, *PEERS), repeats: int = 7
) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        problem = friedman(n)
        n_burn = BURN_IN.get(n, 100)
        sweepers = {name: adapters.load(name).sweeper(problem, n_burn) for name in names}
        measured = timing.measure_sweeps(sweepers, repeats=repeats)
        ours = measured.get(OURS)
        for name, figures in measured.items():
            row = {"n": n, "library": name, "n_burn": n_burn, **figures}
            row["ns_per_row_tree"] = 1e6 * figures["best_ms"] / (n * problem.n_trees)
            if ours and name != OURS:
                row["ratio_best"] = figures["best_ms"] / ours["best_ms"]
                row["ratio_median"] = figures["median_ms"] / ours["median_ms"]
                row["ratio_cpu"] = figures["cpu_ms"] / ours["cpu_ms"]
            found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--libraries", nargs="+", default=(OURS, *PEERS))
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    found = timing.run_and_save(
        "sweep", lambda: rows(options.sizes, options.libraries, options.repeats)
    )
    print_table(found)


QUICK = {"sizes": (1_000, 10_000), "repeats": 3}

if __name__ == "__main__":
    main()
