"""Ctrl-C while chains run in threads: it tells them to stop, and does nothing else."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType


class Interrupts:
    """Within this context Ctrl-C calls a function instead of raising KeyboardInterrupt.

    An exception that may come between any two lines can leave a lock that the threads wait for, and
    then nobody ends. The function must not raise. Nothing changes in threads other than the main
    one, which Ctrl-C does not reach, or if a program handles Ctrl-C in its own way.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.heard = False
        self._stop = stop
        self._replaces_default = False

    def __enter__(self) -> Interrupts:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Where Python is embedded, `threading` may take another thread for the main one.
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGINT, self._hear)
                self._replaces_default = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._replaces_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.heard = True
        self._stop()
