"""How workers add up their sums: the collective of XGBoost, which runs beside Dask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

# Adds up an array over all workers, in place.
AddUp = Callable[[NDArray[np.float64]], None]
# What a worker needs to know to meet the others.
Meeting = dict[str, str | int]

# A worker that is silent for so long is lost. Between two sums there is the work on one tree.
SILENT_SECONDS = 120


def require_collective() -> None:
    """Raise ImportError, saying what to install, if XGBoost is missing."""
    try:
        import_module("xgboost.collective")
    except ImportError:
        raise ImportError(
            "Rows on several workers need XGBoost, whose workers exchange sums: install "
            "'obliquebart[dask]' in the environment of the workers."
        ) from None


def start_meeting(address: str, n_workers: int) -> Meeting:
    """Start the process-wide service by which workers find each other, at the caller's address."""
    require_collective()
    host = urlsplit(address).hostname if "://" in address else None
    if host is None:  # workers that are threads of this process
        host = "127.0.0.1"
    tracker = import_module("xgboost.tracker").RabitTracker(
        n_workers=n_workers, host_ip=host, sortby="task", timeout=SILENT_SECONDS
    )
    tracker.start()
    meeting: Meeting = tracker.worker_args()
    # It ends when the workers part, or with the process.
    threading.Thread(target=_wait, args=(tracker,), daemon=True).start()
    return meeting


def _wait(tracker: Any) -> None:
    # If a worker is lost, the others notice and say so.
    with suppress(import_module("xgboost.core").XGBoostError, ValueError):
        tracker.wait_for()


@contextmanager
def connected(meeting: Meeting | None, worker: int) -> Iterator[AddUp]:
    """Meet the other workers, and yield the sum over all; without a meeting there are no others.

    The connection belongs to the calling thread.
    """
    if meeting is None:
        yield _alone
        return
    require_collective()
    collective = import_module("xgboost.collective")
    arguments = {**meeting, "dmlc_task_id": f"{worker:06d}", "dmlc_timeout": SILENT_SECONDS}
    collective.init(**arguments)
    try:
        yield _sum_of(collective)
    finally:
        # A connection that broke cannot be closed in good order.
        with suppress(import_module("xgboost.core").XGBoostError):
            collective.finalize()


def _alone(values: NDArray[np.float64]) -> None:
    """Leave the values of the only worker as they are."""


def _sum_of(collective: Any) -> AddUp:
    allreduce, op = collective.allreduce, collective.Op.SUM

    def add_up(values: NDArray[np.float64]) -> None:
        values[:] = allreduce(values, op)

    return add_up
