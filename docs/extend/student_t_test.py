"""Does the changed core sample the right posterior? Draw from the prior, then y, then sweep.

What comes out must again be a draw from the prior. Each test has a false-alarm rate of 0.001.
"""

import numpy as np
from scipy.stats import ks_2samp

from obliquebart import _core

NU, N = 3.0, 40
rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (2, N)).astype(np.float32)
data = _core.Data(x, np.empty((0, N), np.uint32), [])
settings = _core.Settings()
settings.n_trees, settings.leaf_sd, settings.t_degrees = 3, 0.5, NU
settings.nu, settings.lambda_ = 6.0, 1.0
settings.theta_a, settings.theta_b = 4.0, 6.0


def statistics(draws, sigma):
    """Leaves, sigma, and the size of f."""
    f = draws.predict(data, "identity", 0.0, 1)[0]
    return len(draws.to_arrays()["outputs"]), sigma, np.abs(f).mean()


prior, sampled = [], []
for i in range(1000):
    draws, sigma, theta, _ = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, sigma))
    f = draws.predict(data, "identity", 0.0, 1)[0].astype(np.float64)
    y = f + sigma * rng.standard_t(NU, N)
    sampler = _core.Sampler(data, y, None, settings, 2, i)
    sampler.set_ensemble(draws)
    sampler.sigma, sampler.theta = sigma, theta
    sampler.sweep(20)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.sigma))
for name, ours, wanted in zip(
    ("leaves", "sigma", "f"), *map(np.transpose, (sampled, prior)), strict=True
):
    p = ks_2samp(ours, wanted).pvalue
    print(f"{name:8} p = {p:.3f}")
    assert p > 0.001
