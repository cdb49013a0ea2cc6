"""Runs promises, as many at a time as there are cores, and stores each result at once."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import machine

from helpers import ROOT
from scorecard.promises import Promise
from scorecard.results import Repository, Result, Verdict

LOGS = ROOT / "build" / "scorecard"
POLL_SECONDS = 0.2
NO_TARGET = re.compile(r"No rule to make target")

Report = Callable[[Promise, Result], None]


@dataclass
class Running:
    """A command that has been started."""

    promise: Promise
    process: subprocess.Popen[bytes]
    began: float
    log: Path
    repository: tuple[str, bool]
    """The commit when it began, and whether files differed from it."""

    def result(self) -> Result:
        """Return what it came to."""
        output = self.log.read_text(errors="replace")
        verdict, figure = judge(self.promise, self.process.returncode, output)
        commit, changed = self.repository
        return Result(
            verdict=verdict,
            figure=figure,
            seconds=round(time.monotonic() - self.began, 1),
            date=dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
            commit=commit,
            changed=changed,
            machine=machine_in_words(),
            command=self.promise.command,
        )


def judge(promise: Promise, status: int, output: str) -> tuple[Verdict, str]:
    """Return whether a promise was kept, and the figure."""
    figure = promise.figure(output)
    if status == 0:
        if not figure:
            return "failed", "no figure in its output"
        return ("passed" if promise.enough(figure) else "failed"), figure
    if NO_TARGET.search(output):
        return "not run", "there is no such command yet"
    return "failed", figure or f"ended with status {status}"


def machine_in_words() -> str:
    """Return what a reader must know about this machine."""
    found = machine.describe()
    return (
        f"{found['cpu']}, {found['cores']} cores, {found['memory_gib']:.0f} GiB, "
        f"{found['system']}, Python {platform.python_version()}"
    )


def run(promises: Sequence[Promise], n_cores: int, report: Report) -> None:
    """Run promises, long ones first; whatever is still running at an interrupt is ended."""
    waiting = sorted(promises, key=lambda promise: -promise.minutes)
    running: list[Running] = []
    LOGS.mkdir(parents=True, exist_ok=True)
    with _ended_at_exit(running):
        while waiting or running:
            for promise in [p for p in waiting if _fits(p, running, n_cores)]:
                if _fits(promise, running, n_cores):
                    waiting.remove(promise)
                    running.append(_start(promise))
            time.sleep(POLL_SECONDS)
            for each in [r for r in running if r.process.poll() is not None]:
                running.remove(each)
                report(each.promise, each.result())


def _fits(promise: Promise, running: Sequence[Running], n_cores: int) -> bool:
    """Say whether a promise can run beside others."""
    if not running:
        return True
    others = [each.promise for each in running]
    if promise.alone or any(other.alone for other in others):
        return False
    if promise.builds and any(other.builds == promise.builds for other in others):
        return False
    return promise.cores + sum(other.cores for other in others) <= n_cores


def _start(promise: Promise) -> Running:
    words = promise.command.split(" ", 1)
    command = promise.command
    if words[0] == "python":
        command = f"{shlex.quote(sys.executable)} {words[1]}"
    repository = Repository()
    log = LOGS / f"{promise.name}.log"
    # The make that started this must not make others share its jobs.
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(
        promise, process, time.monotonic(), log, (repository.commit, repository.has_changes)
    )


@contextlib.contextmanager
def _ended_at_exit(running: Sequence[Running]) -> Iterator[None]:
    try:
        yield
    finally:
        for each in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.process.pid, signal.SIGTERM)
        for each in running:
            each.process.wait()
