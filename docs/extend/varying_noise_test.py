"""A second ensemble, for the variance: prior, y, sweeps, prior again; and the state goes on."""

import numpy as np
from invariance import compare, make_data, predict, sampler_at, small_settings

from obliquebart import _core

rng = np.random.default_rng(0)
data, settings = make_data(rng), small_settings()
settings.likelihood = "varying_noise"
settings.add_ensemble()
variance = settings.ensemble(1)
variance.leaf_model, variance.n_trees = "variance", 2
variance.leaf_shape, variance.leaf_rate = 6.0, 5.0
variance.theta_a, variance.theta_b = 4.0, 6.0


def log_variance(trees):
    """Return the sum of the trees' log factors at the rows."""
    sampler = _core.Sampler(data, np.zeros(data.n_rows), None, settings, 0, 0)
    sampler.set_ensemble(trees, 0, 1)
    return sampler.fit(1)


def statistics(draws, trees):
    """Leaves of both, and the sizes of f and of the log variance."""
    return (
        *(len(d.to_arrays()["outputs"]) for d in (draws, trees)),
        np.abs(predict(draws, data)).mean(),
        log_variance(trees).mean(),
    )


prior, sampled = [], []
for i in range(1000):
    draws, scales = _core.draw_prior(data, settings, 1, i)
    trees = scales["ensemble.1.trees"]
    prior.append(statistics(draws, trees))
    y = predict(draws, data) + np.exp(log_variance(trees) / 2) * rng.normal(size=data.n_rows)
    sampler = sampler_at(data, y, settings, i, draws, scales)
    sampler.set_ensemble(trees, 0, 1)
    sampler.sweep(20)
    sampled.append(statistics(sampler.ensemble(0), sampler.ensemble(1)))
compare(("leaves", "leaves of s2", "f", "log s2"), sampled, prior)

# A chain that starts by itself, with the weight of the rows learned.
start = _core.Sampler(data, y, None, settings, 3, 0)
start.sweep(50)
assert start.check() == []
assert np.isfinite(start.fit(1)).all()

# Both ensembles travel through the state: a chain that is put together again goes on alike.
state = sampler.state()
other = _core.Sampler(data, y, None, settings, 99, 0)
other.set_state(state)
for chain in (sampler, other):
    chain.run(0, 5, 1, _core.Control())
for e in range(2):
    ours, theirs = (chain.draws_of(e).to_arrays() for chain in (sampler, other))
    assert all((ours[name] == theirs[name]).all() for name in ours)
assert (sampler.trace["ensemble.1.n_leaves"] == other.trace["ensemble.1.n_leaves"]).all()
