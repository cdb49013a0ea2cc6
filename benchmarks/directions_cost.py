"""What do rules about patches of an image cost over rules of a few columns?

200 trees, 5,000 rows: sparse rules on 10, 50 and 784 columns, and patches of 28 x 28 pixels. With
64 rows there is next to no work on rows: this is the cost of proposals and their linear programmes.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import timing
from table import print_table

from obliquebart import _core
from obliquebart.directions import Patch
from obliquebart.model.directions import core_directions
from obliquebart.model.settings import settings_from_dict

SIDE = 28
WARM_UP = 200


COLUMNS = SimpleNamespace(
    names=[str(j) for j in range(SIDE * SIDE)], kinds=["continuous"] * (SIDE * SIDE)
)
PATCHES = {
    "patches of 2 to 5": Patch((SIDE, SIDE)),
    "smooth, 2 to 5": Patch((SIDE, SIDE), values="smooth"),
    "differences, 2 to 5": Patch((SIDE, SIDE), values="difference"),
    "patches of 5 x 5": Patch((SIDE, SIDE), 5, 5),
}


def sweeper(n: int, p: int, patch: Patch | None) -> timing.Sweeper:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (p, n)).astype(np.float32)
    y = rng.normal(size=n) + 2 * np.sign(x[p // 2] + x[p // 2 + 1]) + np.sin(3 * x[p // 3])
    a = min(max(100 / p, 1.0), 10.0)
    values: dict[str, Any] = {
        "n_trees": 200,
        "leaf_sd": 0.1,
        "p_change": 0.2,
        "p_perturb": 0.3,
        "theta": 1 / p,
        "theta_a": a,
        "theta_b": a * (p - 1),
        "theta_by_column": True,
        "directions": [] if patch is None else core_directions([patch], COLUMNS),
    }
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    chain = _core.Sampler(data, y, None, settings_from_dict(values), 1, 0)
    chain.sweep(WARM_UP)

    def seconds(n_sweeps: int) -> float:
        start = time.perf_counter()
        chain.sweep(n_sweeps)
        return time.perf_counter() - start

    return seconds


def rows(sizes: tuple[int, ...] = (64, 5_000), repeats: int = 7) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        sweepers = {f"sparse, {p} columns": sweeper(n, p, None) for p in (10, 50, SIDE * SIDE)}
        sweepers |= {name: sweeper(n, SIDE * SIDE, patch) for name, patch in PATCHES.items()}
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.3)
        reference = measured["sparse, 10 columns"]
        found += [
            {
                "n": n,
                "rules": name,
                "best_ms": figures["best_ms"],
                "cpu_ms": figures["cpu_ms"],
                **timing.ratios(figures, reference),
            }
            for name, figures in measured.items()
        ]
    return found


QUICK = {"repeats": 2}

if __name__ == "__main__":
    print_table(timing.run_and_save("directions", rows))
