"""Rules with entries equal up to sign: without a likelihood the chain must return the prior."""

import numpy as np
from invariance import compare, make_data, small_settings

from obliquebart import _core

rng = np.random.default_rng(0)
data, settings = make_data(rng, p=4), small_settings()
settings.alpha, settings.beta, settings.likelihood = 0.7, 1.0, "none"
settings.sign_rules = True
settings.p_change, settings.p_perturb = 0.3, 0.3


def statistics(draws, theta):
    """Rules, columns of a rule, and theta."""
    arrays = draws.to_arrays()
    size = arrays["phi_count"].astype(int)
    wanted = np.repeat(1 / np.sqrt(size), size)
    assert np.allclose(np.abs(arrays["phi_value"]), wanted), "entries must be equal up to sign"
    return len(size), size.sum(), theta


prior, sampled = [], []
for i in range(500):
    draws, scales = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, scales["theta"].mean()))
    sampler = _core.Sampler(data, np.zeros(data.n_rows), None, settings, 2, i)
    sampler.sweep(200)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.theta))
compare(("rules", "columns", "theta"), sampled, prior)
