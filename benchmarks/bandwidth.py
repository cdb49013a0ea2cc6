"""How fast can one core of this machine move bytes? The yardstick for a pass over rows."""

from __future__ import annotations

import time

import machine
import numpy as np

SIZES = {"L2": 256 << 10, "L3": 8 << 20, "memory": 512 << 20}  # bytes of the two arrays together


def measure(repeats: int = 5) -> dict[str, float]:
    """Gigabytes a second of a += b in float32 (reads 8 bytes, writes 4), best of the repeats."""
    found = {}
    for name, size in SIZES.items():
        a = np.ones(size // 8, np.float32)
        b = np.full(size // 8, 1e-9, np.float32)
        passes = max(1, (256 << 20) // size)
        best = np.inf
        for _ in range(repeats):
            start = time.perf_counter()
            for _ in range(passes):
                np.add(a, b, out=a)
            best = min(best, time.perf_counter() - start)
        found[f"{name}_gb_s"] = 12 * len(a) * passes / best / 1e9
    return found


def l2_bytes() -> int:
    """The size of the second-level cache; a megabyte where the machine does not say."""
    size = machine.caches().get("L2", "1024K")
    return int(size.rstrip("KM")) << (20 if size.endswith("M") else 10)


if __name__ == "__main__":
    print(measure())
