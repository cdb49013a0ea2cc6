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


def write(
    promises: Sequence[Promise],
    results: Mapping[str, Result],
    repository: Repository,
    path: Path = PAGE,
) -> None:
    """Write the page."""
    parts = [INTRODUCTION, _count(promises, results), _overview(promises, results, repository)]
    parts += [_machines(promises, results), _commands(promises, results)]
    path.write_text("\n".join(part for part in parts if part))


def _count(promises: Sequence[Promise], results: Mapping[str, Result]) -> str:
    known = [results[promise.name].verdict for promise in promises if promise.name in results]
    passed, failed = known.count("passed"), known.count("failed")
    others = len(promises) - passed - failed
    return f"Of {len(promises)} promises {passed} passed, {failed} failed, {others} were not run.\n"


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
    return name if repository.is_present(result) else f"{name}, older than this page"


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
