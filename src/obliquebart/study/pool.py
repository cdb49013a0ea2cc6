"""Processes on this machine that run units, with the standard library only.

The parent knows what every process is doing: it sees a death at once, ends a unit that takes too
long, and starts a new process for the lost one.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from obliquebart.study.units import Unit, execute

BEGUN = "begun"
# A process imports the libraries before it begins with its first unit.
START_SECONDS = 120.0
# Libraries that would start one thread per core, in every process.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class UnitResult:
    """What became of one attempt at a unit."""

    unit: Unit
    event: str  # "finished", "lost" (the worker died) or "timeout" (it was ended)
    result: dict[str, Any] | None  # of `execute`, if it finished
    seconds: float  # since the attempt began


def _serve(connection: Connection, folder: Path | None) -> None:
    while True:
        try:
            unit = connection.recv()
        except EOFError:
            return
        connection.send(BEGUN)
        connection.send(execute(unit, folder))


class _Worker:
    """A process and what it is doing."""

    def __init__(self, folder: Path | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, folder), daemon=True)
        self.process.start()
        theirs.close()
        self.unit: Unit | None = None
        self.given = 0.0
        self.began: float | None = None

    def give(self, unit: Unit) -> bool:
        try:
            self.connection.send(unit)
        except OSError:
            return False
        self.unit, self.given, self.began = unit, time.monotonic(), None
        return True

    def is_late(self, timeout: float) -> bool:
        now = time.monotonic()
        if self.began is None:
            return now > self.given + START_SECONDS + timeout
        return now > self.began + timeout

    def end(self) -> None:
        self.connection.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


class ProcessPool:
    """Run units in processes on this machine, each for at most `timeout` seconds."""

    def __init__(self, n_workers: int, folder: Path | None, timeout: float) -> None:
        for name in ONE_THREAD:
            os.environ.setdefault(name, "1")
        self.folder, self.timeout = folder, timeout
        self.workers = [_Worker(folder) for _ in range(n_workers)]

    @property
    def n_free(self) -> int:
        """How many units can be started now."""
        return sum(worker.unit is None for worker in self.workers)

    @property
    def running(self) -> list[Unit]:
        """Units in progress."""
        return [worker.unit for worker in self.workers if worker.unit is not None]

    def give(self, unit: Unit) -> None:
        """Start a unit on a free process."""
        for number, worker in enumerate(self.workers):
            if worker.unit is None:
                if not worker.give(unit):
                    self.workers[number] = self._replaced(worker)
                    self.workers[number].give(unit)
                return
        raise RuntimeError("All processes are busy.")

    def outcomes(self, patience: float = 1.0) -> Iterator[UnitResult]:
        """Wait for events, at most `patience` seconds, and return them."""
        busy = {worker.connection: worker for worker in self.workers if worker.unit is not None}
        ready = set(wait(list(busy), timeout=patience)) if busy else set()
        for number, worker in enumerate(self.workers):
            if worker.unit is None:
                continue
            unit, result, event = worker.unit, None, None
            if worker.connection in ready:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    event = "lost"
                else:
                    if message == BEGUN:
                        worker.began = time.monotonic()
                    else:
                        event, result, worker.unit = "finished", message, None
            elif worker.is_late(self.timeout):
                event = "timeout"
            if event in ("lost", "timeout"):
                self.workers[number] = self._replaced(worker)
            if event is not None:
                seconds = time.monotonic() - (worker.began or worker.given)
                yield UnitResult(unit, event, result, seconds)

    def _replaced(self, worker: _Worker) -> _Worker:
        worker.end()
        return _Worker(self.folder)

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in self.workers:
            worker.end()
