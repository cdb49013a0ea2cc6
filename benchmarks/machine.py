"""What a reader must know about the machine to judge a figure."""

from __future__ import annotations

import datetime as dt
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("obliquebart", "stochtree", "bartz", "jax", "scikit-learn", "xgboost", "numpy")
FLAGS = ("sse4_2", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512vbmi", "asimd", "sve")


def describe() -> dict[str, Any]:
    """CPU, cores, instruction sets, versions, date, and the load when the run began."""
    return {
        "cpu": _cpuinfo("model name") or platform.processor(),
        "family_model": f"{_cpuinfo('cpu family')}/{_cpuinfo('model')}",
        "flags": [flag for flag in FLAGS if flag in (_cpuinfo("flags") or "").split()],
        "cores": len(os.sched_getaffinity(0)),
        "caches": _caches(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: v for name in PACKAGES if (v := _version(name))},
        "simd_level": _simd_level(),
        "date": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "load_before": os.getloadavg()[0],
    }


def _cpuinfo(key: str) -> str | None:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _caches() -> dict[str, str]:
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
