"""Contestants on images and curves: each fit is done once and kept.

A setting makes a task from the number of a seed: rows to fit and rows to score. The figures of a
fit are a line of `CACHE/QUESTION.jsonl`, as in `causal_study.py`, which runs the fits: all settings
and methods of a seed come before the next seed, and a run that was stopped goes on where it was.
With `--by-method` all seeds of the first method come first: name those that take longest first, so
that no long fit is left for the end.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import adapters
import causal_study
import machine
import numpy as np
import timing
from causal_study import Cache, Line, Unit, shared_lines
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from structured_data import Rows
from table import print_table

FOLDER = Path(__file__).parents[1] / "build" / "structured"
FIRST_SEED = 11  # those before are for choosing settings
NOISE_SD = 0.5
N_SYNTHETIC_TEST = 2000
SMALLEST = 1e-6  # probabilities are raised to it: forests give zeros
# Figures of a kind of outcome, and whether larger is better; the first of them ranks methods.
CLASSES = {"accuracy": True, "log_loss": False}
NUMBERS = {"rmse": False, "r2": True}


@dataclass(frozen=True)
class Task:
    """Rows to fit and rows to score; `shape` is that of a row."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    shape: tuple[int, ...]
    seed: int

    @property
    def has_classes(self) -> bool:
        return not np.issubdtype(self.y_train.dtype, np.floating)


def split(rows: Rows, seed: int, n_train: int | float, n_test: int | float | None = None) -> Task:
    """Return a random split, with the same shares of classes on both sides."""
    x, x_test, y, y_test = train_test_split(
        rows.x,
        rows.y,
        train_size=n_train,
        test_size=n_test,
        random_state=seed,
        stratify=rows.y if rows.has_classes else None,
    )
    return Task(x, y, x_test, y_test, rows.shape, seed)


def synthetic(
    seed: int,
    n_train: int,
    image: Callable[[int, np.random.Generator], np.ndarray],
    shape: tuple[int, ...],
) -> Task:
    """Return noisy images of two classes, made from their labels."""
    rng = np.random.default_rng([seed, n_train])
    labels = rng.integers(0, 2, size=n_train + N_SYNTHETIC_TEST)
    x = np.array([np.ravel(image(label, rng)) for label in labels], dtype=np.float64)
    x += NOISE_SD * rng.normal(size=x.shape)
    return Task(x[:n_train], labels[:n_train], x[n_train:], labels[n_train:], shape, seed)


@dataclass(frozen=True)
class Method:
    """A function of an adapter: probabilities by class, or numbers, at the rows to score."""

    adapter: str
    function: str
    settings: tuple[tuple[str, Any], ...] = ()
    kind: str = "peer"

    def __call__(self, task: Task) -> np.ndarray:
        function = getattr(adapters.load(self.adapter), self.function)
        return np.asarray(function(task, **dict(self.settings)))


def ours(**settings: Any) -> Method:
    return Method("structured_obliquebart", "predictions", tuple(settings.items()), "ours")


def peer(function: str, kind: str = "peer", **settings: Any) -> Method:
    return Method("structured_sklearn", function, tuple(settings.items()), kind)


@dataclass(frozen=True)
class Study:
    """A question: tasks by the name of their setting, from the number of a seed."""

    question: str
    settings: Mapping[str, Callable[[int], Task]]
    methods: Mapping[str, Method]

    def run(self, unit: Unit) -> Line:
        """Fit, and return the figures."""
        task, method = self.settings[unit.setting](unit.replicate), self.methods[unit.method]
        adapters.load(method.adapter)  # imports are not part of the time
        wall, cpu = time.perf_counter(), _processor_seconds()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains that would need more than their default time
            found = method(task)
        seconds = {"cpu_s": _processor_seconds() - cpu, "wall_s": time.perf_counter() - wall}
        return {**measure(task, found), **{k: round(v, 3) for k, v in seconds.items()}}

    def words(self, line: Line) -> str:
        """Return the figures of a fit to print."""
        figures = ", ".join(f"{key} {line[key]:.4f}" for key in figures_of([line]))
        return f"{figures}, {line['cpu_s']:.1f} s"


def _processor_seconds() -> float:
    """Return the time of this process and of those that it started and that ended."""
    times = os.times()
    return float(sum(times[:4]))


def measure(task: Task, found: np.ndarray) -> Line:
    """Return the figures of predictions."""
    sizes = {"n_train": len(task.y_train), "n_test": len(task.y_test)}
    if task.has_classes:
        classes = np.unique(task.y_train)
        p = np.maximum(found, SMALLEST)
        p /= p.sum(axis=1, keepdims=True)
        return sizes | {
            "accuracy": float((classes[p.argmax(axis=1)] == task.y_test).mean()),
            "log_loss": float(log_loss(task.y_test, p, labels=classes)),
        }
    error = float(np.mean((found - task.y_test) ** 2))
    return sizes | {"rmse": error**0.5, "r2": 1.0 - error / float(np.var(task.y_test))}


