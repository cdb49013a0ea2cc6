"""Labels of two classes, or of one class against the rest: what all links have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obliquebart.exceptions import ManyClassesWarning, warn_caller
from obliquebart.likelihood.base import CheckedOutcome, FloatArray, Given, Likelihood
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.table.frames import unmasked
from obliquebart.validation import (
    LARGEST_LABEL_WEIGHT,
    check_labels,
    check_weights,
    whole_weights,
)

# More different numbers than this are probably not labels.
MANY_CLASSES = 100


class Labels(Likelihood):
    """The engine's y is 0 or 1, and its scale of f is the user's.

    More than two classes are one such model per class against the rest.

    Attributes
    ----------
    span : float
        The calibrated prior of f has k standard deviations on each side of (-span, span).
    latent_variance : float
        Of the noise of the latent outcome whose sign is the label.
    """

    task = "classification"
    span: ClassVar[float]
    latent_variance: ClassVar[float]
    has_latents = True
    target_dtype = np.int64
    boundary: ClassVar[float | None] = 0.5
    predicted = "Probabilities"

    def from_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return text, booleans, or integers where numbers are whole."""
        if values.dtype.kind == "O":
            return values.astype(str)
        if values.dtype.kind == "b":
            return values
        return values.astype(np.int64) if (values == np.floor(values)).all() else values

    def describe(self, y: NDArray[Any]) -> str:
        labels = [str(label) for label in np.unique(y)]
        shown = ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
        return f"{self.task}, {len(labels)} {self.classes_in_words} ({shown})"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Repeat rows as often as whole weights say; others stay weights."""
        labels = check_labels(y, n_rows)
        _warn_of_many_numbers(labels)
        weights = check_weights(sample_weight, n_rows)
        if weights is None or (weights == 1).all():
            return CheckedOutcome(None, labels, None)
        times = whole_weights(weights)
        if times is not None:
            rows = np.repeat(np.arange(n_rows), times)
            return CheckedOutcome(rows, labels[rows], None)
        rows = np.flatnonzero(weights)
        return CheckedOutcome(rows, labels[rows], weights[rows])

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Give the classes numbers in sorted order; whole weights have become repeated rows."""
        classes, codes = np.unique(y, return_inverse=True)
        return Outcome(codes.astype(np.int64), weights, OutcomeScale(), self, classes)

    def titles(self, classes: NDArray[Any] | None) -> list[str]:
        """Name every class of more than two; of two the second needs no name."""
        labels = [] if classes is None else classes.tolist()
        if len(labels) <= 2:
            return [""] * (len(labels) - 1)
        return [f"{label} " for label in labels]

    def part(self, outcome: Outcome, i: int) -> Outcome:
        """Return 1 for the second of two classes, or for class i of more, and 0 for others."""
        code = i if outcome.classes is not None and len(outcome.classes) > 2 else 1
        is_class = (outcome.values == code).astype(np.float64)
        return Outcome(is_class, outcome.weights, outcome.scale, self)

    def is_target(self, values: NDArray[Any], classes: NDArray[Any] | None) -> bool:
        """Take the numbers of classes."""
        n_classes = 0 if classes is None else len(classes)
        return bool(((values >= 0) & (values < n_classes)).all())

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        """Take 0 and 1."""
        labels = unmasked(y)
        if labels.shape != (n_rows,) or not np.isin(labels, (0, 1)).all():
            raise ValueError(
                f"y must be {n_rows} times 0 or 1 for a model of two classes: pass "
                "y == model.classes_[1]."
            )
        return labels.astype(np.float64)

    def constant_warning(self, outcome: Outcome) -> str:
        label = outcome.classes.tolist()[0] if outcome.classes is not None else None
        return f"y contains only one class ({label!r}): the model predicts it with probability 1."

    def leaf_sd(self, parameters: CheckedHyperparameters, outcome: Outcome) -> float:
        """Let f span (-span, span) with k deviations on each side."""
        return self.span / (parameters.k * math.sqrt(parameters.n_trees))

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Set the offset so that f = 0 is the share of the class."""
        offset = self._score(float(np.average(outcome.values, weights=outcome.weights)))
        return {"offset": offset, "sigma": 1.0, "sigma_fixed": True}

    @abstractmethod
    def _score(self, probability: float) -> float:
        """Return the inverse of `mean`."""

    @abstractmethod
    def _log_probability(self, f: FloatArray) -> FloatArray:
        """Return the logarithm of `mean`."""

    def variance(self, given: Given) -> FloatArray:
        return self.mean(given.f) * self.mean(-given.f)

    def noise_on_f(self, given: Given) -> FloatArray:
        """Return that of the latent outcome."""
        return np.full_like(given.f, self.latent_variance)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return 1 for the class, 0 for the others."""
        uniform = random_state.uniform(size=given.f.shape)
        return np.asarray(uniform < self.mean(given.f), dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log probability of labels, times their weights."""
        log_probability = self._log_probability(np.where(y > 0.5, given.f, -given.f))
        weights = 1.0 if given.weights is None else given.weights
        return np.asarray(weights * log_probability, dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the distribution of 0 and 1."""
        no, yes = self.mean(-given.f), self.mean(given.f)
        steps = no * np.heaviside(y, 0.5) + yes * np.heaviside(y - 1.0, 0.5)
        return np.asarray(steps, dtype=np.float64)


def with_votes(outcome: Outcome, votes: int) -> Outcome:
    """Let every label count so many times."""
    if outcome.likelihood.joint_classes:
        raise ValueError(
            f"votes={votes}: labels of ordered classes count once. Leave votes out, or fit with "
            "ordered=False."
        )
    weights = np.ones(len(outcome.values)) if outcome.weights is None else outcome.weights
    largest = float(weights.max())
    if votes * largest > LARGEST_LABEL_WEIGHT:
        raise ValueError(
            f"sample_weight contains {largest:g}: times votes={votes}, the weights of a classifier "
            f"must be at most {LARGEST_LABEL_WEIGHT}."
        )
    return replace(outcome, weights=votes * weights)


def check_class_numbers(
    y: Any, n_rows: int, n_classes: int, attribute: str = "classes_"
) -> FloatArray:
    """Return the positions of labels among the classes, as numbers for the engine."""
    codes = unmasked(y)
    if codes.shape != (n_rows,) or not np.isin(codes, np.arange(n_classes)).all():
        raise ValueError(
            f"y must be {n_rows} numbers from 0 to {n_classes - 1}, the positions of the labels in "
            f"model.{attribute}."
        )
    return codes.astype(np.float64)


def _warn_of_many_numbers(labels: NDArray[Any]) -> None:
    """Warn if labels look like quantities."""
    n_classes = len(np.unique(labels)) if labels.dtype.kind in "iuf" else 0
    if n_classes > MANY_CLASSES:
        warn_caller(
            f"y holds {n_classes} different numbers, and a classifier takes each for a class of "
            "its own. If they are quantities, use ObliqueBARTRegressor, or --outcome number on "
            "the command line; if they are labels, turn them into text.",
            ManyClassesWarning,
        )
