"""Which rows were in training: any order, any part, missing values, weights, equal rows."""

from __future__ import annotations

import numpy as np
import pytest

import obliquebart
from helpers import small_models
from obliquebart.explain.overview import rows_seen
from obliquebart.model.seen_rows import SeenRows, count_seen, row_keys
from obliquebart.table import Encoding

QUICK = {"n_trees": 5, "n_burn": 5, "n_draws": 5, "n_chains": 1, "random_state": 0}


def table(n=200, seed=0):
    """Numbers with missing values, some of them negative zeros, and their outcomes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[:5, 0] = -0.0
    return X, rng.normal(size=n)


@pytest.mark.parametrize("scaling", ["range", "rank", "blend"])
def test_rows_are_known_in_any_order_and_number(scaling):
    X, y = table()
    model = obliquebart.ObliqueBARTRegressor(**QUICK, feature_scaling=scaling).fit(X, y)
    order = np.random.default_rng(1).permutation(200)
    assert rows_seen(model, X[order], y[order]) == SeenRows(200, 200)
    assert rows_seen(model, X[:7], y[:7]) == SeenRows(7, 7)
    assert rows_seen(model, np.abs(X[:5]) * 0.0 + X[:5], y[:5]) == SeenRows(5, 5)
    assert rows_seen(model, *table(300, seed=2)) == SeenRows(300, 0)
    both = [np.concatenate(pair) for pair in zip(table(50, seed=2), (X, y), strict=True)]
    assert rows_seen(model, *both) == SeenRows(250, 200)
    # Another outcome is another row.
    assert rows_seen(model, X, y + 1.0).n_seen == 0


def test_weights_do_not_matter_but_those_of_zero():
    X, y = table()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 200)
    weights[:50] = 0.0
    model = obliquebart.ObliqueBARTRegressor(**QUICK).fit(X, y, weights)
    assert rows_seen(model, X, y) == SeenRows(200, 150)
    assert rows_seen(model, *table(60, seed=2)) == SeenRows(60, 0)
    labels = np.where(y > 0, "yes", "no")
    times = np.full(200, 3)
    classifier = obliquebart.ObliqueBARTClassifier(**QUICK).fit(X, labels, times)
    assert rows_seen(classifier, X[20:60], labels[20:60]) == SeenRows(40, 40)
    assert rows_seen(classifier, X, labels[::-1]).n_seen < 200


def test_a_file_keeps_the_keys_and_more_draws_do_too(tmp_path):
    X, y = small_models.mixed_table()
    model = small_models.regressor()
    model.save(tmp_path / "m.obart")
    loaded = obliquebart.load(tmp_path / "m.obart")
    assert rows_seen(loaded, X[:9], y[:9]) == SeenRows(9, 9)
    assert rows_seen(loaded.sample_more(1, X, y), X[:9], y[:9]) == SeenRows(9, 9)
    model.save(tmp_path / "p.obart", include_state=False)
    assert rows_seen(obliquebart.load(tmp_path / "p.obart"), X, y) == SeenRows(150, None)


def keys_of(rng, n, n_levels):
    X = rng.integers(n_levels, size=(n, 2)).astype(float)
    return row_keys(Encoding.fit([[0.0, 0.0], [n_levels, n_levels]]).transform(X), np.zeros(n))


def test_equal_rows_by_chance_are_no_training_rows():
    rng = np.random.default_rng(0)
    # Nine different rows: all are known, and nobody can tell.
    training = np.sort(keys_of(rng, 500, 3))
    assert count_seen(training, keys_of(rng, 100, 3)) == SeenRows(100, None)
    assert count_seen(training, rng.permutation(training)) == SeenRows(500, 500)
    # 10,000 different rows: about one in twenty has an equal one in training.
    training = np.sort(keys_of(rng, 500, 100))
    new = keys_of(rng, 400, 100)
    assert np.isin(new, training).sum() > 5
    assert count_seen(training, new) == SeenRows(400, 0)
    assert count_seen(training, training[:50]).n_seen == 50


def test_keys_of_similar_rows_differ():
    n = 100_000
    x = np.arange(n, dtype=float)
    encoding = Encoding.fit(np.column_stack([x, x[::-1]]))
    keys = row_keys(encoding.transform(np.column_stack([x, x])), np.zeros(n))
    swapped = row_keys(encoding.transform(np.column_stack([x, x[::-1]])), np.zeros(n))
    assert len(np.unique(np.concatenate([keys, swapped]))) == 2 * n
