"""Outcome models. A new one is a module with a `Likelihood` and a line in `LIKELIHOODS`."""

from collections.abc import Mapping

from obliquebart.likelihood.base import Given, Likelihood, NoiseScalar
from obliquebart.likelihood.causal import (
    CausalGaussian,
    CausalLearnedT,
    CausalProbit,
    CausalStudentT,
    CausalVaryingNoise,
    CausalWeightedProbit,
    TreatmentEffect,
)
from obliquebart.likelihood.counts import NegativeBinomial, Poisson
from obliquebart.likelihood.gaussian import Gaussian
from obliquebart.likelihood.logit import Logit
from obliquebart.likelihood.ordinal import Ordinal
from obliquebart.likelihood.probit import Probit, WeightedProbit
from obliquebart.likelihood.softmax import ClassScore, Softmax
from obliquebart.likelihood.student_t import LearnedT, StudentT
from obliquebart.likelihood.survival import LogLogistic, LogNormal
from obliquebart.likelihood.varying_noise import VaryingNoise

__all__ = ["LIKELIHOODS", "Given", "Likelihood", "NoiseScalar", "likelihood_of"]

LIKELIHOODS: dict[str, Likelihood] = {
    Gaussian.name: Gaussian(),
    StudentT.name: StudentT(),
    LearnedT.name: LearnedT(),
    Probit.name: Probit(),
    WeightedProbit.name: WeightedProbit(),
    VaryingNoise.name: VaryingNoise(),
    Ordinal.name: Ordinal(),
    Poisson.name: Poisson(),
    NegativeBinomial.name: NegativeBinomial(),
    LogNormal.name: LogNormal(),
    LogLogistic.name: LogLogistic(),
    Logit.name: Logit(),
    Softmax.name: Softmax(),
    ClassScore.name: ClassScore(),
    CausalGaussian.name: CausalGaussian(),
    CausalStudentT.name: CausalStudentT(),
    CausalLearnedT.name: CausalLearnedT(),
    CausalVaryingNoise.name: CausalVaryingNoise(),
    CausalProbit.name: CausalProbit(),
    CausalWeightedProbit.name: CausalWeightedProbit(),
    TreatmentEffect.name: TreatmentEffect(),
}


def likelihood_of(name: str, more: Mapping[str, float]) -> Likelihood:
    """Return the likelihood of a posterior, from its name and its own settings in the engine."""
    return LIKELIHOODS[name].with_settings(more)
