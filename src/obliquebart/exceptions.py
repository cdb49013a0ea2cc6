"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

__all__ = [
    "CheckpointWarning",
    "ConstantOutcomeWarning",
    "InterruptedFitWarning",
    "ModelFileError",
]


class ModelFileError(ValueError):
    """A model file or a checkpoint cannot be used; the message says what is wrong with it."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit goes on, and the one before is still there."""


class ConstantOutcomeWarning(UserWarning):
    """The training outcomes are all equal, so the model is a constant without uncertainty."""


class InterruptedFitWarning(UserWarning):
    """The fit was stopped by the user and holds fewer draws than were asked for."""
