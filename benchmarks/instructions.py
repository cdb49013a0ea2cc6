"""Has a sweep grown? Counts its instructions under valgrind, which repeat to the last digit.

    python benchmarks/instructions.py            compare with instructions.json; exit 1 if larger
    python benchmarks/instructions.py --record   write instructions.json

Counts depend on the compiler, so the file has a set for each one that was recorded. Valgrind knows
no AVX-512: what is counted is the AVX2 variant.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".json")
DRIVER = ROOT / "build" / "dev" / "obart_driver"
SIMD = "avx2"
TOLERANCE = 1.10


class Count(NamedTuple):
    """Instructions per sweep of a chain of tests/cpp/scenarios.cpp."""

    scenario: str
    n: int
    warm_up: int
    sweeps: int

    @property
    def name(self) -> str:
        return f"{self.scenario}, n = {self.n}"


SHORT = (Count("oblique", 100, 50, 20), Count("oblique", 1_000, 30, 5))
FULL = (
    *SHORT,
    Count("oblique", 10_000, 20, 2),
    Count("axis", 1_000, 30, 5),
    Count("mixed", 1_000, 30, 5),
    Count("moves", 1_000, 30, 5),
    Count("theta_by_column", 1_000, 30, 5),
    Count("probit", 1_000, 30, 5),
    Count("many_columns", 100, 50, 20),
)


class UnavailableError(Exception):
    """Nothing can be counted or compared here; the message says why."""


def driver_path() -> Path:
    path = Path(os.environ.get("OBLIQUEBART_DRIVER", DRIVER))
    if not path.exists():
        raise UnavailableError(f"{path} is missing: `make build` builds it")
    return path


def about(driver: Path) -> str:
    """Name what was compiled, and that it can be counted here."""
    if shutil.which("valgrind") is None:
        raise UnavailableError("valgrind is not installed")
    found = subprocess.run(
        [driver, "about"],
        capture_output=True,
        text=True,
        env={**os.environ, "OBLIQUEBART_SIMD": SIMD},
    )
    if found.returncode != 0:
        raise UnavailableError(f"the driver does not run with {SIMD}: {found.stderr.strip()}")
    said = json.loads(found.stdout)
    return f"{said['compiler']}, {said['architecture']}, {said['simd']}"


def measure(driver: Path, count: Count) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *("valgrind", "--tool=callgrind", "--collect-atstart=no"),
            *("--toggle-collect=measured_sweeps", f"--callgrind-out-file={folder}/out"),
            *(driver, "sweeps", count.scenario, *(str(k) for k in count[1:])),
        ]
        env = {**os.environ, "OBLIQUEBART_SIMD": SIMD}
        subprocess.run(command, check=True, capture_output=True, env=env)
        total = re.search(r"^totals: (\d+)", Path(folder, "out").read_text(), re.MULTILINE)
    if total is None:
        raise RuntimeError("callgrind's output has no totals")
    return int(total[1]) // count.sweeps


def recorded() -> dict[str, dict[str, int]]:
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def compare(counts: tuple[Count, ...]) -> dict[str, tuple[int, int]]:
    """Give (recorded, now) of each count."""
    driver = driver_path()
    key = about(driver)
    reference = recorded().get(key)
    if reference is None:
        raise UnavailableError(
            f"nothing is recorded for {key} (benchmarks/instructions.py --record)"
        )
    return {count.name: (reference[count.name], measure(driver, count)) for count in counts}


def too_large(found: dict[str, tuple[int, int]]) -> list[str]:
    return [
        f"{name}: {now:,} instructions per sweep, {before:,} recorded"
        for name, (before, now) in found.items()
        if now > TOLERANCE * before
    ]


def record() -> None:
    driver = driver_path()
    key = about(driver)
    counts = {count.name: measure(driver, count) for count in FULL}
    RECORD.write_text(json.dumps({**recorded(), key: counts}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the counts of today")
    try:
        if parser.parse_args().record:
            record()
            return 0
        found = compare(FULL)
    except UnavailableError as reason:
        print(f"Not counted: {reason}.")
        return 0
    for name, (before, now) in found.items():
        print(f"{name:26} {before:14,} -> {now:14,}  {100 * (now / before - 1):+6.1f}%")
    grown = too_large(found)
    for line in grown:
        print(f"GROWN  {line}")
    if grown:
        print("If that is the price of something, say so in CHANGELOG.md and run with --record.")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
