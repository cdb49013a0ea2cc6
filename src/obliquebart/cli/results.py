"""A model's results as tables for the screen and as values for JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rich.table import Table

import obliquebart
from obliquebart.cli.datafile import DataFile, FileError
from obliquebart.cli.screen import diagnostics_table, json_value, plain_table
from obliquebart.cli.write_table import NamedArrays
from obliquebart.explain.evaluation import evaluate, score_text
from obliquebart.explain.importance import ImportanceTable
from obliquebart.explain.overview import (
    RuleOverview,
    importance_overview,
    labelled_posteriors,
    rule_overview,
)
from obliquebart.model.seen_rows import SeenRows
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.table import Encoding


def load_model(path: Path, n_jobs: int) -> Any:
    """Load a model and set its number of threads."""
    if not path.exists():
        raise FileError(f"No such file: {path}.")
    return obliquebart.load(path).set_params(n_jobs=n_jobs)


def encoding_of(model: Any) -> Encoding:
    """Return the encoding of the model's columns."""
    encoding: Encoding = model._fitted.encoding
    return encoding


def possible_targets(file: DataFile, model: Any) -> list[str]:
    """Return the columns of a file that the model does not use."""
    encoding = encoding_of(model)
    return [name for name in file.columns if name not in (*encoding.names, encoding.left_out)]


def find_target(file: DataFile, model: Any) -> str | None:
    """Return the target: the column of its name or, if it has none, the only possible one."""
    others = possible_targets(file, model)
    if model.target_name_ is not None:
        return model.target_name_ if model.target_name_ in others else None
    return others[0] if len(others) == 1 else None


def has_text_labels(model: Any) -> bool:
    """Return whether the model predicts text labels."""
    classes = model._fitted.classes
    return classes is not None and classes.dtype.kind not in "biuf"


def has_times(model: Any) -> bool:
    """Return whether the model predicts the time until an event."""
    return bool(model._fitted.likelihood.task == "survival")


def summary_parts(summary: ModelSummary) -> list[Table | str]:
    """Return the tables and the verdict."""
    parts: list[Table | str] = []
    for label, diagnostics in summary.diagnostics.items():
        title = f"{label}: " if label else ""
        if len(diagnostics):
            parts.append(diagnostics_table(diagnostics, title))
        else:
            parts.append(f"{title}{diagnostics.title}")
        shares = [f"{move} {share:.0%}" for move, share in diagnostics.acceptance.items()]
        if shares:
            parts.append(f"Accepted moves: {', '.join(shares)}.")
    return [*parts, summary.verdict_text]


NO_IMPORTANCE = (
    "To see which columns matter, add a table such as the training data: obliquebart summary "
    "MODEL DATA."
)


def importance(model: Any, X: Any) -> ImportanceTable | None:
    """Return the importance of columns on these or the training rows, or None without rows."""
    if X is None and model._fitted.training is None:
        return None
    table: ImportanceTable = model.importance(X)
    return table


def importance_parts(table: ImportanceTable | None, top: int) -> list[Table | str]:
    """Return a table of the most important columns, or a hint on how to get one."""
    if table is None:
        return [NO_IMPORTANCE]
    overview = importance_overview(table, top)
    return [plain_table(overview.title, overview.headings, overview.rows)]


def findings(model: Any, top: int) -> dict[str, RuleOverview]:
    """Return statistics about the rules of each posterior."""
    return {
        label: rule_overview(posterior, top)
        for label, posterior in labelled_posteriors(model).items()
    }


def findings_parts(found: dict[str, RuleOverview]) -> list[Table | str]:
    """Return tables and a sentence for each posterior."""
    parts: list[Table | str] = []
    for label, overview in found.items():
        prefix = f"{label}: " if label else ""
        parts += [
            plain_table(prefix + section.title, section.headings, section.rows)
            for section in overview.tables()
            if section.rows
        ]
        parts.append(overview.sentence())
    return parts


def scores(model: Any, X: Any, y: Any) -> dict[str, float | None]:
    """Return errors and coverages; undefined ones are None."""
    values = evaluate(model, X, y, n_jobs=model.n_jobs).scores()
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def scores_parts(
    values: dict[str, float | None] | None, seen: SeenRows | None
) -> list[Table | str]:
    """Return the errors as a table that says which rows they are from."""
    if values is None or seen is None:
        return []
    rows = [
        [name, "–" if value is None else score_text(name, value)] for name, value in values.items()
    ]
    return [plain_table(f"Errors ({seen.in_words})", ["score", "value"], rows)]


def model_to_dict(model: Any) -> dict[str, Any]:
    """Return a description of the model for JSON."""
    encoding = encoding_of(model)
    return {
        "model": type(model).__name__,
        "parameters": {name: json_value(value) for name, value in model.get_params().items()},
        "target": model.target_name_,
        "columns": dict(zip(encoding.names, encoding.kinds, strict=True)),
        "classes": _labels(model) or None,
    }


def model_parts(model: Any) -> list[Table | str]:
    """Describe the model in a sentence."""
    encoding = encoding_of(model)
    outcome = "" if model.target_name_ is None else f" of {model.target_name_!r}"
    words = f"{type(model).__name__}{outcome} with {encoding.p_cont} continuous and "
    words += f"{encoding.p_cat} categorical columns"
    classes = _labels(model)
    if classes:
        words += f", {len(classes)} classes: {', '.join(classes[:10])}"
        words += ", …" if len(classes) > 10 else ""
    return [words + "."]


def _labels(model: Any) -> list[str]:
    """Return the labels of a classifier, in their order if they have one."""
    ordered = getattr(model, "ordered_classes_", None)
    return [
        str(label) for label in (getattr(model, "classes_", ()) if ordered is None else ordered)
    ]


def predictions(model: Any, X: NamedArrays, coverage: float, kind: str) -> NamedArrays:
    """Return the columns of predictions."""
    columns: NamedArrays = model._prediction_columns(X, coverage, kind)
    return columns


def with_id(file: DataFile, id_column: str, columns: NamedArrays) -> NamedArrays:
    """Return the predictions behind the column that identifies the rows."""
    if id_column in columns:
        raise FileError(
            f"The predictions already have a column {id_column!r}: rename the --id column."
        )
    return {id_column: file.columns[id_column].as_written(), **columns}
