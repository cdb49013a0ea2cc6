"""Does the cost a row and tree stay flat up to a million rows?"""

from __future__ import annotations

from typing import Any

import timing
from adapters.obliquebart_core import sweeper
from problem import friedman
from table import print_table


def rows(sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)) -> list[dict[str, Any]]:
    # All sizes take turns, so that a slow spell of the machine hits them all.
    sweepers = {str(n): sweeper(friedman(n), 100 if n >= 1_000_000 else 200) for n in sizes}
    measured = timing.measure_sweeps(sweepers, repeats=5, target_s=0.5)
    found = []
    for n in sizes:
        ms, cpu_ms = measured[str(n)]["best_ms"], measured[str(n)]["cpu_ms"]
        found.append(
            {
                "n": n,
                "ms": ms,
                "us_per_tree": 1e3 * ms / 200,
                "ns_per_row_tree": 1e6 * ms / (200 * n),
                "over_10000_rows": (ms / n) / (measured["10000"]["best_ms"] / 10_000),
                "over_10000_rows_cpu": (cpu_ms / n) / (measured["10000"]["cpu_ms"] / 10_000),
            }
        )
    return found


if __name__ == "__main__":
    print_table(timing.run_and_save("rows", rows))
