"""Interleaved, differenced timings, and results as JSON."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import machine

RESULTS = Path(__file__).parent / "results"
SHORT = 2  # sweeps of the short run that is subtracted
FEWEST = 8  # sweeps that the long run has more: enough to stand out from a call's fixed cost

Sweeper = Callable[[int], float]


def measure_sweeps(
    sweepers: Mapping[str, Sweeper], *, repeats: int, target_s: float = 1.0, fewest: int = FEWEST
) -> dict[str, dict[str, float]]:
    """Milliseconds per sweep of each contestant, all of them once in every round.

    The time of a long run minus that of a short one, so that the fixed cost of a call drops out.
    "best" is the least long run minus the least short run: other jobs on the machine only add time.
    "cpu" is the processor time of all threads, which other jobs hardly touch.
    """
    lengths = {name: _length(seconds, target_s, fewest) for name, seconds in sweepers.items()}
    runs: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for _ in range(repeats):
        for name, seconds in sweepers.items():
            for n_sweeps in (SHORT, SHORT + lengths[name]):
                before = time.process_time()
                wall = seconds(n_sweeps)
                cpu = time.process_time() - before
                runs.setdefault((name, n_sweeps), []).append((wall, cpu))

    def difference(name: str, which: int, summary: Callable[[list[float]], float]) -> float:
        short = summary([run[which] for run in runs[name, SHORT]])
        long = summary([run[which] for run in runs[name, SHORT + lengths[name]]])
        return 1e3 * (long - short) / lengths[name]

    return {
        name: {
            "best_ms": difference(name, 0, min),
            "median_ms": difference(name, 0, statistics.median),
            "cpu_ms": difference(name, 1, min),
            "sweeps": lengths[name],
            "repeats": repeats,
        }
        for name in sweepers
    }


def ratios(figures: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, float]:
    """How many times as long a contestant takes, by the clock and in processor time."""
    pairs = {"ratio": "best_ms", "ratio_cpu": "cpu_ms"}
    return {name: figures[key] / reference[key] for name, key in pairs.items()}


def measure_calls(
    calls: Mapping[str, Callable[[], float]], *, repeats: int
) -> dict[str, dict[str, float]]:
    """Seconds of each call, all of them once in every round; each is run once before."""
    for call in calls.values():
        call()
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            before = time.process_time()
            wall = call()
            runs[name].append((wall, time.process_time() - before))
    return {
        name: {
            "best_s": min(wall for wall, _ in found),
            "median_s": statistics.median(wall for wall, _ in found),
            "cpu_s": min(cpu for _, cpu in found),
            "repeats": repeats,
        }
        for name, found in runs.items()
    }


def _length(seconds: Sweeper, target_s: float, fewest: int, most: int = 2000) -> int:
    """Sweeps that take about `target_s`; the first call also compiles and warms up."""
    seconds(SHORT)
    fixed = seconds(SHORT)
    n_sweeps = fewest
    while (taken := seconds(SHORT + n_sweeps) - fixed) < 0.2 * target_s and n_sweeps < most:
        n_sweeps *= 4
    return min(max(round(n_sweeps * target_s / max(taken, 1e-9)), fewest), most)


def save(
    question: str, rows: list[dict[str, Any]], machine_: dict[str, Any], folder: Path = RESULTS
) -> Path:
    """Writes QUESTION.json, by default to benchmarks/results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{question}.json"
    machine_ = machine_ | {"load_after": os.getloadavg()[0]}
    path.write_text(json.dumps({"question": question, "machine": machine_, "rows": rows}, indent=1))
    return path


def run_and_save(
    question: str, rows: Callable[[], list[dict[str, Any]]], folder: Path = RESULTS
) -> list[dict[str, Any]]:
    """Describes the machine, measures, saves, and returns the rows."""
    about, watch = machine.describe(), machine.Watch()
    found = rows()
    save(question, found, about | watch.report(), folder)
    return found
