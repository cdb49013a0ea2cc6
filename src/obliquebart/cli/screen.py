"""Output of the commands: messages to stderr, results to stdout, exit codes."""

from __future__ import annotations

import functools
import json
import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from obliquebart import _core
from obliquebart.cli.remedies import doubts_in_words, error_in_words, order_in_words
from obliquebart.display.tables import is_numeric
from obliquebart.exceptions import ClassOrderWarning, CudaUnavailableError, DoubtfulColumnWarning
from obliquebart.posterior.diagnostics import HEADINGS, Diagnostics, cells
from obliquebart.table.problems import ColumnError
from obliquebart.validation import OutcomeError

MISTAKE = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
DEBUG = "OBLIQUEBART_DEBUG"
# Errors whose message is for the user.
MISTAKES = (
    *(ValueError, TypeError, OSError, MemoryError, ImportError),
    *(CudaUnavailableError, _core.CardError),
)

P = ParamSpec("P")
R = TypeVar("R")


def stderr_console() -> Console:
    """Return a console for messages, as wide as the terminal."""
    return Console(stderr=True, highlight=False, emoji=False)


def stdout_console() -> Console:
    """Return a console for results."""
    return Console(highlight=False, emoji=False)


class Screen:
    """Output of a command: tables for people, or one JSON document for programs.

    With `as_json`, only the result is written to stdout. With `quiet`, messages are suppressed,
    except for errors and warnings.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self._words = stderr_console()
        self._results = stdout_console()
        self._quiet = quiet

    def say(self, text: str) -> None:
        """Write a message."""
        if not self._quiet:
            self._words.print(text, markup=False)

    def show_words(self, table: Table) -> None:
        """Write a table as a message, not as a result."""
        if not self._quiet:
            _print(self._words, table)

    def show(self, *parts: Table | str) -> None:
        """Write parts of a result for people."""
        if not self.as_json:
            for part in parts:
                _print(self._results, part)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result for programs."""
        if self.as_json:
            sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))
            sys.stdout.write("\n")


def json_value(value: Any) -> Any:
    """Return what JSON has as it is, and all else, such as dates and infinity, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _print(console: Console, part: Table | str) -> None:
    # Rich would wrap the table's own title at the width of the table.
    if isinstance(part, Table):
        console.print(part.title, style="bold", markup=False)
        part.title = None
    console.print(part, markup=False)


def command(function: Callable[P, R]) -> Callable[P, R]:
    """Show user errors as messages with an exit code, and warnings as messages."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _WarningsOnce()
            try:
                return function(*args, **kwargs)
            except KeyboardInterrupt as interrupt:
                _complain("Interrupted", str(interrupt) or "the command did not finish.")
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                # The reader has closed the pipe. Python would complain again when closing stdout.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(BROKEN_PIPE) from None
            except MISTAKES as error:
                if os.environ.get(DEBUG):
                    raise
                _complain("Error", _message(error))
                raise typer.Exit(MISTAKE) from None

    return wrapped


@contextmanager
def interrupted_after(what: str) -> Iterator[None]:
    """Make an interrupt in this block report what has been done."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(what) from None


@contextmanager
def interrupted_only_after(what: str) -> Iterator[None]:
    """Delay an interrupt to the end of this block, then report what has been done."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread receives interrupts.
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt(what)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    if isinstance(error, (ColumnError, OutcomeError)):
        return error_in_words(error)
    return str(error) or type(error).__name__


def _complain(kind: str, message: str) -> None:
    console = stderr_console()
    style = "bold red" if kind != "Warning" else "bold yellow"
    console.print(f"[{style}]{kind}:[/{style}]", end=" ")
    console.print(message, markup=False)


class _WarningsOnce:
    """Shows each warning only once per command: `predict` reads its table twice."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if isinstance(message, DoubtfulColumnWarning):
            text = doubts_in_words(message)
        elif isinstance(message, ClassOrderWarning):
            text = order_in_words(message)
        if text not in self._shown:
            self._shown.add(text)
            _complain("Warning", text)


def diagnostics_table(diagnostics: Diagnostics, title: str = "") -> Table:
    """Return R-hat and effective sample sizes as a table."""
    table = _new_table(f"{title}{diagnostics.title}")
    for j, text in enumerate(HEADINGS):
        table.add_column(text, justify="left" if j == 0 else "right", no_wrap=True)
    for quantity in diagnostics:
        table.add_row(*cells(quantity))
    return table


def _new_table(title: str) -> Table:
    return Table(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))


def plain_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table with text on the left and numbers on the right."""
    table = _new_table(title)
    for j, heading in enumerate(headings):
        column = [row[j] for row in rows]
        numeric = all(map(is_numeric, column))
        table.add_column(heading, justify="right" if numeric and rows else "left")
    for row in rows:
        table.add_row(*row)
    return table
