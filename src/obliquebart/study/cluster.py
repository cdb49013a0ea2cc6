"""Units on a Dask cluster: an embedded one or an existing one."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from obliquebart.study.pool import ONE_THREAD, UnitResult
from obliquebart.study.units import Unit, execute

TIMEOUT_TOPIC = "obliquebart-study-timeout"
# Units submitted beyond the threads of the cluster, so that no worker waits for its next unit.
BACKLOG = 1.5
# Without a worker for so long, none will come back: nannies give up on a machine that is too busy.
GONE_SECONDS = 120.0


@contextmanager
def connected(
    scheduler: str | None, n_workers: int, folder: Path | None, timeout: float
) -> Iterator[DaskPool]:
    """Connect to a scheduler or start a cluster here, and clean up afterwards."""
    import distributed

    with ExitStack() as stack:
        cluster = scheduler or stack.enter_context(local_cluster(n_workers))
        connect: Any = distributed.Client  # untyped
        client = stack.enter_context(connect(cluster))
        pool = DaskPool(client, folder, timeout)
        stack.callback(pool.close)
        yield pool


def local_cluster(n_workers: int) -> Any:
    """Return a cluster of single-threaded processes on this machine.

    A worker's death is reported at once and not hidden by a second attempt, because the runner
    counts the attempts.
    """
    import dask
    import distributed

    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    cluster: Any = distributed.LocalCluster  # untyped
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        # The runner tells of deaths itself, in fewer words.
        return cluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )


class DaskPool:
    """Run units on the workers of a Dask cluster, each for at most `timeout` seconds.

    Results come back over the network and the caller stores them. Workers need to share only the
    folder of the data sets with it (`folder`, as they see it). Workers must have one thread each,
    because a unit that takes too long can only be ended with its worker. The caller closes the
    client.
    """

    def __init__(self, client: Any, folder: Path | None, timeout: float) -> None:
        self.client, self.folder, self.timeout = client, folder, timeout
        self._futures: dict[str, tuple[Unit, Any, float]] = {}
        self._news: queue.Queue[str] = queue.Queue()
        self._overdue: set[str] = set()
        self._number = 0
        self._last_seen = time.monotonic()
        self.client.subscribe_topic(TIMEOUT_TOPIC, self._hear)

    def _hear(self, event: tuple[Any, str]) -> None:
        self._overdue.add(event[1])

    @property
    def n_free(self) -> int:
        """How many units can be started now."""
        # Between the death of the last worker and the next there is still work to queue.
        threads = max(sum(self.client.nthreads().values()), 1)
        return max(int(BACKLOG * threads + 0.5) - len(self._futures), 0)

    @property
    def running(self) -> list[Unit]:
        """Units in progress."""
        return [unit for unit, _, _ in self._futures.values()]

    def give(self, unit: Unit) -> None:
        """Submit a unit; every attempt is a task of its own."""
        self._number += 1
        name = f"unit-{unit.key}-{self._number}"
        future = self.client.submit(
            _execute_or_die, unit, self.folder, self.timeout, name, key=name, pure=False
        )
        self._futures[name] = (unit, future, time.monotonic())
        future.add_done_callback(lambda _: self._news.put(name))

    def outcomes(self, patience: float = 1.0) -> Iterator[UnitResult]:
        """Wait for events, at most `patience` seconds, and return them.

        Raises a RuntimeError if all workers are gone and none has come back for two minutes.
        """
        try:
            names = [self._news.get(timeout=patience)]
        except queue.Empty:
            self._require_workers()
            return
        self._last_seen = time.monotonic()
        while not self._news.empty():
            names.append(self._news.get())
        for name in names:
            outcome = self._outcome(name)
            if outcome is not None:
                del self._futures[name]
                yield outcome

    def _require_workers(self) -> None:
        now = time.monotonic()
        if self.client.nthreads():
            self._last_seen = now
        elif now - self._last_seen > GONE_SECONDS:
            raise RuntimeError(
                f"The Dask cluster has had no worker for {GONE_SECONDS:.0f} seconds. Results so "
                "far are stored: start workers again, and run the same command to go on."
            )

    def _outcome(self, name: str) -> UnitResult | None:
        from distributed import KilledWorker

        unit, future, began = self._futures[name]
        seconds = time.monotonic() - began
        try:
            result: dict[str, Any] = future.result(timeout=5)
        except TimeoutError:
            # Its worker died with the result; Dask does it again and calls back.
            future.add_done_callback(lambda _: self._news.put(name))
            return None
        except KilledWorker:
            event = "timeout" if name in self._overdue else "lost"
            return UnitResult(unit, event, None, seconds)
        except Exception as error:
            result = {"key": unit.key, "unit": unit.to_dict(), "status": "failed"}
            result["error"] = f"{type(error).__name__}: {error}"
        return UnitResult(unit, "finished", result, seconds)

    def close(self) -> None:
        """Forget all units in progress."""
        self.client.cancel([future for _, future, _ in self._futures.values()])
        self.client.unsubscribe_topic(TIMEOUT_TOPIC)
        self._futures.clear()


def _execute_or_die(unit: Unit, folder: Path | None, timeout: float, name: str) -> dict[str, Any]:
    watchdog = threading.Timer(timeout, _die, [name, _this_worker()])
    watchdog.daemon = True
    watchdog.start()
    try:
        return execute(unit, folder)
    finally:
        watchdog.cancel()


def _this_worker() -> Any:
    from distributed import get_worker

    return get_worker()


def _die(name: str, worker: Any) -> None:
    # Compiled code cannot be interrupted; the nanny starts a new worker.
    worker.log_event(TIMEOUT_TOPIC, name)
    time.sleep(0.5)
    os._exit(1)
