"""Sweeps leave the prior invariant when y is drawn from the model.

Replicates: (theta, scales, ensemble) from the prior simulator, y given them, k sweeps; then some 25
statistics of the ensemble, the scales and y are compared with those of an independent prior sample
(Kolmogorov-Smirnov, or chi-square on counts). Start and reference come from the NumPy simulator, so
nothing rests on the core; the core's own simulator is compared with it in turn.

False alarms: a statistic fails below p = 1e-6; with about 900 statistics in the short form and
3,700 in the long form (more setups) a correct sampler fails one with probability 1e-3 and 4e-3.
Seeds are fixed.
Power: with 20,000 replicates against 40,000 prior draws a gap of 0.034 between two CDFs is found
with probability 0.99. A statistic that only some draws have (a child's cut) is compared among
these: its smaller sample finds a smaller gap of the whole.
"""

from __future__ import annotations

import numpy as np
import pytest

from exact.oracles import core, invariance
from exact.oracles.compare import detectable_gap
from exact.oracles.invariance import Setup
from exact.oracles.prior import Sample, simulate
from exact.oracles.setups import LONG, SHORT
from obliquebart import _core

LEVEL = 1e-6
REPLICATES, REFERENCE = 20_000, 40_000


def failures(p_values: dict[str, float]) -> dict[str, float]:
    print({name: f"{p:.2g}" for name, p in sorted(p_values.items(), key=lambda item: item[1])})
    return {name: p for name, p in p_values.items() if p < LEVEL}


def test_gap_that_would_be_found():
    assert detectable_gap(REPLICATES, REFERENCE, LEVEL) < 0.034
    assert detectable_gap(REPLICATES, REPLICATES, LEVEL) < 0.04


@pytest.mark.parametrize("setup", SHORT, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior(setup, seed):
    assert failures(invariance.p_values(setup, REPLICATES, REFERENCE, seed)) == {}


@pytest.mark.long
@pytest.mark.parametrize("setup", LONG, ids=lambda setup: setup.name)
def test_sweeps_keep_the_prior_long(setup, seed):
    assert failures(invariance.p_values(setup, REPLICATES, REFERENCE, seed)) == {}


def core_prior_sample(setup: Setup, n_draws: int, seed: int) -> Sample:
    """The core's own simulator."""
    data, settings = core.data(setup.table), setup.settings()
    kept = None
    theta, weights, tree_scales, (sigma, leaf_sd) = [], [], [], np.zeros((2, n_draws))
    for i in range(n_draws):
        one, scales = _core.draw_prior(data, settings, seed, i)
        sigma[i], leaf_sd[i] = scales["sigma"], scales["leaf_sd"]
        theta.append(scales["theta"])
        weights.append(scales["direction_weights"])
        tree_scales.append(scales["tree_scales"])
        if kept is None:
            kept = one
        else:
            kept.append(one)
    arrays = kept.to_arrays()
    theta, weights, tree_scales = np.array(theta), np.array(weights), np.array(tree_scales)
    return Sample(arrays, theta, sigma, leaf_sd, tree_scales, n_draws, n_draws, weights)


def core_prior_p_values(setup: Setup, n_draws: int, n_reference: int, seed: int):
    ours = simulate(setup.table, setup.prior, int(setup.share * n_reference), seed)
    cores = core_prior_sample(setup, int(setup.share * n_draws), seed)
    return invariance.compare(
        invariance.sample_statistics(setup, cores, seed + 1),
        invariance.sample_statistics(setup, ours, seed + 2),
    )


SMALL = [setup for setup in SHORT if setup.share == 1]


@pytest.mark.parametrize("setup", SMALL, ids=lambda setup: setup.name)
def test_prior_of_the_core(setup, seed):
    assert failures(core_prior_p_values(setup, 10_000, REFERENCE, seed)) == {}


@pytest.mark.long
@pytest.mark.parametrize("setup", LONG, ids=lambda setup: setup.name)
def test_prior_of_the_core_long(setup, seed):
    assert failures(core_prior_p_values(setup, 10_000, REFERENCE, seed)) == {}
