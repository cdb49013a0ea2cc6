"""What the promises came to, stored beside the page: one entry for each, of its last run."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from helpers import ROOT

STORE = ROOT / "docs" / "scorecard.json"
PAGE = ROOT / "docs" / "scorecard.md"
Verdict = Literal["passed", "failed", "not run"]


@dataclass(frozen=True)
class Result:
    """One run of a promise."""

    verdict: Verdict
    figure: str
    seconds: float
    date: str
    commit: str
    changed: bool
    """Whether files differed from the commit."""
    machine: str
    command: str


def read(store: Path = STORE) -> dict[str, Result]:
    """Return the results by the names of their promises."""
    if not store.exists():
        return {}
    entries = json.loads(store.read_text())
    return {name: Result(**entry) for name, entry in entries.items()}


def add(name: str, result: Result, store: Path = STORE) -> None:
    """Replace the result of a promise."""
    entries = {**read(store), name: result}
    text = json.dumps({key: asdict(entries[key]) for key in sorted(entries)}, indent=1)
    part = store.with_suffix(".part")
    part.write_text(text + "\n")
    part.replace(store)


class Repository:
    """What git says about a checkout."""

    def __init__(self, folder: Path = ROOT) -> None:
        self._folder = folder
        # The page and its results change with every run.
        self._paths = ["--", ".", *(f":!{p.relative_to(ROOT)}" for p in (STORE, PAGE))]

    @property
    def commit(self) -> str:
        """Return the present commit."""
        return self._git("rev-parse", "HEAD").stdout.strip() or "unknown"

    @property
    def has_changes(self) -> bool:
        """Say whether files differ from the commit."""
        return bool(self._git("status", "--porcelain", *self._paths).stdout)

    def is_present(self, result: Result) -> bool:
        """Say whether a result is of the files of the present commit."""
        if result.changed:
            return False
        return self._git("diff", "--quiet", result.commit, "HEAD", *self._paths).returncode == 0

    def _git(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=self._folder, capture_output=True, text=True, check=False
        )
