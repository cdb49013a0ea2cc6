"""What does a probit sweep cost over a regression sweep, with the paper's prior and with ours?"""

from __future__ import annotations

from typing import Any

import timing
from adapters.obliquebart_core import sweeper
from problem import friedman
from table import print_table


def rows(
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000), repeats: int = 9
) -> list[dict[str, Any]]:
    return [_compare(n, prior, repeats) for n in sizes for prior in ("paper", "default")]


def _compare(n: int, prior: str, repeats: int) -> dict[str, Any]:
    problem = friedman(n)
    sweepers = {
        kind: sweeper(problem, 300, likelihood=kind, prior=prior) for kind in ("gaussian", "probit")
    }
    measured = timing.measure_sweeps(sweepers, repeats=repeats, target_s=0.5)
    regression, probit = measured["gaussian"], measured["probit"]
    return {
        "n": n,
        "prior": prior,
        "regression_ms": regression["best_ms"],
        "probit_ms": probit["best_ms"],
        **timing.ratios(probit, regression),
    }


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("probit", rows))
