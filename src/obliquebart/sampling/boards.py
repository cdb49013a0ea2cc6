"""Where the progress of chains is shown: on a terminal, or below the cell of a notebook."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from obliquebart.display.notebook import LiveOutput
from obliquebart.display.numbers import counted, duration
from obliquebart.display.tables import NOTEBOOK_STYLE, escape

# A notebook saves every output that it is sent; more often than this nobody sees.
NOTEBOOK_SECONDS = 0.25


class ChainLine(NamedTuple):
    """How far one chain is."""

    name: str
    n_done: int
    n_sweeps: int
    state: str


class Board(Protocol):
    """Shows a line per chain."""

    def show(self, lines: Sequence[ChainLine]) -> None:
        """Show where the chains are."""

    def tell(self, words: str) -> None:
        """Add a sentence above them."""

    def close(self) -> None:
        """Leave the last state behind."""


class TerminalBoard:
    """Bars that move, on a terminal."""

    def __init__(self, console: Console) -> None:
        self._tasks: list[TaskID] = []
        self._display = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )

    def show(self, lines: Sequence[ChainLine]) -> None:
        """Move the bars."""
        if not self._tasks:
            self._tasks = [
                self._display.add_task(line.name, total=line.n_sweeps, state="") for line in lines
            ]
            self._display.start()
        for task, line in zip(self._tasks, lines, strict=True):
            self._display.update(task, completed=line.n_done, total=line.n_sweeps, state=line.state)

    def tell(self, words: str) -> None:
        """Print above the bars."""
        self._display.console.print(words, highlight=False)

    def close(self) -> None:
        """Stop moving."""
        self._display.stop()


class NotebookBoard:
    """Bars in the output of a cell; at the end a single line takes their place."""

    def __init__(self, began: float) -> None:
        self._output = LiveOutput()
        self._began, self._opened = began, time.monotonic()
        self._shown = float("-inf")
        self._first: int | None = None
        self._lines: Sequence[ChainLine] = ()
        self._told: list[str] = []

    def show(self, lines: Sequence[ChainLine]) -> None:
        """Draw the bars anew, unless that was done a moment ago."""
        self._lines = lines
        done = sum(line.n_done for line in lines)
        self._first = done if self._first is None else self._first
        if time.monotonic() - self._shown < NOTEBOOK_SECONDS:
            return
        rows = "".join(map(_bar, lines))
        left = self._left(done)
        self._put(f"<table><tbody>{rows}</tbody></table>" + (f"<p>{left}</p>" if left else ""))

    def tell(self, words: str) -> None:
        """Add a sentence to the output."""
        self._told.append(words)

    def close(self) -> None:
        """Say in a line what was done."""
        done = [line.n_done for line in self._lines]
        total = max((line.n_sweeps for line in self._lines), default=0)
        swept = f"{total:,} sweeps"
        if min(done, default=total) < total:
            swept = f"stopped after {min(done):,} to {max(done):,} of {swept}"
        title = self._lines[0].name.removesuffix("chain 1") if self._lines else ""
        chains = counted(len(self._lines), "chain")
        took = duration(time.monotonic() - self._began)
        self._put(f"<p>{escape(f'{title}{chains}, {swept}, {took}.')}</p>")

    def _left(self, done: int) -> str:
        total = sum(line.n_sweeps for line in self._lines)
        gained = done - (self._first or 0)
        if gained <= 0 or done >= total:
            return ""
        seconds = (time.monotonic() - self._opened) * (total - done) / gained
        return f"about {duration(seconds)} left"

    def _put(self, body: str) -> None:
        told = "".join(f"<p>{escape(words)}</p>" for words in self._told)
        n_done = sum(line.n_done for line in self._lines)
        n_sweeps = sum(line.n_sweeps for line in self._lines)
        text = f"{n_done:,} of {n_sweeps:,} sweeps"
        self._output.show(f'<div class="obliquebart">{NOTEBOOK_STYLE}{told}{body}</div>', text)
        self._shown = time.monotonic()


def _bar(line: ChainLine) -> str:
    name = escape(line.name)
    return (
        f'<tr><th scope="row">{name}</th>'
        f'<td><progress max="{line.n_sweeps}" value="{line.n_done}" aria-label="{name}">'
        "</progress></td>"
        f'<td class="number">{line.n_done:,} of {line.n_sweeps:,}</td>'
        f"<td>{escape(line.state)}</td></tr>"
    )
