"""Several processes that predict from one model file: the same bits each time, steady memory."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import small_files
from obliquebart import ObliqueBARTRegressor, load
from scorecard.finding import finish, resident_bytes

N_ROWS = 500
# Predictions from one load of the file.
PER_LOAD = 4
# As in many_fits.py: what the allocator may keep.
MOST_GROWTH = 4_000_000


def table() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(N_ROWS, 5))


def save_model(path: Path) -> None:
    X = table()
    y = X[:, 0] + (X[:, 1] > X[:, 2])
    parameters = {**small_files.SMALL, "n_trees": 50, "n_burn": 50, "n_draws": 100}
    ObliqueBARTRegressor(**parameters).fit(X, y).save(path)


def predict_for(path: Path, seconds: float) -> dict[str, Any]:
    """Load and predict for a while; return the digests, how often, and how memory grew."""
    X = table()
    digests: set[str] = set()
    n_done, sizes = 0, []
    end = time.monotonic() + seconds
    while time.monotonic() < end or n_done < 4 * PER_LOAD:
        model = load(path)
        for i in range(PER_LOAD):
            mean, sd = model.set_params(n_jobs=1 + i % 2).predict(X, return_std=True)
            digests.add(hashlib.sha256(mean.tobytes() + sd.tobytes()).hexdigest())
            n_done += 1
        sizes.append(resident_bytes())
    later = sizes[len(sizes) // 3 :]
    grown = np.median(later[-len(later) // 3 :]) - np.median(later[: len(later) // 3 + 1])
    return {"digests": sorted(digests), "n": n_done, "grown": float(grown)}


def run(n_processes: int, seconds: float, path: Path) -> tuple[int, float, list[str]]:
    """Return how many predictions there were, the largest growth, and problems."""
    words = [sys.executable, __file__, "--worker", str(path), "--seconds", str(seconds)]
    workers = [
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(n_processes)
    ]
    outputs = [worker.communicate()[0] for worker in workers]
    problems = [f"a worker ended with {w.returncode}" for w in workers if w.returncode]
    found = [json.loads(text) for text in outputs if text]
    digests = {digest for each in found for digest in each["digests"]}
    if len(digests) != 1:
        problems.append(f"{len(digests)} different predictions")
    grown = max((each["grown"] for each in found), default=0.0)
    if grown > MOST_GROWTH:
        problems.append(f"a process grew by {grown / 1e6:.1f} MB")
    return sum(each["n"] for each in found), grown, problems


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if options.worker:
        print(json.dumps(predict_for(options.worker, options.seconds)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.obart"
        save_model(path)
        n_done, grown, problems = run(options.processes, options.seconds, path)
    figure = (
        f"{n_done:,} predictions of {N_ROWS:,} rows by {options.processes} processes in "
        f"{options.seconds:.0f} s, the same bits; memory {grown / 1e6:+.1f} MB"
    )
    return finish(figure, problems)


if __name__ == "__main__":
    sys.exit(main())
