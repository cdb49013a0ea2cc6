"""Python code in another process, with the tests' folder on its path."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from helpers import ROOT


class UnavailableError(Exception):
    """This machine lacks the instruction set."""


def hear_interrupts() -> None:
    """Make sure that Ctrl-C reaches the processes that this one will start.

    A shell starts background jobs deaf to it, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_python(code: str, *arguments: object, python: str = sys.executable, **environment: str):
    """Run the code and return the words that it prints.

    Another interpreter uses the package that is installed for it, not the one of this process.
    """
    path = [str(ROOT / "tests")]
    if python == sys.executable and "PYTHONPATH" in os.environ:
        path += [os.environ["PYTHONPATH"]]
    done = subprocess.run(
        [python, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "is not available here" in done.stderr:
        raise UnavailableError(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def run_with_each_instruction_set(code: str) -> dict[str, list[str]]:
    """Run the code once for each instruction set that this machine has."""
    found = {"baseline": run_python(code, OBLIQUEBART_SIMD="baseline")}
    with contextlib.suppress(UnavailableError):
        for level in ("avx2", "avx512"):
            found[level] = run_python(code, OBLIQUEBART_SIMD=level)
    return found
