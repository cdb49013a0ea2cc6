"""The likelihoods of times: densities, intervals, and the fit that standardises them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from obliquebart.likelihood import LIKELIHOODS, Given
from obliquebart.likelihood.survival import marginal_fit
from obliquebart.model.times import NO_LIMIT, Times

DISTRIBUTIONS = {
    "log_normal": stats.lognorm(0.7, scale=np.exp(0.4)),
    "log_logistic": stats.fisk(1 / 0.7, scale=np.exp(0.4)),
}
GIVEN = Given(np.array([[0.4]]), {"sigma": np.array([[0.7]])})


def log_density(name, lower, upper):
    limits = Times(np.array([lower]), np.array([upper])).to_log()
    return float(LIKELIHOODS[name].log_density(limits, GIVEN)[0, 0])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_densities_and_intervals_are_those_of_scipy(name):
    known = DISTRIBUTIONS[name]
    assert log_density(name, 1.7, 1.7) == pytest.approx(known.logpdf(1.7))
    assert log_density(name, 3.0, np.inf) == pytest.approx(known.logsf(3.0))
    assert log_density(name, 0.0, 0.5) == pytest.approx(known.logcdf(0.5))
    inside = np.log(known.cdf(2.5) - known.cdf(2.0))
    assert log_density(name, 2.0, 2.5) == pytest.approx(inside)
    area, _ = integrate.quad(lambda t: np.exp(log_density(name, t, t)), 2.0, 2.5)
    assert np.log(area) == pytest.approx(inside)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_far_tails_do_not_underflow(name):
    for a, b in ((1e9, 2e9), (1e-9, 2e-9)):
        value = log_density(name, a, b)
        assert np.isfinite(value)
        # The first is a bound of the second.
        assert value <= log_density(name, a, np.inf)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_survival_and_quantiles_of_a_constant_exist(name):
    given = Given(np.zeros((2, 1)), {"sigma": np.zeros((2, 1))})
    found = LIKELIHOODS[name].survival(np.array([-1.0]), given)
    np.testing.assert_array_equal(found, np.ones((2, 1)))


def simulated(n, rng, scale=0.8):
    return 2.0 + scale * rng.standard_normal(n)


def test_the_marginal_fit_knows_of_censoring():
    rng = np.random.default_rng(0)
    log_time, end = simulated(4000, rng), rng.normal(1.5, 0.5, 4000)
    limits = np.stack([np.minimum(log_time, end), np.where(log_time <= end, log_time, NO_LIMIT)])
    assert (limits[1] == NO_LIMIT).mean() > 0.6
    location, scale = marginal_fit(limits)
    assert location == pytest.approx(2.0, abs=0.1)
    assert scale == pytest.approx(0.8, abs=0.1)


def test_the_marginal_fit_of_few_events_stays_near_the_limits():
    rng = np.random.default_rng(1)
    lower = rng.normal(0.0, 1.0, 500)
    upper = np.where(np.arange(500) < 2, lower, NO_LIMIT)
    location, scale = marginal_fit(np.stack([lower, upper]))
    assert 0.0 < location < 20.0
    assert 0.5 < scale < 10.0


def test_the_marginal_fit_of_equal_limits():
    """Events at the time at which others were censored."""
    lower = np.full(20, 1.5)
    location, scale = marginal_fit(np.stack([lower, np.where(np.arange(20) < 8, 1.5, NO_LIMIT)]))
    assert np.isfinite(location)
    assert 0.01 < scale < 100.0
