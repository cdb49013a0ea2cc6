"""What does a sweep of the causal forest cost, against that of plain regression?

Friedman's function of ten columns, an effect of a binary treatment, constant noise, 200 trees and
50 more of the effect; the plain regression has the treatment as a column. Both are measured in
turn in one process, as in `outcome_cost.py`: processor seconds of a long fit less those of a short
one, the least of some repeats.

    python benchmarks/causal_cost.py [--sizes 1000 10000] [--repeats 5] [--save]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import machine
import numpy as np
import timing
from table import print_table

from obliquebart import ObliqueBARTCausal, ObliqueBARTRegressor

SHORT, LONG = 500, 2500  # sweeps
SIZES = (1000, 10_000)
TARGET = 1.6


def _problem(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, 10))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    f = (f + 10 * x[:, 3] + 5 * x[:, 4]) / 5
    z = (rng.uniform(size=n) < 0.25 + 0.5 * x[:, 3]).astype(float)
    return x, f + z * (1 + x[:, 1]) + 0.2 * rng.normal(size=n), z


def _settings(n_burn: int) -> dict[str, Any]:
    run = {"n_burn": n_burn, "n_draws": 2, "n_thin": 1, "n_chains": 1, "n_jobs": 1}
    return {**run, "random_state": 0, "progress": False, "noise": "constant", "noise_df": np.inf}


def _seconds(n: int, n_burn: int, causal: bool) -> float:
    x, y, z = _problem(n)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains are too short to have arrived
        if causal:
            model = ObliqueBARTCausal(propensity=None, **_settings(n_burn))
            # A known propensity: those that are estimated would cost the same in both fits.
            model.fit(x, y, z, propensity=0.25 + 0.5 * x[:, 3])
        else:
            ObliqueBARTRegressor(soft=False, **_settings(n_burn)).fit(np.column_stack([x, z]), y)
    return time.process_time() - start


def row(n: int, repeats: int) -> dict[str, Any]:
    """Return milliseconds of a sweep of both, and their ratio."""
    found: dict[tuple[bool, int], list[float]] = {}
    for _ in range(repeats):
        for causal in (False, True):
            for n_burn in (SHORT, LONG):
                found.setdefault((causal, n_burn), []).append(_seconds(n, n_burn, causal))
    plain, forest = (
        1e3 * (min(found[causal, LONG]) - min(found[causal, SHORT])) / (LONG - SHORT)
        for causal in (False, True)
    )
    ratio = forest / plain
    figures = {"n": n, "plain_ms": plain, "causal_ms": forest, "ratio": ratio}
    return {**figures, "target": TARGET, "reached": bool(ratio <= TARGET)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write results/causal_cost.json")
    options = parser.parse_args()
    about = machine.describe()
    rows = [row(n, options.repeats) for n in options.sizes]
    print_table(rows)
    if options.save:
        timing.save("causal_cost", rows, about)


if __name__ == "__main__":
    main()
