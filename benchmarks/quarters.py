"""Fits of quarters: what a parameter does on the training rows of the paper's sets.

Each quarter of the training rows of the first split of a set is held out in turn (its test rows are
not used), and predicted by several fits. A line per fit goes to a file; fits that are there are not
repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arrive
import numpy as np

from obliquebart.study.datasets import Library

N_PARTS = 4
# Of a whole set; three quarters of those are for training, and a quarter of them is held out.
MAX_ROWS = 2500
COPIES = ("echocardiogram",)  # of ilpd, in the paper's files
Line = dict[str, Any]
# The fits of a set, by quarter.
Fits = dict[str, list[Line]]


@dataclass(frozen=True)
class Question:
    """The parameters of fits by their names, on the sets of a task."""

    task: str
    fits: Mapping[str, Mapping[str, Any]]
    results: Path

    def main(self, description: str, write: Any) -> None:
        """Make the fits that are missing, unless only the report is wanted, and write it."""
        parser = argparse.ArgumentParser(description=description.split("\n")[0])
        parser.add_argument("--data", type=Path)
        parser.add_argument("--sets", nargs="*")
        parser.add_argument("--parts", nargs="*", type=int, default=range(N_PARTS))
        parser.add_argument("--workers", type=int, default=os.cpu_count())
        parser.add_argument("--seconds", type=float, default=math.inf, help="start no fit after")
        parser.add_argument("--report", action="store_true")
        options = parser.parse_args()
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[variable] = "1"
        if not options.report:
            self._run(options)
        write(self.by_set())

    def _run(self, options: argparse.Namespace) -> None:
        """Make the fits, a quarter of all sets after the other."""
        library = Library(options.data)
        records = library.records
        names = [
            name
            for name in options.sets or library.names(self.task)
            if records[name]["n"] <= MAX_ROWS and name not in COPIES
        ]
        done = {(line["set"], line["part"], line["fit"]) for line in arrive.read(self.results)}
        end = time.time() + options.seconds
        tasks = [
            (self, options.data, (name, part, fit), end)
            for part in options.parts
            for name in sorted(names, key=lambda name: -records[name]["n"])
            for fit in self.fits
            if (name, part, fit) not in done
        ]
        with (
            multiprocessing.get_context("fork").Pool(options.workers) as pool,
            self.results.open("a", encoding="utf-8") as file,
        ):
            for line in pool.imap_unordered(_measure, tasks):
                if line is not None:
                    file.write(json.dumps(line) + "\n")
                    file.flush()

    def by_set(self) -> dict[str, Fits]:
        """Return the quarters that all fits have, by set and fit."""
        lines = arrive.read(self.results)
        if not lines:
            raise SystemExit(f"There are no fits in {self.results} yet.")
        known = {(line["set"], line["part"], line["fit"]): line for line in lines}
        found: dict[str, Fits] = {}
        for name, part in sorted({key[:2] for key in known}):
            if all((name, part, fit) in known for fit in self.fits):
                for fit in self.fits:
                    found.setdefault(name, {}).setdefault(fit, []).append(known[name, part, fit])
        return found


def _measure(task: tuple[Question, Path, tuple[str, int, str], float]) -> Line | None:
    """Fit three quarters of a set and return the scores on the last; None if it is too late."""
    question, data, (name, part, fit), end = task
    if time.time() > end:
        return None
    problem = Library(data).load(name).problem(0)
    held_out = np.random.default_rng(0).permutation(len(problem.y_train)) % N_PARTS == part
    found = arrive.fitted(question.task, problem, held_out, question.fits[fit])
    return {"set": name, "part": part, "fit": fit, **found}


def means(fits: Fits, keys: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return means over the quarters, by fit and key."""
    return {
        fit: {key: float(np.mean([line[key] for line in lines])) for key in keys}
        for fit, lines in fits.items()
    }


def cells(means_of_set: Mapping[str, Mapping[str, float]], forms: Mapping[str, str]) -> list[str]:
    """Return means as a table has them: each key for all fits."""
    return [format(of[key], form) for key, form in forms.items() for of in means_of_set.values()]
