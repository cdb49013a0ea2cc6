"""Simulated treatments, confounded by a column, with effects that differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.estimators import OPTIONS
from obliquebart import ObliqueBARTCausal


def causal_model(**more):
    return ObliqueBARTCausal(**{**OPTIONS, "n_effect_trees": 10, "random_state": 0, **more})


def treated_table(n=160, seed=0):
    """Return a table with numbers and a category, the treatments, and the outcomes.

    The effect is 1 + b; a affects both the treatment and the outcome.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n) for name in "abc"})
    X["g"] = rng.choice(["u", "v"], size=n)
    z = (rng.uniform(size=n) < 1 / (1 + np.exp(-X["a"]))).astype(int).to_numpy()
    y = X["a"] + z * (1 + X["b"]) + 0.5 * rng.normal(size=n)
    return X, z, y.rename("score")
