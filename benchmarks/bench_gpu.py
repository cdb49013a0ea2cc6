"""How fast is a sweep on an NVIDIA card, against our own CPU and against bartz on the same card?

Friedman's function of ten columns, 200 trees. Chains that run side by side have a thread each. The
time of a sweep is the best of some runs, after a burn-in; draws on the card are compared with the
CPU's. Packages that are not installed are left out.

    python benchmarks/bench_gpu.py [--sizes 10000 100000 1000000] [--peers]
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cuda,cpu")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import timing
from adapters.obliquebart_core import sampler
from machine import describe
from problem import Problem, friedman
from table import print_table

from obliquebart import _core
from obliquebart.sampling.cuda import prepare

CHAINS = (1, 8)
REPEATS = 3


def _best(run: Callable[[int], None], n_sweeps: int) -> float:
    """Return milliseconds a sweep, after as many sweeps that do not count."""
    run(n_sweeps)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run(n_sweeps)
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds) / n_sweeps


def _ours(problem: Problem, n_chains: int, n_sweeps: int, backend: str) -> float:
    _core.set_chains_on_card(n_chains)
    chains = [sampler(problem, backend=backend) for _ in range(n_chains)]

    def run(n: int) -> None:
        threads = [threading.Thread(target=chain.sweep, args=(n,)) for chain in chains]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return _best(run, n_sweeps)


def _bartz(problem: Problem, n_chains: int, n_sweeps: int) -> float:
    from adapters.bartz_bart import sweeper

    seconds = sweeper(problem, n_sweeps, None if n_chains == 1 else n_chains)
    seconds(n_sweeps)
    return 1e3 * min(seconds(n_sweeps) for _ in range(REPEATS)) / n_sweeps


def _same_bits(problem: Problem, n_sweeps: int = 20) -> bool:
    _core.set_chains_on_card(1)
    cpu, card = sampler(problem), sampler(problem, backend="cuda")
    cpu.sweep(n_sweeps)
    card.sweep(n_sweeps)
    return bool(cpu.sigma == card.sigma and np.array_equal(cpu.residual(), card.residual()))


def rows(sizes: list[int], *, peers: bool) -> list[dict[str, Any]]:
    prepare()
    result = []
    for n in sizes:
        problem = friedman(n)
        n_sweeps = 100 if n <= 10**6 else 20
        same = _same_bits(problem) if n <= 10**6 else None
        for n_chains in CHAINS if n <= 10**6 else CHAINS[:1]:
            row: dict[str, Any] = {"n": n, "chains": n_chains, "same_bits": same}
            row["card_ms"] = _ours(problem, n_chains, n_sweeps, "cuda") / n_chains
            if n <= 10**5:
                row["cpu_ms"] = _ours(problem, n_chains, n_sweeps, "cpu") / n_chains
            if peers:
                row["bartz_ms"] = _bartz(problem, n_chains, n_sweeps) / n_chains
                row["bartz / card"] = row["bartz_ms"] / row["card_ms"]
            print(row, flush=True)
            result.append(row)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--peers", action="store_true", help="bartz too, on the same card")
    parser.add_argument("--out", type=Path, default=timing.RESULTS)
    options = parser.parse_args()
    about = describe()
    found = rows(options.sizes, peers=options.peers)
    print_table(found)
    timing.save("gpu", found, about, options.out)


if __name__ == "__main__":
    main()
