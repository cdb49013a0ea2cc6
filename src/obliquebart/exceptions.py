"""Warnings that a user may want to catch or silence by class."""

from __future__ import annotations

__all__ = ["ConstantOutcomeWarning", "InterruptedFitWarning"]


class ConstantOutcomeWarning(UserWarning):
    """The training outcomes are all equal, so the model is a constant without uncertainty."""


class InterruptedFitWarning(UserWarning):
    """The fit was stopped by the user and holds fewer draws than were asked for."""
