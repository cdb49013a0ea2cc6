"""Outcome models. A new one is a module with a `Likelihood` and a line in `LIKELIHOODS`."""

from obliquebart.likelihood.base import Given, Likelihood, NoiseScalar
from obliquebart.likelihood.gaussian import Gaussian
from obliquebart.likelihood.logit import Logit
from obliquebart.likelihood.probit import Probit, WeightedProbit
from obliquebart.likelihood.student_t import StudentT

__all__ = ["LIKELIHOODS", "Given", "Likelihood", "NoiseScalar"]

LIKELIHOODS: dict[str, Likelihood] = {
    Gaussian.name: Gaussian(),
    StudentT.name: StudentT(),
    Probit.name: Probit(),
    WeightedProbit.name: WeightedProbit(),
    Logit.name: Logit(),
}
