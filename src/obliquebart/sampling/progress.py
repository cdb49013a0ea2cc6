"""The progress display of a fit: one line per chain, silent if nobody is watching."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from obliquebart.validation import check_choice

# Shorter fits are over before a display could be read.
QUIET_SECONDS = 1.0


class FitProgress:
    """Shows for each chain its sweep, its noise, acceptance and the time left.

    The mode False is silent; "auto" shows on a terminal or in a notebook only; True always shows.
    All are silent for the first second. `noise_units` has the scalars of the noise to show, by
    their name in the engine's snapshot: their symbol, and the size of the engine's unit in the
    user's units. The title precedes the number of the chain. Output goes to standard error unless
    a console is given.
    """

    def __init__(
        self,
        mode: bool | str,
        n_sweeps: int = 1,
        noise_units: Mapping[str, tuple[str, float]] | None = None,
        title: str = "",
        console: Console | None = None,
    ) -> None:
        mode = check_choice("progress", mode, (True, False, "auto"))
        self._console = console or Console(stderr=True)
        watched = self._console.is_terminal or self._console.is_jupyter
        self._enabled = mode is True or (mode == "auto" and watched)
        self._n_sweeps = n_sweeps
        self._noise_units = dict(noise_units or {})
        self._title = title
        self._n_chains = 0
        self._started = math.inf
        self._display: Progress | None = None
        self._tasks: list[TaskID] = []

    def open(self, n_chains: int) -> None:
        """Start the clock."""
        self._n_chains = n_chains
        self._started = time.monotonic()

    def update(self, snapshots: list[dict[str, Any]]) -> None:
        """Show how far the chains are, each given as `Control.snapshot()`."""
        if not self._enabled:
            return
        if self._display is None:
            if time.monotonic() - self._started < QUIET_SECONDS:
                return
            self._display = self._new_display()
        for task, snapshot in zip(self._tasks, snapshots, strict=True):
            self._display.update(
                task, completed=int(snapshot["sweep"]), state=self._state(snapshot)
            )

    def extend(self, n_sweeps: int) -> None:
        """Extend the chains to this many sweeps."""
        self._n_sweeps = n_sweeps
        if self._display is not None:
            for task in self._tasks:
                self._display.update(task, total=n_sweeps)

    def tell(self, words: str) -> None:
        """Write a line above the chains, if they are shown."""
        if self._display is not None:
            self._display.console.print(self._title + words, highlight=False)

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def _new_display(self) -> Progress:
        display = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._tasks = [
            display.add_task(f"{self._title}chain {chain + 1}", total=self._n_sweeps, state="")
            for chain in range(self._n_chains)
        ]
        display.start()
        return display

    def _state(self, snapshot: dict[str, Any]) -> str:
        if int(snapshot["sweep"]) == 0 or "acceptance" not in snapshot:
            return "waiting"
        shown = [
            f"{symbol} {float(snapshot[name]) * unit:.4g}"
            for name, (symbol, unit) in self._noise_units.items()
        ]
        return "  ".join([*shown, f"accepted {float(snapshot['acceptance']):.0%}"])
