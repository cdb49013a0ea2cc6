"""The progress display of a fit: a line a chain, quiet where nobody watches."""

from __future__ import annotations

import math
import time
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

__all__ = ["FitProgress"]

# Shorter fits are over before a display could be read.
QUIET_SECONDS = 1.0


class FitProgress:
    """Shows for each chain its sweep, sigma, acceptance and the time left.

    Parameters
    ----------
    mode : bool or "auto"
        False is silent; "auto" shows on a terminal or in a notebook only; True always shows.
        All are silent for the first second.
    n_sweeps : int
        The sweeps of a chain.
    sigma_unit : float or None
        The engine's sigma times this is in the units of y; None hides sigma.
    title : str
        Put before the number of the chain.
    console : rich.console.Console, optional
        Where to write; standard error unless given.
    """

    def __init__(
        self,
        mode: bool | str,
        n_sweeps: int = 1,
        sigma_unit: float | None = 1.0,
        title: str = "",
        console: Console | None = None,
    ) -> None:
        mode = check_choice("progress", mode, (True, False, "auto"))
        self._console = console or Console(stderr=True)
        watched = self._console.is_terminal or self._console.is_jupyter
        self._enabled = mode is True or (mode == "auto" and watched)
        self._n_sweeps = n_sweeps
        self._sigma_unit = sigma_unit
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
        """Show where the chains are, each given as `Control.snapshot()`."""
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
        if int(snapshot["sweep"]) == 0:
            return "waiting"
        accepted = f"accepted {float(snapshot['acceptance']):.0%}"
        if self._sigma_unit is None:
            return accepted
        return f"σ {float(snapshot['sigma']) * self._sigma_unit:.4g}  {accepted}"
