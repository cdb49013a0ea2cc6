"""Does the cost a row and tree stay flat up to a million rows, and what limits it?

More rows support more leaves, and a tree of more leaves costs more. So there are two answers: with
the trees that each number of rows has after burn-in, and with the same trees for all. Beside them
stand the bytes that a sweep moves, and how fast this machine moves bytes.
"""

from __future__ import annotations

import time
from typing import Any

import bandwidth
import numpy as np
import timing
from adapters.obliquebart_core import mean_leaves, sampler, timed
from problem import friedman
from table import print_table

from obliquebart import _core

REFERENCE = 10_000
FEW = 4  # sweeps with given trees, before they have changed much
N_TREES = 200

Chains = dict[int, _core.Sampler]


def rows(
    sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000),
    n_burn: int = 100,
    repeats: int = 5,
) -> list[dict[str, Any]]:
    chains = {n: sampler(friedman(n)) for n in sizes}
    for chain in chains.values():
        chain.sweep(n_burn)
    before = {n: chain.counters for n, chain in chains.items()}
    # All sizes take turns, so that a slow spell of the machine hits them all.
    own = timing.measure_sweeps(
        {str(n): timed(chain) for n, chain in chains.items()}, repeats=repeats, target_s=0.5
    )
    moved = {n: bytes_moved(chain, before[n]) for n, chain in chains.items()}
    leaves = {n: mean_leaves(chain) for n, chain in chains.items()}
    same = _same_trees(chains, repeats + 2)
    speed = {**bandwidth.measure(), "l2_bytes": bandwidth.l2_bytes()}
    found = []
    for n in sizes:
        figures, reference = own[str(n)], own[str(REFERENCE)]
        ns = 1e6 * figures["best_ms"] / (N_TREES * n)
        found.append(
            {
                "n": n,
                "ms": figures["best_ms"],
                "us_per_tree": 1e3 * figures["best_ms"] / N_TREES,
                "leaves": leaves[n],
                "ns_per_row_tree": ns,
                "over_reference": figures["best_ms"] / n / (reference["best_ms"] / REFERENCE),
                "over_reference_cpu": figures["cpu_ms"] / n / (reference["cpu_ms"] / REFERENCE),
                **same[n],
                "same_trees_over_reference": same[n]["same_trees_ns"]
                / same[REFERENCE]["same_trees_ns"],
                **moved[n],
                "gb_s": moved[n]["bytes_per_row_tree"] / ns,
                "codes_mb": N_TREES * n / 1e6,
                **speed,
            }
        )
    return found


def bytes_moved(chain: _core.Sampler, before: dict[str, int]) -> dict[str, float]:
    """Bytes a row and tree that a sweep reads and writes, as the passes are written.

    The pass reads and writes the residual (8 bytes), and reads the codes of the tree that it
    applies and of the tree that it sums (1 byte each). A tree with a proposed rule is routed before
    (its codes, 4 bytes for each column of the rule) and has a bit a row, written once and read
    twice. An accepted move reads and writes the codes once more. Of these the first visit of the
    pass and of the routing to the codes, and the bits, come from memory where the codes of all
    trees do not fit a cache; the residual and the columns of a block come from caches.

    For 32,768 rows and more this is the most that it can be: blocks without the leaves of a
    proposed rule are not routed and their bits not read, and blocks of one leaf do not need their
    codes.
    """
    since = {name: count - before[name] for name, count in chain.counters.items()}
    n_updates = sum(count for name, count in since.items() if name.startswith("proposed"))
    with_rule = 1 - since["proposed_prune"] / n_updates
    moves = sum(count for name, count in since.items() if name.startswith("accepted")) / n_updates
    columns = _columns_a_rule(chain)
    codes = 1 + with_rule + 2 * moves
    bits = 3 / 8 * with_rule
    return {
        "bytes_per_row_tree": 9 + codes + bits + 4 * columns * with_rule,
        "code_bytes_per_row_tree": codes + bits,
        "columns_a_rule": columns,
        "accepted": moves,
    }


def _columns_a_rule(chain: _core.Sampler) -> float:
    counts = chain.ensemble().to_arrays()["phi_count"]
    return float(counts.mean()) if len(counts) else 0.0


def _same_trees(chains: Chains, repeats: int) -> dict[int, dict[str, float]]:
    """CPU nanoseconds per row and tree, least of the repeats, starting from one ensemble."""
    given = chains[REFERENCE].ensemble()
    least = dict.fromkeys(chains, np.inf)
    for _ in range(repeats):
        for n, chain in chains.items():
            chain.set_ensemble(given, 0)
            chain.sweep(1)  # warms the caches
            start = time.process_time()
            chain.sweep(FEW)
            least[n] = min(least[n], (time.process_time() - start) / (FEW * N_TREES * n))
    return {
        n: {"same_trees_ns": 1e9 * seconds, "same_trees_leaves": mean_leaves(chains[n])}
        for n, seconds in least.items()
    }


QUICK = {"sizes": (100, 1_000, 10_000, 100_000), "repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("rows", rows))
