"""Does the changed core sample the new prior? Without a likelihood it must return it.

500 short chains with the likelihood off against 500 draws of the prior simulator. Each of the
three tests has a false-alarm rate of 0.001.
"""

import numpy as np
from scipy.stats import ks_2samp

from obliquebart import _core

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (4, 40)).astype(np.float32)
data = _core.Data(x, np.empty((0, 40), np.uint32), [])
settings = _core.Settings()
settings.n_trees, settings.alpha, settings.beta = 3, 0.7, 1.0
settings.sign_rules, settings.likelihood = True, "none"
settings.theta_a, settings.theta_b = 4.0, 6.0
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
    draws, sigma, theta, _ = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, theta))
    sampler = _core.Sampler(data, np.zeros(40), None, settings, 2, i)
    sampler.sweep(200)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.theta))
for name, ours, wanted in zip(
    ("rules", "columns", "theta"), *map(np.transpose, (sampled, prior)), strict=True
):
    p = ks_2samp(ours, wanted).pvalue
    print(f"{name:8} p = {p:.3f}")
    assert p > 0.001
