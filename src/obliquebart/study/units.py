"""A unit of work: its description, key and seed, and how to run it."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from obliquebart.study import metrics, synthetic
from obliquebart.study.datasets import load_cached
from obliquebart.study.methods import METHODS
from obliquebart.study.peak_memory import PeakMemory
from obliquebart.study.train_test import TrainTest

Setting = str | int | float | bool


@dataclass(frozen=True)
class Unit:
    """One fit and its evaluation."""

    data: str  # a data set, or a synthetic problem
    split: int  # or the replicate
    method: str  # key of `METHODS`
    rotations: int = 0  # of the numbers, at random, before the fit
    inputs: str = "correct"  # "correct" or "paper": see `Dataset.problem`
    settings: tuple[tuple[str, Setting], ...] = ()  # other than the method's, by name

    @property
    def key(self) -> str:
        """Hash of everything that the result depends on."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def seed(self) -> int:
        """Seed of the method; differs between any two units."""
        return int(hashlib.sha256(f"seed {self.key}".encode()).hexdigest()[:8], 16) % 2**31

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Unit:
        """Return the unit that `to_dict` wrote."""
        settings = tuple((str(name), value) for name, value in values["settings"])
        return cls(**{**values, "settings": settings})

    def __str__(self) -> str:
        rotations = f", R = {self.rotations}" if self.rotations else ""
        return f"{self.method} on {self.data}, split {self.split}{rotations}"


def execute(unit: Unit, folder: Path | None) -> dict[str, Any]:
    """Run the unit; always return a result, even after an error.

    The folder has the data sets; synthetic problems need none. The result fits into JSON: key,
    unit, status ("done" or "failed"), metrics, seconds, memory, host, and "error" if it failed.
    """
    started = time.time()
    result: dict[str, Any] = {"key": unit.key, "unit": unit.to_dict(), "host": platform.node()}
    try:
        problem = problem_of(unit, folder)
        with PeakMemory() as memory:
            measured = _measure(unit, problem)
        result |= {"status": "done", "metrics": measured, "memory_mb": memory.megabytes}
    except Exception as error:
        result |= {
            "status": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(limit=-4),
        }
    return result | {"started": started, "seconds": time.time() - started}


def problem_of(unit: Unit, folder: Path | None) -> TrainTest:
    """Return the problem that a unit is about, before any rotation."""
    cell = synthetic.parse(unit.data)
    if cell is not None:
        return cell.problem(unit.split)
    if folder is None:
        raise FileNotFoundError(f"{unit} needs the folder of the data sets.")
    return load_cached(folder, unit.data).problem(unit.split, unit.inputs)


def _measure(unit: Unit, problem: TrainTest) -> dict[str, float]:
    method = METHODS[unit.method]
    if unit.rotations:
        problem = problem.rotated(unit.rotations, unit.seed)
    wall, cpu = time.perf_counter(), time.process_time()
    prediction = method.solve(problem, unit)
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return metrics.measure(problem, prediction) | prediction.extra | spent
