"""Regression with noise that varies: its size, intervals, scores, files and longer chains."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart import ObliqueBARTRegressor, load, plots
from obliquebart.exceptions import ConstantOutcomeWarning

OPTIONS = {"n_trees": 30, "n_burn": 200, "n_draws": 100, "n_chains": 2, "random_state": 0}


def make_table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns, outcomes and the size of their noise, which grows tenfold."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    sd = 0.1 * 10.0 ** X[:, 0]
    return X, 3.0 * X[:, 1] + sd * rng.normal(size=n), sd


@pytest.fixture(scope="module")
def model():
    X, y, _ = make_table(400)
    return ObliqueBARTRegressor(noise="varying", **OPTIONS).fit(X, y)


def test_the_size_of_the_noise_is_found(model):
    X, _, sd = make_table(300, seed=1)
    noise, interval = model.predict_noise(X, return_interval=True)
    assert np.corrcoef(np.log(noise), np.log(sd))[0, 1] > 0.9
    assert 0.8 < np.median(noise / sd) < 1.25
    assert ((interval[:, 0] < noise) & (noise < interval[:, 1])).all()


def test_intervals_do_not_depend_on_the_unit(model):
    X, y, _ = make_table(400)
    unit = 2.0**-100
    tiny = ObliqueBARTRegressor(noise="varying", **OPTIONS).fit(X, unit * y)
    expected = unit * model.predict_interval(X[:50], 0.9)
    np.testing.assert_allclose(tiny.predict_interval(X[:50], 0.9), expected, rtol=1e-6)


def test_intervals_are_as_wide_as_the_noise(model):
    X, y, sd = make_table(1000, seed=2)
    low, high = model.predict_interval(X, 0.9).T
    for part in (sd < 0.3, sd > 0.3):
        assert 0.82 < ((low < y) & (y < high))[part].mean() < 0.97
    assert (high - low)[sd > 0.6].mean() > 2 * (high - low)[sd < 0.2].mean()


def test_it_scores_better_than_constant_noise(model):
    X, y, _ = make_table(400)
    test_X, test_y, _ = make_table(500, seed=3)
    constant = ObliqueBARTRegressor(**OPTIONS).fit(X, y)
    assert model.log_score(test_X, test_y) > constant.log_score(test_X, test_y) + 0.1
    noise = constant.predict_noise(test_X)
    np.testing.assert_allclose(noise, noise[0])


def test_new_outcomes_have_the_noise(model):
    X, _, _ = make_table(100, seed=4)
    samples = model.sample_y(X, 400, random_state=0)
    spread = (samples - model.predict(X)[:, None]).std(axis=1)
    assert np.corrcoef(np.log(spread), np.log(model.predict_noise(X)))[0, 1] > 0.9


def test_files_and_longer_chains(model, tmp_path):
    X, y, _ = make_table(400)
    path = tmp_path / "model.obart"
    model.save(path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict_noise(X), model.predict_noise(X))
    longer = loaded.sample_more(20, X, y)
    options = {**OPTIONS, "n_draws": 120}
    whole = ObliqueBARTRegressor(noise="varying", **options).fit(X, y)
    np.testing.assert_array_equal(longer.predict_noise(X), whole.predict_noise(X))
    np.testing.assert_array_equal(longer.predict(X), whole.predict(X))


def test_a_checkpoint_goes_on(tmp_path):
    X, y, _ = make_table(100)
    options = {**OPTIONS, "noise": "varying"}
    path = tmp_path / "fit.checkpoint"
    short = ObliqueBARTRegressor(**options).fit(X, y, checkpoint=path, checkpoint_every=50)
    again = ObliqueBARTRegressor(**options).fit(X, y, checkpoint=path)
    np.testing.assert_array_equal(again.predict_noise(X), short.predict_noise(X))
    whole = ObliqueBARTRegressor(**options).fit(X, y)
    np.testing.assert_array_equal(again.predict_noise(X), whole.predict_noise(X))


def test_weights_divide_the_variance():
    X, y, _ = make_table(300)
    weights = np.where(np.arange(300) % 2 == 0, 4.0, 1.0)
    f = 3.0 * X[:, 1]
    y = f + (y - f) / np.sqrt(weights)
    model = ObliqueBARTRegressor(noise="varying", **OPTIONS).fit(X, y, sample_weight=weights)
    plain = ObliqueBARTRegressor(noise="varying", **OPTIONS).fit(*make_table(300)[:2])
    ratio = model.predict_noise(X) / plain.predict_noise(X)
    assert 0.8 < np.median(ratio) < 1.25


def test_summary_pictures_and_exports_know_both_ensembles(model):
    pytest.importorskip("arviz")
    X, y, _ = make_table(50)
    assert "noise_leaf_sd" in str(model.summary(X))
    assert "noise_leaf_sd" in model.to_arviz(X, y).posterior
    evaluation = plots.residuals(model, X, y)
    assert evaluation is not None


def test_a_constant_has_no_noise():
    with pytest.warns(ConstantOutcomeWarning):
        model = ObliqueBARTRegressor(noise="varying", **OPTIONS).fit([[0.0], [1.0]], [2.0, 2.0])
    assert model.predict_noise([[0.5]]) == 0.0


def test_an_unknown_noise_is_an_error():
    with pytest.raises(ValueError, match="noise='loud' must be one of"):
        ObliqueBARTRegressor(noise="loud").fit([[0.0], [1.0]], [0.0, 1.0])
