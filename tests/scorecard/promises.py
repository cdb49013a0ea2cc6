"""The table of promises: what each says, the command that shows it, and when it has passed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from scorecard.finding import FIGURE

Reader = Callable[[str], str]
"""Reads the figure from the output of a command; no text if there is none."""


@dataclass(frozen=True)
class Promise:
    """One line of the scorecard.

    It is kept if the command succeeds, its figure is there, and the figure is enough.
    """

    name: str
    claim: str
    """What is promised, and what counts as passed, in plain English."""
    command: str
    """A shell command in the repository; `python` is the interpreter of the scorecard."""
    figure: Reader
    minutes: float
    """About how long it takes on a quiet machine with two cores, to start long ones first."""
    cores: int = 1
    alone: bool = False
    """Whether it measures time, so that nothing else may run beside it."""
    enough: Callable[[str], bool] = bool
    """Whether the figure is what was promised, for commands that succeed with any."""
    builds: str = ""
    """What the command may build; two that build the same do not run at the same time."""


# ---- how figures are read ------------------------------------------------------------------------


def own_figure(output: str) -> str:
    """Return what a script of this folder has said about itself."""
    lines = [line for line in output.splitlines() if line.startswith(FIGURE)]
    return lines[-1].removeprefix(FIGURE) if lines else ""


def matching(pattern: str) -> Reader:
    """Return what reads the last line that contains a pattern; its groups, if it has any."""

    def read(output: str) -> str:
        found = list(re.finditer(pattern, output))
        return " ".join(found[-1].groups() or (found[-1][0],)) if found else ""

    return read


def shares(figure: str) -> list[float]:
    """Return the shares in a figure that has them as "9 of 10", not rounded."""
    return [int(part) / int(whole) for part, whole in re.findall(r"(\d+) of (\d+)", figure)]


def count_of_tests(output: str) -> str:
    """Return the sum of what the runs of pytest in an output say."""
    ends = re.findall(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+", output, re.M)
    totals: dict[str, int] = {}
    for end in ends:
        for number, word in re.findall(r"(\d+) (\w+)", end):
            totals[word] = totals.get(word, 0) + int(number)
    if "passed" not in totals:
        return ""
    shown = ("passed", "failed", "error", "errors", "skipped")
    words = [f"{totals[word]:,} {word}" for word in shown if word in totals]
    runs = f" in {len(ends)} runs" if len(ends) > 1 else ""
    return f"tests: {', '.join(words)}{runs}"


# ---- the table -----------------------------------------------------------------------------------

PROMISES = (
    Promise(
        "exactness",
        "The sampler draws from the posterior: all long statistical tests pass.",
        "make calibrate",
        count_of_tests,
        90,
    ),
    Promise(
        "bugs",
        "The tests find every bug that is planted in the core.",
        "make bugs",
        matching(r"\d+ of \d+ planted bugs caught"),
        25,
        cores=2,
        builds="instrumented",
    ),
    Promise(
        "mutants",
        "The tests notice at least 9 of 10 random changes of the sampler and of the file reader.",
        "make mutants",
        matching(r"mutation score: (.*)"),
        60,
        enough=lambda figure: min(shares(figure), default=0.0) >= 0.9,
        builds="mutants",
    ),
    Promise(
        "sanitizers",
        "Nothing is found by the address, undefined-behaviour and thread sanitizers, with Python "
        "and without.",
        "make sanitize",
        count_of_tests,
        25,
        builds="instrumented",
    ),
    Promise(
        "fuzz",
        "30 minutes of damaged and crafted model files, checkpoints and CSV files, under the "
        "address sanitizer: no crash, no hang, no exception but the documented ones.",
        "make fuzz FUZZ_SECONDS=1800",
        own_figure,
        32,
        builds="instrumented",
    ),
    Promise(
        "kill",
        "Killed at 500 moments, fits go on from their checkpoint to the same draws, and save "
        "leaves the old file or the new one.",
        "python tests/scorecard/kills.py --kills 500",
        own_figure,
        8,
    ),
    Promise(
        "disk",
        "On full and read-only disks whatever writes a file ends with a clear error, the old file "
        "stays, and nothing is left behind.",
        "python tests/scorecard/full_disk.py",
        own_figure,
        6,
    ),
    Promise(
        "memory",
        "With too little memory, fit, predict, load and save raise MemoryError: no crash, no hang, "
        "no other result.",
        "python tests/scorecard/memory_limit.py",
        own_figure,
        15,
    ),
    Promise(
        "fits",
        "10,000 small fits in one process: its memory, threads and open files do not grow.",
        "python tests/scorecard/many_fits.py --fits 10000",
        own_figure,
        8,
    ),
    Promise(
        "readers",
        "8 processes predict from one file for 10 minutes: always the same bits, steady memory.",
        "python tests/scorecard/many_readers.py --processes 8 --seconds 600",
        own_figure,
        11,
    ),
    Promise(
        "interrupt",
        "Ctrl-C stops a fit within half a second, at any moment and with 300,000 rows; with a "
        "checkpoint nothing is lost.",
        "python tests/scorecard/interrupts.py --moments 20",
        own_figure,
        18,
        alone=True,
    ),
    Promise(
        "pythons",
        "All tests pass on Python 3.10 to 3.13, from the installed wheel.",
        "make --keep-going test-all",
        count_of_tests,
        60,
    ),
    Promise(
        "newest",
        "All tests pass with the newest dependencies.",
        "make test",
        count_of_tests,
        12,
        cores=2,
    ),
    Promise(
        "oldest",
        "All tests pass with the oldest supported dependencies.",
        "make test-oldest",
        count_of_tests,
        15,
    ),
    Promise(
        "wheels",
        "The wheels for x86_64 and aarch64 work where there is no compiler; the draws on aarch64 "
        "have the same bits.",
        "make wheels test-wheels",
        count_of_tests,
        30,
        builds="wheels",
    ),
    Promise(
        "instructions",
        "The draws are the same bits with each of three instruction sets.",
        "python tests/scorecard/instruction_sets.py",
        own_figure,
        4,
    ),
    Promise(
        "tables",
        "Fits of 1,000 real tables, as they are: each gives sound predictions or is refused with a "
        "message.",
        "make real-tables",
        matching(r"\d+ tables, .*"),
        30,
        cores=2,
    ),
    Promise(
        "docs",
        "The site builds without a warning, all links work, and all pages pass the checks of "
        "accessibility in Chromium.",
        "make docs-check",
        matching(r"\d[\d,]* pages?.*"),
        20,
        builds="docs",
    ),
)


def chosen(names: list[str]) -> list[Promise]:
    """Return promises by name; all of them without names."""
    by_name = {promise.name: promise for promise in PROMISES}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"No promise {unknown[0]!r}. There are: {', '.join(by_name)}.")
    return [by_name[name] for name in names] or list(PROMISES)
