"""Rules that add columns: without a likelihood the chain must return the prior."""

import numpy as np
from invariance import make_data, small_settings, without_likelihood

rng = np.random.default_rng(0)
data, settings = make_data(rng, p=4), small_settings()
settings.alpha, settings.beta, settings.likelihood = 0.7, 1.0, "none"
settings.directions = [{"kind": "sums"}]
settings.p_change, settings.p_perturb = 0.3, 0.3


def statistics(draws, theta):
    """Rules, columns of a rule, and theta."""
    arrays = draws.to_arrays()
    size = arrays["phi_count"].astype(int)
    wanted = np.repeat(1 / np.sqrt(size), size)
    assert np.allclose(arrays["phi_value"], wanted), "entries must be equal"
    return len(size), size.sum(), theta


without_likelihood(data, settings, statistics, ("rules", "columns", "theta"), 500)
