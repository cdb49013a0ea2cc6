"""What a mutant is: one small change at one place of one file, with a number."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """Text that replaces the bytes [start, end) of a file; a statement is not an expression.

    `parts` are the stretches of the old text that `new` mentions as {0} and {1}. In Python, `path`
    is the way to the node, and `new` the number of its replacement.
    """

    file: str
    line: int
    start: int
    end: int
    what: str
    new: str
    parts: tuple[tuple[int, int], ...] = ()
    statement: bool = False
    path: str = ""


@dataclass(frozen=True)
class Mutant:
    """A change that was chosen, and its number in the build."""

    number: int
    file: str
    line: int
    text: str
    what: str

    @property
    def key(self) -> tuple[str, str, str]:
        """File, text of the line and change: the same after small edits elsewhere."""
        return self.file, self.text, self.what

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}\n    {self.text}"


def line_text(source: str, line: int) -> str:
    return source.splitlines()[line - 1].strip()


def shuffled(changes: list[Change], sources: dict[str, str], seed: int) -> list[Change]:
    """Put them in a random order that small edits elsewhere in the sources hardly change."""

    def place(change: Change) -> bytes:
        text = line_text(sources[change.file], change.line)
        named = f"{seed}:{change.file}:{text}:{change.what}:{change.new}"
        return hashlib.sha256(named.encode()).digest()

    return sorted(changes, key=lambda change: (place(change), change.start))


def one_per_place(changes: list[Change], most: int, deepest: int = 3) -> list[Change]:
    """Take the first `most` that do not share a stretch of text, nor lie deep within each other."""
    taken: list[Change] = []
    spans: set[tuple[str, int, int]] = set()
    for change in changes:
        span = (change.file, change.start, change.end)
        around = sum(holds(other, change) or holds(change, other) for other in taken)
        if span in spans or around > deepest:
            continue
        spans.add(span)
        taken.append(change)
        if len(taken) == most:
            break
    return taken


def holds(outer: Change, inner: Change) -> bool:
    return outer.file == inner.file and outer.start <= inner.start and inner.end <= outer.end
