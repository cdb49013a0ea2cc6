"""Does the cost a row and tree stay flat up to a million rows?

More rows support more leaves, and a tree of more leaves costs more. So there are two answers: with
the trees that each number of rows has after burn-in, and with the same trees for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import timing
from adapters.obliquebart_core import sampler
from problem import friedman
from table import print_table

from obliquebart import _core

REFERENCE = 10_000
FEW = 4  # sweeps with given trees, before they have changed much


def rows(sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)) -> list[dict[str, Any]]:
    chains = {n: sampler(friedman(n)) for n in sizes}
    for chain in chains.values():
        chain.sweep(100)
    # All sizes take turns, so that a slow spell of the machine hits them all.
    own = timing.measure_sweeps(
        {str(n): _sweeper(chain) for n, chain in chains.items()}, repeats=5, target_s=0.5
    )
    leaves = {n: _mean_leaves(chain) for n, chain in chains.items()}
    same = _same_trees(chains)
    found = []
    for n in sizes:
        figures, reference = own[str(n)], own[str(REFERENCE)]
        found.append(
            {
                "n": n,
                "ms": figures["best_ms"],
                "us_per_tree": 1e3 * figures["best_ms"] / 200,
                "leaves": leaves[n],
                "ns_per_row_tree": 1e6 * figures["best_ms"] / (200 * n),
                "over_reference": figures["best_ms"] / n / (reference["best_ms"] / REFERENCE),
                "over_reference_cpu": figures["cpu_ms"] / n / (reference["cpu_ms"] / REFERENCE),
                "same_trees_ns": same[n],
                "same_trees_over_reference": same[n] / same[REFERENCE],
            }
        )
    return found


def _sweeper(chain: _core.Sampler) -> Callable[[int], float]:
    def seconds(n_sweeps: int) -> float:
        start = time.perf_counter()
        chain.sweep(n_sweeps)
        return time.perf_counter() - start

    return seconds


def _mean_leaves(chain: _core.Sampler) -> float:
    draws = chain.ensemble()
    kinds = draws.to_arrays()["node_kind"] & 3
    return float(np.count_nonzero(kinds == 0) / draws.n_trees)


def _same_trees(chains: dict[int, _core.Sampler], repeats: int = 7) -> dict[int, float]:
    """CPU nanoseconds a row and tree, least of the repeats, starting from one ensemble."""
    given = chains[REFERENCE].ensemble()
    least = dict.fromkeys(chains, np.inf)
    for _ in range(repeats):
        for n, chain in chains.items():
            chain.set_ensemble(given, 0)
            chain.sweep(1)  # warms the caches
            start = time.process_time()
            chain.sweep(FEW)
            least[n] = min(least[n], (time.process_time() - start) / (FEW * 200 * n))
    return {n: 1e9 * seconds for n, seconds in least.items()}


if __name__ == "__main__":
    print_table(timing.run_and_save("rows", rows))
