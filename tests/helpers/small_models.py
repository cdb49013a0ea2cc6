"""Small fitted models that several test files look at; each is fitted once a session."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor

OPTIONS = {"n_trees": 20, "n_burn": 150, "n_draws": 100, "n_chains": 2, "progress": False}
COLOURS = ["red", "blue", "green", "grey", "black", "white"]


@cache
def mixed_table(n=150):
    """Three numbers and a colour; y jumps along a line in age and bmi, and for two colours."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "bmi": rng.uniform(17, 33, n),
            "noise": rng.uniform(0, 1, n),
            "colour": rng.choice(COLOURS, n),
        }
    )
    jump = (X["age"] - 50) / 30 + (X["bmi"] - 25) / 8 > 0
    y = 100 + 10.0 * jump + 4.0 * X["colour"].isin(["red", "blue"]) + rng.normal(size=n)
    return X, y.to_numpy()


@cache
def regressor():
    X, y = mixed_table()
    # Scaled by range, so that every rule can be written in the units of its columns.
    return ObliqueBARTRegressor(**OPTIONS, feature_scaling="range", random_state=1).fit(X, y)


@cache
def classifier():
    X, y = mixed_table()
    labels = np.where(y > 105, "high", "low")
    return ObliqueBARTClassifier(**OPTIONS, random_state=1).fit(X, labels)


@cache
def three_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    return ObliqueBARTClassifier(**OPTIONS, random_state=1).fit(X, names[y]), X, names[y]
