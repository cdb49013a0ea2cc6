"""How many microseconds does a tree update take where the rows hardly count?"""

from __future__ import annotations

from typing import Any

import timing
from adapters.obliquebart_core import sweeper
from problem import friedman
from table import print_table


def rows(
    sizes: tuple[int, ...] = (25, 50, 100, 200, 400), repeats: int = 9
) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        problem = friedman(n)
        sweepers = {
            "oblique": sweeper(problem, 1000),
            "axis": sweeper(problem, 1000, axis_rules=True),
            "default": sweeper(problem, 1000, prior="default"),
        }
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.2)
        row: dict[str, Any] = {"n": n}
        for name, figures in measured.items():
            row[f"{name}_us"] = 1e3 * figures["best_ms"] / problem.n_trees
            row[f"{name}_cpu_us"] = 1e3 * figures["cpu_ms"] / problem.n_trees
        row["ratio"] = row["oblique_us"] / row["axis_us"]
        found.append(row)
    return found


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("small_n", rows))
