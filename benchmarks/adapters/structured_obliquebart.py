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


def _edges(shape: tuple[int, ...]) -> Patch:
    """Differences, from 3 pixels along each side, or half of the largest patch if that is less."""
    most = tuple(min(LARGEST, n // 2) for n in shape)
    return Patch(shape, tuple(min(3, n // 2) for n in most), most, values="difference")


def _line(values: str) -> Callable[[tuple[int, ...]], Any]:
    def patch(shape: tuple[int, ...]) -> Patch:
        most = max(round(LINE_SHARE * shape[0]), 5)
        return Patch(shape, 2, most, values=values, length_scale=most / 4)

    return patch


DIRECTIONS: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "sparse": lambda shape: Sparse(),  # noqa: ARG005
    "axis": lambda shape: Axis(),  # noqa: ARG005
    "image difference": _edges,
    "line smooth": _line("smooth"),
    "line difference": _line("difference"),
}


def predictions(task: Task, *, directions: str, **settings: Any) -> np.ndarray:
    """Return posterior means at the rows to score: probabilities, or numbers."""
    common = {"n_jobs": 1, "progress": False, "random_state": task.seed, **settings}
    chosen = DIRECTIONS[directions](task.shape)
    if task.has_classes:
        classifier = ObliqueBARTClassifier(directions=chosen, **common)
        classifier.fit(task.x_train, task.y_train)
        return np.asarray(classifier.predict_proba(task.x_test))
    regressor = ObliqueBARTRegressor(directions=chosen, soft=False, **common)
    return np.asarray(regressor.fit(task.x_train, task.y_train).predict(task.x_test))
