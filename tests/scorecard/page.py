"""The page docs/scorecard.md, always written from the stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scorecard.promises import Promise
from scorecard.results import PAGE, Repository, Result

INTRODUCTION = """\
# Scorecard

What the package promises, each run as a whole by `make scorecard`. Short forms are part of
`make test`. The runs write this page.
"""

REPAIRED = """\
## What the runs found

All of it is repaired.

- **fuzz**: stored states that split levels which their nodes do not have, that do not follow their
  chain's last draw, or whose numbers overflow when the chain goes on, were taken. They are refused.
- **memory**: where memory ended, the reader of model files ended the process, a thread that could
  not start was an unknown error, and NumPy crashed as it converted whole numbers on the way. Fits
  raise MemoryError, predictions use fewer threads, and arrays have one type before they meet.
- **wheels**: draws of large tables differed on aarch64, because NumPy orders equal values as the
  processor's sorting instructions do. Rows with equal values keep their order.
- **bugs**: one planted bug escaped after a change of the prior of soft rules. Its test is sharper.
- **mutants**: a header at one of its limits was written, but refused when read. Survivors became
  tests, or have a reason ([tests of the tests](exactness.md#6-mutants-make-mutants)).
- **sanitizers**: what they find in the allocators of pyarrow, which is not ours, is left out.
- **oldest**: five lower bounds were too low.
- **pythons**, **exactness**: tests that depended on the version of pandas, on an allocator or on a
  quiet machine.
- **docs**: a link led to a heading that had another name; three commands were cut off at a width of
  1280 pixels.
"""


def write(
    promises: Sequence[Promise],
    results: Mapping[str, Result],
    repository: Repository,
    path: Path = PAGE,
) -> None:
    """Write the page."""
    parts = [INTRODUCTION, _count(promises, results), _overview(promises, results, repository)]
    parts += [REPAIRED, _machines(promises, results), _commands(promises, results)]
    path.write_text("\n".join(part for part in parts if part))


def _count(promises: Sequence[Promise], results: Mapping[str, Result]) -> str:
    known = [results[promise.name].verdict for promise in promises if promise.name in results]
    passed, failed = known.count("passed"), known.count("failed")
    others = len(promises) - passed - failed
    was = "was" if others == 1 else "were"
    figures = f"{passed} passed, {failed} failed and {others} {was} not run"
    return f"Of {len(promises)} promises, {figures}.\n"


def _overview(
    promises: Sequence[Promise], results: Mapping[str, Result], repository: Repository
) -> str:
    lines = [
        "| promise | result | figure | time | when, of which commit |",
        "|---|---|---|---|---|",
    ]
    for promise in promises:
        result = results.get(promise.name)
        cells = ["not run", "", "", ""]
        if result is not None:
            cells = [_verdict(result), result.figure, _duration(result.seconds)]
            cells.append(f"{result.date[:10]}, {_commit(result, repository)}")
        texts = [f"**{promise.name}**: {promise.claim}", *cells]
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |")
    return "\n".join(lines) + "\n"


def _verdict(result: Result) -> str:
    return result.verdict if result.verdict == "passed" else f"**{result.verdict}**"


def _commit(result: Result, repository: Repository) -> str:
    name = f"`{result.commit[:8]}`"
    if result.changed:
        return f"{name} with uncommitted changes"
    return name if repository.is_present(result) else f"{name}, an earlier commit"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _machines(promises: Sequence[Promise], results: Mapping[str, Result]) -> str:
    by_machine: dict[str, list[str]] = {}
    for promise in promises:
        if promise.name in results:
            by_machine.setdefault(results[promise.name].machine, []).append(promise.name)
    if not by_machine:
        return ""
    lines = ["## Machine\n"]
    for machine, names in by_machine.items():
        which = "" if len(by_machine) == 1 else f" ({', '.join(names)})"
        lines.append(f"- {machine}{which}")
    return "\n".join(lines) + "\n"


def _commands(promises: Sequence[Promise], results: Mapping[str, Result]) -> str:
    lines = ["## Commands\n", "`python` is that of `.venv`, which `make build` creates.\n"]
    lines += ["| promise | command |", "|---|---|"]
    for promise in promises:
        result = results.get(promise.name)
        command = promise.command if result is None else result.command
        lines.append(f"| {promise.name} | `{command}` |")
    return "\n".join(lines) + "\n"
