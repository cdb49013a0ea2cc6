"""Noise with heavy tails: prior, y, sweeps, prior again."""

import numpy as np
from invariance import compare, make_data, predict, sampler_at, small_settings

from obliquebart import _core

rng = np.random.default_rng(0)
data, settings = make_data(rng), small_settings()
settings.likelihood, settings.more = "student_t", {"df": 3.0}


def statistics(draws, sigma):
    """Leaves, sigma, and the size of f."""
    return len(draws.to_arrays()["outputs"]), sigma, np.abs(predict(draws, data)).mean()


prior, sampled = [], []
for i in range(1000):
    draws, scales = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, scales["sigma"]))
    y = predict(draws, data) + scales["sigma"] * rng.standard_t(3.0, data.n_rows)
    sampler = sampler_at(data, y, settings, i, draws, scales)
    sampler.sweep(20)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.sigma))
compare(("leaves", "sigma", "f"), sampled, prior)
