"""A move that draws a cut anew: without a likelihood the chain must return the prior."""

import numpy as np
from invariance import compare, make_data, small_settings

from obliquebart import _core

rng = np.random.default_rng(0)
data, settings = make_data(rng, p=4), small_settings()
settings.alpha, settings.beta, settings.likelihood = 0.7, 1.0, "none"
settings.p_recut = 0.5


def statistics(draws, theta):
    """Rules, the size of their cuts, and theta."""
    cut = draws.to_arrays()["cut"]
    return len(cut), np.abs(cut).sum(), theta


prior, sampled, accepted = [], [], 0
for i in range(1000):
    draws, scales = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, scales["theta"].mean()))
    sampler = _core.Sampler(data, np.zeros(data.n_rows), None, settings, 2, i)
    sampler.sweep(200)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.theta))
    accepted += sampler.counters["accepted_recut"]
assert accepted > 0
assert _core.MOVES[-1] == "recut"
compare(("rules", "cuts", "theta"), sampled, prior)
