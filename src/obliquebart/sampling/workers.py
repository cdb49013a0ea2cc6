"""How the rows of a table are shared out among workers."""

from __future__ import annotations

from obliquebart import _core

# Shares begin at multiples of a power of two of blocks, as large as this many pieces of the table
# allow: the sums of a share then fall into few runs that travel.
MOST_PIECES = 256


def first_rows(n_rows: int, n_workers: int) -> list[int]:
    """Return the first row of each worker; in small tables, of fewer workers.

    Examples
    --------
    >>> first_rows(10_000, 4)
    [0, 2048, 5120, 7168]
    >>> first_rows(1500, 4)
    [0, 1024]
    """
    block = int(_core.BLOCK_ROWS)
    n_blocks = -(-n_rows // block)
    piece = 1
    while n_blocks > MOST_PIECES * piece:
        piece *= 2
    n_pieces = -(-n_blocks // piece)
    n_workers = min(n_workers, n_pieces)
    return [n_pieces * w // n_workers * piece * block for w in range(n_workers)]
