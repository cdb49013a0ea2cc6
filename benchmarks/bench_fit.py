"""How long does a whole `fit` take at n = 400, against what a user could pick instead?

One chain of 1000 + 1000 sweeps of 200 trees, the whole call from Python, on one core. The prior of
sigma is given, so that there is nothing but the chain; the default also has short fits, which
estimate the noise and choose the rules.
"""

from __future__ import annotations

from typing import Any

import adapters
import timing
from problem import friedman
from table import print_table

OURS = "obliquebart"


def rows(n: int = 400, repeats: int = 9) -> list[dict[str, Any]]:
    problem = friedman(n)
    trees = adapters.load("sklearn_trees")
    ours = adapters.load("obliquebart_core")
    calls = {
        OURS: ours.fitter(problem, sigma_quantile=0.9),
        "obliquebart, the default": ours.fitter(problem),
        "obliquebart, the default with hard rules": ours.fitter(problem, soft=False),
        "obliquebart, the paper's prior": ours.fitter(problem, prior="paper"),
        "scikit-learn random forest, 500 trees": trees.fitter(problem),
        "scikit-learn extra trees, 500 trees": trees.extra_trees_fitter(problem),
        "xgboost": adapters.load("xgboost_trees").fitter(problem),
    }
    measured = timing.measure_calls(calls, repeats=repeats)
    return [
        {"library": name, "n": n, **seconds, "ratio": seconds["best_s"] / measured[OURS]["best_s"]}
        for name, seconds in measured.items()
    ]


QUICK = {"repeats": 3}

if __name__ == "__main__":
    print_table(timing.run_and_save("fit", rows))
