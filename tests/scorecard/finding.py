"""How the scripts of this folder end: with one line that the scorecard shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

FIGURE = "FIGURE "
"""What the line begins with."""


def finish(figure: str, problems: Sequence[str]) -> int:
    """Print what was found, and return the status of the process: 1 if there are problems."""
    for problem in problems:
        print(f"PROBLEM {problem}")
    if problems:
        figure = f"{len(problems)} problems; {figure}"
    print(f"{FIGURE}{figure}", flush=True)
    return 1 if problems else 0


def resident_bytes() -> int:
    """Return how much memory this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
