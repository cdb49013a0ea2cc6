"""Oblique Bayesian additive regression trees.

Examples
--------
>>> import numpy as np
>>> from obliquebart import ObliqueBARTRegressor
>>> x = np.linspace(-1, 1, 100).reshape(-1, 1)
>>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=100, random_state=0)
>>> model.fit(x, np.abs(x[:, 0])).predict([[0.0], [1.0]]).shape
(2,)
"""

from obliquebart.causal.difference import average_difference
from obliquebart.estimators import (
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
)
from obliquebart.estimators.rotation import RandomRotation
from obliquebart.exceptions import (
    CheckpointWarning,
    ClassOrderWarning,
    ConstantOutcomeWarning,
    ConvergenceWarning,
    DoubtfulColumnWarning,
    ManyClassesWarning,
    ModelFileError,
    OverlapWarning,
    TimeLimitWarning,
    WorkerLostError,
)
from obliquebart.files.model_file import load
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import UnseenLevelWarning

__version__ = "0.1.0"

__all__ = [
    "CheckpointWarning",
    "ClassOrderWarning",
    "ConstantOutcomeWarning",
    "ConvergenceWarning",
    "DoubtfulColumnWarning",
    "ManyClassesWarning",
    "ModelFileError",
    "ObliqueBARTCausal",
    "ObliqueBARTClassifier",
    "ObliqueBARTCountRegressor",
    "ObliqueBARTRegressor",
    "ObliqueBARTSurvival",
    "OverlapWarning",
    "Posterior",
    "RandomRotation",
    "TimeLimitWarning",
    "UnseenLevelWarning",
    "WorkerLostError",
    "__version__",
    "average_difference",
    "load",
]
