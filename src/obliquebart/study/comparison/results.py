"""Results as a table to query: the scores of a method on a data set, split by split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.study import synthetic
from obliquebart.study.fetch import packaged
from obliquebart.study.store import read_table

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Variant:
    """A column of a table: a method, the inputs it got, and its rotations."""

    method: str
    inputs: str = "correct"
    rotations: int = 0


class Results:
    """All results of a run, from `store.read_table`; failed ones are only counted."""

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        lines = list(lines)
        done = [line for line in lines if line["status"] == "done"]
        self.n_units, self.n_bad = len(lines), len(lines) - len(done)
        self.seconds = sum(line["metrics"]["cpu_seconds"] for line in done)
        self._metrics: dict[tuple[str, Variant], dict[int, dict[str, float]]] = {}
        for line in done:
            unit = line["unit"]
            variant = Variant(unit["method"], unit["inputs"], unit["rotations"])
            place = self._metrics.setdefault((unit["data"], variant), {})
            place[unit["split"]] = line["metrics"] | {"memory_mb": line["memory_mb"]}
        entries = [*packaged("catalogue.json"), *packaged("datasets_extra.json")]
        self.catalogue: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in entries}

    @classmethod
    def read(cls, table: Path) -> Results:
        """Read what a run wrote."""
        return cls(read_table(table))

    def sets(self, task: str | None = None) -> list[str]:
        """Return the paper's data sets, of one task or all, that have any result."""
        present = {data for data, _ in self._metrics}
        return [
            name
            for name, entry in self.catalogue.items()
            if name in present and "paper" in entry and task in (None, entry["task"])
        ]

    def cells(self) -> list[synthetic.Synthetic]:
        """Return the synthetic problems that have any result."""
        found = {synthetic.parse(data) for data, _ in self._metrics} - {None}
        return sorted(
            (cell for cell in found if cell is not None),
            key=lambda cell: (cell.function, cell.n, cell.jump, cell.step),
        )

    def by_split(self, data: str, variant: Variant, metric: str = "score") -> dict[int, float]:
        """Return a metric split by split."""
        found = self._metrics.get((data, variant), {})
        return {split: m[metric] for split, m in sorted(found.items()) if metric in m}

    def mean(self, data: str, variant: Variant, metric: str = "score") -> float:
        """Return the mean over splits, NaN if there are none."""
        values = list(self.by_split(data, variant, metric).values())
        return float(np.mean(values)) if values else float("nan")

    def pairs(
        self, data: str, one: Variant, other: Variant, metric: str = "score"
    ) -> tuple[FloatArray, FloatArray]:
        """Return the metric of two variants on the splits that both have."""
        a, b = self.by_split(data, one, metric), self.by_split(data, other, metric)
        common = sorted(a.keys() & b.keys())
        return np.array([a[i] for i in common]), np.array([b[i] for i in common])
