"""Estimators with short chains."""

from __future__ import annotations

from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
)

OPTIONS = {"n_trees": 20, "n_burn": 50, "n_draws": 25, "n_chains": 2, "progress": False}


def regressor(**more):
    return ObliqueBARTRegressor(**{**OPTIONS, "random_state": 0, **more})


def classifier(**more):
    return ObliqueBARTClassifier(**{**OPTIONS, "random_state": 0, **more})


def count_regressor(**more):
    return ObliqueBARTCountRegressor(**{**OPTIONS, "random_state": 0, **more})
