"""Do soft rules pay on the paper's data sets?

A quarter of the training rows of the first split of each set is held out, as by arrive.py (its test
rows are not used), and predicted by the default model with hard rules, with soft ones, and, for
numbers, with those that short fits choose, which is the default.

    python benchmarks/soft.py --data FOLDER [--sets mpg servo] [--workers 2] [--seconds 600]
    python benchmarks/soft.py --report

The first writes a line per fit to results/soft.jsonl (fits that are there are not repeated), the
second writes the table of docs/soft_measured.md.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import arrive
import numpy as np

from obliquebart.study.datasets import Library

RESULTS = arrive.RESULTS.with_name("soft.jsonl")
TABLE = arrive.TABLES.with_name("soft.md")
# With labels, soft="auto" is False.
FITS = {
    "numbers": {"hard": "hard", "soft": "soft", "default": "auto"},
    "labels": {"hard": "hard", "soft": "soft"},
}
TASKS = {"regression": "numbers", "classification": "labels"}
FORMS = {"error": ".4f", "log_density": ".3f", "coverage": ".3f"}
SCORES = {"error": "error", "log_density": "log density", "coverage": "90% holds"}
Fits = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no fit after these")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        run(options)
    TABLE.write_text(report(arrive.read(RESULTS)), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))


def run(options: argparse.Namespace) -> None:
    """Make the fits that are missing, small sets first."""
    library = Library(options.data)
    done = {(line["set"], line["fit"]) for line in arrive.read(RESULTS)}
    part = 0
    names = sorted(options.sets or library.names(), key=lambda name: library.records[name]["n"])
    end = time.time() + options.seconds
    tasks = [
        (options.data, name, part, fit, end)
        for name in names
        for fit in FITS[TASKS[library.records[name]["task"]]]
        if (name, fit) not in done
    ]
    with (
        multiprocessing.get_context("fork").Pool(options.workers) as pool,
        RESULTS.open("a", encoding="utf-8") as file,
    ):
        for line in pool.imap_unordered(arrive.measure, tasks):
            if line is not None:
                file.write(json.dumps(line) + "\n")
                file.flush()


def report(lines: list[dict[str, Any]]) -> str:
    """Return a table of the sets with numbers, and one of those with labels."""
    by_set: dict[str, dict[str, Any]] = {}
    for line in lines:
        by_set.setdefault(line["set"], {})[line["fit"]] = line
    parts = []
    for task, names in FITS.items():
        complete = {
            name: [fits[fit] for fit in names]
            for name, fits in sorted(by_set.items())
            if fits.keys() >= names.keys() and ("sigma" in fits["hard"]) == (task == "numbers")
        }
        parts += [*_table(complete, list(names.values())), ""]
        parts += [*_means(task, list(complete.values()), list(names.values())), ""]
    return "\n".join(parts)


def _table(sets: dict[str, Fits], names: list[str]) -> list[str]:
    heads = ["set", "rows"]
    for text in (*SCORES.values(), "verdict", "CPU s"):
        heads += [f"{text}: {names[0]}", *names[1:]]
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, fits in sets.items():
        cells = [arrive.cell(fit.get(key), form) for key, form in FORMS.items() for fit in fits]
        cells += [fit["tier"] for fit in fits] + [f"{fit['seconds']:.0f}" for fit in fits]
        chosen = f" ({'soft' if fits[-1]['is_soft'] else 'hard'})" if "auto" in names else ""
        rows.append(f"| {name}{chosen} | {fits[0]['n']} | {' | '.join(cells)} |")
    return rows


def _means(task: str, sets: list[Fits], names: list[str]) -> list[str]:
    """Return a line per kind of fit, and on how many sets it is ahead of hard rules."""
    rows = [f"Means over {len(sets)} sets with {task}:", ""]
    for i, name in enumerate(names):
        error, density = (
            float(np.mean([fits[i][key] for fits in sets])) for key in ("error", "log_density")
        )
        lower = sum(fits[i]["error"] < fits[0]["error"] for fits in sets)
        higher = sum(fits[i]["log_density"] > fits[0]["log_density"] for fits in sets)
        on = [f" (lower on {lower})", f" (higher on {higher})"] if i else ["", ""]
        rows.append(f"- {name}: error {error:.4f}{on[0]}, log density {density:.3f}{on[1]}")
    return rows


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    main()
