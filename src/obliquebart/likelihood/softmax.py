"""Several classes jointly: P(y = k) is proportional to exp(offset_k + f_k(x)).

Each class has an ensemble, and one chain has them all, by Pólya-Gamma augmentation (Polson, Scott
and Windle 2013). Here f has the classes in its last dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from obliquebart.likelihood.base import FloatArray, Given, Likelihood
from obliquebart.likelihood.labels import check_class_numbers
from obliquebart.likelihood.logit import Logit
from obliquebart.model.outcome import NoiseEstimate, Outcome
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.settings import OF_SOFT_RULES, settings_of

# The engine's settings of an ensemble, which all classes share.
OF_ENSEMBLE = (
    *("n_trees", "alpha", "beta", "min_samples_leaf", "p_change", "p_perturb"),
    *("axis_rules", "directions"),
    *("output_correlation", "scale_jointly", "leaf_sd", "leaf_sd_fixed", "leaf_shape", "leaf_rate"),
    *("theta", "theta_fixed", "theta_a", "theta_b", "theta_by_column"),
    *OF_SOFT_RULES,
)


class Softmax(Logit):
    """The engine's y is the number of the class, and the prior of each f_k is that of `Logit`."""

    name = "softmax"
    link = "identity"
    boundary: ClassVar[float | None] = None
    is_joint = True

    def __init__(self, n_classes: int = 0, of_two: Likelihood | None = None) -> None:
        """Take the number of classes where it is known, and the likelihood of only two."""
        self._n_classes = n_classes
        self._of_two = of_two or Logit()

    def with_settings(self, more: Mapping[str, float]) -> Softmax:
        """Return the likelihood with as many classes as the engine's settings have offsets."""
        return Softmax(len(more))

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Give the classes numbers in sorted order; two classes have their own likelihood."""
        outcome = super().encode(y, weights)
        n_classes = 0 if outcome.classes is None else len(outcome.classes)
        return replace(outcome, likelihood=Softmax(n_classes) if n_classes > 2 else self._of_two)

    def titles(self, classes: NDArray[Any] | None) -> list[str]:
        """Need no name for the one posterior."""
        return [""]

    def labels(self, classes: NDArray[Any] | None) -> list[str]:
        """Name the classes, whose ensembles are parts of the one posterior."""
        return [] if classes is None else [str(label) for label in classes.tolist()]

    def part(self, outcome: Outcome, i: int) -> Outcome:
        """Return the numbers of the classes as the engine takes them."""
        values = outcome.values.astype(np.float64)
        return Outcome(values, outcome.weights, outcome.scale, self)

    def fits(self, classes: NDArray[Any] | None) -> bool:
        """Say whether the number of classes is that of the ensembles."""
        return classes is not None and len(classes) == self._n_classes

    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        """Take the numbers of classes."""
        return check_class_numbers(y, n_rows, self._n_classes)

    # ---- the prior -------------------------------------------------------------------------------

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Set the offsets so that f = 0 is the shares of the classes."""
        offsets = self.offsets(outcome)
        more = {f"offset.{k}": float(offset) for k, offset in enumerate(offsets)}
        return {"more": more, "offset": 0.0, "sigma": 1.0, "sigma_fixed": True}

    def offsets(self, outcome: Outcome) -> FloatArray:
        """Return the logarithms of the classes' shares, whose mean is zero."""
        codes = outcome.values.astype(np.int64)
        counts = np.bincount(codes, outcome.weights, minlength=self._n_classes)
        log_share = np.log(counts)
        return np.asarray(log_share - log_share.mean(), dtype=np.float64)

    def more_ensembles(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        first: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        """Return the same settings for each class after the first."""
        one = {name: first[name] for name in OF_ENSEMBLE if name in first}
        return [dict(one) for _ in range(self._n_classes - 1)]

    def part_settings(self, settings: Mapping[str, Any], e: int) -> dict[str, Any]:
        """Return the settings of one class, whose offset is that of f."""
        offset = settings["more"][f"offset.{e}"]
        one = settings_of(settings, e)
        return {**one, "likelihood": ClassScore.name, "offset": offset, "more": {}}

    # ---- a new outcome ---------------------------------------------------------------------------

    def mean(self, f: FloatArray) -> FloatArray:
        """Return the probabilities of the classes."""
        return np.asarray(softmax(f, axis=-1), dtype=np.float64)

    def variance(self, given: Given) -> FloatArray:
        """Return those of being in each class."""
        p = self.mean(given.f)
        return p * (1.0 - p)

    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return the number of a class: the largest score, with noise of Gumbel's distribution."""
        scores = given.f + random_state.gumbel(size=given.f.shape)
        return np.asarray(scores.argmax(axis=-1), dtype=np.float64)

    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log probability of classes, times their weights."""
        log_p = log_softmax(given.f, axis=-1)
        codes = np.broadcast_to(np.asarray(y, dtype=np.int64), log_p.shape[:-1])
        weights = 1.0 if given.weights is None else given.weights
        of_class = np.take_along_axis(log_p, codes[..., None], axis=-1)[..., 0]
        return np.asarray(weights * of_class, dtype=np.float64)

    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the distribution of the number of the class."""
        p = self.mean(given.f)
        steps = [p[..., k] * np.heaviside(y - k, 0.5) for k in range(p.shape[-1])]
        return np.asarray(np.sum(steps, axis=0), dtype=np.float64)


class ClassScore(Logit):
    """One class of `Softmax`: its score, offset + f, of which only differences matter."""

    name = "class_score"
    link = "identity"
    is_score = True

    def mean(self, f: FloatArray) -> FloatArray:
        """Return the score itself."""
        return f
