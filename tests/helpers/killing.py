"""Kill fits and let them go on: a process that forks, watches the checkpoint, and kills.

`python killing.py FOLDER N_KILLS SEED` prints what happened as JSON. A child calls the same `fit`
again and again; the parent kills it at a random time, when a checkpoint is being written, or when
one has just been written, until a child gets through; then the draws are compared with those of an
undisturbed fit. Importing once and forking keeps a life short.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.files import model_file
from obliquebart.files.checkpoint import FORMAT, SCHEMA
from obliquebart.files.container import unpack

POINTS = ("start", "time", "writing", "written")


def problem(kind: str) -> tuple[Any, tuple[Any, ...], int]:
    """Give an estimator, its data, and how often to save the chains."""
    rng = np.random.default_rng(4)
    X = {"a": rng.normal(size=120), "b": rng.normal(size=120), "c": rng.choice(["p", "q"], 120)}
    y = X["a"] + 0.3 * rng.normal(size=120)
    shared: dict[str, Any] = {"n_trees": 15, "n_chains": 2, "random_state": 8, "progress": False}
    if kind == "regressor":
        model = ObliqueBARTRegressor(n_burn=150, n_draws=500, n_thin=3, n_jobs=2, **shared)
        return model, (X, y, rng.uniform(0.5, 2, 120)), 20
    if kind == "auto":
        # Takes four rounds: 550, 1550, 3550 and 7550 sweeps.
        return (
            ObliqueBARTRegressor(n_burn=50, n_jobs=2, **{**shared, "random_state": 11}),
            (X, y),
            60,
        )
    if kind == "one thread":
        return ObliqueBARTRegressor(n_burn=300, n_draws=900, **shared), (X, y), 30
    labels = np.digitize(y, [-0.5, 0.5])
    return ObliqueBARTClassifier(n_burn=100, n_draws=300, n_jobs=2, **shared), (X, labels), 25


def live(kind: str, path: Path) -> None:
    """Fit in a child, and leave the draws behind."""
    code = 1
    try:
        model, data, every = problem(kind)
        model.fit(*data, checkpoint=path, checkpoint_every=every)
        result = path.with_suffix(".part")
        result.write_bytes(model_file.to_bytes(model._fitted, {}))
        result.rename(path.with_suffix(".result"))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def wait_for(point: str, path: Path, child: int, rng: np.random.Generator) -> bool:
    """Return True at the point where to kill, False if the child has ended before."""
    begin = time.monotonic()
    wait = {"start": 0.02, "time": 0.4, "writing": 0.003, "written": 0.01}[point] * rng.random()
    n_seen, n_wanted, last = 0, int(rng.integers(1, 12)), _identity(path)
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if point == "writing":
            reached = any(name.endswith(".tmp") for name in os.listdir(path.parent))
            n_seen += reached
        elif point == "written":
            n_seen, last = n_seen + (_identity(path) != last), _identity(path)
        if point in ("start", "time") or n_seen >= n_wanted:
            time.sleep(max(wait - (time.monotonic() - begin if point == "time" else 0), 0))
            return True
    return False


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (status.st_ino, status.st_mtime_ns)


def progress(path: Path) -> int:
    """Return the sweeps in a checkpoint; it must be whole, or not there yet."""
    if not path.exists():
        return 0
    header = unpack(path.read_bytes(), FORMAT, (SCHEMA,)).header
    return sum(chain["n_sweeps"] for task in header["chains"] for chain in task if chain)


def present_round(path: Path) -> int:
    """Return the burn-in of the round in which a checkpoint is."""
    if not path.exists():
        return 0
    return int(unpack(path.read_bytes(), FORMAT, (SCHEMA,)).header["rounds"][0]["n_burn"])


def scenario(kind: str, folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Kill until a child gets through."""
    model, data, _ = problem(kind)
    undisturbed = model_file.to_bytes(model.fit(*data)._fitted, {})
    folder.mkdir()
    path = folder / "run.ckpt"
    kills = dict.fromkeys(POINTS, 0)
    rounds: list[int] = []
    before = 0
    while True:
        child = os.fork()
        if child == 0:
            live(kind, path)
        point = POINTS[rng.integers(len(POINTS))]
        if wait_for(point, path, child, rng):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        kills[point] += 1
        rounds.append(present_round(path))
        now = progress(path)
        if now < before:
            raise AssertionError(f"went back from {before} to {now} sweeps")
        before = now
    result = path.with_suffix(".result")
    return {
        "kind": kind,
        "kills": kills,
        "n_burn": rounds,
        "finished": os.WEXITSTATUS(status) == 0,
        "identical": result.exists() and result.read_bytes() == undisturbed,
        "leftovers": [name for name in os.listdir(folder) if name.endswith(".tmp")],
    }


def main() -> None:
    folder, n_kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(seed)
    kinds = ("regressor", "one thread", "three classes", "auto")
    results: list[dict[str, Any]] = []
    while sum(sum(r["kills"].values()) for r in results) < n_kills or len(results) < len(kinds):
        i = len(results)
        results.append(scenario(kinds[i % len(kinds)], folder / str(i), rng))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
