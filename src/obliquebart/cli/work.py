"""What the commands do, between files and screen."""

from __future__ import annotations

import ast
import csv
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import obliquebart
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.cli.datafile import PARQUET, DataFile, FileError, frame_backend
from obliquebart.cli.screen import diagnostics_table, plain_table
from obliquebart.diagnostics import Diagnostics, diagnose
from obliquebart.encoding import Encoding
from obliquebart.encoding.encoding import check_not_free_text, doubts_about_text
from obliquebart.evaluation import evaluate, score_text
from obliquebart.exceptions import DoubtfulColumnWarning, warn_caller
from obliquebart.learnt import Learnt, labelled_posteriors, learn, trained_on

Columns = dict[str, NDArray[Any]]
SHOWN_TYPES = 40


@dataclass(frozen=True)
class Problem:
    """What to fit: a table, its outcomes, and how they were understood."""

    file: DataFile
    target: str
    X: Columns
    y: NDArray[Any]
    categorical: list[str]
    classification: bool
    n_dropped: int

    def in_words(self) -> str:
        """Return a sentence about the task."""
        words = f"{len(self.y)} rows, {len(self.X)} columns. Target {self.target!r}: "
        if self.classification:
            labels = [str(label) for label in np.unique(self.y)]
            shown = ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
            words += f"classification, {len(labels)} classes ({shown})."
        else:
            words += f"regression, {self.y.min():.6g} to {self.y.max():.6g}."
        if self.n_dropped:
            words += f" {self.n_dropped} rows without a target were left out."
        return words

    def table_of_types(self) -> Table:
        """Return the columns and what they were taken for."""
        rows = []
        for name in self.X:
            kind, words = self.file.columns[name].describe()
            categorical = kind == "text" or name in self.categorical
            rows.append([name, "categorical" if categorical else "continuous", words])
        more = len(rows) - SHOWN_TYPES
        if more > 0:
            rows = [*rows[:SHOWN_TYPES], [f"{more} more", "", ""]]
        return plain_table(f"Columns of {self.file.name}", ["column", "taken as", "values"], rows)

    def new_model(self, parameters: dict[str, Any]) -> Any:
        """Return an estimator."""
        cls = ObliqueBARTClassifier if self.classification else ObliqueBARTRegressor
        known = set(cls().get_params())
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(
                f"There is no parameter {unknown[0]!r}; there are {', '.join(sorted(known))}."
            )
        return cls(**{"categorical_features": self._categories(), **parameters})

    def _categories(self) -> list[str]:
        """Return the columns of text and those declared; long lists of texts must be declared."""
        text = [name for name, values in self.X.items() if values.dtype.kind == "O"]
        doubts: list[str] = []
        for name in text:
            if name not in self.categorical:
                levels = set(self.X[name].tolist()) - {None}
                check_not_free_text(name, len(levels), len(self.y))
                doubts += doubts_about_text(name, levels, len(self.y))
        if doubts:
            warn_caller(
                f"{' '.join(doubts)} --drop NAME leaves such a column out; --categorical NAME "
                "says that it is a category after all.",
                DoubtfulColumnWarning,
            )
        return list(dict.fromkeys([*text, *self.categorical]))

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "target": self.target,
            "task": "classification" if self.classification else "regression",
            "n_rows": len(self.y),
            "rows_without_target": self.n_dropped,
            "columns": {
                name: "categorical"
                if values.dtype.kind == "O" or name in self.categorical
                else "continuous"
                for name, values in self.X.items()
            },
        }


def problem(
    file: DataFile, target: str, task: str, categorical: Sequence[str], drop: Sequence[str]
) -> Problem:
    """Decide what each column is, and the task."""
    file.require([*categorical], "--categorical")
    file.require([*drop], "--drop")
    if target in (*categorical, *drop):
        raise FileError(f"{target!r} is the target and cannot be in --categorical or --drop.")
    y, rows = file.outcome(target, as_text=False)
    names = [name for name in file.columns if name != target and name not in drop]
    if not names:
        raise FileError(f"{file.name} has no column besides the target.")
    X = file.table(names, rows)
    is_text = y.dtype.kind == "O"
    if task == "regression" and is_text:
        raise FileError(f"The target {target!r} holds text; it can be classes, but no regression.")
    classification = task == "classification" or (
        task == "auto" and (is_text or len(np.unique(y)) == 2)
    )
    if classification:
        y = y.astype(str) if is_text else _whole(y)
    return Problem(
        file=file,
        target=target,
        X=X,
        y=y,
        categorical=list(categorical),
        classification=classification,
        n_dropped=file.n_rows - len(y),
    )


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value is a Python literal or text."""
    parsed = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting!r} must be NAME=VALUE, as in --set k=3.")
        try:
            value: Any = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            value = text.strip()
        parsed[name.strip().replace("-", "_")] = value
    return parsed


def load_model(path: Path, n_jobs: int) -> Any:
    """Return the model of a file, set to a number of threads."""
    if not path.exists():
        raise FileError(f"There is no file {path}.")
    return obliquebart.load(path).set_params(n_jobs=n_jobs)


def encoding_of(model: Any) -> Encoding:
    """Return how the model reads its columns."""
    encoding: Encoding = model._fitted.encoding
    return encoding


def possible_targets(file: DataFile, model: Any) -> list[str]:
    """Return the columns of a file that are none of the model's."""
    return [name for name in file.columns if name not in encoding_of(model).names]


def has_text_labels(model: Any) -> bool:
    """Say whether the model predicts text."""
    return hasattr(model, "classes_") and model.classes_.dtype.kind not in "biuf"


