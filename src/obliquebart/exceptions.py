"""Errors and warnings that a user may want to catch or silence by class."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import sklearn.exceptions

PACKAGE = __name__.partition(".")[0]
# Packages that call our estimators on a user's behalf, and what they use to do so.
BETWEEN = {"sklearn", "joblib", "contextlib", "threading", "concurrent", "multiprocessing", "runpy"}


class ModelFileError(ValueError):
    """A model file or checkpoint cannot be used; the message says why."""


class CudaUnavailableError(RuntimeError):
    """There is no card for ``device="cuda"``, or no compiler for it.

    The message says what is missing, and how to get it.
    """


class WorkerLostError(RuntimeError):
    """A worker of a Dask cluster is gone, and with it some of the rows of a fit."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit continues, and the previous checkpoint is kept."""


class ClassOrderWarning(UserWarning):
    """Ordered classes are text without an order of its own, so that of the alphabet is used."""


class ConstantOutcomeWarning(UserWarning):
    """All training outcomes are equal, so the model predicts a constant without uncertainty."""


class ConvergenceWarning(sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """The chains disagree, so intervals of f may be too narrow; the message suggests a fix.

    A subclass of scikit-learn's `ConvergenceWarning`, so filters for that class apply too.
    """


class DoubtfulColumnWarning(UserWarning):
    """A column looks as if it should not be used as it is.

    Text that is treated as a category, but looks like dates, names or remarks (`doubts`); or
    numbers that only number the rows (`row_numbers`, the names of these columns).
    """

    REMEDY = (
        'Drop it, or convert it to numbers (dates="auto" converts ISO dates). If it is '
        "categorical, list it in categorical_features."
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
    """A classifier got more than 100 distinct numbers as labels; y may be a quantity."""


class OverlapWarning(UserWarning):
    """Some rows have no counterparts with another treatment, so their effects are guesses."""


class TimeLimitWarning(UserWarning):
    """The fit reached `max_seconds` and has fewer draws than requested."""


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's own line of code.

    That is the innermost line outside this package, scikit-learn and joblib. A warning from a fit
    inside a pipeline or a cross-validation thus points at the call that started it. A joblib
    worker has no such line; there it is the innermost line outside this package.
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
        # joblib starts its workers with `python -m`; their package is joblib.
        name = frame.f_globals.get("__package__") or name
    return str(name).partition(".")[0]
