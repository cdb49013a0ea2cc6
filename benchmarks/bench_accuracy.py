"""Whose posterior mean is nearest to the truth? Friedman's function with 10 and with 100 columns.

Five columns count, the others are noise. Everybody gets 1,000 rows, one chain of 1000 + 1000
sweeps, 200 trees, and the package's defaults otherwise; our default of eight chains of 500 + 500
sweeps is shown as well. RMSE to the true function at 2,000 new rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import adapters
import numpy as np
import timing
from problem import friedman
from table import print_table

N_ROWS, N_TEST = 1_000, 2_000
OURS = "obliquebart, one chain"
ONE_CHAIN = {"n_chains": 1, "n_burn": 1000, "n_draws": 1000}
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def contestants() -> dict[str, Predict]:
    """By name: (x, y, x_test, seed) -> posterior mean at x_test."""
    ours = adapters.load("obliquebart_core").posterior_mean
    return {
        OURS: lambda *data: ours(*data, **ONE_CHAIN),
        "obliquebart, eight chains": lambda *data: ours(*data, n_draws=500),
        "obliquebart, axis rules, one chain": lambda *data: ours(*data, **ONE_CHAIN, rules="axis"),
        "obliquebart, the paper's prior, one chain": lambda *data: ours(
            *data, **ONE_CHAIN, prior="paper"
        ),
        "stochtree": adapters.load("stochtree_bart").posterior_mean,
        "bartz": adapters.load("bartz_bart").posterior_mean,
    }


def rows(
    repeats: int = 10, peer_repeats: int | None = None, columns: tuple[int, ...] = (10, 100)
) -> list[dict[str, Any]]:
    """`peer_repeats`: fewer for the other packages, which are slower; the first of the repeats."""
    n_peer = repeats if peer_repeats is None else min(peer_repeats, repeats)
    found = []
    for p in columns:
        errors: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(repeats):
            train = friedman(N_ROWS, p, seed=2 * seed)
            test = friedman(N_TEST, p, seed=2 * seed + 1)
            for name, predict in contestants().items():
                if not name.startswith("obliquebart") and seed >= n_peer:
                    continue
                start = time.perf_counter()
                mean = predict(train.x, train.y, test.x, seed)
                seconds.setdefault(name, []).append(time.perf_counter() - start)
                error = float(np.sqrt(np.mean((mean - test.truth) ** 2)))
                errors.setdefault(name, []).append(error)
        found += [_row(p, name, errors, seconds) for name in errors]
    return found


def _row(
    p: int, name: str, errors: dict[str, list[float]], seconds: dict[str, list[float]]
) -> dict[str, Any]:
    own = np.array(errors[name])
    more = own - np.array(errors[OURS][: len(own)])  # on the same data
    return {
        "p": p,
        "library": name,
        "repeats": len(own),
        "rmse": float(own.mean()),
        "se": _standard_error(own),
        "over_ours": float(own.mean() / np.mean(errors[OURS][: len(own)])),
        "difference": float(more.mean()),
        "difference_se": _standard_error(more),
        "seconds": float(np.median(seconds[name])),
        "each": own.tolist(),
    }


def _standard_error(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


QUICK = {"repeats": 2, "columns": (10,)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--peer-repeats", type=int)
    args = parser.parse_args()
    found = timing.run_and_save("accuracy", lambda: rows(args.repeats, args.peer_repeats))
    print_table([{k: v for k, v in row.items() if k != "each"} for row in found])