def as_labels(y: NDArray[Any], model: Any) -> NDArray[Any]:
    """Return outcomes as the model's labels are."""
    if not hasattr(model, "classes_"):
        return y
    return y.astype(str) if has_text_labels(model) else _whole(y)


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    numbers = values.astype(np.float64)
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else numbers


def diagnose_all(model: Any, X: Any = None, rows: int = 10) -> dict[str, Diagnostics]:
    """Return the diagnostics of each posterior; the label is empty where there is only one."""
    return {
        label: diagnose(posterior, X, rows, model.n_jobs)
        for label, posterior in labelled_posteriors(model).items()
    }


def diagnostics_parts(diagnoses: dict[str, Diagnostics]) -> list[Table | str]:
    """Return tables and sentences."""
    parts: list[Table | str] = []
    for label, diagnostics in diagnoses.items():
        parts.append(diagnostics_table(diagnostics, f"{label}: " if label else ""))
        shares = [f"{move} {share:.0%}" for move, share in diagnostics.acceptance.items()]
        if shares:
            parts.append(f"Accepted moves: {', '.join(shares)}.")
        parts += [f"! {sentence}" for sentence in diagnostics.advice]
    return parts


def findings(model: Any, top: int) -> dict[str, Learnt]:
    """Return what each posterior has learnt."""
    return {label: learn(posterior, top) for label, posterior in labelled_posteriors(model).items()}


def findings_parts(found: dict[str, Learnt]) -> list[Table | str]:
    """Return tables and a sentence for each posterior."""
    parts: list[Table | str] = []
    for label, learnt in found.items():
        prefix = f"{label}: " if label else ""
        parts += [
            plain_table(prefix + section.title, section.headings, section.rows)
            for section in learnt.tables()
            if section.rows
        ]
        parts.append(learnt.sentence())
    return parts


def scores(model: Any, X: Any, y: Any) -> dict[str, float | None]:
    """Return errors and coverages, None for those that are not defined."""
    values = evaluate(model, X, y, n_jobs=model.n_jobs).scores()
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def scores_parts(
    values: dict[str, float | None] | None, model: Any, X: Any, y: Any
) -> list[Table | str]:
    """Return the errors as a table that says which rows they are from."""
    if values is None:
        return []
    where = "training rows, so too good" if trained_on(model, X, y) else "rows not in training"
    rows = [
        [name, "–" if value is None else score_text(name, value)] for name, value in values.items()
    ]
    return [plain_table(f"Errors ({where})", ["score", "value"], rows)]


def model_to_dict(model: Any) -> dict[str, Any]:
    """Return what a model is, for JSON."""
    encoding = encoding_of(model)
    return {
        "model": type(model).__name__,
        "parameters": {
            name: value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
            for name, value in model.get_params().items()
        },
        "columns": dict(zip(encoding.names, encoding.kinds, strict=True)),
        "classes": [str(label) for label in getattr(model, "classes_", [])] or None,
    }


def model_parts(model: Any) -> list[Table | str]:
    """Return a sentence about the model."""
    encoding = encoding_of(model)
    words = f"{type(model).__name__} of {encoding.p_cont} continuous and {encoding.p_cat} "
    words += "categorical columns"
    classes = [str(label) for label in getattr(model, "classes_", [])]
    if classes:
        words += f", {len(classes)} classes: {', '.join(classes[:10])}"
        words += ", …" if len(classes) > 10 else ""
    return [words + "."]


def predictions(model: Any, X: Columns, coverage: float, kind: str) -> Columns:
    """Return the columns of predictions."""
    if not hasattr(model, "classes_"):
        interval = model.predict_interval(X, coverage, kind)
        return {"prediction": model.predict(X), "low": interval[:, 0], "high": interval[:, 1]}
    probability = model.predict_proba(X)
    columns = {"prediction": model.classes_[np.argmax(probability, axis=1)]}
    for code, label in enumerate(model.classes_.tolist()):
        columns[f"probability_{label}"] = probability[:, code]
    return columns


def columns_to_json(columns: Columns) -> dict[str, Any]:
    """Return columns as lists."""
    return {name: values.tolist() for name, values in columns.items()}


def write_columns(columns: Columns, path: Path | None) -> None:
    """Write a CSV or Parquet file, or CSV to standard output."""
    if path is not None and path.suffix.lower() in PARQUET:
        _write_parquet(columns, path)
    elif path is None:
        _write_csv(columns, sys.stdout)
        sys.stdout.flush()
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            _write_csv(columns, stream)


def _write_csv(columns: Columns, stream: Any) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    # tolist: repr of a Python float is the shortest text that reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _write_parquet(columns: Columns, path: Path) -> None:
    import narwhals.stable.v2 as nw

    backend = frame_backend()
    if backend is None:
        raise FileError(f"Writing {path} needs pyarrow or polars: pip install pyarrow.")
    data = {name: values.tolist() for name, values in columns.items()}
    nw.from_dict(data, backend=backend).write_parquet(str(path))


def simulated_table(n_rows: int, seed: int) -> Columns:
    """Return the table of the demo."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.uniform(20, 80, n_rows), rng.uniform(17, 33, n_rows)
    site = rng.choice(["north", "south", "east", "west"], n_rows)
    jump = (age - 50) / 30 + (bmi - 25) / 8 > 0
    y = 50 + 10 * jump + 4 * np.isin(site, ["north", "east"]) + rng.normal(size=n_rows)
    noise = rng.uniform(size=n_rows)
    return {"age": age.round(1), "bmi": bmi.round(1), "site": site, "noise": noise, "y": y.round(2)}
