"""The progress display of a fit: one line per chain, silent if nobody is watching."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from obliquebart.display.notebook import in_notebook
from obliquebart.display.numbers import plain
from obliquebart.sampling.boards import Board, ChainLine, NotebookBoard, TerminalBoard
from obliquebart.validation import check_choice

# Shorter fits are over before a display could be read.
QUIET_SECONDS = 1.0


class FitProgress:
    """Shows for each chain its sweep, its noise, acceptance and the time left.

    The mode False is silent; "auto" shows on a terminal or in a notebook only; True always shows.
    All are silent for the first second. `noise_units` has the scalars of the noise to show, by
    their name in the engine's snapshot: their symbol, and the size of the engine's unit in the
    user's units. The title precedes the number of the chain. A
    device other than the processor is named above the chains. Outside notebooks, output goes
    to standard error unless a console is given.
    """

    def __init__(
        self,
        mode: bool | str,
        n_sweeps: int = 1,
        noise_units: Mapping[str, tuple[str, float]] | None = None,
        title: str = "",
        device: str = "cpu",
        console: Console | None = None,
    ) -> None:
        mode = check_choice("progress", mode, (True, False, "auto"))
        self._in_notebook = console is None and in_notebook()
        self._console = console or Console(stderr=True, force_jupyter=False)
        watched = self._in_notebook or self._console.is_terminal
        self._enabled = mode is True or (mode == "auto" and watched)
        self._n_sweeps = n_sweeps
        self._noise_units = dict(noise_units or {})
        self._title = title
        self._device = device
        self._started = math.inf
        self._board: Board | None = None

    def open(self) -> None:
        """Start the clock."""
        self._started = time.monotonic()

    def update(self, snapshots: list[dict[str, Any]]) -> None:
        """Show how far the chains are, each given as `Control.snapshot()`."""
        if not self._enabled:
            return
        if self._board is None:
            if time.monotonic() - self._started < QUIET_SECONDS:
                return
            self._board = self._new_board()
            if self._device != "cpu":
                self.tell(f"On {self._device}.")
        self._board.show([self._line(i, snapshot) for i, snapshot in enumerate(snapshots)])

    def extend(self, n_sweeps: int) -> None:
        """Extend the chains to this many sweeps."""
        self._n_sweeps = n_sweeps

    def tell(self, words: str) -> None:
        """Write a line above the chains, if they are shown."""
        if self._board is not None:
            self._board.tell(self._title + words)

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._board is not None:
            self._board.close()
            self._board = None

    def _new_board(self) -> Board:
        return NotebookBoard(self._started) if self._in_notebook else TerminalBoard(self._console)

    def _line(self, chain: int, snapshot: dict[str, Any]) -> ChainLine:
        name = f"{self._title}chain {chain + 1}"
        return ChainLine(name, int(snapshot["sweep"]), self._n_sweeps, self._state(snapshot))

    def _state(self, snapshot: dict[str, Any]) -> str:
        if int(snapshot["sweep"]) == 0 or "acceptance" not in snapshot:
            return "waiting"
        shown = [
            f"{symbol} {plain(float(snapshot[name]) * unit, 4)}"
            for name, (symbol, unit) in self._noise_units.items()
        ]
        return "  ".join([*shown, f"accepted {float(snapshot['acceptance']):.0%}"])
