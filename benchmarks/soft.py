"""Do soft rules pay on the paper's data sets?

A quarter of the training rows of the first split of each set is held out, as by arrive.py (its test
rows are not used), and predicted by the default model with hard rules and with soft ones.

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
FITS = ("default", "soft")
SCORES = (("error", ".4f"), ("log_density", ".3f"), ("coverage", ".3f"))
Pair = tuple[dict[str, Any], dict[str, Any]]


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
    names = sorted(options.sets or library.names(), key=lambda name: library.records[name]["n"])
    end = time.time() + options.seconds
    tasks = [
        (options.data, name, fit, end) for name in names for fit in FITS if (name, fit) not in done
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
    """Return the table, and how often soft rules are ahead."""
    by_set: dict[str, dict[str, Any]] = {}
    for line in lines:
        by_set.setdefault(line["set"], {})[line["fit"]] = line
    pairs: dict[str, Pair] = {
        name: (fits["default"], fits["soft"])
        for name, fits in sorted(by_set.items())
        if fits.keys() >= set(FITS)
    }
    rows = [
        "| set | rows | error: hard | soft | log density: hard | soft | 90% holds: hard | soft "
        "| verdict: hard | soft | CPU s: hard | soft |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, pair in pairs.items():
        cells = [arrive.cell(fit.get(key), form) for key, form in SCORES for fit in pair]
        cells += [fit["tier"] for fit in pair] + [f"{fit['seconds']:.0f}" for fit in pair]
        rows.append(f"| {name} | {pair[0]['n']} | {' | '.join(cells)} |")
    for task in ("numbers", "labels"):
        of_task = [pair for pair in pairs.values() if ("sigma" in pair[0]) == (task == "numbers")]
        rows += ["", _summary(task, of_task)]
    return "\n".join([*rows, ""])


def _summary(task: str, pairs: list[Pair]) -> str:
    error, density = (
        [float(np.mean([fit[key] for fit in fits])) for fits in zip(*pairs, strict=True)]
        for key in ("error", "log_density")
    )
    lower = sum(soft["error"] < hard["error"] for hard, soft in pairs)
    higher = sum(soft["log_density"] > hard["log_density"] for hard, soft in pairs)
    return (
        f"Means over {len(pairs)} sets with {task}, hard and soft: error {error[0]:.4f} and "
        f"{error[1]:.4f} (soft lower on {lower}), log density {density[0]:.3f} and "
        f"{density[1]:.3f} (soft higher on {higher})."
    )


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    main()
