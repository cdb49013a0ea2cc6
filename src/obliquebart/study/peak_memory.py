"""How much memory a piece of work took at most."""

from __future__ import annotations

import resource
from pathlib import Path
from types import TracebackType

__all__ = ["PeakMemory"]


class PeakMemory:
    """Peak resident memory of this process within a ``with`` block, in `megabytes`.

    Where the kernel cannot reset the peak (anything but Linux), it is the peak since the process
    began, which is too high for a small unit that follows a large one.
    """

    megabytes: float = float("nan")

    def __enter__(self) -> PeakMemory:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self._resettable = False
        else:
            self._resettable = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.megabytes = self._peak()

    def _peak(self) -> float:
        if self._resettable:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return float(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
