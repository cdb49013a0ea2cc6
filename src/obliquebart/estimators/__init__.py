"""The scikit-learn estimators."""

from obliquebart.estimators.classifier import ObliqueBARTClassifier
from obliquebart.estimators.regressor import ObliqueBARTRegressor
from obliquebart.estimators.rotation import RandomRotation

__all__ = ["ObliqueBARTClassifier", "ObliqueBARTRegressor", "RandomRotation"]
