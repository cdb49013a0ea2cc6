"""What `fit` is asked to do: which columns and outcomes, and by which estimator."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from obliquebart.cli.datafile import DataFile, FileError
from obliquebart.cli.screen import plain_table
from obliquebart.cli.write_table import NamedArrays
from obliquebart.estimators import BY_TASK, ObliqueBART
from obliquebart.exceptions import DoubtfulColumnWarning, warn_caller
from obliquebart.table.encoding import check_not_free_text, doubts_about_text

SHOWN_TYPES = 40


@dataclass(frozen=True)
class FitTask:
    """What to fit: a table, its outcomes, and how they were understood."""

    file: DataFile
    target: str
    X: NamedArrays
    y: NDArray[Any]
    categorical: list[str]
    estimator: type[ObliqueBART]
    n_dropped: int

    def in_words(self) -> str:
        """Return a sentence about the task."""
        words = f"{len(self.y)} rows, {len(self.X)} columns. Target {self.target!r}: "
        words += f"{self.estimator._likelihood.describe(self.y)}."
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
        known = set(self.estimator().get_params())
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(
                f"There is no parameter {unknown[0]!r}; there are {', '.join(sorted(known))}."
            )
        return self.estimator(**{"categorical_features": self._categories(), **parameters})

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
            "task": self.estimator._likelihood.task,
            "n_rows": len(self.y),
            "rows_without_target": self.n_dropped,
            "columns": {
                name: "categorical"
                if values.dtype.kind == "O" or name in self.categorical
                else "continuous"
                for name, values in self.X.items()
            },
        }


def read_task(
    file: DataFile, target: str, task: Any, categorical: Sequence[str], drop: Sequence[str]
) -> FitTask:
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
    if task == "auto":
        task = "classification" if is_text or len(np.unique(y)) == 2 else "regression"
    estimator = BY_TASK[task]
    y = estimator._likelihood.from_column(y)
    return FitTask(
        file=file,
        target=target,
        X=X,
        y=y,
        categorical=list(categorical),
        estimator=estimator,
        n_dropped=file.n_rows - len(y),
    )


def parse_draws(text: str) -> int | str:
    """Read a number of draws; the estimator refuses other text than "auto"."""
    try:
        return int(text)
    except ValueError:
        return text


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
