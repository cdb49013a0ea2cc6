"""The rows of a file that a model is to look at, and their outcomes."""

from __future__ import annotations

from typing import Any

from obliquebart.cli import fit_task, results
from obliquebart.cli.datafile import DataFile, FileError


def rows_for(
    model: Any, file: DataFile, target: str | None, event: str | None, required: bool
) -> tuple[dict[str, Any], Any]:
    """Return a model's columns and, if the file has them, the outcomes."""
    name = target or results.find_target(file, model)
    if name is None or (results.has_times(model) and event is None):
        if required:
            raise FileError(what_is_missing(file, model, target))
        return file.table_for(results.encoding_of(model)), None
    if results.has_times(model):
        y, rows = fit_task.survival_outcome(file, name, event)
        return file.table_for(results.encoding_of(model), rows), y
    y, rows = file.outcome(name, as_text=results.has_text_labels(model))
    return file.table_for(results.encoding_of(model), rows), model._fitted.likelihood.from_column(y)


def treated_rows(model: Any, file: DataFile) -> dict[str, Any]:
    """Return a causal model's columns of the rows that have a treatment."""
    encoding = results.encoding_of(model)
    file.require([str(encoding.left_out)], "the treatment")
    return file.table_for(encoding, file.outcome(str(encoding.left_out))[1])


def what_is_missing(file: DataFile, model: Any, target: str | None) -> str:
    """Say what the user must name, if a file is to tell the outcomes."""
    if results.has_times(model) and (target or results.find_target(file, model)):
        return f"Which column of {file.name} says whether the event was seen? Name it with --event."
    return _which_target(file, model)


def _which_target(file: DataFile, model: Any) -> str:
    others = results.possible_targets(file, model)
    if model.target_name_ is not None:
        missing = f"{file.name} has no column {model.target_name_!r} (the target)"
        return f"{missing}; name it with --target." if others else f"{missing}."
    if not others:
        return f"{file.name} has no column besides those of the model, and so no target."
    listed = ", ".join(map(repr, others[:5])) + (", …" if len(others) > 5 else "")
    return f"Which column of {file.name} is the target: {listed}? Name it with --target."
