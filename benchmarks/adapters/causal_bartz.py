"""bartz's Bayesian causal forest.

Its defaults: 250 trees of the outcome and 100 of the effect, a sampled intercept of the effect, no
adaptive coding. It takes the propensity from the user, here from its own probit BART. One chain of
1,000 sweeps of burn-in (100 by default) and 1,000 kept draws. The first fit of a process compiles.
"""

from __future__ import annotations

import numpy as np
from bartz import Bart
from bartz.bcf import bcf
from causal_study import Effects, Problem

N_BURN, N_DRAWS = 1000, 1000
N_PROPENSITY = 250  # sweeps of burn-in, and kept draws


def _propensity(x: np.ndarray, z: np.ndarray, seed: int) -> np.ndarray:
    model = Bart(
        x.T,
        z.astype(bool),
        outcome_type="binary",
        n_burn=N_PROPENSITY,
        n_save=N_PROPENSITY,
        num_chains=None,
        printevery=None,
        seed=seed,
    )
    return np.asarray(model.predict("train", kind="mean"), np.float32)


def forest(problem: Problem) -> Effects:
    x, y, z = (a.astype(np.float32) for a in (problem.numbers(), problem.y, problem.z))
    propensity = _propensity(x, z, problem.seed)
    model = bcf(
        x, y, z, pihat_train=propensity, nskip=N_BURN, ndpost=N_DRAWS, seed=problem.seed + 1
    )
    draws = model.predict(x, pihat_test=propensity)["tau"]
    return Effects(np.asarray(draws, np.float64), N_BURN + N_DRAWS)
