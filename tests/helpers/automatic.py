"""Small automatic fits: what tests of rounds and of time limits share."""

from __future__ import annotations

import numpy as np

from obliquebart.files import model_file
from obliquebart.posterior import rounds
from obliquebart.posterior.convergence import Convergence

SMALL = {"n_trees": 15, "n_chains": 2, "n_burn": 50, "random_state": 8, "progress": False}
# Each class has chains of its own.
CLASSES = {**SMALL, "multiclass": "one_vs_rest"}
# More sweeps than there is time for in a test.
ENDLESS = 2**31 - 1
ARRIVED = rounds.ChainsConvergence(Convergence(0.001, 0.0, 1.001, {}, 0.01), [])
ON_THE_WAY = rounds.ChainsConvergence(Convergence(0.023, 0.0, 1.04, {}, 0.1), [])


def table():
    rng = np.random.default_rng(4)
    X = {"a": rng.normal(size=120), "b": rng.normal(size=120), "c": rng.choice(["p", "q"], 120)}
    return X, X["a"] + 0.3 * rng.normal(size=120)


def bytes_of(model):
    return model_file.to_bytes(model._fitted, {})


def explicit(model):
    """Return an estimator that asks for what an automatic run has found."""
    schedule = model.posterior_.schedule
    return type(model)(**{**model.get_params(), **vars(schedule)})
