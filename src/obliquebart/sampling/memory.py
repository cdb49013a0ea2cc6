"""Raise an error before an allocation that cannot succeed, with its size and a remedy."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

# What a thread needs besides its stack before it can report an error: Python's own arenas.
THREAD_BYTES = 4 * 2**20
# The stack of a thread if the system has no limit.
DEFAULT_STACK = 8 * 2**20


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None if the platform does not say."""
    candidates = [_meminfo_available(), _cgroup_available(), _address_space_left()]
    known = [c for c in candidates if c is not None]
    if known:
        return max(min(known), 0)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise MemoryError if `n_bytes`, a lower bound of what is needed, exceeds what is available.

    The message says what needs the memory and ends with what the user can do instead.
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs at least {_readable(n_bytes)}, "
            f"but {_readable(available)} are available. {remedy}"
        )


def require_threads(n_threads: int) -> None:
    """Raise MemoryError if the process may not have the memory for so many threads.

    Python waits for ever for a thread that has no memory to begin with.
    """
    left = _address_space_left()
    needed = n_threads * (_stack_bytes() + THREAD_BYTES)
    if left is not None and needed > left:
        plural = "a thread" if n_threads == 1 else f"{n_threads} threads"
        raise MemoryError(
            f"Running {plural} needs {_readable(needed)}, but the limit of this "
            f"process's memory (ulimit -v) leaves {_readable(left)}. Raise it, or lower n_jobs."
        )


def _stack_bytes() -> int:
    if threading.stack_size() > 0:
        return threading.stack_size()
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return DEFAULT_STACK if soft == resource.RLIM_INFINITY else soft


def _address_space_left() -> int | None:
    """Return what a limit of the address space leaves (`ulimit -v`)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return max(soft - pages * resource.getpagesize(), 0)


def _meminfo_available() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return None


def _cgroup_available() -> int | None:
    """Return what a container's limit leaves (version 2 of control groups)."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        current = int((group / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    # Page cache counts as current but is given back on demand, so allow for it.
    try:
        stat = dict(
            line.split() for line in (group / "memory.stat").read_text("ascii").splitlines()
        )
        current -= int(stat.get("inactive_file", 0))
    except (OSError, ValueError):
        pass
    return limit - current


def _readable(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.3g} {unit}"
