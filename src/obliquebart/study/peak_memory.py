"""The most memory that a piece of work took."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path


class PeakMemory:
    """Peak resident memory of this process within a ``with`` block, in `megabytes`.

    Where the kernel cannot reset the peak (anything but Linux), it is the peak since the process
    began, which is too high for a small unit that follows a large one.
    """

    megabytes: float = float("nan")
    _is_reset = False

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
            self._is_reset = True
        return self

    def __exit__(self, *_: object) -> None:
        self.megabytes = self._peak()

    def _peak(self) -> float:
        if self._is_reset:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return float(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
