"""Raise an error before an allocation that cannot succeed, with its size and a remedy."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None if the platform does not say."""
    candidates = [_meminfo_available(), _cgroup_available()]
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
