"""Models of every kind to save and load, and what they predict."""

from __future__ import annotations

import copy
import warnings
from functools import cache

import numpy as np

from helpers.arrays import assert_same
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor

SMALL = {"n_trees": 8, "n_burn": 15, "n_draws": 12, "n_chains": 2, "progress": False}
SMALL["random_state"] = 5


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.uniform(18, 90, n).round(1),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 1, n)),
        "größe \ud800 \"'\n": rng.integers(0, 3, n),
        "city": [["Łódź", "", "東京", 'q"\\'][i] for i in rng.integers(0, 4, n)],
        "code": rng.choice([3, 2**60 + 1, -7], n),
    }


def outcome(n=60, seed=0):
    X = table(n, seed)
    return X["age"] / 30 + np.random.default_rng(seed + 1).normal(size=n)


CATEGORIES = {"categorical_features": ["city", "code"]}


def labels(names):
    return np.array(names)[np.argsort(np.argsort(outcome())) * len(names) // 60]


MODELS = {
    "plain": lambda: ObliqueBARTRegressor(**SMALL).fit(
        np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    ),
    "categories": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(table(), outcome()),
    "rank": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES, feature_scaling="rank").fit(
        table(), outcome(), np.arange(60.0)
    ),
    "axis": lambda: ObliqueBARTRegressor(
        **SMALL, **CATEGORIES, rules="axis", theta_prior=(2, 3), p_change=0.2, n_thin=3
    ).fit(table(), outcome()),
    "constant": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(table(), np.full(60, 2.5)),
    "text labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels(["ja", "nein"])
    ),
    "whole labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels([-3, 5, 10**15])
    ),
    "boolean labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels([False, True])
    ),
    "labels with weights": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels(["ja", "nein"]), np.arange(60) / 20
    ),
    "weighted labels": lambda: ObliqueBARTClassifier(
        **SMALL, **CATEGORIES, class_weight={10**15: 7, -3: np.float32(0.5)}
    ).fit(table(), labels([-3, 5, 10**15])),
    "balanced labels": lambda: ObliqueBARTClassifier(
        **SMALL, **CATEGORIES, class_weight="balanced"
    ).fit(table(), labels(["ja", "ja", "nein"])),
    "ordered labels": lambda: ObliqueBARTClassifier(
        **SMALL, **CATEGORIES, ordered=["low", "mid", "high"], class_weight="balanced"
    ).fit(table(), labels(["low", "mid", "mid", "high"])),
    "learned tails": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES, noise="student_t").fit(
        table(), outcome(), 1 + np.arange(60.0)
    ),
    "one label": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(table(), labels(["a"])),
}


def fit_anew(name):
    """Fit a model; a copy of one would go through bytes and leave the training data behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


_fitted_once = cache(fit_anew)


def fitted(name):
    return copy.deepcopy(_fitted_once(name))


def inputs(name):
    return np.random.default_rng(9).normal(size=(30, 3)) if name == "plain" else table(30, 7)


def predictions(model, X):
    """Give everything a model predicts, as bytes."""
    if isinstance(model, ObliqueBARTClassifier):
        parts = [model.predict_proba(X), model.predict_proba(X, return_draws=True)]
        parts += [model.predict_interval(X), model.predict_quantile(X, 0.3)]
    else:
        parts = [model.predict(X), model.posterior_.std(X), model.predict_interval(X, kind="mean")]
        parts += [
            model.predict_quantile(X, 0.3),
            model.posterior_.predict(X),
            model.sample_y(X, 5, random_state=0),
        ]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def assert_same_model(one, other):
    assert type(one) is type(other)
    X = inputs("plain" if one.n_features_in_ == 3 else "")
    assert predictions(one, X) == predictions(other, X)
    for posterior, again in zip(one._fitted.posteriors, other._fitted.posteriors, strict=True):
        assert posterior.settings == again.settings
        assert posterior.scale == again.scale
        np.testing.assert_array_equal(posterior.burn_sigma, again.burn_sigma)
        assert_same(posterior.trace, again.trace)
