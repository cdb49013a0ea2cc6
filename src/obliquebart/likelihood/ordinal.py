"""Ordered classes: y is the class between whose cuts a latent z ~ N(f(x), 1) lies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from obliquebart.exceptions import ClassOrderWarning, warn_caller
from obliquebart.likelihood.base import CheckedOutcome, FloatArray, Given, NoiseScalar
from obliquebart.likelihood.labels import check_class_numbers
from obliquebart.likelihood.probit import Probit
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters

# As many as the engine takes.
MOST_CLASSES = 100
# Of the Dirichlet prior of the classes' shares at f = 0; with 1, all shares are equally likely.
CONCENTRATION = 1.0
SHOWN_CLASSES = 5


class Ordinal(Probit):
    """P(y <= k) = Phi(cut_k - f), where the cuts are sampled.

    The engine's y is the number of the class. Two classes are `Probit`.
    """

    name = "ordinal"
    link = "identity"
    boundary = None
    joint_classes = True
    classes_in_words = "ordered classes"

    def __init__(self, n_classes: int = 0, order: Sequence[Any] | None = None) -> None:
        """Take the number of classes where it is known, or the order that the user wants."""
        self._n_classes = n_classes
        self._order = order
        self.noise = tuple(
            NoiseScalar(f"cut.{k}", f"cut {k}", in_progress=False, is_scale=False)
            for k in range(1, n_classes)
        )

    def with_settings(self, more: Mapping[str, float]) -> Ordinal:
        return Ordinal(int(more["n_classes"]))

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Repeat rows as often as their weights say, which must be whole."""
        checked = super().read(y, sample_weight, n_rows)
        if checked.weights is not None:
            raise ValueError(
                "sample_weight must be whole numbers for ordered classes: a row of weight 3 counts "
                "as three rows. Round the weights, or fit with ordered=False."
            )
        if self._order is None and checked.y.dtype.kind in "UO":
            _warn_of_alphabet(checked.y)
        return checked

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Give the classes numbers in their order, leaving out those without rows.

        Two classes, whose model knows no order, are in sorted order.
        """
        classes, codes = np.unique(y, return_inverse=True)
        if self._order is not None:
            rank = {label: i for i, label in enumerate(self._order)}
            _require_ranks(classes.tolist(), rank)
            if len(classes) > 2:
                position = np.argsort([rank[label] for label in classes.tolist()])
                classes, codes = classes[position], np.argsort(position)[codes]
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"y has {len(classes)} classes, but ordered classes can be at most {MOST_CLASSES}: "
                "join some of them, or for numbers use ObliqueBARTRegressor (--outcome number on "
                "the command line)."
            )
        likelihood = Ordinal(len(classes)) if len(classes) > 2 else Probit()
        return Outcome(codes.astype(np.int64), weights, OutcomeScale(), likelihood, classes)

    def titles(self, classes: NDArray[Any] | None) -> list[str]:
        """Need no name for the one posterior."""
        return [""]

    def part(self, outcome: Outcome, i: int) -> Outcome:
        """Return the numbers of the classes as the engine takes them."""
        values = outcome.values.astype(np.float64)
        return Outcome(values, outcome.weights, outcome.scale, self)

    def fits(self, classes: NDArray[Any] | None) -> bool:
        return classes is not None and len(classes) == self._n_classes

    def are_scalars(self, noise: Mapping[str, FloatArray]) -> bool:
        """Take cuts that increase."""
        cuts = self._limits(noise)
        return all(bool((a < b).all()) for a, b in itertools.pairwise(cuts))

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        """Take the numbers of classes."""
        return check_class_numbers(y, n_rows, self._n_classes, "ordered_classes_")

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Let the cuts take the place of the offset."""
        more = {"n_classes": float(self._n_classes), "concentration": CONCENTRATION}
        settings = {"offset": 0.0, "sigma": 1.0, "sigma_fixed": True}
        return {"likelihood": self.name, "more": more, **settings}

    # ---- a new outcome ---------------------------------------------------------------------------

    def mean(self, f: FloatArray) -> FloatArray:
        """Return the mean of the latent outcome, which is f."""
        return f

    def variance(self, given: Given) -> FloatArray:
        """Return that of the number of the class."""
        p = self.predictions(given)
        k = np.arange(self._n_classes)
        return np.asarray(p @ k**2.0 - (p @ k) ** 2, dtype=np.float64)

    def predictions(self, given: Given) -> FloatArray:
        shape = np.broadcast_shapes(given.f.shape, *(cut.shape for cut in given.noise.values()))
        p = np.empty((*shape, self._n_classes))
        below: FloatArray | float = 0.0
        for k, scalar in enumerate(self.noise):
            above = ndtr(given.noise[scalar.name] - given.f)
            p[..., k] = above - below
            below = above
        p[..., -1] = 1.0 - below
        return np.maximum(p, 0.0)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return the number of a class."""
        z = given.f + random_state.standard_normal(given.f.shape)
        above = [z > given.noise[scalar.name] for scalar in self.noise]
        return np.asarray(np.sum(above, axis=0), dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log probability of classes, times their weights."""
        limits = self._limits(given.noise)
        shape = np.broadcast_shapes(given.f.shape, np.shape(y))
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        for k in range(self._n_classes):
            low = np.where(y == k, limits[k], low)
            high = np.where(y == k, limits[k + 1], high)
        weights = 1.0 if given.weights is None else given.weights
        return np.asarray(weights * _log_interval(low - given.f, high - given.f), dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the distribution of the number of the class."""
        p = self.predictions(given)
        steps = [p[..., k] * np.heaviside(y - k, 0.5) for k in range(self._n_classes)]
        return np.asarray(np.sum(steps, axis=0), dtype=np.float64)

    def _limits(self, noise: Mapping[str, FloatArray]) -> list[FloatArray]:
        """Return the cuts with the infinite ones at both ends."""
        cuts = [noise[scalar.name] for scalar in self.noise]
        return [np.array(-np.inf), *cuts, np.array(np.inf)]


def _log_interval(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log(Phi(high) - Phi(low)), computed on the side of zero where both are small."""
    is_low = low + high < 0.0
    a, b = np.where(is_low, -high, low), np.where(is_low, -low, high)
    log_a, log_b = log_ndtr(-a), log_ndtr(-b)
    with np.errstate(divide="ignore"):
        return np.asarray(log_a + np.log(-np.expm1(log_b - log_a)), dtype=np.float64)


def _require_ranks(classes: list[Any], rank: Mapping[Any, int]) -> None:
    unknown = [label for label in classes if label not in rank]
    if unknown:
        raise ValueError(
            f"y contains {unknown[0]!r}, which is not among the labels in `ordered`: "
            f"{', '.join(map(repr, rank))}.{_if_recoded(classes, list(rank))}"
        )


def _if_recoded(classes: list[Any], order: list[Any]) -> str:
    """Return a remedy if the labels look like numbers that scikit-learn has given to text."""
    are_numbers = all(type(label) is int and 0 <= label < len(order) for label in classes)
    if not are_numbers or not all(isinstance(label, str) for label in order):
        return ""
    numbers = [sorted(order).index(label) for label in order]
    return (
        " VotingClassifier, cross_val_predict(method='predict_proba') and others of scikit-learn "
        f"replace labels by their positions in sorted order: for them, pass ordered={numbers}."
    )


def _warn_of_alphabet(labels: NDArray[Any]) -> None:
    """Warn that text has no order but that of the alphabet."""
    classes = [repr(label) for label in np.unique(labels).tolist()]
    if len(classes) < 3:
        return
    more = ", …" if len(classes) > SHOWN_CLASSES else ""
    warn_caller(
        f"ordered=True with text in y: the classes are in alphabetical order, "
        f"{' < '.join(classes[:SHOWN_CLASSES])}{more}. If that is not their order, pass an ordered "
        "categorical: pd.Categorical(y, categories=[...], ordered=True).",
        ClassOrderWarning,
    )
