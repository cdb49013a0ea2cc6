"""What does a probit sweep cost over a regression sweep?"""

from __future__ import annotations

from typing import Any

import timing
from adapters.obliquebart_core import sweeper
from problem import friedman
from table import print_table


def rows(
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000), repeats: int = 9
) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        problem = friedman(n)
        sweepers = {kind: sweeper(problem, 300, likelihood=kind) for kind in ("gaussian", "probit")}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5)
        found.append(
            {
                "n": n,
                "regression_ms": measured["gaussian"]["best_ms"],
                "probit_ms": measured["probit"]["best_ms"],
                "ratio": measured["probit"]["best_ms"] / measured["gaussian"]["best_ms"],
                "ratio_cpu": measured["probit"]["cpu_ms"] / measured["gaussian"]["cpu_ms"],
            }
        )
    return found


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("probit", rows))
