"""Answers every question of this folder, each in a process of its own.

python benchmarks/run.py               into benchmarks/results, for docs/performance.md
python benchmarks/run.py --quick       small sizes, into build/bench-results
python benchmarks/run.py --only rows   some of them
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from pathlib import Path

import timing
from table import print_table

# In the order of the page. The paper's numbers are no timing and take hours: paper_numbers.py.
QUESTIONS = ("tables", "sweep", "pymc", "small_n", "rows", "columns", "rules", "threads", "probit")
QUESTIONS += ("predict", "fit", "memory", "simd", "accuracy", "mixing", "distributed")
# These need a graphics card, and are asked by hand.
ON_A_CARD = ("gpu",)
QUICK_RESULTS = Path(__file__).parents[1] / "build" / "bench-results"


def answer(name: str, quick: bool) -> None:
    question = importlib.import_module(f"bench_{name}")
    options = question.QUICK if quick else {}
    folder = QUICK_RESULTS if quick else timing.RESULTS
    found = timing.run_and_save(name, lambda: question.rows(**options), folder)
    print_table([{k: v for k, v in row.items() if not isinstance(v, list)} for row in found])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--here", choices=QUESTIONS, help="one question in this process")
    options = parser.parse_args()
    if options.here:
        answer(options.here, options.quick)
        return 0
    failed = []
    for name in options.only:
        print(f"\n{_first_line(Path(__file__).with_name(f'bench_{name}.py'))}", flush=True)
        start = time.perf_counter()
        command = [sys.executable, __file__, "--here", name, *["--quick"] * options.quick]
        if subprocess.run(command).returncode != 0:
            failed.append(name)
        print(f"({name}: {time.perf_counter() - start:.0f} s)", flush=True)
    if failed:
        print(f"\nWithout an answer: {', '.join(failed)}")
    return 1 if failed else 0


def _first_line(path: Path) -> str:
    return path.read_text("utf-8").splitlines()[0].strip('"')


if __name__ == "__main__":
    sys.exit(main())
