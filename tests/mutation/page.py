"""The page of memory that says which mutant is on, and which were reached. See switch.h.

A copy of this module stands beside mutated Python sources as `obliquebart_mutants`.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

SIZE = 65536
HEAD = 4
VARIABLE = "OBLIQUEBART_MUTANTS"


def make(path: Path) -> None:
    path.write_bytes(bytes(SIZE))


class Page:
    """One page, shared by every process that opens the same file."""

    def __init__(self, path: str | None) -> None:
        self.memory: mmap.mmap | bytearray = bytearray(SIZE)
        if path is not None:
            with open(path, "r+b") as file:
                self.memory = mmap.mmap(file.fileno(), SIZE)
        self.numbers = memoryview(self.memory).cast("i")

    def is_on(self, number: int) -> bool:
        self.memory[HEAD + number] = 1
        return self.numbers[0] == number

    def choose(self, number: int) -> None:
        self.numbers[0] = number

    def forget(self) -> None:
        self.memory[HEAD:] = bytes(SIZE - HEAD)

    def reached(self) -> list[int]:
        seen = bytes(self.memory[HEAD:])
        return [number for number, byte in enumerate(seen) if byte]


PAGE = Page(os.environ.get(VARIABLE))
mutant = PAGE.is_on
