"""Real data: the same draws from any container, and rows with missing values worth keeping."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import log_loss

from helpers.data import DATA, needs_data, records
from helpers.tables import encode, same
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.table import FEATURE_SCALINGS

SMALL = {"n_trees": 20, "n_burn": 20, "n_draws": 20, "n_chains": 1, "progress": False}
SETS = [
    *(f"regression/{name}" for name in ("ais", "attend", "labor", "mpg", "servo", "strikes")),
    *(f"classification/{name}" for name in ("credit_approval", "german_credit", "hepatitis")),
]


@needs_data
@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore::obliquebart.exceptions.DoubtfulColumnWarning")
def test_pandas_polars_and_arrow_give_the_same_table_and_draws(name):
    path, about = DATA / f"{name}.csv.gz", records()[f"{name}.csv.gz"]
    text = about["categorical_columns"]
    by_pandas = pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False)
    by_polars = pl.read_csv(
        gzip.decompress(path.read_bytes()),
        schema_overrides=dict.fromkeys(text, pl.String),
        infer_schema_length=None,
    )
    frames = [by_pandas.drop(columns="target"), by_polars.drop("target")]
    frames.append(frames[1].to_arrow())
    for scaling in FEATURE_SCALINGS:
        results = [encode(frame, feature_scaling=scaling) for frame in frames]
        for encoding, encoded in results:
            assert (encoding.p_cont, encoding.p_cat) == (about["p_cont"], about["p_cat"])
            assert encoding.n_levels == list(about["categorical_n_levels"].values())
            same(encoded, results[0][1])
            assert encoding.to_state() == results[0][0].to_state()
    kind = ObliqueBARTClassifier if "classification" in name else ObliqueBARTRegressor
    draws = [
        kind(**SMALL, random_state=3).fit(X, y).posterior_.draws.to_arrays()
        for X, y in zip(frames, (by_pandas["target"], by_polars["target"]), strict=False)
    ]
    for key, values in draws[0].items():
        np.testing.assert_array_equal(values, draws[1][key], err_msg=key)


FIT = {"n_trees": 50, "n_burn": 200, "n_draws": 200, "n_chains": 1, "progress": False}
TABLES = {"diabetes": load_diabetes, "breast cancer": load_breast_cancer, "wine": load_wine}


@pytest.mark.parametrize("name", TABLES)
def test_rows_with_missing_values_are_better_kept_than_dropped(name, rng):
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
