"""What do oblique rules cost over axis-aligned ones, and our default prior over the paper's?

A time is the mean of several chains of different seeds: at small n where a chain's arrays happen to
lie in memory changes its time by up to a tenth.
"""

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
        settings: dict[str, dict[str, Any]] = {
            "oblique": {},
            "axis": {"axis_rules": True},
            "default": {"prior": "default"},
        }
        sweepers = {name: several(n, **given) for name, given in settings.items()}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5)
        found.append(
            {
                "n": n,
                "oblique_ms": measured["oblique"]["best_ms"],
                "axis_ms": measured["axis"]["best_ms"],
                "default_ms": measured["default"]["best_ms"],
                **timing.ratios(measured["oblique"], measured["axis"]),
                "ratio_default": measured["default"]["best_ms"] / measured["oblique"]["best_ms"],
                "ratio_default_cpu": measured["default"]["cpu_ms"] / measured["oblique"]["cpu_ms"],
            }
        )
    return found


def several(n: int, **settings: Any) -> timing.Sweeper:
    """The mean time of chains on data sets of their own."""
    n_chains = 6 if n <= 10_000 else 1
    chains = [sweeper(friedman(n, seed=seed), 300, **settings) for seed in range(n_chains)]
    return lambda n_sweeps: sum(seconds(n_sweeps) for seconds in chains) / n_chains


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("rules", rows))
