"""Limits of memory: fit, predict, load and save with less and less of it.

Each operation runs in a child whose address space (RLIMIT_AS) may grow by so many bytes and no
more, from nothing to more than it needs. It must succeed with the same result, or end with
MemoryError or a clear error of ours: no crash, no hang, no other exception.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
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
    load,
)
from scorecard.finding import finish

HANG_SECONDS = 120.0
MEGABYTE = 2**20
SMALLEST_BLOCK = 2**15
N_ROWS = 60_000
SHORT: dict[str, Any] = {**small_files.SMALL, "n_trees": 20, "n_burn": 10, "n_draws": 20}
# Statuses of a child.
FINE, NO_MEMORY, OTHER, CHANGED = 0, 10, 11, 12
WORDS: dict[int | str, str] = {
    FINE: "fine",
    NO_MEMORY: "MemoryError",
    OTHER: "another exception",
    CHANGED: "another result",
}

Operation = Callable[[], Any]


def operations(folder: Path) -> dict[str, Operation]:
    """Return what runs with little memory, by name; each returns numbers to compare."""
    X, y = _table()
    counts, arms = np.floor(3 * y - 3 * y.min()), np.arange(len(y)) % 2
    times = np.empty(len(y), dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = arms == 1, np.exp(y)
    labels = np.digitize(y, [0.3, 0.7])
    fitted = ObliqueBARTRegressor(**SHORT).fit(X, y)
    path = folder / "model.obart"
    fitted.save(path, include_data=True)
    in_threads = load(path).set_params(n_jobs=8)
    large = np.tile(X, (4, 1))

    def fit(model: Any, *data: Any) -> Operation:
        return lambda: model.fit(X, *data).predict(X[:50])

    def fit_with_checkpoint() -> Any:
        checkpoint = folder / f"{os.getpid()}.ckpt"
        try:
            model = ObliqueBARTRegressor(**SHORT).fit(X, y, checkpoint=checkpoint)
            return model.predict(X[:50])
        finally:
            checkpoint.unlink(missing_ok=True)

    def save() -> Any:
        copy = folder / f"{os.getpid()}.obart"
        try:
            fitted.save(copy)
            return np.frombuffer(copy.read_bytes(), np.uint8)
        finally:
            copy.unlink(missing_ok=True)

    return {
        "fit": fit(ObliqueBARTRegressor(**SHORT), y),
        "fit in two threads": fit(ObliqueBARTRegressor(**SHORT, n_jobs=2), y),
        "fit in eight threads": fit(ObliqueBARTRegressor(**{**SHORT, "n_jobs": 8}), y),
        "fit with a checkpoint": fit_with_checkpoint,
        "fit, varying noise": fit(ObliqueBARTRegressor(**SHORT, noise="varying"), y),
        "fit of two classes": fit(ObliqueBARTClassifier(**SHORT), arms),
        "fit of three classes": fit(ObliqueBARTClassifier(**SHORT), labels),
        "fit of counts": fit(ObliqueBARTCountRegressor(**SHORT), counts),
        "fit of times": fit(ObliqueBARTSurvival(**SHORT), times),
        "fit of effects": lambda: ObliqueBARTCausal(**SHORT).fit(X, y, arms).effect(X[:50]),
        "predict": lambda: fitted.predict(large),
        "predict in eight threads": lambda: in_threads.predict(large),
        "intervals": lambda: fitted.predict_interval(large),
        "draws of outcomes": lambda: fitted.sample_y(large, 20, random_state=0),
        "load": lambda: load(path).predict(X[:50]),
        "load and sample more": lambda: load(path).sample_more(5).predict(X[:50]),
        "save": save,
        "summary": lambda: str(fitted.summary(X[:200])),
    }


def _table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_ROWS, 5))
    return X, X[:, 0] + 0.1 * rng.normal(size=N_ROWS)


def use_one_arena() -> None:
    """Stop the C library from reserving memory for each thread, which would count as in use."""
    arena_max = -8  # of <malloc.h>
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(arena_max, 1)


def limit_to_what_is_used() -> tuple[int, list[np.ndarray]]:
    """Limit the memory to the present one, and fill what the C library has in store.

    Return the limit, and what must be kept to keep the store full.
    """
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use, resource.RLIM_INFINITY))
    filler: list[np.ndarray] = []
    size = 64 * MEGABYTE
    while size > SMALLEST_BLOCK:
        with contextlib.suppress(MemoryError):
            while True:
                filler.append(np.empty(size, np.uint8))
        size //= 2
    return in_use, filler


class Limited:
    """An operation, run in children whose memory is limited."""

    def __init__(self, operation: Operation, log: Path) -> None:
        self._operation = operation
        self._log = log
        self._expected = np.asarray(operation())

    def run(self, more: int) -> int | str:
        """Let the address space grow by so many bytes; return the child's status or signal."""
        child = os.fork()
        if child == 0:
            self._be_the_child(more)
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return _in_words(status)
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "hang"

    def log(self) -> str:
        """Return the end of what the last child has said."""
        return self._log.read_text(errors="replace")[-1500:]

    def _be_the_child(self, more: int) -> None:
        status = OTHER
        try:
            descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(descriptor, stream)
            in_use, _filler = limit_to_what_is_used()
            resource.setrlimit(resource.RLIMIT_AS, (in_use + more, resource.RLIM_INFINITY))
            found = np.asarray(self._operation())
            status = FINE if np.array_equal(found, self._expected) else CHANGED
        except MemoryError:
            status = NO_MEMORY
        except BaseException:
            # Without the limit, to be able to say what it was.
            traceback.print_exc()
        finally:
            os._exit(status)


def _in_words(status: int) -> int | str:
    if os.WIFSIGNALED(status):
        return f"crash ({signal.Signals(os.WTERMSIG(status)).name})"
    return os.WEXITSTATUS(status)


def squeeze(name: str, limited: Limited, step: int, most: int) -> tuple[Counter[str], list[str]]:
    """Run with limits in steps, until it is fine four times in a row; return what happened."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    n_fine = more = 0
    while n_fine < 4 and more <= most:
        result = limited.run(more)
        if result in (FINE, NO_MEMORY):
            counts[WORDS[result]] += 1
        else:
            problems.append(
                f"{name}, {more // 1024} kB: {WORDS.get(result, result)}\n{limited.log()}"
            )
        n_fine = n_fine + 1 if result == FINE else 0
        more += step
    if n_fine < 4:
        problems.append(f"{name} needs more than {most // MEGABYTE} MB")
    return counts, problems


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--step", type=float, default=0.5, help="megabytes between limits")
    parser.add_argument("--most", type=float, default=1000.0, help="megabytes of the last limit")
    parser.add_argument("--only", nargs="*", help="names of operations; all by default")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    use_one_arena()
    counts: Counter[str] = Counter()
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = operations(folder)
        for label in options.only or every:
            limited = Limited(every[label], folder / "log")
            step, most = int(options.step * MEGABYTE), int(options.most * MEGABYTE)
            found, wrong = squeeze(label, limited, step, most)
            print(f"{label}: {dict(found)}, {len(wrong)} problems", flush=True)
            counts += found
            problems += wrong
    n_tried = counts.total() + len(problems)
    figure = (
        f"{n_tried} runs with a limit: {counts['fine']} fine, {counts['MemoryError']} MemoryError"
    )
    return finish(figure, problems)


if __name__ == "__main__":
    sys.exit(main())
