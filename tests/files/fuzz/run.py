"""Fuzz what is read from outside: model files, checkpoints and CSV files.

`python tests/files/fuzz/run.py --seconds 120` stops with an error at the first crash, hang, use of
much memory, or exception that a user should not see, and leaves the input in `--folder`.
`make fuzz` runs it under the address sanitizer.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from models import CheckpointTarget, ModelTarget
from tables import TableTarget

HANG_SECONDS = 30
# More than the inputs need, with what the sanitizer keeps of freed memory.
MOST_MEMORY = 1_500_000_000
CHANCES = (0.4, 0.2, 0.4)


class Target(Protocol):
    """Something that reads files."""

    name: str

    def next_input(self) -> bytes:
        """Return the bytes of a file."""

    def attempt(self, data: bytes) -> str:
        """Say what became of an input, "refused" or "harmless", and let all else escape."""


def fuzz(targets: list[Target], seconds: float, rng: np.random.Generator, last: Path) -> str:
    """Try inputs for a while, and return how many there were of each kind."""
    counts: collections.Counter[str] = collections.Counter()
    memory = peak_memory()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        target = targets[rng.choice(len(targets), p=CHANCES)]
        data = target.next_input()
        # There after a crash, so that it can be repeated.
        last.write_bytes(data)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            outcome = target.attempt(data)
            if peak_memory() - memory > MOST_MEMORY:
                raise AssertionError(f"{(peak_memory() - memory) / 1e9:.1f} GB of memory")
        except BaseException:
            print(f"after {sum(counts.values())} inputs, a {target.name}: {last}", flush=True)
            raise
        faulthandler.cancel_dump_traceback_later()
        counts[f"{target.name} {outcome}"] += 1
    return in_words(counts)


def in_words(counts: collections.Counter[str]) -> str:
    """Return how many inputs there were, and how many were refused, of each kind."""
    names = dict.fromkeys(key.rpartition(" ")[0] for key in sorted(counts))
    parts = []
    for name in names:
        refused, harmless = counts[f"{name} refused"], counts[f"{name} harmless"]
        parts.append(f"{refused + harmless:,} {name} ({refused:,} refused)")
    return f"{sum(counts.values()):,} inputs, no find: {', '.join(parts)}"


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "obart-fuzz")
    options = parser.parse_args(words)
    options.folder.mkdir(exist_ok=True, parents=True)
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"seed {seed}, inputs in {options.folder}", flush=True)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    rng = np.random.default_rng(seed)
    targets: list[Target] = [
        ModelTarget(rng),
        CheckpointTarget(rng, options.folder),
        TableTarget(rng, options.folder),
    ]
    print(f"FIGURE {fuzz(targets, options.seconds, rng, options.folder / 'last')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
