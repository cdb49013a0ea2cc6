"""Our rules with directions that know the layout of images and curves.

`directions` names one of `DIRECTIONS`. Chains are of fixed length; a fit has one core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from structured_study import Task

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.directions import Axis, Patch, Sparse

LARGEST = 14  # sides of patches of images: half of MNIST's
LINE_SHARE = 0.2  # of a curve, that a patch has at most


def _image(values: str) -> Callable[[tuple[int, ...]], Any]:
    def patch(shape: tuple[int, ...]) -> Patch:
        most = tuple(min(LARGEST, max(n // 2, 2)) for n in shape)
        return Patch(shape, 2, most, values=values, length_scale=4.0)

    return patch


def _line(values: str) -> Callable[[tuple[int, ...]], Any]:
    def patch(shape: tuple[int, ...]) -> Patch:
        most = max(round(LINE_SHARE * shape[0]), 5)
        return Patch(shape, 2, most, values=values, length_scale=most / 4)

    return patch


def _smooth_and_steps(shape: tuple[int, ...]) -> list[Patch]:
    return [_line("smooth")(shape), _line("difference")(shape)]


DIRECTIONS: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "sparse": lambda shape: Sparse(),  # noqa: ARG005
    "axis": lambda shape: Axis(),  # noqa: ARG005
    "image difference": _image("difference"),
    "image smooth": _image("smooth"),
    "image normal": _image("normal"),
    "line smooth": _line("smooth"),
    "line difference": _line("difference"),
    "line mixture": _smooth_and_steps,
}


def predictions(task: Task, *, directions: str, **settings: Any) -> np.ndarray:
    """Return posterior means at the rows to score: probabilities, or numbers."""
    common = {"n_jobs": 1, "progress": False, "random_state": task.seed, **settings}
    chosen = DIRECTIONS[directions](task.shape)
    if task.has_classes:
        classifier = ObliqueBARTClassifier(directions=chosen, **common)
        classifier.fit(task.x_train, task.y_train)
        return np.asarray(classifier.predict_proba(task.x_test))
    regressor = ObliqueBARTRegressor(directions=chosen, **common)
    return np.asarray(regressor.fit(task.x_train, task.y_train).predict(task.x_test))
