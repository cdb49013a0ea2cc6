"""What a reader must know about the machine to judge a figure."""

from __future__ import annotations

import datetime as dt
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("obliquebart", "stochtree", "bartz", "jax", "pymc-bart", "bartrs")
PACKAGES += ("scikit-learn", "xgboost", "numpy")
FLAGS = ("sse4_2", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512vbmi", "asimd", "sve")


def describe() -> dict[str, Any]:
    """CPU, cores, instruction sets, versions, date, and the load when the run began."""
    return {
        "cpu": _cpuinfo("model name") or platform.processor(),
        "family_model": f"{_cpuinfo('cpu family')}/{_cpuinfo('model')}",
        "flags": [flag for flag in FLAGS if flag in (_cpuinfo("flags") or "").split()],
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: v for name in PACKAGES if (v := _version(name))},
        "simd_level": _simd_level(),
        "date": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "load_before": os.getloadavg()[0],
    }


class Watch:
    """How many cores other jobs, or other guests of the host, had on average since it was made.

    The load average would not do: it remembers the benchmark before.
    """

    def __init__(self) -> None:
        self._start = (time.perf_counter(), _own_seconds(), _busy_seconds())

    def report(self) -> dict[str, float]:
        start, own, busy = self._start
        now = _busy_seconds()
        if busy is None or now is None:
            return {}
        elapsed = time.perf_counter() - start
        others = now[0] - busy[0] - (_own_seconds() - own)
        return {
            "other_cores": max(others, 0.0) / elapsed,
            "stolen_cores": (now[1] - busy[1]) / elapsed,
        }


def _own_seconds() -> float:
    """Processor time of this process and of children that have ended."""
    return sum(os.times()[:4])


def _busy_seconds() -> tuple[float, float] | None:
    """Of all cores since the machine started: at work, and taken by the host."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    ticks = [int(word) for word in path.read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
    hertz = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / hertz, steal / hertz


def _cpuinfo(key: str) -> str | None:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def caches() -> dict[str, str]:
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (folder / name).read_text().strip() for name in ("level", "type", "size")
        )
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _simd_level() -> str | None:
    try:
        from obliquebart import _core
    except ImportError:
        return None
    return _core.simd_level()
