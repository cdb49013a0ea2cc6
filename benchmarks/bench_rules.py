"""What do oblique rules cost over axis-aligned ones, and our default prior over the paper's?"""

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
        sweepers = {
            "oblique": sweeper(problem, 300),
            "axis": sweeper(problem, 300, axis_rules=True),
            "default": sweeper(problem, 300, prior="default"),
        }
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5)
        found.append(
            {
                "n": n,
                "oblique_ms": measured["oblique"]["best_ms"],
                "axis_ms": measured["axis"]["best_ms"],
                "default_ms": measured["default"]["best_ms"],
                "ratio": measured["oblique"]["best_ms"] / measured["axis"]["best_ms"],
                "ratio_cpu": measured["oblique"]["cpu_ms"] / measured["axis"]["cpu_ms"],
                "ratio_default": measured["default"]["best_ms"] / measured["oblique"]["best_ms"],
                "ratio_default_cpu": measured["default"]["cpu_ms"] / measured["oblique"]["cpu_ms"],
            }
        )
    return found


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("rules", rows))
