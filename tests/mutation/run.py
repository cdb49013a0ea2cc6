"""Count the mutants that the tests kill.

All mutants are compiled into one copy of the sources, under build/mutants. Each test runs once
without a mutant, to see which ones it reaches; then each mutant runs against the tests that reach
it until one fails, hangs or crashes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import time

from . import tree
from .bench import Bench, Test
from .mutant import Mutant
from .parts import PARTS, ROOT, Part
from .report import HERE, Outcome, Score, read_reasons, results, summary

SPARE = 1.8  # mutants in the build per mutant wanted: not all are reached


def main() -> int:
    given = arguments()
    start = time.monotonic()
    parts = [PARTS[name] for name in given.part or PARTS]
    choice = tree.choose(parts, int(SPARE * given.number), given.seed)
    choice = tree.build(choice, given.jobs)
    scores = [score(part, choice.mutants(part.name), given) for part in parts]
    how = {
        "date": dt.date.today().isoformat(),
        "seed": given.seed,
        "minutes": round((time.monotonic() - start) / 60, 1),
    }
    text = json.dumps(results(scores, how), indent=1) + "\n"
    (tree.WORK / "results.json").write_text(text)
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


def make_bench(part: Part, stage: int, given: argparse.Namespace) -> Bench:
    return Bench(
        root=ROOT,
        sources=tree.TREE / "src",
        tests=part.stages[stage],
        work=tree.WORK / "runs" / f"{part.name.replace(' ', '-')}-{stage}",
        jobs=given.jobs,
        budget=given.budget,
        variables={"OBLIQUEBART_DRIVER": str(tree.BUILD / "obart_driver")},
    )


def score(part: Part, mutants: list[Mutant], given: argparse.Namespace) -> Score:
    outcomes: dict[int, Outcome] = {}
    left = mutants
    for stage in range(len(part.stages)):
        bench = make_bench(part, stage, given)
        tests = passing(bench)
        reached: frozenset[int] = frozenset().union(*(test.reached for test in tests))
        left = [mutant for mutant in left if mutant.number in reached]
        if stage == 0:
            print(f"{part.name}: tests reach {len(left)} of {len(mutants)} mutants", flush=True)
            left = left[: given.number]
        found = {outcome.mutant.number: outcome for outcome in bench.kill(left, tests)}
        outcomes |= found
        left = [mutant for mutant in left if not found[mutant.number].how]
        print(f"{part.name}: {len(left)} survive stage {stage + 1}", flush=True)
    return Score(part.name, list(outcomes.values()), read_reasons())


def passing(bench: Bench) -> list[Test]:
    """Return the tests that pass without a mutant, and name the others."""
    tests, failing = bench.record()
    for name in failing:
        print(f"left out, as it does not pass in time without a mutant: {name}", flush=True)
    return bench.in_order(tests)


if __name__ == "__main__":
    sys.exit(main())
