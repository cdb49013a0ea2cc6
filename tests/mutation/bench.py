"""Run mutants against tests: where they are, and the servers that share the work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import page, server
from .mutant import Mutant
from .report import Outcome

OPTIONS = ("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mutation.server")
PATIENCE = 3  # how much longer a test may take that is tried again because it hung


@dataclass(frozen=True)
class Test:
    """A test that passes without a mutant, and what it then reaches."""

    name: str
    seconds: float
    reached: frozenset[int]

    @property
    def limit(self) -> float:
        return 10 + 6 * self.seconds


@dataclass(frozen=True)
class Bench:
    """Mutated sources, their tests, and how much work to put in."""

    root: Path  # where pytest runs
    sources: Path  # the mutated package
    tests: tuple[str, ...]
    work: Path  # for notes of the servers
    jobs: int = 2
    budget: float = 60.0  # seconds of tests per mutant
    variables: dict[str, str] = field(default_factory=dict)

    def record(self) -> tuple[list[Test], list[str]]:
        """Run every test once without a mutant; also name those that do not pass."""
        found = self.serve("record", [])
        failing = [result["test"] for result in found if result["how"]]
        tests = [
            Test(result["tests"][0], result["seconds"], frozenset(result["reached"]))
            for result in found
            if not result["how"]
        ]
        return tests, failing

    def in_order(self, tests: list[Test]) -> list[Test]:
        """Keep the order of `self.tests`; within each, put tests that differ most first."""
        groups: list[list[Test]] = [[] for _ in self.tests]
        for test in tests:
            groups[next(i for i, t in enumerate(self.tests) if test.name.startswith(t))].append(
                test
            )
        return [test for group in groups for test in by_news(group)]

    def kill(self, mutants: list[Mutant], tests: list[Test]) -> list[Outcome]:
        """Run each mutant against the tests that reach it, in their order, until one kills it."""
        jobs = {mutant.number: self.job(mutant.number, tests) for mutant in mutants}
        found = {result["mutant"]: result for result in self.serve("kill", [*jobs.values()])}
        # A busy machine can look like a mutant that hangs.
        hung = [n for n, result in found.items() if result["how"] == "hung"]
        if hung:
            left = [with_patience(jobs[number], found[number]["test"]) for number in hung]
            again = self.serve("again", left, n_servers=1)
            found |= {result["mutant"]: result for result in again}
        return [
            Outcome(mutant, *(found[mutant.number][name] for name in ("how", "test", "seconds")))
            for mutant in mutants
        ]

    def job(self, number: int, tests: list[Test]) -> dict[str, Any]:
        """Take the tests that reach a mutant, as many as the budget allows."""
        taken: list[Test] = []
        seconds = 0.0
        for test in tests:
            if number in test.reached and (not taken or seconds + test.seconds <= self.budget):
                taken.append(test)
                seconds += test.seconds
        names, limits = [test.name for test in taken], [test.limit for test in taken]
        return {"mutant": number, "tests": names, "limits": limits}

    def serve(
        self, name: str, jobs: list[dict[str, Any]], n_servers: int | None = None
    ) -> list[dict[str, Any]]:
        """Let servers share the jobs (none: every test once, without a mutant)."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "task.json").write_text(json.dumps(jobs))
        servers = [self.start(folder, number) for number in range(n_servers or self.jobs)]
        codes = [running.wait() for running in servers]
        lines = folder / "task.results"
        if any(codes) or not lines.exists():
            raise SystemExit(f"A server of tests failed: see {folder}")
        return [json.loads(line) for line in lines.read_text().splitlines()]

    def start(self, folder: Path, number: int) -> subprocess.Popen[bytes]:
        shared = folder / f"page-{number}"
        page.make(shared)
        environment = {
            **os.environ,
            **self.variables,
            "PYTHONPATH": os.pathsep.join([str(self.sources), str(Path(__file__).parents[1])]),
            page.VARIABLE: str(shared),
            server.TASK: str(folder / "task.json"),
        }
        command = [sys.executable, "-m", "pytest", *OPTIONS, *self.tests]
        with (folder / f"server-{number}.log").open("w") as log:
            return subprocess.Popen(
                [*command, f"--basetemp={folder}/tmp-{number}"],
                cwd=self.root,
                env=environment,
                stdout=log,
                stderr=log,
            )


def with_patience(job: dict[str, Any], first: str) -> dict[str, Any]:
    """Return what is left of a job from a test on, with more time for each."""
    start = job["tests"].index(first)
    limits = [PATIENCE * limit for limit in job["limits"][start:]]
    return {**job, "tests": job["tests"][start:], "limits": limits}


def by_news(tests: list[Test]) -> list[Test]:
    """Take the test that reaches most per second of what no earlier one has, again and again."""
    left, ordered = sorted(tests, key=lambda test: (test.seconds, test.name)), []
    seen: set[int] = set()
    while left:
        best = max(left, key=lambda test: len(test.reached - seen) / (0.1 + test.seconds))
        left.remove(best)
        seen |= best.reached
        ordered.append(best)
    return ordered
