"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import sklearn.exceptions

PACKAGE = str(Path(__file__).parent)


class ModelFileError(ValueError):
    """A model file or a checkpoint cannot be used; the message says what is wrong with it."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit goes on, and the one before is still there."""


class ConstantOutcomeWarning(UserWarning):
    """The training outcomes are all equal, so the model is a constant without uncertainty."""


class ConvergenceWarning(sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """The chains disagree: intervals of f may be too narrow; the message says what to try.

    It is also scikit-learn's warning of that name, for those who silence both at once.
    """


class DoubtfulColumnWarning(UserWarning):
    """A column of text was taken as a category, and is more likely dates, names or remarks."""

    REMEDY = (
        'Drop such a column or turn it into numbers, ISO dates with dates="auto"; if it is a '
        "category after all, name it in categorical_features."
    )

    def __init__(self, doubts: Sequence[str]) -> None:
        super().__init__(doubts)
        self.doubts = doubts

    def __str__(self) -> str:
        return " ".join([*self.doubts, self.REMEDY])


class ManyClassesWarning(UserWarning):
    """A classifier got more than a hundred different numbers, which may not be labels at all."""


class TimeLimitWarning(UserWarning):
    """The time of `max_seconds` was up; the fit holds fewer draws than were asked for."""


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here: the one that its user can change."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
