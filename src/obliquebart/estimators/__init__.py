"""The scikit-learn estimators."""

from obliquebart.estimators.base import ObliqueBART
from obliquebart.estimators.classifier import ObliqueBARTClassifier
from obliquebart.estimators.regressor import ObliqueBARTRegressor
from obliquebart.estimators.rotation import RandomRotation

__all__ = [
    "ESTIMATORS",
    "ObliqueBART",
    "ObliqueBARTClassifier",
    "ObliqueBARTRegressor",
    "RandomRotation",
]

# Those that a model file may name.
ESTIMATORS: dict[str, type[ObliqueBART]] = {
    estimator.__name__: estimator for estimator in (ObliqueBARTRegressor, ObliqueBARTClassifier)
}
