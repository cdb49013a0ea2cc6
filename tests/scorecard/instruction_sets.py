"""The same draws with each instruction set: the recorded digests, on each set of kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import ROOT
from scorecard.finding import finish

LEVELS = ("baseline", "avx2", "avx512")


def check(level: str, tests: str) -> tuple[int, str]:
    """Return how many tests passed with a set of kernels, and what went wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests.split()],
        cwd=ROOT,
        env={**os.environ, "OBLIQUEBART_SIMD": level},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    return int(passed[1]) if passed else 0, (done.stdout + done.stderr) if done.returncode else ""


def main(words: list[str] | None = None) -> int:
    tests = " ".join(
        (sys.argv[1:] if words is None else words) or ["tests/exact/test_same_draws.py"]
    )
    counts, problems = {}, []
    for level in LEVELS:
        counts[level], wrong = check(level, tests)
        problems += [f"{level}: {wrong[-3000:]}"] if wrong else []
    figure = ", ".join(f"{level} {n} digests" for level, n in counts.items())
    return finish(f"the same draws: {figure}", problems)


if __name__ == "__main__":
    sys.exit(main())
