"""What does each difference between prior="paper" and prior="default" bring?

The paper's data sets and splits; each row of the table adds one difference to the row above, and
the last rows take one away from the default. Units run in processes; results are kept line by line,
so a second run does only what is missing.

    python benchmarks/ablation.py --data FOLDER [--splits 20] [--jobs 2] [--report]

With --inner a quarter of the training rows takes the place of the test rows: that is how defaults
are chosen, so that the test rows are left for confirming them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, UnseenLevelWarning
from obliquebart.model.parameters import PRESETS
from obliquebart.study.datasets import Library
from obliquebart.study.train_test import TrainTest

HERE = Path(__file__).resolve().parent
LINES = HERE / "results" / "ablation.jsonl"  # every unit; not committed
MEANS = HERE / "results" / "ablation.json"  # by variant and set
PAGE = HERE.parent / "docs" / "_generated" / "ablation.md"

PAPER, OURS = PRESETS["paper"], PRESETS["default"]
LEAVES = replace(PAPER, min_samples_leaf=1)
ROBUST = replace(LEAVES, robust_leaf=True)
MOVES = replace(
    ROBUST,
    p_change=OURS.p_change,
    p_perturb=OURS.p_perturb,
    output_correlation=OURS.output_correlation,
    scale_jointly=OURS.scale_jointly,
)
BLEND = replace(MOVES, feature_scaling="blend")
LEARNED = replace(BLEND, leaf_shape=OURS.leaf_shape)
COLUMNS = replace(LEARNED, theta_weight=OURS.theta_weight, axis_theta_a=OURS.axis_theta_a)
NOISE = replace(COLUMNS, sigma_quantile=OURS.sigma_quantile)
ESTIMATED = replace(NOISE, estimate_noise=True)
assert ESTIMATED == OURS

# Sweeps: chains, sweeps before the first draw, draws; what is missing is as in the estimators.
Length = dict[str, int]
EIGHT: Length = {"n_draws": 500}
LONGER: Length = {"n_burn": 2000, "n_draws": 500, "n_thin": 4}
ONE: Length = {"n_chains": 1, "n_burn": 1000, "n_draws": 1000}
FOUR: Length = {"n_chains": 4, "n_burn": 1000, "n_draws": 1000}

# Name in the table: preset, length.
VARIANTS: dict[str, tuple[Any, Length]] = {
    "the paper's prior": (PAPER, ONE),
    "+ no empty leaves": (LEAVES, ONE),
    "+ leaf scale bounded by sd(y)": (ROBUST, ONE),
    "+ more moves": (MOVES, ONE),
    "+ blended scaling": (BLEND, ONE),
    "+ leaf scale learned": (LEARNED, ONE),
    "+ theta for each column": (COLUMNS, ONE),
    "+ prior of sigma": (NOISE, ONE),
    "+ eight short chains": (NOISE, EIGHT),
    "the same, four chains of 1000 + 1000": (NOISE, FOUR),
    "the same without moves": (
        replace(NOISE, p_change=0.0, p_perturb=0.0, output_correlation=0.0, scale_jointly=False),
        None,
    ),
    "+ estimated noise, 2000 + 2000 sweeps": (OURS, LONGER),
}

Unit = tuple[str, int, str]
library: Library
inner: bool


def inner_problem(problem: TrainTest, split: int) -> TrainTest:
    """Hold a quarter of the training rows out."""
    n = len(problem.y_train)
    held_out = np.random.default_rng([split, n]).permutation(n) < n // 4
    return replace(
        problem,
        train=problem.train.take(~held_out),
        test=problem.train.take(held_out),
        y_train=problem.y_train[~held_out],
        y_test=problem.y_train[held_out],
    )


def run(unit: Unit) -> dict[str, Any]:
    """Fit one variant to one split."""
    name, split, variant = unit
    preset, length = VARIANTS[variant]
    PRESETS["ablation"] = preset
    problem = library.load(name).problem(split)
    if inner:
        problem = inner_problem(problem, split)
    regression = problem.task == "regression"
    kind = ObliqueBARTRegressor if regression else ObliqueBARTClassifier
    model = kind(
        prior="ablation",
        **length,
        categorical_features=problem.train.categorical,
        n_jobs=1,
        random_state=split,
        progress=False,
    )
    x, y = problem.test.with_codes(), problem.y_test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        model.fit(problem.train.with_codes(), problem.y_train)
        mean = model.predict(x) if regression else model.predict_proba(x)[:, 1]
        if regression:
            low, high = model.predict_interval(x, 0.9, kind="outcome").T
    out = {"set": name, "split": split, "variant": variant, "task": problem.task}
    if not regression:
        p = np.clip(np.where(y > 0.5, mean, 1 - mean), 1e-9, 1)
        return {**out, "accuracy": float((p > 0.5).mean()), "log_loss": float(-np.log(p).mean())}
    error, reference = ((y - mean) ** 2).mean(), ((y - problem.y_train.mean()) ** 2).mean()
    coverage = float(((low <= y) & (y <= high)).mean())
    return {**out, "smse": float(error / reference), "coverage": coverage}


def start(folder: str, on_training_rows: bool = False) -> None:
    """Open the data in a worker."""
    global library, inner
    library, inner = Library(Path(folder)), on_training_rows


def means(rows: list[dict[str, Any]], variant: str, key: str) -> dict[str, float]:
    by_set: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["variant"] == variant and key in row:
            by_set[row["set"]].append(row[key])
    return {name: float(np.mean(values)) for name, values in by_set.items()}


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of means over the data sets."""
    lines = ["| | SMSE | coverage of 90% | accuracy | log loss |", "|---|---|---|---|---|"]
    for variant in VARIANTS:
        cells = []
        for key, digits in [("smse", 4), ("coverage", 3), ("accuracy", 4), ("log_loss", 4)]:
            found = means(rows, variant, key)
            cells.append(f"{np.mean(list(found.values())):.{digits}f}" if found else "")
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    n_sets = {key: len(means(rows, "the paper's prior", key)) for key in ("smse", "accuracy")}
    splits = 1 + max(row["split"] for row in rows)
    lines.append(
        f"\nMeans over {n_sets['smse']} regression and {n_sets['accuracy']} classification sets "
        f"(diamonds left out), {splits} splits each; `benchmarks/ablation.py`."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--report", action="store_true", help="only write the table")
    parser.add_argument("--inner", action="store_true", help="only print, on training rows")
    args = parser.parse_args()
    if args.inner:
        args.lines = args.lines.with_name("ablation_inner.jsonl")
    rows = [json.loads(line) for line in args.lines.open()] if args.lines.exists() else []
    if not args.report:
        done = {(row["set"], row["split"], row["variant"]) for row in rows}
        sets = [name for name in Library(Path(args.data)).names() if name != "diamonds"]
        units = [(n, s, v) for s in range(args.splits) for n in sets for v in VARIANTS]
        units = [unit for unit in units if unit not in done]
        args.lines.parent.mkdir(parents=True, exist_ok=True)
        with Pool(args.jobs, start, (args.data, args.inner)) as pool, args.lines.open("a") as file:
            for row in pool.imap_unordered(run, units):
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
    print(table(rows))
    if args.inner:
        return
    keys = ("smse", "coverage", "accuracy", "log_loss")
    by_set = {v: {key: means(rows, v, key) for key in keys} for v in VARIANTS}
    MEANS.write_text(json.dumps(by_set, indent=1) + "\n", encoding="utf-8")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
