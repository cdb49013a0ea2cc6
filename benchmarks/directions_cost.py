"""What do rules about patches of an image cost over rules of a few columns?

Time: 200 trees, 5,000 rows: sparse rules on 10, 50 and 784 columns, and patches of 28 x 28 pixels,
hard and soft. With 64 rows there is next to no work on rows: this is the cost of proposals and
their geometry. Each ratio is to hard sparse rules on 10 columns, in the same run.

Memory: fits of 5,000 such images by the estimator, with 200 trees and 100 draws of each chain, of
256 grey levels or with real values. "more": the peak of resident memory during a fit, less that
before it, when the user's table (8 bytes per pixel) and all modules were there. "in file": the
packed draws in a model file. The rest of a file, without the states of chains, is mostly the
distinct values of each column.

    python benchmarks/directions_cost.py [--time] [--memory]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import timing
from sklearn.base import clone
from table import print_table

from obliquebart import ObliqueBARTRegressor, _core
from obliquebart.directions import Patch
from obliquebart.model.directions import core_directions
from obliquebart.model.parameters import WIDTH_SCALE
from obliquebart.model.settings import settings_from_dict
from obliquebart.posterior.packing import pack_draws
from obliquebart.study.peak_memory import PeakMemory

SIDE = 28
PIXELS = SIDE * SIDE
WARM_UP = 200
N_ROWS = 5_000
FEW_ROWS = 64
N_BURN, N_DRAWS = 200, 100

COLUMNS = SimpleNamespace(names=[str(j) for j in range(PIXELS)], kinds=["continuous"] * PIXELS)
GRID = (SIDE, SIDE)
EDGES = Patch(GRID, 3, 14, values="difference")  # as benchmarks/images.py has them
PATCHES = {
    "patches of 2 to 5": Patch(GRID),
    "smooth, 2 to 5": Patch(GRID, values="smooth"),
    "differences, 2 to 5": Patch(GRID, values="difference"),
    "patches of 5 x 5": Patch(GRID, 5, 5),
    "differences, 3 to 14": EDGES,
    "patches of 14 x 14": Patch(GRID, 14, 14),
    "smooth, 14 x 14": Patch(GRID, 14, 14, values="smooth"),
}
SPARSE = "sparse, 10 columns"


def image_table(p: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return p columns on [-1, 1] and an outcome."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (p, n)).astype(np.float32)
    y = rng.normal(size=n) + 2 * np.sign(x[p // 2] + x[p // 2 + 1]) + np.sin(3 * x[p // 3])
    return x, y


def sweeper(n: int, p: int, patch: Patch | None, *, is_soft: bool = False) -> timing.Sweeper:
    x, y = image_table(p, n)
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
    if is_soft:
        values |= {"soft": True, "width_scale": WIDTH_SCALE, "output_correlation": 0.0}
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    chain = _core.Sampler(data, y, None, settings_from_dict(values), 1, 0)
    chain.sweep(WARM_UP)

    def seconds(n_sweeps: int) -> float:
        start = time.perf_counter()
        chain.sweep(n_sweeps)
        return time.perf_counter() - start

    return seconds


def time_rows(
    sizes: tuple[int, ...] = (FEW_ROWS, N_ROWS), repeats: int = 7
) -> list[dict[str, Any]]:
    found = []
    for n in sizes:
        sweepers = {f"sparse, {p} columns": sweeper(n, p, None) for p in (10, 50, PIXELS)}
        sweepers |= {name: sweeper(n, PIXELS, patch) for name, patch in PATCHES.items()}
        sweepers |= {
            "soft: sparse, 10 columns": sweeper(n, 10, None, is_soft=True),
            "soft: patches of 2 to 5": sweeper(n, PIXELS, Patch(GRID), is_soft=True),
            "soft: differences, 3 to 14": sweeper(n, PIXELS, EDGES, is_soft=True),
        }
        measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.3)
        found += [
            {
                "n": n,
                "rules": name,
                "best_ms": figures["best_ms"],
                "cpu_ms": figures["cpu_ms"],
                **timing.ratios(figures, measured[SPARSE]),
            }
            for name, figures in measured.items()
        ]
    return found


# ---- memory --------------------------------------------------------------------------------------

N_GREYS = 256
FITS: dict[str, dict[str, Any]] = {
    "sparse, 784 columns": {},
    "patches of 2 to 5": {"directions": Patch(GRID)},
    "differences, 3 to 14": {"directions": EDGES},
    "patches of 14 x 14": {"directions": Patch(GRID, 14, 14)},
}
REAL = "patches of 2 to 5, real values"  # the others have grey levels
FITS[REAL] = {"directions": Patch(GRID)}
FITS[f"{REAL}, range"] = {"directions": Patch(GRID), "feature_scaling": "range"}
CASES = [
    *((name, 1, 1) for name in FITS),
    ("patches of 2 to 5", 8, 1),
    ("patches of 2 to 5", 8, 2),
]


def memory_rows() -> list[dict[str, Any]]:
    return [
        {"rules": name, "chains": n_chains, "jobs": n_jobs, **_in_a_process(name, n_chains, n_jobs)}
        for name, n_chains, n_jobs in CASES
    ]


def _in_a_process(*case: Any) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--case", *map(str, case)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _fit(name: str, n_chains: int, n_jobs: int) -> dict[str, float]:
    columns, y = image_table(PIXELS, N_ROWS)
    if not name.startswith(REAL):
        columns = np.floor((columns + 1) * (N_GREYS / 2))
    table = np.ascontiguousarray(columns.T, np.float64)
    del columns
    model = ObliqueBARTRegressor(
        n_trees=200,
        n_chains=n_chains,
        n_jobs=n_jobs,
        random_state=0,
        soft=False,
        progress=False,
        **FITS[name],
    )
    few = {"n_burn": 2, "n_draws": 2}
    warnings.simplefilter("ignore")  # chains this short do not agree
    clone(model).set_params(**few).fit(table[:FEW_ROWS], y[:FEW_ROWS])
    before = _resident()
    with PeakMemory() as peak:
        model.set_params(n_burn=N_BURN, n_draws=N_DRAWS).fit(table, y)
    draws = model.posterior_.draws
    arrays = draws.to_arrays()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.obart"
        model.save(path, include_state=False)
        size = path.stat().st_size
    in_file = sum(array.nbytes for array in pack_draws(arrays).values())
    return {
        "more_mb": (peak.megabytes * 2**20 - before) / 1e6,
        "before_mb": before / 1e6,
        "table_mb": table.nbytes / 1e6,
        "draw_bytes": draws.nbytes / draws.n_draws,
        "draw_bytes_in_file": in_file / draws.n_draws,
        "file_mb": size / 1e6,
        "columns_a_rule": float(arrays["phi_count"].mean()),
        "rules_a_draw": _rules(draws),
    }


def _rules(draws: _core.Draws) -> float:
    """Rules of a draw, also of trees that are as they were in the draw before."""
    leaves = draws.to_arrays()["outputs"].size
    return leaves / draws.n_draws - draws.n_trees


def _resident() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--time", action="store_true", help="only the time of a sweep")
    parser.add_argument("--memory", action="store_true", help="only the memory of a fit")
    options = parser.parse_args()
    if options.time or not options.memory:
        print_table(timing.run_and_save("directions", time_rows))
    if options.memory or not options.time:
        print_table(timing.run_and_save("directions_memory", memory_rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(_fit(sys.argv[2], *map(int, sys.argv[3:]))))
    else:
        main()
