"""Count the mutants that the tests kill.

All mutants of a part are in one copy of the sources, under build/mutants. Each test runs once
without a mutant, to see which ones it reaches; then each mutant runs against the tests that reach
it until one fails, hangs or crashes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import time

from .bench import Bench, Test
from .mutant import Mutant
from .parts import PARTS, ROOT, Part
from .report import HERE, Outcome, Score, read_reasons, results, summary
from .tree import WORK, Tree, choose, mutants

SPARE = 1.5  # mutants in the build per mutant wanted: not all are reached


def main() -> int:
    given = arguments()
    start = time.monotonic()
    scores = [score(PARTS[name], given) for name in given.part or PARTS]
    how = {
        "date": dt.date.today().isoformat(),
        "seed": given.seed,
        "minutes": round((time.monotonic() - start) / 60, 1),
    }
    text = json.dumps(results(scores, how), indent=1) + "\n"
    (WORK / "results.json").write_text(text)
    if given.record:
        (HERE / "results.json").write_text(text)
    print(summary(scores))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--number", type=int, default=300, help="mutants of each part")
    parser.add_argument("--seed", type=int, default=1, help="which mutants")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests per mutant")
    parser.add_argument("--record", action="store_true", help="keep the figures in the repository")
    return parser.parse_args()


def score(part: Part, given: argparse.Namespace) -> Score:
    tree = Tree(WORK / part.name.replace(" ", "-"))
    tree.folder.mkdir(parents=True, exist_ok=True)
    chosen, driver = tree.make(choose(part, int(SPARE * given.number), given.seed), given.jobs)
    benches = [
        Bench(
            root=ROOT,
            sources=tree.root / "src",
            tests=tests,
            work=tree.folder / f"stage-{stage}",
            jobs=given.jobs,
            budget=given.budget,
            variables={"OBLIQUEBART_DRIVER": str(driver)},
        )
        for stage, tests in enumerate(part.stages, 1)
    ]
    return Score(part.name, tried(mutants(chosen), benches, given.number), read_reasons())


def tried(left: list[Mutant], benches: list[Bench], number: int) -> list[Outcome]:
    """Run the first mutants that a test of the first bench reaches; survivors go to the next."""
    outcomes: dict[int, Outcome] = {}
    for stage, bench in enumerate(benches, 1):
        tests = passing(bench)
        reached: frozenset[int] = frozenset().union(*(test.reached for test in tests))
        left = [mutant for mutant in left if mutant.number in reached]
        if stage == 1:
            left = left[:number]
        found = {outcome.mutant.number: outcome for outcome in bench.kill(left, tests)}
        outcomes |= found
        print(f"stage {stage}: {len(tests)} tests, {len(left)} mutants", flush=True)
        left = [mutant for mutant in left if not found[mutant.number].how]
    return list(outcomes.values())


def passing(bench: Bench) -> list[Test]:
    """Return the tests that pass without a mutant, and name the others."""
    tests, failing = bench.record()
    for name in failing:
        print(f"left out, as it does not pass in time without a mutant: {name}", flush=True)
    return bench.in_order(tests)


if __name__ == "__main__":
    sys.exit(main())
