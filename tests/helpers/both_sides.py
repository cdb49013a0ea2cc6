"""One CSV file, fitted and predicted by the command line and from `pandas.read_csv`."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import obliquebart
from obliquebart.cli import app
from obliquebart.estimators import BY_TASK

MAX_CLASSES = 5
OUTCOMES = {"regression": "number", "classification": "class"}
SIZES = {"n_trees": 10, "n_burn": 20, "n_draws": 20, "n_chains": 1}


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
        is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if is_number and values.nunique() > MAX_CLASSES:
            return Task(path, frame, column, "regression")
    for column in reversed(frame.columns):
        if 2 <= frame[column].dropna().nunique() <= MAX_CLASSES:
            return Task(path, frame, column, "classification")
    return None


def command(*words: object) -> None:
    words_out = io.StringIO()
    with contextlib.redirect_stderr(words_out), contextlib.redirect_stdout(words_out):
        code = app([str(word) for word in words], standalone_mode=False)
    if code:
        raise RefusedError("command line: " + " ".join(words_out.getvalue().split())[-300:])


def fit_by_command(task: Task, path: Path) -> None:
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in SIZES.items()]
    command(
        *("fit", task.path, "-t", task.target, "--outcome", OUTCOMES[task.kind], "-o", path, "-q"),
        *(*sizes, "--seed", 1, "-j", 1),
    )


def fit_by_pandas(task: Task, path: Path) -> None:
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
    columns = pd.read_csv(out, dtype=str)  # pandas 2 does not read all numbers exactly
    if task.kind == "regression":
        return columns["prediction"].to_numpy(float)
    return columns.filter(like="probability_").to_numpy(float)


def predict_by_pandas(task: Task, path: Path) -> np.ndarray:
    model = obliquebart.load(path)
    try:
        predict = model.predict if task.kind == "regression" else model.predict_proba
        return np.asarray(predict(task.table()))
    except (TypeError, ValueError) as error:
        raise RefusedError(f"pandas: {error}"[:300]) from error


def same_draws(first: Path, second: Path) -> bool:
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
