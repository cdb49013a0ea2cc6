"""How much faster is one chain with two threads, and are the draws the same?"""

from __future__ import annotations

from typing import Any

import numpy as np
import timing
from adapters.obliquebart_core import sampler, sweeper
from problem import Problem, friedman
from table import print_table


def rows(n: int = 200_000) -> list[dict[str, Any]]:
    problem = friedman(n)
    sweepers = {str(k): sweeper(problem, 50, n_threads=k) for k in (1, 2)}
    measured = timing.measure_sweeps(sweepers, repeats=7)
    return [
        {
            "n": n,
            "one_thread_ms": measured["1"]["best_ms"],
            "two_threads_ms": measured["2"]["best_ms"],
            "speedup": measured["1"]["best_ms"] / measured["2"]["best_ms"],
            "same_bits": _same_bits(problem),
        }
    ]


def _same_bits(problem: Problem) -> bool:
    chains = [sampler(problem, n_threads=k) for k in (1, 2)]
    for chain in chains:
        chain.sweep(20)
    one, two = chains
    return bool(one.sigma == two.sigma and np.array_equal(one.residual(), two.residual()))


if __name__ == "__main__":
    print_table(timing.run_and_save("threads", rows))
