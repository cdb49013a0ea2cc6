"""The parts that get a score of their own: their sources and the tests that have to kill."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Left out of the sampler: code for graphics cards, whose tests need one, the choice of the number
# of threads and of memory nodes, which changes no draw, and bindings.
LEFT_OUT = ("cpp/backend/card/", "cpp/base/numa.", "cpp/base/thread_chooser.", "cpp/python/")


@dataclass(frozen=True)
class Part:
    """Sources, and tests in stages: a later one runs only for mutants that survive the others.

    A mutant counts if a test of the first stage reaches it. Within a stage, the tests that kill
    most come first.
    """

    name: str
    sources: tuple[str, ...]
    stages: tuple[tuple[str, ...], ...]

    def files(self, root: Path = ROOT) -> list[str]:
        found = (str(path.relative_to(root)) for glob in self.sources for path in root.glob(glob))
        return sorted(name for name in set(found) if not name.startswith(LEFT_OUT))


PARTS = {
    "sampler": Part(
        "sampler",
        ("cpp/**/*.h", "cpp/**/*.cpp"),
        (
            (
                *("tests/core/test_settings.py", "tests/core/test_trace.py"),
                *("tests/core/test_draw_arrays.py", "tests/exact/test_same_draws.py", "tests/core"),
            ),
            (
                *("tests/exact/test_invariants.py", "tests/exact/test_lp.py"),
                *("tests/exact/test_rng.py", "tests/exact/test_polya_gamma.py"),
                *("tests/exact/test_support.py", "tests/exact/test_directions.py"),
                *("tests/exact/test_soft.py", "tests/exact/test_soft_outcomes.py"),
                "tests/exact/test_card.py",
                *("tests/unit/sampling", "tests/unit/posterior"),
            ),
        ),
    ),
    "file reader": Part(
        "file reader",
        ("src/obliquebart/files/*.py",),
        (
            (
                *("tests/files/test_reader_checks.py", "tests/files/test_checkpoint_checks.py"),
                "tests/files",
            ),
        ),
    ),
}
