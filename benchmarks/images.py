"""Do rules about patches pay in images? scikit-learn's digits, 8 x 8 pixels, ten classes.

Patches and differences against sparse and axis rules, and against random forests, extra trees,
gradient boosting and logistic regression: accuracy, and log loss of probabilities that are raised
to at least 1e-6. Fewer training rows show where structure helps most.

    python benchmarks/images.py [--rows 200 1000] [--seeds 1] [--draws 100] [--methods M ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import timing
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table import print_table

from obliquebart import ObliqueBARTClassifier
from obliquebart.directions import Patch, Sparse

SMALLEST = 1e-6
SHAPE = (8, 8)
N_TEST = 500


def ours(n_draws: int, **parameters: Any) -> Callable[[int], Any]:
    def make(seed: int) -> ObliqueBARTClassifier:
        length = {"n_burn": 3 * n_draws, "n_draws": n_draws, "n_chains": 2, "n_jobs": 2}
        return ObliqueBARTClassifier(
            n_trees=50, random_state=seed, progress=False, **length, **parameters
        )

    return make


def methods(n_draws: int) -> dict[str, Callable[[int], Any]]:
    scaled = {"feature_scaling": "range"}
    mixture = [Patch(SHAPE), Patch(SHAPE, values="difference"), Sparse()]
    return {
        "sparse": ours(n_draws),
        "sparse, range": ours(n_draws, **scaled),
        "axis": ours(n_draws, rules="axis"),
        "patch": ours(n_draws, directions=Patch(SHAPE), **scaled),
        "smooth": ours(n_draws, directions=Patch(SHAPE, values="smooth"), **scaled),
        "difference": ours(n_draws, directions=Patch(SHAPE, values="difference"), **scaled),
        "mixture": ours(n_draws, directions=mixture, **scaled),
        "random_forest": lambda seed: RandomForestClassifier(500, random_state=seed, n_jobs=2),
        "extra_trees": lambda seed: ExtraTreesClassifier(500, random_state=seed, n_jobs=2),
        "hist_boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
        "logistic": lambda seed: make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=2000, random_state=seed)
        ),
    }


def measure(model: Any, split: list[np.ndarray]) -> dict[str, float]:
    x_train, x_test, y_train, y_test = split
    start = time.perf_counter()
    model.fit(x_train, y_train)
    seconds = time.perf_counter() - start
    p = np.maximum(model.predict_proba(x_test), SMALLEST)
    p /= p.sum(axis=1, keepdims=True)
    return {
        "accuracy": float((model.classes_[p.argmax(axis=1)] == y_test).mean()),
        "log_loss": float(log_loss(y_test, p, labels=model.classes_)),
        "fit_s": seconds,
    }


def rows(
    sizes: tuple[int, ...] = (200, 1000),
    seeds: int = 1,
    n_draws: int = 100,
    chosen: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    x, y = load_digits(return_X_y=True)
    found = []
    for n in sizes:
        for name, make in methods(n_draws).items():
            if chosen and name not in chosen:
                continue
            results = []
            for seed in range(seeds):
                split = train_test_split(
                    x, y, train_size=n, test_size=N_TEST, random_state=seed, stratify=y
                )
                results.append(measure(make(seed), split))
            means = {key: float(np.mean([each[key] for each in results])) for key in results[0]}
            found.append({"n_train": n, "method": name, "seeds": seeds, **means})
            print_table(found[-1:])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--methods", nargs="+", default=[])
    given = parser.parse_args()
    print_table(
        timing.run_and_save(
            "images",
            lambda: rows(tuple(given.rows), given.seeds, given.draws, tuple(given.methods)),
        )
    )


if __name__ == "__main__":
    main()
