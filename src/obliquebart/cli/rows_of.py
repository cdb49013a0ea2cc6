"""The rows of a file that a model is to look at, and their outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.cli import causal, fit_task, results
from obliquebart.cli.datafile import DataFile, FileError


def columns_of(
    model: Any, file: DataFile, rows: NDArray[np.intp] | None = None
) -> dict[str, NDArray[Any]]:
    """Return a model's columns, with the exposures of counts if it was fitted with some."""
    encoding = results.encoding_of(model)
    exposure = None if causal.is_causal(model) else encoding.left_out
    if exposure is not None:
        file.require([exposure], "the exposures of the counts")
        file.require_numbers(exposure, "The exposure column")
    return file.table_for(encoding, rows)


def rows_for(
    model: Any, file: DataFile, target: str | None, event: str | None, required: bool
) -> tuple[dict[str, Any], Any]:
    """Return a model's columns and, if the file has them, the outcomes."""
    name = target or results.find_target(file, model)
    if name is None or (results.has_times(model) and event is None):
        if required:
            raise FileError(what_is_missing(file, model, target))
        return columns_of(model, file), None
    if results.has_times(model):
        y, rows = fit_task.survival_outcome(file, name, event)
        return columns_of(model, file, rows), y
    y, rows = file.outcome(name, as_text=results.has_text_labels(model))
    if model._fitted.classes is None:
        file.require_numbers(name, "The target")
    return columns_of(model, file, rows), model._fitted.likelihood.from_column(y)


def treated_rows(model: Any, file: DataFile) -> dict[str, Any]:
    """Return a causal model's columns of the rows that have a treatment."""
    treatment = str(results.encoding_of(model).left_out)
    rows = file.outcome(treatment, what="the treatment")[1]
    arms = model.treatment_.arms
    if arms is None or arms.dtype.kind in "biuf":
        file.require_numbers(treatment, "The treatment")
    return columns_of(model, file, rows)


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
