"""How much memory does a fit take at its peak, against n (4 p + 2 M + 32) bytes and the draws?

Each case is a process of its own; its peak of resident memory is less that of a process that has
done the same with 64 rows. "sampler": one chain from ready columns, a few sweeps. "fit":
the estimator's whole call; the user's own table (8 bytes a value) is taken off.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

P, N_TREES, N_BURN, N_DRAWS = 10, 200, 3, 3
CHUNK = 10_000
FEW_ROWS = 64


def rows(sizes: tuple[int, ...] = (100_000, 1_000_000)) -> list[dict[str, Any]]:
    found = []
    for kind in CASES:
        base = _in_a_process(kind, FEW_ROWS)["peak"]
        for n in sizes:
            case = _in_a_process(kind, n)
            peak = case["peak"] - base - case["table"]
            bound = n * (4 * P + 2 * N_TREES + 32) + case["draws"]
            found.append(
                {
                    "kind": kind,
                    "n": n,
                    "peak_mb": peak / 1e6,
                    "bound_mb": bound / 1e6,
                    "of_bound": peak / bound,
                    "bytes_a_row": (peak - case["draws"]) / n,
                    "bound_bytes_a_row": float(4 * P + 2 * N_TREES + 32),
                    "draws_mb": case["draws"] / 1e6,
                    "table_mb": case["table"] / 1e6,
                    "base_mb": base / 1e6,
                }
            )
    return found


def _in_a_process(kind: str, n: int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--case", kind, str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _friedman_parts(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns as float32 on [0, 1] and outcomes, without temporaries of n rows."""
    rng = np.random.default_rng(0)
    x = np.empty((P, n), np.float32)
    y = np.empty(n)
    for start in range(0, n, CHUNK):
        part = rng.uniform(size=(P, min(CHUNK, n - start)))
        x[:, start : start + CHUNK] = part
        y[start : start + CHUNK] = (
            10 * np.sin(np.pi * part[0] * part[1])
            + 20 * (part[2] - 0.5) ** 2
            + 10 * part[3]
            + 5 * part[4]
            + rng.normal(size=part.shape[1])
        )
    return x, y


def _sampler(n: int) -> dict[str, int]:
    from obliquebart import _core
    from obliquebart.likelihood import LIKELIHOODS
    from obliquebart.model.calibration import calibrate
    from obliquebart.model.parameters import Hyperparameters

    x, y = _friedman_parts(n)
    x *= 2
    x -= 1
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    del x
    outcome = LIKELIHOODS["gaussian"].encode(y)
    del y
    engine = calibrate(Hyperparameters(n_trees=N_TREES).validated(), outcome, P)
    chain = _core.Sampler(data, outcome.values, None, engine, 0, 0)
    chain.run(N_BURN, N_DRAWS, 1, _core.Control())
    return {"draws": chain.draws.nbytes, "table": 0}


def _fit(n: int) -> dict[str, int]:
    from obliquebart import ObliqueBARTRegressor

    columns, y = _friedman_parts(n)
    table = np.empty((n, P))
    table[:] = columns.T
    del columns
    model = ObliqueBARTRegressor(
        n_trees=N_TREES, n_chains=1, n_burn=N_BURN, n_draws=N_DRAWS, n_jobs=1, random_state=0
    )
    model.fit(table, y)
    draws = model.posterior_.draws.nbytes
    return {"draws": draws, "table": table.nbytes + y.nbytes}


CASES = {"sampler": _sampler, "fit": _fit}


def _case(kind: str, n: int) -> None:
    found = CASES[kind](n)
    print(json.dumps({"peak": _peak(), **found}))


def _peak() -> int:
    """Bytes of resident memory at the peak of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would begin with what the parent had before exec
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


QUICK = {"sizes": (100_000,)}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        _case(sys.argv[2], int(sys.argv[3]))
    else:
        import timing
        from table import print_table

        print_table(timing.run_and_save("memory", rows))
