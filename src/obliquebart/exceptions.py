"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import sklearn.exceptions

PACKAGE = __name__.partition(".")[0]
# What may call our estimators for a user, and what these use to call them.
BETWEEN = {"sklearn", "joblib", "contextlib", "threading", "concurrent", "multiprocessing", "runpy"}


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
    """A column looks as if it should not be used as it is.

    Text that is treated as a category, but looks like dates, names or remarks (`doubts`); or
    numbers that only number the rows (`row_numbers`, the names of these columns).
    """

    REMEDY = (
        'Drop such a column or turn it into numbers, ISO dates with dates="auto"; if it is a '
        "category after all, name it in categorical_features."
    )

    # Where some dates are not in ISO 8601, which dates="auto" does not read.
    OTHER_DATES = (
        "These are not ISO dates: convert them first, in pandas with pd.to_datetime(..., "
        "dayfirst=True). Drop a column that is not a category; if it is one after all, name it in "
        "categorical_features."
    )

    def __init__(
        self, doubts: Sequence[str], row_numbers: Sequence[str] = (), *, other_dates: bool = False
    ) -> None:
        super().__init__(doubts, row_numbers)
        self.doubts = doubts
        self.row_numbers = row_numbers
        self.other_dates = other_dates

    def __str__(self) -> str:
        numbers = [
            f"Column {name!r} seems to number the rows; drop it." for name in self.row_numbers
        ]
        remedy = self.OTHER_DATES if self.other_dates else self.REMEDY
        return " ".join([*numbers, *self.doubts, *([remedy] if self.doubts else [])])


class ManyClassesWarning(UserWarning):
    """A classifier got more than a hundred different numbers, which may not be labels at all."""


class TimeLimitWarning(UserWarning):
    """The time limit `max_seconds` was reached; the fit has fewer draws than were asked for."""


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that led here and that its user can change.

    That is the innermost line outside this package, scikit-learn and joblib, so that a warning of
    a fit in a pipeline or in a cross-validation points at the call of these. In a worker of
    joblib, which has no such line, it is the innermost outside this package.
    """
    frames = list(_stack(sys._getframe()))
    names = [_package(frame) for frame in frames]
    outside = [depth for depth, name in enumerate(names, 1) if name != PACKAGE]
    users = [depth for depth in outside if names[depth - 1] not in BETWEEN]
    depth = [*users, *outside, len(names)][0]
    if isinstance(message, Warning):
        category = type(message)
    place = _Place(frames[depth - 1], str(message), category)
    if not _shown.knows(place):
        warnings.warn(message, category, stacklevel=depth)
        _shown.remember(place)


class _Place:
    """A warning at a line."""

    def __init__(self, frame: FrameType, text: str, category: type[Warning]) -> None:
        self.entry = (text, category, frame.f_lineno)
        self.key = (frame.f_code.co_filename, *self.entry)
        # Python's own memory; notebooks discard it before they run a cell.
        self.registry = frame.f_globals.setdefault("__warningregistry__", {})


class _Shown:
    """Remembers which warnings were shown, as long as the filters of warnings stay the same.

    Python has such a memory in each module, but discards all of it when `warnings.catch_warnings`
    is used anywhere; scikit-learn and pandas do so when they read a table.
    """

    def __init__(self) -> None:
        self._filters: Any = None
        self._contents: list[Any] = []
        self._registries: dict[tuple[Any, ...], dict[Any, Any]] = {}

    def knows(self, place: _Place) -> bool:
        """Say whether a warning was shown at a line."""
        # A block with `catch_warnings` has a list of its own.
        if self._filters is not warnings.filters or self._contents != list(warnings.filters):
            self._filters, self._contents = warnings.filters, list(warnings.filters)
            self._registries.clear()
        return self._registries.get(place.key) is place.registry

    def remember(self, place: _Place) -> None:
        """Remember a warning, if Python does: it does not with the filter "always"."""
        if place.entry in place.registry:
            self._registries[place.key] = place.registry


_shown = _Shown()


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    if name == "__main__":
        # Of a worker of joblib, which is run by `python -m`, this is joblib's.
        name = frame.f_globals.get("__package__") or name
    return str(name).partition(".")[0]
