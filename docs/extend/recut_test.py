"""A move that draws a cut anew: without a likelihood the chain must return the prior."""

import numpy as np
from invariance import make_data, small_settings, without_likelihood

from obliquebart import _core

rng = np.random.default_rng(0)
data, settings = make_data(rng, p=4), small_settings()
settings.alpha, settings.beta, settings.likelihood = 0.7, 1.0, "none"
settings.p_recut = 0.5


def statistics(draws, theta):
    """Rules, the size of their cuts, and theta."""
    cut = draws.to_arrays()["cut"]
    return len(cut), np.abs(cut).sum(), theta


chain = without_likelihood(data, settings, statistics, ("rules", "cuts", "theta"), 1000)
assert chain.counters["accepted_recut"] > 0
assert _core.MOVES[-1] == "recut"
