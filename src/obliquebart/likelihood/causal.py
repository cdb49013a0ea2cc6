"""Outcomes of treatments: the mean has an effect of the treatment for each row.

With doses d_k, the mean of an outcome is that of a plain likelihood whose f is

    mu(x) + sum over treatments k of d_k level_k + (low_k (1 - d_k) + high_k d_k) tau_k(x).

For an arm, d_k is 1 in it and 0 in the others, and low_k and high_k are drawn: the adaptive coding
of Hahn, Murray and Carvalho (2020). For a dose that is a number, low_k is 0. One unit of dose adds
level_k + (high_k - low_k) tau_k(x). The f of a posterior is that without treatment, all d_k = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obliquebart.likelihood.base import FloatArray, Given, Likelihood, NoiseScalar
from obliquebart.likelihood.gaussian import Gaussian
from obliquebart.likelihood.probit import Probit, WeightedProbit
from obliquebart.likelihood.student_t import LearnedT, StudentT
from obliquebart.likelihood.varying_noise import SHARED, VaryingNoise
from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import (
    EFFECT_LEVEL_SD,
    EFFECT_SPREAD,
    CheckedHyperparameters,
)
from obliquebart.model.settings import OF_SOFT_RULES, ensemble_prefix

PREFIX = "causal_"
# The median of |z| of a standard normal.
MEDIAN_NORMAL = 0.6745


class WithEffects(Likelihood):
    """Adds treatments to the plain likelihood from which a class is derived besides."""

    plain: ClassVar[Likelihood]
    has_latents = True  # what the effects leave of the outcome

    def __init__(self, n_treatments: int = 1, codes_arms: bool = True, n_hidden: int = 0) -> None:
        """Take the number of treatments besides none, and whether they are arms.

        Rules of effects do not have the last `n_hidden` continuous columns.
        """
        self.n_treatments = n_treatments
        self.codes_arms = codes_arms
        self.n_hidden = n_hidden
        self.n_more = n_treatments
        self.noise = (*self.plain.noise, *map(_coefficient, _names(n_treatments)))

    def with_settings(self, more: Mapping[str, float]) -> Likelihood:
        """Return the likelihood with the treatments of the engine's settings."""
        n_treatments = int(more.get("n_treatments", 1))
        return type(self)(n_treatments, bool(more.get("codes_arms", 1.0)))

    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Encode outcomes as the plain likelihood does."""
        return replace(self.plain.encode(y, weights), likelihood=self)

    def part(self, outcome: Outcome, i: int) -> Outcome:
        """Keep the doses, which the plain likelihood does not know."""
        part = self.plain.part(outcome, i)
        return replace(part, likelihood=self, more=outcome.more)

    # ---- the prior -------------------------------------------------------------------------------

    @property
    def when_estimating(self) -> Likelihood:
        """The plain likelihood of short fits, for which a dose is a column."""
        return self.plain.when_estimating

    def wants_noise(self, parameters: CheckedHyperparameters) -> bool:
        """Say what the plain likelihood says."""
        return self.plain.wants_noise(parameters)

    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Return that of the plain likelihood, and the prior of the coefficients."""
        prior = self.plain.noise_prior(parameters, outcome, noise)
        treatments = {
            "n_treatments": float(self.n_treatments),
            "codes_arms": float(self.codes_arms),
            "level_sd": EFFECT_LEVEL_SD,
        }
        name = prior.get("likelihood", self.plain.name)
        more = {**prior.get("more", {}), **treatments}
        return {**prior, "likelihood": f"{PREFIX}{name}", "more": more}

    def more_ensembles(
        self, parameters: CheckedHyperparameters, outcome: Outcome, first: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return those of the noise, and fewer and shallower trees per treatment.

        The scale of tau is half-normal, since high - low is normal with variance one.
        """
        n_trees = parameters.n_effect_trees
        spread = EFFECT_SPREAD[self.task] / MEDIAN_NORMAL
        effect = {
            **{name: first[name] for name in SHARED},
            **{name: first[name] for name in OF_SOFT_RULES if name in first},
            # Without a component for the columns that rules of effects do not have.
            "directions": parameters.core_directions,
            "n_trees": n_trees,
            "alpha": parameters.effect_alpha,
            "beta": parameters.effect_beta,
            "min_samples_leaf": parameters.min_samples_leaf,
            "output_correlation": first["output_correlation"],
            "hidden_columns": self.n_hidden,
            "leaf_sd": spread / math.sqrt(n_trees),
            "leaf_sd_fixed": True,
        }
        others = self.plain.more_ensembles(parameters, outcome, first)
        return [*others, *(dict(effect) for _ in range(self.n_treatments))]

    def part_settings(self, settings: Mapping[str, Any], e: int) -> dict[str, Any]:
        """Return the settings of one ensemble, which for a treatment is its effect."""
        name = self.plain.name if e == 0 else TreatmentEffect.name
        return {**super().part_settings(settings, e), "likelihood": name}

    # ---- from the engine's units to the user's ---------------------------------------------------

    def trace_units(self, scale: OutcomeScale) -> dict[str, float]:
        """Give levels of effects in the units of f, per unit of the engine's dose."""
        levels = {f"level.{k}": scale.scale for k in range(self.n_treatments)}
        return {**super().trace_units(scale), **levels}

    def shown_name(self, name: str) -> str:
        """Name the ensembles of the noise and of the effects by what they are."""
        return name.replace(ensemble_prefix(1), "effect_") if self._is_simple else name

    @property
    def _is_simple(self) -> bool:
        """Whether the second ensemble is the only treatment's."""
        return self.n_treatments == 1 and not self.plain.other_links(1)[0].startswith("log")

    def other_links(self, n_others: int) -> list[str]:
        """Return the links of the noise, and none for the effects."""
        n_noise = n_others - self.n_treatments
        return [*self.plain.other_links(n_noise), *(["identity"] * self.n_treatments)]

    def noise_at_rows(
        self, scalars: dict[str, FloatArray], others: Sequence[FloatArray]
    ) -> dict[str, FloatArray]:
        """Return the noise alone."""
        return self.plain.noise_at_rows(scalars, others[: len(others) - self.n_treatments])

    def added(
        self, scalars: Mapping[str, FloatArray], others: Sequence[FloatArray]
    ) -> FloatArray | float:
        """Return what the ensembles of the treatments add to f where there is no treatment."""
        taus = others[len(others) - self.n_treatments :]
        parts = [scalars[f"low.{k}"] * tau for k, tau in enumerate(taus)]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def effects(
        self, scalars: Mapping[str, FloatArray], others: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return what one unit of each dose adds to f; levels are in the engine's units."""
        taus = others[len(others) - self.n_treatments :]
        return [
            scalars[f"level.{k}"] + (scalars[f"high.{k}"] - scalars[f"low.{k}"]) * tau
            for k, tau in enumerate(taus)
        ]


class CausalGaussian(WithEffects, Gaussian):
    """Numbers with normal noise."""

    name = "causal_gaussian"
    plain = Gaussian()


class CausalStudentT(WithEffects, StudentT):
    """Numbers with noise of Student's t distribution."""

    name = "causal_student_t"
    plain = StudentT()


class CausalLearnedT(WithEffects, LearnedT):
    """The same with degrees of freedom that are learned."""

    name = "causal_learned_t"
    plain = LearnedT()


class CausalVaryingNoise(WithEffects, VaryingNoise):
    """Numbers with noise that varies."""

    name = "causal_varying_noise"
    plain = VaryingNoise()


class CausalProbit(WithEffects, Probit):
    """Two classes."""

    name = "causal_probit"
    plain = Probit()


class CausalWeightedProbit(WithEffects, WeightedProbit):
    """Two classes, with weights."""

    name = "causal_weighted_probit"
    plain = WeightedProbit()


class TreatmentEffect(Gaussian):
    """The effect of one treatment as an f of its own: for Python only."""

    name = "treatment_effect"
    noise: tuple[NoiseScalar, ...] = ()
    predicted = "Effects"

    def noise_sd(self, given: Given) -> FloatArray:
        """Return zero: an effect is a number that has no noise."""
        return np.zeros_like(given.f)


def _names(n_treatments: int) -> list[str]:
    return [f"{name}.{k}" for k in range(n_treatments) for name in ("low", "high", "level")]


def _coefficient(name: str) -> NoiseScalar:
    """Return a coefficient, which only together with tau means something."""
    return NoiseScalar(name, name, in_progress=False, is_scale=False, is_shown=False)
