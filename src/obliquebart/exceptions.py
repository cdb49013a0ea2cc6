"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType

import sklearn.exceptions

PACKAGE = __name__.partition(".")[0]
# Packages that call our estimators on a user's behalf, and what they use to do so.
BETWEEN = {"sklearn", "joblib", "contextlib", "threading", "concurrent", "multiprocessing", "runpy"}


class ModelFileError(ValueError):
    """A model file or checkpoint cannot be used; the message says why."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit continues, and the previous checkpoint is kept."""


class ConstantOutcomeWarning(UserWarning):
    """All training outcomes are equal, so the model predicts a constant without uncertainty."""


class ConvergenceWarning(sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """The chains disagree, so intervals of f may be too narrow; the message suggests a fix.

    A subclass of scikit-learn's `ConvergenceWarning`, so filters for that class apply too.
    """


class DoubtfulColumnWarning(UserWarning):
    """A text column was used as categorical, but looks like dates, names or free text."""

    REMEDY = (
        'Drop it, or convert it to numbers (dates="auto" converts ISO dates). If it is '
        "categorical, list it in categorical_features."
    )

    def __init__(self, doubts: Sequence[str]) -> None:
        super().__init__(doubts)
        self.doubts = doubts

    def __str__(self) -> str:
        return " ".join([*self.doubts, self.REMEDY])


class ManyClassesWarning(UserWarning):
    """A classifier got more than 100 distinct numbers as labels; y may be a quantity."""


class TimeLimitWarning(UserWarning):
    """The fit reached `max_seconds` and has fewer draws than requested."""


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's own line of code.

    That is the innermost line outside this package, scikit-learn and joblib. A warning from a fit
    inside a pipeline or a cross-validation thus points at the call that started it. A joblib
    worker has no such line; there it is the innermost line outside this package.
    """
    names = [_package(frame) for frame in _stack(sys._getframe())]
    outside = [depth for depth, name in enumerate(names, 1) if name != PACKAGE]
    users = [depth for depth in outside if names[depth - 1] not in BETWEEN]
    warnings.warn(message, category, stacklevel=[*users, *outside, len(names)][0])


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    if name == "__main__":
        # joblib starts its workers with `python -m`; their package is joblib.
        name = frame.f_globals.get("__package__") or name
    return str(name).partition(".")[0]
