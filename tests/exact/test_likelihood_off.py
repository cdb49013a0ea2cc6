"""Likelihood off: from a root-only ensemble the sampler must reach the prior and stay there.

Independent chains, the last state of each, against the prior simulator: leaves, depth, theta,
sigma, non-zeros, cut positions, level sets, outputs. A chain starts far from the prior (no tree
has a split), so this also shows that the moves connect the space.

False alarms: p < 1e-6 for each of about 80 statistics, 1e-4 in all. With 10,000 chains against
40,000 draws a gap of 0.043 in a CDF is found with probability 0.99, with the 40,000 chains of the
long form a gap of 0.028.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from exact.oracles import core, invariance
from exact.oracles.compare import detectable_gap
from exact.oracles.invariance import Setup, make_table
from exact.oracles.prior import Prior, simulate
from obliquebart import _core

LEVEL = 1e-6
prior = partial(Prior, sigma=(3.0, 1.0), leaf_sd=0.6)
SETUPS = [
    Setup(
        "two columns and a category",
        make_table(30, 2, (4,), missing=0.1),
        prior(1, 0.7, 0.5, theta=(2.0, 2.0)),
    ),
    Setup(
        "empty leaves, three columns",
        make_table(6, 3),
        prior(2, 0.5, 0.5, min_samples_leaf=0, theta=(2.0, 3.0)),
        more=core.MOVES,
    ),
    Setup(
        "a theta for each column",
        make_table(30, 3),
        prior(2, 0.6, 1.0, theta=(1.0, 1.0), theta_by_column=True, leaf_sd=1.0),
        more=core.MOVES,
    ),
    Setup(
        "axis rules, leaf_sd sampled",
        make_table(12, 2, (3,)),
        prior(2, 0.95, 1.0, axis_rules=True, leaf_sd=(3.0, 1.0)),
        more=core.MOVES,
    ),
]


def last_states(setup: Setup, n_chains: int, n_sweeps: int, seed: int):
    data = core.data(setup.table)
    settings = setup.settings()
    settings.likelihood = "none"
    y = np.zeros(setup.table.n_rows)
    kept = None
    theta, scales = [], np.zeros((2, n_chains))
    for i in range(n_chains):
        chain = _core.Sampler(data, y, None, settings, seed, i)
        chain.sweep(n_sweeps)
        theta.append(chain.column_theta)
        scales[:, i] = chain.sigma, chain.leaf_sd
        if kept is None:
            kept = chain.ensemble()
        else:
            kept.append(chain.ensemble())
    return kept.to_arrays(), np.tile(y, (n_chains, 1)), (np.array(theta), *scales)


def p_values(setup: Setup, n_chains: int, n_reference: int, n_sweeps: int, seed: int):
    arrays, y, scales = last_states(setup, n_chains, n_sweeps, seed)
    reference = simulate(setup.table, setup.prior, n_reference, seed)
    blank = np.zeros((n_reference, setup.table.n_rows))
    scales_reference = reference.theta, reference.sigma, reference.leaf_sd
    return invariance.compare(
        invariance.statistics(setup, arrays, y, *scales),
        invariance.statistics(setup, reference.arrays, blank, *scales_reference),
    )


def test_gap_that_would_be_found():
    assert detectable_gap(10_000, 40_000, LEVEL) < 0.044
    assert detectable_gap(40_000, 40_000, LEVEL) < 0.03


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_sampler_returns_the_prior(setup, seed):
    found = p_values(setup, 10_000, 40_000, 400, seed)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.long
@pytest.mark.parametrize("moves", [{}, core.MOVES], ids=["grow and prune", "all moves"])
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_sampler_returns_the_prior_long(setup, moves, seed):
    found = p_values(replace(setup, more=moves), 40_000, 40_000, 2_000, seed)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}
