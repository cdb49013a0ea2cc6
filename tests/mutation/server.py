"""A pytest plugin that imports everything once, and then runs tests in forks of itself.

A task file, named by OBLIQUEBART_MUTATION_TASK, holds jobs. A job is a list of tests under one
mutant, or under none. Several servers share a task file: each job belongs to who claims it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .page import PAGE

TASK = "OBLIQUEBART_MUTATION_TASK"
MEMORY = 8 << 30  # bytes; a mutant may ask for all there is
FAILED: list[str] = []


@dataclass(frozen=True)
class Job:
    """Tests to run under a mutant (0: none), each with the seconds that it may take."""

    mutant: int
    tests: list[str]
    limits: list[float]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        FAILED.append(report.nodeid)


def pytest_runtestloop(session: pytest.Session) -> bool:
    path = Path(os.environ[TASK])
    task = json.loads(path.read_text())
    items = {item.nodeid: item for item in session.items}
    jobs = [Job(**job) for job in task] if task else [Job(0, [name], [60.0]) for name in items]
    for number, job in enumerate(jobs):
        if claim(path.with_suffix("") / str(number)):
            result = run(job, items)
            with path.with_suffix(".results").open("a") as results:
                results.write(json.dumps(result) + "\n")
    return True


def claim(path: Path) -> bool:
    with suppress(FileExistsError):
        path.parent.mkdir(exist_ok=True)
        path.touch(exist_ok=False)
        return True
    return False


def run(job: Job, items: dict[str, pytest.Item]) -> dict[str, Any]:
    """Run the tests of a job in a fork until one fails, hangs or crashes."""
    PAGE.choose(job.mutant)
    PAGE.forget()
    start = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        run_tests([items[name] for name in job.tests], writer)
    how, last = watch(child, reader, job.limits)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.close(reader)
    os.close(writer)
    seconds = time.monotonic() - start
    test = job.tests[max(last, 0)] if how else ""
    reached = PAGE.reached() if job.mutant == 0 else []
    return {
        "mutant": job.mutant,
        "tests": job.tests if job.mutant == 0 else len(job.tests),
        "how": how,
        "test": test,
        "seconds": round(seconds, 3),
        "reached": reached,
    }


def run_tests(tests: list[pytest.Item], writer: int) -> None:
    """Run them in this fork, and leave it with 0 if all passed."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 3
    try:
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            os.write(writer, b".")
            test.ihook.pytest_runtest_protocol(item=test, nextitem=following)
            if FAILED:
                break
        code = 1 if FAILED else 0
    finally:
        os._exit(code)


def watch(child: int, reader: int, limits: list[float]) -> tuple[str, int]:
    """Wait for the fork; say how it ended ('' if all tests passed) and at which test."""
    last, deadline = -1, time.monotonic() + 30
    while True:
        if select.select([reader], [], [], 0.02)[0]:
            last += len(os.read(reader, 4096))
            deadline = time.monotonic() + limits[last]
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            last += len(os.read(reader, 4096)) if select.select([reader], [], [], 0)[0] else 0
            code = os.waitstatus_to_exitcode(status)
            return {0: "", 1: "failed"}.get(code, f"crashed ({code})"), last
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hung", last
