"""Sampling on from a model, saved or not: the draws of a longer fit."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest

from helpers import small_files
from helpers.arrays import assert_same
from helpers.saved_models import (
    CATEGORIES,
    SMALL,
    assert_same_model,
    fit_anew,
    labels,
    outcome,
    predictions,
    table,
)
from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    _core,
    load,
)
from obliquebart.exceptions import ModelFileError
from obliquebart.files import model_file
from obliquebart.model.training import LocalChain


def draws_of(model):
    return [
        {**p.draws.to_arrays(), **p.trace, "burn_sigma": p.burn_sigma}
        for p in model._fitted.posteriors
    ]


def assert_same_draws(one, other):
    for first, second in zip(draws_of(one), draws_of(other), strict=True):
        assert_same(first, second)


GOING_ON = {
    "regressor": (ObliqueBARTRegressor, outcome(), {"p_change": 0.1, "p_perturb": 0.1}),
    "thinned": (ObliqueBARTRegressor, outcome(), {"n_thin": 3}),
    "two classes": (ObliqueBARTClassifier, labels(["a", "b"]), {}),
    "three classes": (ObliqueBARTClassifier, labels([1, 2, 3]), {}),
    "ordered classes": (ObliqueBARTClassifier, labels([1, 2, 3]), {"ordered": True}),
    "learned tails": (ObliqueBARTRegressor, outcome(), {"noise": "student_t"}),
    "counts": (ObliqueBARTCountRegressor, labels([0, 2, 9]), {}),
    "Poisson counts": (ObliqueBARTCountRegressor, labels([0, 2, 9]), {"distribution": "poisson"}),
}


@pytest.mark.parametrize("case", GOING_ON)
@pytest.mark.parametrize("way", ["at once", "saved", "with data", "pickled", "in steps"])
def test_sample_more_is_a_longer_fit(case, way, tmp_path):
    kind, y, options = GOING_ON[case]
    parameters = {**SMALL, **CATEGORIES, **options}
    X = table()
    longer = kind(**{**parameters, "n_draws": 30}).fit(X, y)
    model = kind(**parameters).fit(X, y)
    if way == "at once":
        model.sample_more(18)
    elif way == "saved":
        model.save(tmp_path / "m")
        model = load(tmp_path / "m").sample_more(18, X, y)
    elif way == "with data":
        model.save(tmp_path / "m", include_data=True)
        model = load(tmp_path / "m").sample_more(18)
    elif way == "pickled":
        model = pickle.loads(pickle.dumps(model)).sample_more(18, X, y)
    else:
        model.sample_more(1).save(tmp_path / "m", include_data=True)
        model = load(tmp_path / "m").sample_more(10).sample_more(7)
    assert_same_draws(model, longer)
    assert model._fitted.n_draws == longer._fitted.n_draws
    if way != "pickled":
        options = {"include_data": True}
        assert model_file.to_bytes(model._fitted, {}) == model_file.to_bytes(longer._fitted, {})
        assert predictions(model, table(30, 7)) == predictions(longer, table(30, 7))


def test_sample_more_of_a_large_table_is_a_longer_fit(rng):
    # The engine has the rows of such a table in an order of its own.
    n = _core.FEWEST_MASKED_ROWS
    X = rng.uniform(size=(n, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=n)
    short, longer = (
        ObliqueBARTRegressor(5, n_burn=3, n_draws=k, n_chains=1, random_state=0).fit(X, y)
        for k in (2, 6)
    )
    assert_same_draws(short.sample_more(4), longer)


@pytest.mark.parametrize("name", ["constant", "one label"])
def test_sample_more_where_there_is_nothing_to_learn(name):
    model = fit_anew(name).sample_more(5)
    assert model._fitted.n_draws == 2 * 17
    predictions(model, table(30, 7))


def test_sample_more_needs_the_same_data(tmp_path):
    X, y = table(), outcome()
    weights = np.arange(60.0)
    model = ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(X, y, weights)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    with pytest.raises(ValueError, match="loaded without its training data: pass the X and y"):
        again.sample_more(3)
    with pytest.raises(ValueError, match="but y differs"):
        again.sample_more(3, X, y * np.linspace(1, 1.001, 60), weights)
    with pytest.raises(ValueError, match="but sample_weight differs"):
        again.sample_more(3, X, y, weights**1.5)
    with pytest.raises(ValueError, match="but sample_weight differs"):
        again.sample_more(3, X, y)
    with pytest.raises(ValueError, match="but X differs"):
        again.sample_more(3, {**X, "age": X["age"] ** 2}, y, weights)
    scaled = load(tmp_path / "m").set_params(feature_scaling="rank")
    with pytest.raises(ValueError, match="only continue with feature_scaling='blend', as in fit"):
        scaled.sample_more(3, X, y, weights)
    with pytest.raises(ValueError, match="include_data=True, but"):
        again.save(tmp_path / "n", include_data=True)
    with pytest.raises(ValueError, match="n_draws=0"):
        again.sample_more(0, X, y, weights)
    assert_same_model(again, model)
    # Another unit of y is another scale, not other chains.
    again.sample_more(3, X, y, weights).save(tmp_path / "n", include_data=True)
    model.save(tmp_path / "o", include_state=False)
    with pytest.raises(ValueError, match=r"include_state=False.*Fit the model again"):
        load(tmp_path / "o").sample_more(3, X, y, weights)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_sample_more_on_another_backend():
    X, y = table(), outcome()
    longer = ObliqueBARTRegressor(**{**SMALL, "n_draws": 20}, **CATEGORIES).fit(X, y)
    model = ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(X, y)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        model.sample_more(8)
    assert_same_draws(model, longer)


def test_a_chain_that_overflows_says_that_its_file_is_damaged(monkeypatch):
    model = small_files.small_regressor()
    saved = LocalChain.saved

    def overflown(chain):
        ensembles, trace, state = saved(chain)
        return ensembles, trace, {**state, "sigma": np.nan}

    monkeypatch.setattr(LocalChain, "saved", overflown)
    with pytest.raises(ModelFileError, match="the file that it went on from is damaged"):
        model.sample_more(2)
    with pytest.raises(OverflowError, match="Please report"):
        small_files.small_regressor()
