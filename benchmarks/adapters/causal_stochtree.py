"""stochtree's Bayesian causal forest.

Its defaults: 250 trees of the outcome and 100 of the effect, the propensity from its own BART, a
sampled intercept of the effect. Four chains of 1,000 kept draws or as many as asked for, started
from ten greedy ensembles as in its examples (1,000 draws of one chain there); it has no burn-in
after a greedy start.
"""

from __future__ import annotations

import numpy as np
from causal_study import Effects, Problem
from stochtree import BCFModel

N_CHAINS, N_GREEDY, N_DRAWS = 4, 10, 1000


def forest(problem: Problem, n_chains: int = N_CHAINS, n_draws: int = N_DRAWS) -> Effects:
    model = BCFModel()
    model.sample(
        X_train=problem.x,
        Z_train=problem.z,
        y_train=problem.y,
        num_gfr=N_GREEDY,
        num_mcmc=n_draws,
        general_params={
            "num_chains": n_chains,
            "num_threads": 1,
            "random_seed": problem.seed + 1,
        },
    )
    draws = model.predict(X=problem.x, Z=problem.z, type="posterior", terms="cate")
    return Effects(np.asarray(draws).T, N_GREEDY + n_chains * n_draws)
