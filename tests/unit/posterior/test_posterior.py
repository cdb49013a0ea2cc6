"""The posterior: units, streaming summaries, draws of outcomes, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import norm

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.posterior import predictions
from obliquebart.posterior.draws import take_draws
from obliquebart.posterior.joining import equal_chains
from obliquebart.sampling import memory
from obliquebart.sampling.chain import Chain

OPTIONS = {"n_trees": 15, "n_burn": 50, "n_draws": 40, "n_chains": 2, "progress": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    x = rng.uniform(-1, 1, (120, 4))
    x[:, 3] = rng.integers(0, 5, 120)
    return x, 50 + 10 * (x[:, 0] - x[:, 1] + (x[:, 3] > 2)) + rng.standard_normal(120)


@pytest.fixture(scope="module")
def model(data):
    return ObliqueBARTRegressor(**OPTIONS, categorical_features=[3], random_state=1).fit(*data)


@pytest.fixture(scope="module")
def classifier(data):
    x, y = data
    return ObliqueBARTClassifier(**OPTIONS, random_state=1).fit(x, y > 55)


def test_draws_are_in_units_of_y(data, model):
    x, y = data
    f = model.posterior_.predict(x)
    assert f.shape == (80, 120)
    assert f.dtype == np.float64
    assert np.corrcoef(f.mean(axis=0), y)[0, 1] > 0.9
    assert abs(f.mean() - y.mean()) < 1.0


def test_trace_is_complete(model):
    trace = model.posterior_.trace
    names = {"sigma", "theta", "leaf_sd", "n_leaves", "depth", "axis_share"}
    moves = {"accept_grow", "accept_prune", "accept_change", "accept_perturb"}
    assert set(trace) == names | moves
    assert all(values.shape == (2, 40) for values in trace.values())
    for name in names - {"axis_share"}:
        assert np.isfinite(trace[name]).all(), name
    assert (trace["n_leaves"] >= 1).all()
    for move in moves:
        assert 0 < np.nanmean(trace[move]) < 1
    assert len(np.unique(trace["leaf_sd"])) > 1


def test_trace_of_the_paper_has_two_moves_and_one_leaf_scale(data):
    trace = ObliqueBARTRegressor(**OPTIONS, prior="paper").fit(*data).posterior_.trace
    assert np.isnan(trace["accept_change"]).all()
    assert 0 < np.nanmean(trace["accept_grow"]) < 1
    assert (trace["leaf_sd"] == trace["leaf_sd"][0, 0]).all()


def test_sigma_is_in_units_of_y(data):
    x, y = data
    sigma = ObliqueBARTRegressor(**OPTIONS, sigma=2.5).fit(x, y).posterior_.trace["sigma"]
    np.testing.assert_allclose(sigma, 2.5)
    leaf_sd = ObliqueBARTRegressor(**OPTIONS, leaf_sd=1.5).fit(x, y).posterior_.trace["leaf_sd"]
    np.testing.assert_allclose(leaf_sd, 1.5)


def test_streamed_summaries_agree_with_the_draws(data, model):
    x, _ = data
    f = model.posterior_.predict(x)
    scale = model.posterior_.scale.scale
    np.testing.assert_allclose(model.posterior_.mean(x), f.mean(axis=0), atol=1e-5 * scale)
    np.testing.assert_allclose(model.posterior_.std(x), f.std(axis=0, ddof=1), atol=1e-5 * scale)
    q = [0.0, 0.05, 0.5, 0.95, 1.0]
    np.testing.assert_allclose(
        model.posterior_.quantile(x, q), np.quantile(f, q, axis=0).T, atol=1e-5 * scale
    )
    assert model.posterior_.quantile(x, 0.5).shape == (120,)


def test_outcome_quantiles_are_those_of_the_mixture(data, model):
    x, _ = data
    f, sigma = model.posterior_.predict(x), model.posterior_.trace["sigma"].reshape(-1, 1)
    for q in (0.01, 0.25, 0.5, 0.9):
        at = model.predict_quantile(x, q, kind="outcome")
        np.testing.assert_allclose(norm.cdf(at, f, sigma).mean(axis=0), q, atol=1e-4)


def test_outcome_noise_is_that_of_weight_one(data):
    x, y = data
    w = np.full(120, 25.0)
    plain = ObliqueBARTRegressor(**OPTIONS, random_state=2).fit(x, y)
    weighted = ObliqueBARTRegressor(**OPTIONS, random_state=2).fit(x, y, sample_weight=w)
    np.testing.assert_array_equal(plain.predict(x), weighted.predict(x))
    trace, other = plain.posterior_.trace, weighted.posterior_.trace
    np.testing.assert_allclose(other["sigma"], 5 * trace["sigma"])
    f, sigma = weighted.posterior_.predict(x), other["sigma"].reshape(-1, 1)
    at = weighted.predict_quantile(x, 0.9, kind="outcome")
    np.testing.assert_allclose(norm.cdf(at, f, sigma).mean(axis=0), 0.9, atol=1e-4)


def test_latent_draws_give_the_probabilities(data, classifier):
    x, _ = data
    latent = classifier.posterior_.predict(x)
    proba = classifier.predict_proba(x)[:, 1]
    np.testing.assert_allclose(norm.cdf(latent).mean(axis=0), proba, atol=1e-6)
    draws = classifier.predict_proba(x, return_draws=True)
    np.testing.assert_allclose(norm.cdf(latent), draws[:, :, 1], atol=1e-12)


@pytest.mark.parametrize("numbers", [1, 80, 81 * 7])
def test_block_size_does_not_matter(data, model, classifier, numbers, monkeypatch):
    x, _ = data
    f, p = model.posterior_.predict(x), classifier.predict_proba(x, return_draws=True)
    monkeypatch.setattr(predictions, "BLOCK_NUMBERS", numbers)
    np.testing.assert_array_equal(model.posterior_.predict(x), f)
    np.testing.assert_array_equal(classifier.predict_proba(x, return_draws=True), p)


def test_pickle_keeps_every_bit(data, model):
    x, _ = data
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.posterior_.predict(x), model.posterior_.predict(x))
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.posterior_.nbytes == model.posterior_.nbytes
    assert again.posterior_.settings == model.posterior_.settings


def test_nbytes_and_repr(model):
    assert model.posterior_.draws.nbytes < model.posterior_.nbytes < 10_000_000
    assert "2 chains of 40 draws of 15 trees" in repr(model.posterior_)


def test_taken_draws_predict_the_same(data, model):
    x, _ = data
    f = model.posterior_.predict(x)
    index = np.array([7, 79, 0, 41])
    taken = take_draws(model.posterior_.draws, index, model.posterior_.encoding)
    columns = model.posterior_.encode(x)
    scale = model.posterior_.scale
    part = taken.predict(columns.to_core(), "identity", 0.0, 1).astype(float)
    np.testing.assert_allclose(part * scale.scale + scale.location, f[index], rtol=1e-12)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([40, 40], [40, 40]),
        ([40, 30], [30, 30]),
        ([40, 5], [40]),
        ([40, 40, 30], [30, 30, 30]),
        ([40, 40, 2], [40, 40]),
        ([1, 1], [1, 1]),
    ],
)
def test_chains_are_cut_to_keep_the_most_draws(model, lengths, expected):
    encoding = model.posterior_.encoding
    chains = [
        Chain(
            (take_draws(model.posterior_.draws, np.arange(n), encoding),),
            {"sigma": np.arange(n, dtype=float), "burn_sigma": np.zeros(3)},
        )
        for n in lengths
    ]
    cut = equal_chains(chains, encoding)
    assert [chain.draws.n_draws for chain in cut] == expected
    assert [len(chain.trace["sigma"]) for chain in cut] == expected
    assert all(len(chain.trace["burn_sigma"]) == 3 for chain in cut)


def test_samples_follow_the_predictive_distribution(data, model):
    x, _ = data
    samples = model.sample_y(x[:5], n_samples=20_000, random_state=0)
    assert samples.shape == (5, 20_000)
    for q in (0.1, 0.5, 0.9):
        at = model.predict_quantile(x[:5], q, kind="outcome")
        # A share of 20,000 draws, 80 of which are different ensembles used equally often: its
        # standard error is below 0.0036, so five of them are a false alarm in 1e-6.
        np.testing.assert_allclose((at > samples.T).mean(axis=0), q, atol=5 * 0.0036)


def test_samples_obey_their_seed(data, model):
    x, _ = data
    one, two = (model.sample_y(x, 3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, model.sample_y(x, 3, random_state=6))
    assert model.sample_y(x).shape == (120, 1)


def test_a_sample_uses_one_ensemble_for_all_rows(data):
    x, y = data
    model = ObliqueBARTRegressor(**OPTIONS, sigma=1e-3, random_state=1).fit(x, y)
    f = model.posterior_.predict(x)
    samples = model.sample_y(x, n_samples=80, random_state=0)
    distance = np.abs(samples.T[:, None] - f[None]).max(axis=2)
    # With almost no noise each column is one draw of f, and 80 columns are all 80 of them.
    assert sorted(distance.argmin(axis=1)) == list(range(80))
    assert distance.min(axis=1).max() < 0.01


def test_too_many_draws_for_memory(data, model, classifier, monkeypatch):
    x, _ = data
    monkeypatch.setattr(memory, "available_memory", lambda: 70_000)
    with pytest.raises(MemoryError, match=r"Storing 80 draws at 120 rows needs at least 76.8 kB"):
        model.posterior_.predict(x)
    with pytest.raises(MemoryError, match="Storing 80 draws at 120 rows"):
        classifier.predict_proba(x, return_draws=True)
    with pytest.raises(MemoryError, match="Storing 1000 draws at 120 rows"):
        model.sample_y(x, n_samples=1000)
    assert model.predict(x).shape == (120,)
    assert model.predict_interval(x).shape == (120, 2)


def test_summaries_of_many_rows_do_not_hold_draws_times_rows(model):
    # 80 draws of 300,000 rows would be 96 MB in float32; the arrays of this size that are needed
    # are the columns and the results. tracemalloc sees NumPy's allocations only, which is where
    # such an array would have to come back.
    import tracemalloc

    x = np.random.default_rng(0).uniform(-1, 1, (300_000, 4))
    x[:, 3] = 1
    tracemalloc.start()
    model.predict_interval(x, kind="outcome")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_threads_do_not_change_predictions(data, model):
    x, _ = data
    np.testing.assert_array_equal(
        model.posterior_.predict(x, n_jobs=2), model.posterior_.predict(x, n_jobs=1)
    )
    np.testing.assert_array_equal(
        model.posterior_.quantile(x, [0.1], "outcome", n_jobs=2),
        model.posterior_.quantile(x, [0.1], "outcome", n_jobs=1),
    )
