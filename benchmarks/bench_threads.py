"""How much faster is one chain with two threads, and are the draws the same?

Two chains of one seed, on one thread and on two, take turns sweep by sweep. They do the same work,
because their draws have the same bits, so each pair of sweeps gives a ratio.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np
import timing
from adapters.obliquebart_core import sampler
from problem import friedman
from table import print_table

from obliquebart import _core


def rows(n: int = 200_000, n_burn: int = 50, n_pairs: int = 100) -> list[dict[str, Any]]:
    problem = friedman(n)
    one, two = (sampler(problem, n_threads=k) for k in (1, 2))
    one.sweep(n_burn)
    two.sweep(n_burn)
    load_before = os.getloadavg()[0]
    pairs = [(_seconds(one), _seconds(two)) for _ in range(n_pairs)]
    walls = [[pair[k][0] for pair in pairs] for k in (0, 1)]
    return [
        {
            "n": n,
            "one_thread_ms": 1e3 * statistics.median(walls[0]),
            "two_threads_ms": 1e3 * statistics.median(walls[1]),
            "speedup": statistics.median(a[0] / b[0] for a, b in pairs),
            "speedup_best": min(walls[0]) / min(walls[1]),
            "cpu_ratio": statistics.median(b[1] / a[1] for a, b in pairs),
            "same_bits": bool(
                one.sigma == two.sigma and np.array_equal(one.residual(), two.residual())
            ),
            "pairs": n_pairs,
            "load_before": load_before,
            "load_after": os.getloadavg()[0],
        }
    ]


def _seconds(chain: _core.Sampler) -> tuple[float, float]:
    """Wall time of a sweep and processor time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    chain.sweep(1)
    return time.perf_counter() - wall, time.process_time() - cpu


QUICK = {"n_burn": 10, "n_pairs": 20}

if __name__ == "__main__":
    print_table(timing.run_and_save("threads", rows))
