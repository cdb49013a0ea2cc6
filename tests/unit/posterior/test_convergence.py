"""The measures of convergence: against arithmetic, and on chains with a known fault."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from obliquebart.posterior.convergence import Convergence, measure_convergence, split_rhat

ARRIVED = Convergence(
    mc_share=0.01, between_share=0.0, rhat_f=1.015, scale_rhat={"sigma": 1.1}, mcse=0.1
)


def slow(rng, shape, memory):
    """Stationary chains of shape (n_chains, n_draws, n_rows) with variance 1."""
    n_chains, n_draws, n_rows = shape
    steps = rng.normal(size=(n_chains, n_draws + 1000, n_rows)) * math.sqrt(1 - memory**2)
    return lfilter([1.0], [1.0, -memory], steps, axis=1)[:, 1000:]


def test_independent_draws(rng):
    f = 3.0 * rng.normal(size=(8, 500, 200))
    found = measure_convergence(f, 7.0, {"sigma": np.exp(rng.normal(size=(8, 500)))})
    np.testing.assert_allclose(found.mcse, 3.0 / math.sqrt(4000), rtol=0.1)
    np.testing.assert_allclose(found.mc_share, 9.0 / 4000 / 16.0, rtol=0.15)
    assert found.between_share < 1e-3
    assert 0.999 < found.rhat_f < 1.002
    assert found.scale_rhat["sigma"] < 1.01
    assert found.tier == "fine"
    assert found.arrived


def test_the_error_of_slow_chains_is_that_of_their_mean(rng):
    # The mean of n draws with autocorrelation m^k has variance (1 + m) / (1 - m) / n.
    f = slow(rng, (8, 2000, 100), 0.95)
    found = measure_convergence(f, 0.0, {})
    np.testing.assert_allclose(found.mcse**2, 39.0 / 16_000, rtol=0.25)
    assert found.between_share < 0.01


def test_chains_in_places_of_their_own(rng):
    places = rng.normal(size=(8, 1, 400))
    f = 0.5 * rng.normal(size=(8, 200, 400)) + places
    found = measure_convergence(f, 1.0, {})
    # f has variance 1 / 4 from the draws and about 7 / 8 from the places of eight chains.
    np.testing.assert_allclose(found.between_share, 1.0 / (0.25 + 0.875 + 1.0), rtol=0.1)
    np.testing.assert_allclose(found.mc_share, found.between_share / 8, rtol=0.05)
    assert found.rhat_f > 1.5
    assert found.tier == "apart"


def test_what_drifts_together_is_not_apart(rng):
    # All chains move the same way: none is caught, but none has arrived.
    f = rng.normal(size=(8, 400, 100)) + np.linspace(0, 3, 400)[:, np.newaxis]
    found = measure_convergence(f, 1.0, {})
    assert found.between_share == 0.0
    assert found.rhat_f > 1.05


def test_one_chain_is_cut_into_batches(rng):
    f = slow(rng, (1, 16_000, 200), 0.95)
    found = measure_convergence(f, 0.0, {})
    np.testing.assert_allclose(found.mcse**2, 39.0 / 16_000, rtol=0.25)
    assert found.between_share == 0.0


def test_noise_may_differ_by_row(rng):
    f = rng.normal(size=(4, 100, 2))
    both = measure_convergence(f, [0.0, 3.0], {})
    each = [measure_convergence(f[..., [j]], noise, {}) for j, noise in enumerate((0.0, 3.0))]
    np.testing.assert_allclose(both.mc_share, np.mean([one.mc_share for one in each]))


def test_rhat_by_hand():
    # Halves (0, 2), (2, 4), (4, 6), (6, 8): within variance 2, means 1, 3, 5, 7 with variance 20/3.
    draws = np.array([[0.0, 2.0, 2.0, 4.0], [4.0, 6.0, 6.0, 8.0]])
    np.testing.assert_allclose(split_rhat(draws), math.sqrt(1 / 2 + 20 / 3 / 2))
    # The middle draw of an odd number is left out.
    odd = np.insert(draws, 2, 99.0, axis=1)
    np.testing.assert_allclose(split_rhat(odd), split_rhat(draws))


def test_chains_that_stand_still():
    same = np.full((3, 10, 2), 4.0)
    found = measure_convergence(same, 0.0, {"sigma": same[..., 0]})
    assert found[:2] == (0.0, 0.0)
    assert found.arrived
    places = same + np.arange(3.0)[:, np.newaxis, np.newaxis]
    found = measure_convergence(places, 0.0, {})
    assert found.rhat_f == math.inf
    assert found.tier == "apart"


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 100, 0)])
def test_what_cannot_be_told(rng, shape):
    found = measure_convergence(rng.normal(size=shape), 1.0, {"sigma": np.ones(shape[:2])})
    assert math.isnan(found.mc_share)
    assert found.tier == "more"
    assert not found.arrived


def test_arrived_needs_all():
    assert ARRIVED.arrived
    assert ARRIVED._replace(scale_rhat={}).arrived
    for change in (
        {"mc_share": 0.011},
        {"rhat_f": 1.021},
        {"scale_rhat": {"sigma": 1.0, "leaf_sd": 1.11}},
        {"mc_share": math.nan},
    ):
        assert not ARRIVED._replace(**change).arrived
