"""The scikit-learn estimators."""

from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.causal import ObliqueBARTCausal
from obliquebart.estimators.classifier import ObliqueBARTClassifier
from obliquebart.estimators.counts import ObliqueBARTCountRegressor
from obliquebart.estimators.regressor import ObliqueBARTRegressor
from obliquebart.estimators.rotation import RandomRotation
from obliquebart.estimators.survival import ObliqueBARTSurvival
from obliquebart.model.parameters import Task

__all__ = [
    "BY_TASK",
    "ESTIMATORS",
    "ObliqueBART",
    "ObliqueBARTCausal",
    "ObliqueBARTClassifier",
    "ObliqueBARTCountRegressor",
    "ObliqueBARTRegressor",
    "ObliqueBARTSurvival",
    "RandomRotation",
]

# By their names in model files.
ESTIMATORS: dict[str, type[ObliqueBART]] = {
    estimator._saved_as: estimator
    for estimator in (
        ObliqueBARTRegressor,
        ObliqueBARTClassifier,
        ObliqueBARTCountRegressor,
        ObliqueBARTSurvival,
        ObliqueBARTCausal,
    )
}
# The estimator for a task, for users who choose only the task.
BY_TASK: dict[Task, type[ObliqueBART]] = {
    "regression": ObliqueBARTRegressor,
    "classification": ObliqueBARTClassifier,
    "count regression": ObliqueBARTCountRegressor,
    "survival": ObliqueBARTSurvival,
}
