"""Live progress of a run."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from obliquebart.study.runner import Tally

SECONDS_BETWEEN_LINES = 30.0


class StudyProgress:
    """A bar on a terminal; elsewhere a line every half minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("study"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)
        self._last_line = time.monotonic()

    def __enter__(self) -> StudyProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, tally: Tally) -> None:
        """Show how far the run is."""
        now = str(tally.running[0]) if tally.running else ""
        trouble = tally.failed + tally.lost + tally.timeouts
        words = f"{now}  [red]{trouble} in trouble[/red]" if trouble else now
        self._bar.update(
            self._task,
            total=tally.total - tally.skipped,
            completed=tally.finished,
            description=words,
        )
        if not self._console.is_terminal:
            self._line(tally)

    def _line(self, tally: Tally) -> None:
        if time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._console.print(f"{tally.finished} of {tally.total} units")
