"""Labels with weights that are not whole: one leaf, whose output has a known posterior density.

Exact posteriors of partitions and prior invariance are tested with those of the other likelihoods.
Here f goes far into the region that contradicts a label, where a row has thousands of latents.

False alarms: thirty means, each off by more than five of its standard errors, which come from 100
batches: about 1e-4 in all. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from exact.oracles import core
from exact.oracles.prior import Prior, Table
from obliquebart import _core

N_DRAWS, N_THIN = 40_000, 10
# weights, labels, leaf_sd, offset
CASES = {
    "one row": ([0.3], [1], 3.0, -1.0),
    "nearly whole": ([0.98], [0], 3.0, 2.0),
    "more than one": ([2.5], [1], 3.0, -3.0),
    "many latents of a label": ([700.5, 400.25], [1, 0], 2.0, 0.5),
    "two that disagree": ([0.7, 0.6], [1, 0], 2.0, 0.0),
    "all whole": ([1.0, 2.0], [1, 0], 2.0, 0.3),
}


def density(weights, labels, leaf_sd, offset):
    """Return f on a grid, and its posterior probabilities."""
    f = np.linspace(-12.0, 12.0, 400_001) * leaf_sd
    log_p = -0.5 * (f / leaf_sd) ** 2
    for weight, label in zip(weights, labels, strict=True):
        log_p += weight * special.log_ndtr((offset + f) * (1 if label else -1))
    p = np.exp(log_p - log_p.max())
    return f, p / p.sum()


def sampled(weights, labels, leaf_sd, offset, seed):
    """Return draws of the output of a tree that has one leaf."""
    n = len(labels)
    prior = Prior(1, 1e-9, 0.0, sigma=1.0, leaf_sd=leaf_sd)
    settings = core.settings(prior, likelihood="weighted_probit", offset=offset)
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    chain = _core.Sampler(data, np.array(labels, float), np.array(weights), settings, seed, 0)
    out = np.empty(N_DRAWS)
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        (out[i],) = chain.ensemble().to_arrays()["outputs"]
    return out


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_of_one_output(name, seed):
    f, p = density(*CASES[name])
    draws = sampled(*CASES[name], seed)
    below = np.interp(draws, f, np.cumsum(p))
    scores = {"mean": draws - (f * p).sum()}
    scores |= {f"below {u}": (below < u) - u for u in (0.05, 0.2, 0.5, 0.9)}
    for what, score in scores.items():
        batches = score.reshape(100, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / 10.0)
        print(f"{what}: {z:.2f}")
        assert abs(z) < 5, what


def test_weights_the_engine_does_not_take():
    for weight in (0.0, -1.0, np.nan, 2.0**21):
        with pytest.raises(ValueError, match=r"positive and at most 2\^20"):
            sampled([weight], [1], 1.0, 0.0, 1)
