"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn.exceptions

PACKAGE = str(Path(__file__).parent)


class ModelFileError(ValueError):
    """A model file or a checkpoint cannot be used; the message says what is wrong with it."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit continues, and the previous checkpoint is kept."""


class ConstantOutcomeWarning(UserWarning):
    """The training outcomes are all equal, so the model is a constant without uncertainty."""


class ConvergenceWarning(sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """The chains disagree, so intervals of f may be too narrow; the message says what to try.

    It is a subclass of scikit-learn's warning of that name, so a filter for that one works too.
    """


class DoubtfulColumnWarning(UserWarning):
    """A text column was treated as a category, but looks like dates, names or remarks."""


class InterruptedFitWarning(UserWarning):
    """The fit was stopped by the user and has fewer draws than were asked for."""


class TimeLimitWarning(UserWarning):
    """The time limit `max_seconds` was reached; the fit has fewer draws than were asked for."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here, because the user can change that one."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
