"""Weights of classes: what the user asks for, and the numbers that follow from the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.outcome import Outcome
from obliquebart.validation import check_number

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
# Weights further apart than this would leave nothing of a probability in float64.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100


def check_class_weight(class_weight: object) -> ClassWeight:
    """Return the parameter `class_weight`, with its weights as plain numbers."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return "balanced"
    if not isinstance(class_weight, Mapping):
        kind = ValueError if isinstance(class_weight, str) else TypeError
        raise kind(
            f'class_weight={class_weight!r} must be None, "balanced" or a dictionary with a '
            "weight for each label."
        )
    return {
        label: check_number(
            f"class_weight[{label!r}]", _plain(weight), SMALLEST_WEIGHT, LARGEST_WEIGHT, "both"
        )
        for label, weight in class_weight.items()
    }


def class_weights(class_weight: ClassWeight, outcome: Outcome) -> NDArray[np.float64] | None:
    """Return a weight for each class of an outcome, or None if they are not to be weighted.

    "balanced" gives n / (K n_k) to class k of K, where n_k is the sum of the weights of its rows
    and n that of all rows. A label that a dictionary does not name has weight 1.
    """
    if class_weight is None or outcome.classes is None:
        return None
    labels = outcome.classes.tolist()
    if isinstance(class_weight, Mapping):
        _require_known_labels(class_weight, labels)
        return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    counts = np.bincount(outcome.values, outcome.weights, minlength=len(labels))
    return np.asarray(counts.sum() / (len(labels) * counts), dtype=np.float64)


def _require_known_labels(class_weight: Mapping[Any, float], labels: list[Any]) -> None:
    """Refuse a dictionary that looks misspelt: it names a label not in y and misses one that is.

    A label that is merely absent from y, as in a fold of a cross-validation, is no mistake.
    """
    unknown = [label for label in class_weight if label not in labels]
    unnamed = [label for label in labels if label not in class_weight]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names labels that are not in y: {_listed(unknown)}; and y has labels "
            f"that it does not name: {_listed(unnamed)}."
        )


def _listed(labels: list[Any]) -> str:
    more = f" and {len(labels) - 10} more" if len(labels) > 10 else ""
    return ", ".join(map(repr, labels[:10])) + more


def _plain(weight: object) -> object:
    return weight.item() if isinstance(weight, np.generic) else weight
