"""Real data: the same draws through pandas and polars, and gaps that are worth keeping."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import log_loss

from helpers.data import DATA, needs_data, records
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor

SMALL = {"n_trees": 20, "n_burn": 20, "n_draws": 20, "n_chains": 1, "progress": False}
SETS = [
    *(f"regression/{name}" for name in ("ais", "attend", "cpu", "mpg", "servo", "strikes")),
    *(f"classification/{name}" for name in ("credit_approval", "german_credit", "hepatitis")),
]


@needs_data
@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore::obliquebart.exceptions.DoubtfulColumnWarning")
def test_csv_gives_the_same_draws_through_pandas_and_polars(name):
    path = DATA / f"{name}.csv.gz"
    text = dict.fromkeys(records()[f"{name}.csv.gz"]["categorical_columns"], str)
    by_pandas = pd.read_csv(path, dtype=text, keep_default_na=False)
    by_polars = pl.read_csv(
        gzip.decompress(path.read_bytes()),
        schema_overrides=dict.fromkeys(text, pl.String),
        infer_schema_length=None,
    )
    kind = ObliqueBARTClassifier if "classification" in name else ObliqueBARTRegressor
    arrays = []
    for X, y in [
        (by_pandas.drop(columns="target"), by_pandas["target"]),
        (by_polars.drop("target"), by_polars["target"]),
    ]:
        model = kind(**SMALL, random_state=3).fit(X, y)
        arrays.append(model.posterior_.draws.to_arrays())
    for key, values in arrays[0].items():
        np.testing.assert_array_equal(values, arrays[1][key], err_msg=key)


FIT = {"n_trees": 50, "n_burn": 200, "n_draws": 200, "n_chains": 1, "progress": False}
TABLES = {"diabetes": load_diabetes, "breast cancer": load_breast_cancer, "wine": load_wine}


@pytest.mark.parametrize("name", TABLES)
def test_gaps_are_better_kept_than_dropped(name, rng):
    """A fifth of all values is missing, in training and in test rows.

    Complete rows are rare then (0.8^p), so there are only about 40 of 331 in diabetes and none in
    the others, where a model of the classes' shares is what dropping leaves.
    """
    errors = np.array([errors_kept_and_dropped(name, rng) for _ in range(4)])
    assert np.isfinite(errors).all()
    kept, dropped = errors.mean(axis=0)
    assert kept < 0.95 * dropped


def errors_kept_and_dropped(name, rng):
    X, y = TABLES[name](return_X_y=True)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    train = rng.random(len(y)) < 0.75
    complete = train & ~np.isnan(X).any(axis=1)
    if name == "diabetes":
        kept = ObliqueBARTRegressor(**FIT, random_state=0).fit(X[train], y[train])
        dropped = ObliqueBARTRegressor(**FIT, random_state=0).fit(X[complete], y[complete])
        return [np.mean((m.predict(X[~train]) - y[~train]) ** 2) for m in (kept, dropped)]
    kept = ObliqueBARTClassifier(**FIT, random_state=0).fit(X[train], y[train])
    proba = kept.predict_proba(X[~train])
    shares = np.bincount(y[train]) / train.sum()
    assert (kept.predict(X[~train]) == y[~train]).mean() > 0.8
    return [log_loss(y[~train], p) for p in (proba, np.tile(shares, (len(proba), 1)))]
