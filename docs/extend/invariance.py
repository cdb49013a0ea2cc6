"""Does a changed core sample the right posterior? Draw from the prior, then y, then sweep.

What comes out must again be a draw from the prior.
"""

import numpy as np
from scipy.stats import ks_2samp

from obliquebart import _core


def make_data(rng, p=2, n=40):
    """Return uniform columns."""
    x = rng.uniform(-1, 1, (p, n)).astype(np.float32)
    return _core.Data(x, np.empty((0, n), np.uint32), [])


def small_settings():
    """Return three trees that learn sigma and theta."""
    settings = _core.Settings()
    settings.n_trees, settings.leaf_sd = 3, 0.5
    settings.nu, settings.lambda_ = 6.0, 1.0
    settings.theta_a, settings.theta_b = 4.0, 6.0
    return settings


def predict(draws, data):
    """Return f at the rows."""
    return draws.predict(data, "identity", 0.0, 1)[0].astype(np.float64)


def sampler_at(data, y, settings, i, draws, scales):
    """Return a chain that starts at a draw of the prior."""
    sampler = _core.Sampler(data, y, None, settings, 2, i)
    sampler.set_ensemble(draws)
    sampler.sigma = scales["sigma"]
    sampler.column_theta = list(scales["theta"])
    return sampler


def compare(names, sampled, prior):
    """Compare each statistic; false alarms: one in a thousand for each."""
    for name, ours, wanted in zip(names, *map(np.transpose, (sampled, prior)), strict=True):
        p = ks_2samp(ours, wanted).pvalue
        print(f"{name:10} p = {p:.3f}")
        assert p > 0.001, name


def without_likelihood(data, settings, statistics, names, n):
    """Compare chains without a likelihood with the prior; return the last of them."""
    prior, sampled = [], []
    for i in range(n):
        draws, scales = _core.draw_prior(data, settings, 1, i)
        prior.append(statistics(draws, scales["theta"].mean()))
        sampler = _core.Sampler(data, np.zeros(data.n_rows), None, settings, 2, i)
        sampler.sweep(200)
        assert sampler.check() == []
        sampled.append(statistics(sampler.ensemble(), sampler.theta))
    compare(names, sampled, prior)
    return sampler