# ---------------------------------------------------------------------------------------- reporting


def figures_of(lines: Iterable[Line]) -> dict[str, bool]:
    """Return the figures that lines have, and whether larger is better."""
    return CLASSES if any("accuracy" in line for line in lines) else NUMBERS


def summary(lines: Sequence[Line]) -> Line:
    """Return means over seeds, and the standard deviation of the first figure."""
    figures = figures_of(lines)
    first = next(iter(figures))
    return {
        "seeds": len(lines),
        **{key: fmean(line[key] for line in lines) for key in figures},
        f"sd of {first}": stdev(line[first] for line in lines) if len(lines) > 1 else None,
        "cpu s": fmean(line["cpu_s"] for line in lines),
    }


def report(study: Study, lines: Iterable[Line], methods: Sequence[str]) -> list[Line]:
    """Print figures by setting, and where ours is ahead of whom; return the rows."""
    found = shared_lines(lines, methods)
    rows = [
        {"setting": setting, "method": name, **summary(of_method)}
        for setting in study.settings
        if setting in found
        for name, of_method in found[setting].items()
    ]
    for setting in found:
        print(f"\n{setting}")
        print_table([_rounded(row) for row in rows if row["setting"] == setting])
    print_wins(study, found)
    return rows


def _rounded(row: Line) -> Line:
    return {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items() if k != "setting"}


def print_wins(study: Study, found: Mapping[str, Mapping[str, Sequence[Line]]]) -> None:
    """Print in sentences where each of our methods is ahead of the best of each kind of peer."""
    kinds = sorted({method.kind for method in study.methods.values()} - {"ours"})
    for name in [n for n, method in study.methods.items() if method.kind == "ours"]:
        for kind in kinds:
            for setting, of in found.items():
                peers = [p for p in of if study.methods[p].kind == kind]
                if name in of and peers:
                    print(f"{name} on {setting}, {_against(of, name, peers)}")


def _against(of: Mapping[str, Sequence[Line]], name: str, peers: Sequence[str]) -> str:
    words = []
    for key, larger in figures_of(of[name]).items():
        sign = 1 if larger else -1
        best = max(peers, key=lambda p: sign * fmean(line[key] for line in of[p]))
        differences = [
            sign * (mine[key] - theirs[key])
            for mine, theirs in zip(of[name], of[best], strict=True)
        ]
        mean = fmean(differences)
        error = stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else np.nan
        verdict = "ahead of" if mean > 0 else "behind"
        words.append(f"{key}: {verdict} {best} by {abs(mean):.4f} (standard error {error:.4f})")
    return "; ".join(words)


# ----------------------------------------------------------------------------------- command line


def parser(study: Study, description: str) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=description.split("\n")[0])
    settings, methods = list(study.settings), list(study.methods)
    result.add_argument("--settings", nargs="+", default=settings, choices=settings)
    result.add_argument("--methods", nargs="+", default=methods, choices=methods)
    result.add_argument("--seeds", type=int, default=5)
    result.add_argument("--jobs", type=int, default=1)
    result.add_argument(
        "--by-method", action="store_true", help="all seeds of a method first, then the next method"
    )
    result.add_argument("--limit-seconds", type=float, default=float(10**7))
    result.add_argument("--cache", type=Path, default=FOLDER, help="folder of the lines of fits")
    result.add_argument("--again", action="store_true", help="do fits that are in the cache, too")
    result.add_argument("--report", action="store_true", help="fit nothing, print the cache")
    result.add_argument("--save", action="store_true", help="write results/QUESTION.json")
    return result


def main(study: Study, description: str) -> None:
    """Do the fits that the cache lacks, and print the tables."""
    options = parser(study, description).parse_args()
    cache = Cache(options.cache / f"{study.question}.jsonl")
    wanted = [
        Unit(setting, seed, method)
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds)
        for setting in options.settings
        for method in options.methods
    ]
    if options.by_method:
        wanted.sort(key=lambda unit: options.methods.index(unit.method))
    todo = [unit for unit in wanted if options.again or not cache.has(unit)]
    if todo and not options.report:
        causal_study.run(study, cache, todo, options.jobs, options.limit_seconds)
    lines = [cache.lines[unit] for unit in wanted if unit in cache.lines]
    rows = report(study, lines, options.methods)
    for line in lines:
        if "error" in line:
            print(
                f"failed: {line['setting']} {line['replicate']} {line['method']}: {line['error']}"
            )
    if options.save:
        timing.save(study.question, rows, machine.describe())
