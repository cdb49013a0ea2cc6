"""Many small fits in one process: its memory, threads and open files must not grow."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import small_files
from obliquebart import (
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
)
from scorecard.finding import finish, resident_bytes

# Fits before the first measurement, as a share of all.
WARM_UP = 0.3
# What the allocator may keep more at the end than after the warm-up: noise, not a leak.
MOST_GROWTH = 4_000_000
SHORT: dict[str, Any] = {**small_files.SMALL, "n_burn": 4, "n_draws": 4}


def fits() -> list[Callable[[int], Any]]:
    """Return fits of several kinds, which take a seed."""
    X, y = small_files.small_table(40)
    labels = np.digitize(y, [0.3, 0.7])
    counts = np.floor(3 * y - 3 * y.min())
    times = np.empty(len(y), dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = labels > 0, np.exp(y)
    arms = np.arange(len(y)) % 2

    def fit(make: Any, *data: Any, **more: Any) -> Callable[[int], Any]:
        parameters = {**SHORT, **more}
        return lambda seed: make(**{**parameters, "random_state": seed}).fit(X, *data)

    return [
        fit(ObliqueBARTRegressor, y),
        fit(ObliqueBARTClassifier, labels > 0),
        fit(ObliqueBARTRegressor, y, n_jobs=2),
        fit(ObliqueBARTClassifier, labels),
        fit(ObliqueBARTRegressor, y, prior="paper"),
        fit(ObliqueBARTCountRegressor, counts),
        fit(ObliqueBARTRegressor, y, noise="varying"),
        fit(ObliqueBARTSurvival, times, distribution="log_normal"),
        fit(ObliqueBARTClassifier, labels, ordered=True),
        fit(ObliqueBARTCausal, y, arms, propensity=None, n_effect_trees=2),
    ]


def n_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def run(n_fits: int) -> tuple[list[int], list[str]]:
    """Fit and predict so often; return the memory after each hundredth, and problems."""
    X, _ = small_files.small_table(40)
    every = fits()
    measured, problems = [], []
    before = (0, 0)
    for i in range(n_fits):
        model = every[i % len(every)](i)
        _ = model.effect(X) if isinstance(model, ObliqueBARTCausal) else model.predict(X)
        if i == int(n_fits * WARM_UP):
            before = (threading.active_count(), n_open_files())
        if (i + 1) % max(n_fits // 100, 1) == 0:
            measured.append(resident_bytes())
    after = (threading.active_count(), n_open_files())
    if after != before:
        problems.append(f"threads and open files grew from {before} to {after}")
    return measured, problems


def growth(measured: list[int]) -> float:
    """Return the slope after the warm-up, times the length: bytes that the process grew by."""
    later = np.array(measured[int(len(measured) * WARM_UP) :], float)
    slope = np.polyfit(np.arange(len(later)), later, 1)[0]
    return float(slope * (len(later) - 1))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    measured, problems = run(options.fits)
    grown = growth(measured)
    if grown > MOST_GROWTH:
        problems.append(f"the process grew by {grown / 1e6:.1f} MB")
    figure = (
        f"{options.fits:,} fits of ten kinds: {measured[-1] / 1e6:.0f} MB at the end, "
        f"{grown / 1e6:+.1f} MB after the first {int(options.fits * WARM_UP):,}"
    )
    return finish(figure, problems)


if __name__ == "__main__":
    sys.exit(main())
