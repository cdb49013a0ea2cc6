"""How large is a model file, and how long does a prediction of one row take?

Default fits to tables of 214 rows and 9 columns: numbers, two classes, six classes. By default they
are simulated. A CSV of one's own gives other tables, with classes in its last column: the glass
data, for example, which the R package MASS has as `fgl`.

python benchmarks/model_size.py
python benchmarks/model_size.py --csv glass.csv --only six
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from table import print_table

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, load

REPEATS = 30


class Task(NamedTuple):
    model: Any
    X: NDArray[np.float64]
    y: NDArray[Any]
    method: str


def simulated(n: int = 214, p: int = 9, n_classes: int = 6) -> tuple[NDArray[np.float64], Any]:
    """Return columns, and classes that depend on some of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    scores = 2.0 * X[:, :n_classes] + rng.gumbel(size=(n, n_classes))
    return X, np.array([f"class {code}" for code in scores.argmax(axis=1)])


def from_csv(path: Path) -> tuple[NDArray[np.float64], Any]:
    with path.open() as file:
        _, *rows = csv.reader(file)
    return np.array([row[:-1] for row in rows], float), np.array([row[-1] for row in rows])


def tasks(X: NDArray[np.float64], labels: NDArray[Any]) -> dict[str, Task]:
    options: dict[str, Any] = {"random_state": 0, "n_jobs": -1, "progress": False}
    first = np.unique(labels)[0]
    numbers = X[:, 0] + X[:, 1] * X[:, 2]
    return {
        "numbers": Task(ObliqueBARTRegressor(**options), X, numbers, "predict"),
        "two": Task(ObliqueBARTClassifier(**options), X, labels == first, "predict_proba"),
        "six": Task(ObliqueBARTClassifier(**options), X, labels, "predict_proba"),
    }


def milliseconds(model: Any, task: Task) -> Iterator[tuple[float, float]]:
    """Yield the wall and the processor time of predictions of one row, on one thread."""
    predict = getattr(model, task.method)
    predict(task.X[:1])
    for i in range(REPEATS):
        start, cpu = time.perf_counter(), time.thread_time()
        predict(task.X[i : i + 1])
        yield 1e3 * (time.perf_counter() - start), 1e3 * (time.thread_time() - cpu)


def measure(name: str, task: Task, folder: Path) -> dict[str, Any]:
    start = time.perf_counter()
    task.model.fit(task.X, task.y)
    seconds = time.perf_counter() - start
    path = folder / f"{name}.obart"
    task.model.set_params(n_jobs=None).save(path)
    wall, cpu = zip(*milliseconds(load(path), task), strict=True)
    posteriors = task.model._fitted.posteriors
    return {
        "model": name,
        "fit_s": round(seconds, 1),
        "draws": sum(int(posterior.draws.n_draws) for posterior in posteriors),
        "file_mb": round(path.stat().st_size / 1e6, 1),
        "one_row_ms": round(statistics.median(wall), 2),
        "one_row_cpu_ms": round(statistics.median(cpu), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--only", nargs="+", choices=("numbers", "two", "six"))
    options = parser.parse_args()
    X, labels = simulated() if options.csv is None else from_csv(options.csv)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        print_table(
            [
                measure(name, task, Path(folder))
                for name, task in tasks(X, labels).items()
                if name in (options.only or [name])
            ]
        )


if __name__ == "__main__":
    main()
