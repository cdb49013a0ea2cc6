"""Run promises and write the page: `make scorecard`, `make scorecard PROMISES="fuzz kill"`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.processes import hear_interrupts
from scorecard import page, results, runner
from scorecard.promises import PROMISES, Promise, chosen
from scorecard.results import Repository, Result


def todo(names: list[str], again: bool, repository: Repository) -> list[Promise]:
    """Return the promises to run: those named, or those that have not passed at this commit."""
    if names or again:
        return chosen(names)
    known = results.read()
    is_clean = not repository.has_changes

    def has_passed(promise: Promise) -> bool:
        result = known.get(promise.name)
        if result is None or result.verdict != "passed" or result.command != promise.command:
            return False
        return is_clean and repository.is_present(result)

    return [promise for promise in PROMISES if not has_passed(promise)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="promises; those not passed at this commit, if none"
    )
    parser.add_argument("--again", action="store_true", help="run those that have passed, too")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--cores", type=int, default=max(os.cpu_count() or 1, 2))
    options = parser.parse_args()
    hear_interrupts()
    repository = Repository()
    n_failed = 0

    def report(promise: Promise, result: Result) -> None:
        nonlocal n_failed
        n_failed += result.verdict != "passed"
        results.add(promise.name, result)
        page.write(PROMISES, results.read(), repository)
        print(
            f"{promise.name}: {result.verdict}, {result.figure} ({result.seconds:.0f} s)",
            flush=True,
        )

    promises = [] if options.page else todo(options.names, options.again, repository)
    if promises:
        print(f"Running {', '.join(p.name for p in promises)}; logs in {runner.LOGS}.", flush=True)
    runner.run(promises, options.cores, report)
    page.write(PROMISES, results.read(), repository)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
