"""Row partitions. A block of rows is a bit mask; a partition is a sorted tuple of masks."""

from __future__ import annotations

from collections.abc import Iterable

Partition = tuple[int, ...]


def partition(blocks: Iterable[int]) -> Partition:
    """The canonical form: empty blocks dropped, the rest sorted."""
    return tuple(sorted(block for block in blocks if block))


def key(blocks: Partition, n_rows: int) -> int:
    """Four bits a row, row 0 in the low bits; labels in order of first appearance."""
    labels: dict[int, int] = {}
    out = 0
    for row in range(n_rows):
        block = next(b for b in blocks if b >> row & 1)
        out |= labels.setdefault(block, len(labels)) << (4 * row)
    return out


def from_key(code: int, n_rows: int) -> Partition:
    blocks: dict[int, int] = {}
    for row in range(n_rows):
        label = code >> (4 * row) & 15
        blocks[label] = blocks.get(label, 0) | 1 << row
    return partition(blocks.values())


def rows_of(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]
