"""Do the paper's own numbers come back, with its prior and its splits?

One chain of 1000 + 1000 sweeps of 200 trees per split. SMSE is the test mean square error over that
of the training mean, as in the paper; accuracy is the share of test rows on the right side of 1/2.

    python benchmarks/paper_numbers.py regression --data DIR
    python benchmarks/paper_numbers.py classification --data DIR

DIR (or the variable OBLIQUEBART_DATA) holds datasets.json, paper_results.json, splits/ and the two
folders of tables. Every fit is a line of the file --units, so that a run can be resumed;
delete it to start anew.

The test. Ours and the paper's are means over the same splits, so they differ by Monte Carlo noise
only: t is the difference, less the rounding of the paper's table, over sqrt(v/S + v/(S R)), where v
is the variance between our R seeds within a split and S the number of splits. This is sharp:
it sees a difference of 1%, and the paper's program is not an exact sampler of its model (it
accepts every split of a root). "within" is therefore decided on the noise that a reader of the
table has, the standard error of a mean over splits: |difference| <= 3 sd / sqrt(S) + 0.0005.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pandas as pd
import timing
from table import print_table

REGRESSION = ("servo", "mpg", "diabetes", "attend", "abalone", "labor", "rice")
TABLES = {"regression": "tab:aa_vs_obl_table_reg", "classification": "tab:aa_vs_obl_table_class"}
ROUNDING = 0.0005
PAPER_SPLITS = 20


@dataclass(frozen=True)
class Unit:
    """One fit."""

    name: str
    task: str
    split: int
    scaling: str  # "range": every column by its own range; "joint": one range for all
    min_samples_leaf: int  # 0 is the paper's prior, with empty leaves
    seed: int


@functools.cache
def records(data: Path) -> dict[str, dict[str, Any]]:
    return {record["name"]: record for record in json.loads((data / "datasets.json").read_text())}


@functools.lru_cache(maxsize=4)
def load(data: Path, name: str) -> tuple[pd.DataFrame, np.ndarray, list[list[int]]]:
    """The table, its target and the test rows of the splits."""
    record = records(data)[name]
    kinds = dict.fromkeys(record["categorical_columns"], str)
    # Levels such as "NA" are levels; there are no missing values in these files.
    table = pd.read_csv(data / record["file"], dtype=kinds, keep_default_na=False)
    splits = json.loads(gzip.decompress((data / record["splits"]["file"]).read_bytes()))["test"]
    return table.drop(columns="target"), table["target"].to_numpy(np.float64), splits


def run(data: Path, unit: Unit) -> dict[str, Any]:
    from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, UnseenLevelWarning

    x, y, splits = load(data, unit.name)
    test = np.zeros(len(y), bool)
    test[splits[unit.split]] = True
    kind = ObliqueBARTRegressor if unit.task == "regression" else ObliqueBARTClassifier
    model = kind(
        prior="paper", n_trees=200, n_burn=1000, n_draws=1000, n_chains=1, n_jobs=1,
        min_samples_leaf=unit.min_samples_leaf, feature_scaling=unit.scaling,
        random_state=1000 * unit.seed + unit.split, progress=False,
    )  # fmt: skip
    # The same test sets have unseen levels in every run; said once in their README is enough.
    warnings.simplefilter("ignore", UnseenLevelWarning)
    start = time.perf_counter()
    model.fit(x[~test], y[~test])
    fitted = time.perf_counter() - start
    if unit.task == "regression":
        error = np.mean((y[test] - model.predict(x[test])) ** 2)
        score = error / np.mean((y[test] - y[~test].mean()) ** 2)
    else:
        score = np.mean(model.predict(x[test]) == y[test])
    return asdict(unit) | {"score": float(score), "fit_s": fitted, "core": _core_hash()}


@functools.cache
def _core_hash() -> str:
    from obliquebart import _core

    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]


def plan(data: Path, options: argparse.Namespace) -> list[Unit]:
    known = records(data)
    names = options.sets or (
        REGRESSION
        if options.task == "regression"
        else [name for name, record in known.items() if record["task"] == "classification"]
    )
    return [
        Unit(name, options.task, split, scaling, leaf, seed)
        for seed in range(options.seeds)
        for split in range(options.splits)
        for name in names
        for scaling in ("range", "joint")
        for leaf in options.min_samples_leaf
        if scaling == "range" or known[name]["rdata_scaling"] == "joint"
    ]


def missing(units: Iterable[Unit], done: Path) -> list[Unit]:
    have = {Unit(**{f: row[f] for f in Unit.__dataclass_fields__}) for row in read(done)}
    return [unit for unit in units if unit not in have]


def read(done: Path) -> list[dict[str, Any]]:
    if not done.exists():
        return []
    return [json.loads(line) for line in done.read_text().splitlines()]


def run_all(data: Path, units: list[Unit], done: Path, jobs: int) -> None:
    done.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, done.open("a") as lines:
        futures = [pool.submit(run, data, unit) for unit in units]
        for count, future in enumerate(as_completed(futures), 1):
            lines.write(json.dumps(future.result()) + "\n")
            lines.flush()
            if count % 50 == 0 or count == len(futures):
                print(f"{count} of {len(futures)} fits", file=sys.stderr)


def summarise(data: Path, rows: list[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    """A row a data set, scaling and leaf size."""
    paper = json.loads((data / "paper_results.json").read_text())["values"][TABLES[task]]
    frame = pd.DataFrame(rows)
    found = []
    for (name, scaling, leaf), group in frame.groupby(["name", "scaling", "min_samples_leaf"]):
        by_split = group.groupby("split")["score"]
        splits, seeds = len(by_split), int(by_split.size().min())
        sd = float(by_split.mean().std(ddof=1))
        theirs = paper[name]["obliqueBART"]
        difference = float(by_split.mean().mean()) - theirs
        row = {
            "set": name,
            "scaling": scaling,
            "as_in_paper": scaling == _paper_scaling(data, name),
            "min_samples_leaf": int(leaf),
            "splits": splits,
            "seeds": seeds,
            "ours": float(by_split.mean().mean()),
            "paper": theirs,
            "difference": difference,
            "split_se": sd / math.sqrt(splits),
            "within": abs(difference) <= 3 * sd / math.sqrt(splits) + ROUNDING,
        }
        if seeds > 1:
            row["t"] = _sharp(difference, by_split, splits, seeds, sd)
        found.append(row)
    return found


def _sharp(difference: float, by_split: Any, splits: int, seeds: int, sd: float) -> float:
    between_seeds = float(by_split.var(ddof=1).mean())
    # A mean over fewer splits than the paper's also has the noise of the choice of splits.
    choice = sd**2 * max(1 / splits - 1 / PAPER_SPLITS, 0.0)
    variance = between_seeds / PAPER_SPLITS + between_seeds / (splits * seeds) + choice
    beyond = max(abs(difference) - ROUNDING, 0.0)
    if beyond == 0.0 or variance == 0.0:
        return 0.0
    return math.copysign(beyond / math.sqrt(variance), difference)


def _paper_scaling(data: Path, name: str) -> str:
    return "joint" if records(data)[name]["rdata_scaling"] == "joint" else "range"


def averages(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean over all sets, with the scaling of the paper and with every column by its own."""
    frame = pd.DataFrame(rows)
    found = []
    for leaf in sorted(frame["min_samples_leaf"].unique()):
        some = frame[frame["min_samples_leaf"] == leaf]
        for label, part in (
            ("as in the paper", some[some["as_in_paper"]]),
            ("range", some[some["scaling"] == "range"]),
        ):
            found.append(
                {
                    "set": f"mean of {len(part)}",
                    "scaling": label,
                    "min_samples_leaf": int(leaf),
                    "ours": float(part["ours"].mean()),
                    "paper": float(part["paper"].mean()),
                    "difference": float(part["difference"].mean()),
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=tuple(TABLES))
    parser.add_argument("--data", type=Path, default=os.environ.get("OBLIQUEBART_DATA"))
    parser.add_argument("--units", type=Path, default=Path("build/paper_numbers.jsonl"))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--splits", type=int, default=PAPER_SPLITS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--min-samples-leaf", type=int, nargs="+", default=(0, 1))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or OBLIQUEBART_DATA")
    data = Path(options.data).resolve()

    before = machine.describe()
    units = plan(data, options)
    run_all(data, missing(units, options.units), options.units, options.jobs)
    wanted = {tuple(asdict(unit).values()) for unit in units}
    rows = [
        row
        for row in read(options.units)
        if tuple(row[f] for f in Unit.__dataclass_fields__) in wanted
    ]
    found = summarise(data, rows, options.task)
    found += averages(found)
    before["cores_hashed"] = sorted({row["core"] for row in rows})
    timing.save(f"paper_{options.task}", found, before)
    print_table(found)


if __name__ == "__main__":
    main()
