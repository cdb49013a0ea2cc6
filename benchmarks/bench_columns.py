"""Do many columns, and columns of many levels, cost more than their data?

Continuous: Friedman's function, the columns beyond the fifth are noise. Categorical: every level
adds its own standard normal to the outcome. A sweep that read every column once, beside what it
does anyway, would take `data_ms` longer; `extra_ms` is what it does take over the first row of the
same kind.
"""

from __future__ import annotations

from typing import Any

import bandwidth
import timing
from adapters.obliquebart_core import categorical_sampler, mean_leaves, sampler, timed
from problem import friedman
from table import print_table

N_BURN = 200


def rows(
    n: int = 10_000,
    columns: tuple[int, ...] = (10, 100, 1_000),
    levels: tuple[int, ...] = (5, 50, 500),
    repeats: int = 7,
) -> list[dict[str, Any]]:
    speed = bandwidth.measure()["memory_gb_s"]
    found = []
    kinds = {
        "continuous columns": {p: sampler(friedman(n, p)) for p in columns},
        "levels of one categorical column": {
            k: categorical_sampler(friedman(n), k, 1) for k in levels
        },
        "levels of ten categorical columns, no other": {
            k: categorical_sampler(friedman(n), k, 10, continuous=False) for k in levels
        },
    }
    for kind, chains in kinds.items():
        for chain in chains.values():
            chain.sweep(N_BURN)
        sweepers = {str(size): timed(chain) for size, chain in chains.items()}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.3)
        first = measured[str(next(iter(chains)))]
        for size, chain in chains.items():
            figures = measured[str(size)]
            found.append(
                {
                    "kind": kind,
                    "size": size,
                    "n": n,
                    "ms": figures["best_ms"],
                    "cpu_ms": figures["cpu_ms"],
                    **timing.ratios(figures, first),
                    "leaves": mean_leaves(chain),
                    "extra_ms": figures["best_ms"] - first["best_ms"],
                    "data_ms": 4e-6 * n * _n_columns(kind, size) / speed,
                }
            )
    return found


def _n_columns(kind: str, size: int) -> int:
    """Columns of 4 bytes per row that the chain has."""
    if kind == "continuous columns":
        return size
    return 11 if "one" in kind else 10


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("columns", rows))
