"""Noise with heavy tails: prior, y, sweeps, prior again."""

import numpy as np
from invariance import compare, make_data, predict, sampler_at, small_settings

from obliquebart import ObliqueBARTRegressor, _core
from obliquebart.likelihood import LIKELIHOODS

rng = np.random.default_rng(0)
data, settings = make_data(rng), small_settings()
settings.likelihood = "laplace"


def statistics(draws, sigma):
    """Leaves, sigma, and the size of f."""
    return len(draws.to_arrays()["outputs"]), sigma, np.abs(predict(draws, data)).mean()


prior, sampled = [], []
for i in range(1000):
    draws, scales = _core.draw_prior(data, settings, 1, i)
    prior.append(statistics(draws, scales["sigma"]))
    y = predict(draws, data) + scales["sigma"] * rng.laplace(size=data.n_rows)
    sampler = sampler_at(data, y, settings, i, draws, scales)
    sampler.sweep(20)
    assert sampler.check() == []
    sampled.append(statistics(sampler.ensemble(), sampler.sigma))
compare(("leaves", "sigma", "f"), sampled, prior)

# The Python side: an estimator names the likelihood, and everything else follows.


class RobustRegressor(ObliqueBARTRegressor):
    """Regression with heavy-tailed noise."""

    _family = LIKELIHOODS["laplace"]


x = rng.uniform(-1, 1, (300, 2))
truth = x[:, 0] - x[:, 1]
y = truth + 0.1 * rng.standard_t(1.0, 300)
errors = []
for estimator in (RobustRegressor, ObliqueBARTRegressor):
    model = estimator(n_trees=50, n_chains=2, n_burn=200, n_draws=200, random_state=0).fit(x, y)
    errors.append(np.abs(model.sample_more(50).predict(x) - truth).mean())
    print(f"{estimator.__name__:20} error {errors[-1]:.3f}, {model.posterior_}")
    low, high = model.predict_interval(x, 0.9, kind="outcome").T
    print(f"  90% intervals hold {np.mean((low < y) & (y < high)):.0%}")
assert errors[0] < errors[1]
