"""The scikit-learn estimators."""

from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.classifier import ObliqueBARTClassifier
from obliquebart.estimators.regressor import ObliqueBARTRegressor
from obliquebart.estimators.rotation import RandomRotation
from obliquebart.model.parameters import Task

__all__ = [
    "BY_TASK",
    "ESTIMATORS",
    "ObliqueBART",
    "ObliqueBARTClassifier",
    "ObliqueBARTRegressor",
    "RandomRotation",
]

# Those that a model file may name.
ESTIMATORS: dict[str, type[ObliqueBART]] = {
    estimator._saved_as: estimator for estimator in (ObliqueBARTRegressor, ObliqueBARTClassifier)
}
# The one for a task, where the user names no estimator.
BY_TASK: dict[Task, type[ObliqueBART]] = {
    "regression": ObliqueBARTRegressor,
    "classification": ObliqueBARTClassifier,
}
