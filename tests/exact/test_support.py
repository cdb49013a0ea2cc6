"""How often a column is in a rule, where a product of its probabilities would underflow.

Small numbers of columns are held to the prior by the tests of invariance. False alarms: p < 1e-8
for each of 800 columns, 1e-5 in all.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from obliquebart import _core

P, N_TREES = 200, 4000
THETA: dict[str, np.ndarray] = {
    "one theta, small": np.array([0.01]),
    "one theta, large": np.array([0.97]),
    "by column, small": np.resize([0.001, 0.02, 0.0, 0.1], P),
    "by column, large": np.resize([0.999, 0.9999, 0.5, 0.02], P),
}


@pytest.mark.parametrize("name", THETA)
def test_columns_are_used_as_often_as_theta_says(name):
    theta = THETA[name]
    settings = _core.Settings()
    settings.n_trees = N_TREES
    settings.likelihood = "none"
    settings.min_samples_leaf = 0  # every rule is valid, also one without a column
    settings.theta_by_column = len(theta) > 1
    x = np.random.default_rng(0).uniform(-1, 1, (P, 10)).astype(np.float32)
    data = _core.Data(x, np.empty((0, 10), np.uint32), [])
    chain = _core.Sampler(data, np.zeros(10), None, settings, 1, 0)
    chain.set_state(chain.state() | {"theta": theta})
    chain.sweep(1)
    state = chain.state()
    n_rules = len(state["phi_count"])
    assert n_rules > 0.9 * N_TREES
    used = np.bincount(state["phi_column"], minlength=P)
    for count, probability in zip(used, np.resize(theta, P), strict=True):
        assert binomtest(int(count), n_rules, probability).pvalue > 1e-8
