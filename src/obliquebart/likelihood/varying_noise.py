"""Numbers with noise that varies: y = f(x) + sigma e / sqrt(weight h(x)), e ~ Student's t.

The second ensemble is h, a product over its trees of factors with mean one. Its logarithm has a
prior centred near 0, so that sigma is the noise of a typical row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from obliquebart.likelihood.base import FloatArray, Noise
from obliquebart.likelihood.student_t import LearnedT
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.settings import ensemble_prefix

# The prior mode of the standard deviation of log h, and how strongly it is held there.
LOG_PRECISION_SD = 0.2
SCALE_SHAPE = 3.0
# The variance of fewer rows would be mostly chance.
SMALLEST_LEAF = 5
# What the trees of the noise share with those of f.
SHARED = (
    *("alpha", "beta", "axis_rules", "directions", "p_change", "p_perturb"),
    *("theta", "theta_fixed", "theta_a", "theta_b", "theta_by_column"),
)


class VaryingNoise(LearnedT):
    """As `LearnedT`, with a sigma for each row."""

    name = "varying_noise"
    other_link = "log_product"

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Let sigma be near an estimate, and learn the tails unless they are given."""
        df = parameters.noise_df
        prior = super().noise_prior(replace(parameters, noise_df=None), outcome, noise)
        tails = prior["more"] if df is None else {"df": df}
        return {**prior, "likelihood": self.name, "more": tails}

    def more_ensembles(
        self, parameters: CheckedHyperparameters, outcome: Outcome, first: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the trees of the noise: fewer, with the same prior of rules."""
        n_trees = parameters.n_noise_trees
        leaf_sd = LOG_PRECISION_SD / math.sqrt(n_trees)
        return [
            {
                **{name: first[name] for name in SHARED},
                "n_trees": n_trees,
                "min_samples_leaf": max(parameters.min_samples_leaf, SMALLEST_LEAF),
                "leaf_model": "precision",
                "leaf_sd": leaf_sd,
                "leaf_sd_fixed": False,
                "leaf_shape": SCALE_SHAPE,
                "leaf_rate": (SCALE_SHAPE + 1.0) * leaf_sd**2,
            }
        ]

    def shown_name(self, name: str) -> str:
        """Name the second ensemble by what it is."""
        return name.replace(ensemble_prefix(1), "noise_")

    def noise_at_rows(
        self, scalars: dict[str, FloatArray], others: Sequence[FloatArray]
    ) -> dict[str, FloatArray]:
        """Return sigma at each row; `others` has log h."""
        (log_h,) = others
        return {**scalars, "sigma": scalars["sigma"] * np.exp(-0.5 * log_h)}

    def core_noise(self, noise: Mapping[str, FloatArray], scale: OutcomeScale) -> Noise | None:
        """Return None: the engine knows noise that is the same for all rows."""
        return None
