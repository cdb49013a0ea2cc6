"""Treatments on the command line: options of `fit`, and what `summary` shows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from obliquebart.causal.answers import AverageEffect
from obliquebart.cli.datafile import DataFile, FileError
from obliquebart.cli.screen import plain_table
from obliquebart.explain.importance import ImportanceTable
from obliquebart.explain.overview import importance_overview

# What the estimator calls the outcomes of a file.
OUTCOMES = {"number": "number", "class": "binary"}
NO_ROWS = "To see effects, add a table such as the training data: obliquebart summary MODEL DATA."


class TreatmentOptions(NamedTuple):
    """The user's choices about a treatment."""

    column: str | None = None
    control: str | None = None
    kind: str | None = None
    propensity: str | None = None

    def check(self, file: DataFile, others: dict[str, str | None]) -> None:
        """Raise an error if options are missing or the column has another role."""
        if self.column is None:
            for option in ("control", "kind", "propensity"):
                if getattr(self, option) is not None:
                    shown = {"kind": "treatment-type"}.get(option, option)
                    raise FileError(f"--{shown} requires --treatment COLUMN.")
            return
        file.require([self.column], "--treatment")
        for role, name in others.items():
            if name == self.column:
                raise FileError(f"The --treatment column {name!r} cannot be {role} too.")
        if self.kind == "dose":
            file.require_numbers(self.column, "The --treatment column")

    def parameters(self, values: NDArray[Any], outcome: str) -> dict[str, Any]:
        """Return the parameters of the estimator, given the treatments of the rows."""
        if outcome not in OUTCOMES:
            raise FileError(
                f"--treatment is for numbers and for two classes, not for --outcome {outcome}."
            )
        found: dict[str, Any] = {"outcome": OUTCOMES[outcome]}
        if self.kind is not None:
            found["treatment_type"] = self.kind
        if self.propensity is not None:
            found["propensity"] = None if self.propensity == "none" else self.propensity
        if self.control is not None:
            found["control"] = _label(self.control, values)
        return found


def _label(text: str, values: NDArray[Any]) -> Any:
    """Return the treatment that is written so."""
    for label in np.unique(values).tolist():
        if text == str(label) or (not isinstance(label, str) and _number(text) == label):
            return label
    shown = ", ".join(map(str, np.unique(values).tolist()[:10]))
    raise FileError(f"--control {text} is not one of the treatments: {shown}.")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def is_causal(model: Any) -> bool:
    """Say whether a model is one of effects of treatments."""
    return model._fitted.design is not None


class Effects(NamedTuple):
    """What is known about each effect of a model, by what is compared."""

    averages: dict[str, AverageEffect]
    importances: dict[str, ImportanceTable]

    def parts(self, top: int) -> list[Table | str]:
        """Return sentences and tables for the screen."""
        if not self.averages:
            return [NO_ROWS]
        shown: list[Table | str] = [str(average) for average in self.averages.values()]
        for name, table in self.importances.items():
            overview = importance_overview(table, top)
            title = overview.title.replace("variance of predictions", "variance of the effect")
            of = f"{name}: " if len(self.importances) > 1 else ""
            headings = [*overview.headings[:-1], "change of the effect"]
            shown.append(plain_table(f"{of}{title}", headings, overview.rows))
        return shown

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        return {
            "effects": {
                name: {
                    "ate": average.to_dict(),
                    "importance": self.importances[name].to_dict(),
                }
                for name, average in self.averages.items()
            }
        }


def effects_of(model: Any, X: Any) -> Effects:
    """Average each effect over these or the training rows; empty if there are none."""
    if X is None and model._fitted.training is None:
        return Effects({}, {})
    names = dict(zip(model.treatment_.names, model.effects_, strict=True))
    return Effects(
        {name: model.ate(X, arm=arm) for name, arm in names.items()},
        {name: model.importance(X, arm=arm) for name, arm in names.items()},
    )
