"""The order of the training rows: a permutation that puts like rows together, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart import ObliqueBARTRegressor, _core
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.outcome import Outcome, OutcomeScale
from obliquebart.model.row_order import BLOCK, FEWEST_ROWS, halved, row_order
from obliquebart.model.training import TrainingProblem
from obliquebart.table.encoded import EncodedTable


def table(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    x_cont = rng.uniform(-1, 1, (3, n)).astype(np.float32)
    x_cont[1, rng.random(n) < 0.1] = np.nan
    x_cat = rng.integers(0, 5, (1, n), dtype=np.uint32)
    x_cat[0, :7] = 2**32 - 1  # levels that training has not seen
    y = 3 * x_cont[0] + (x_cat[0] == 2) + rng.normal(size=n)
    return x_cont, x_cat, y.astype(np.float64)


def test_few_rows_stay_as_they_are():
    assert row_order(*table(FEWEST_ROWS - 1)) is None
    assert (
        row_order(
            np.empty((0, 10**5), np.float32), np.empty((0, 10**5), np.uint32), np.zeros(10**5)
        )
        is None
    )


@pytest.mark.parametrize("n", [FEWEST_ROWS, FEWEST_ROWS + 1, 50_001])
def test_every_row_once(n):
    order = row_order(*table(n))
    assert np.array_equal(np.sort(order), np.arange(n))
    assert np.array_equal(order, row_order(*table(n)))


def test_blocks_are_narrow_in_the_column_that_matters():
    x_cont, x_cat, y = table(40_000)
    order = row_order(x_cont, x_cat, y)
    whole = [np.nanstd(x_cont[j]) for j in (0, 2)]
    blocks = [
        np.mean([np.nanstd(x_cont[j][order[i : i + BLOCK]]) for i in range(0, 39_000, BLOCK)])
        for j in (0, 2)
    ]
    assert blocks[0] < 0.2 * whole[0]
    assert blocks[1] > 0.5 * whole[1]


def test_constant_columns_and_constant_y():
    n = FEWEST_ROWS
    order = row_order(np.zeros((2, n), np.float32), np.zeros((1, n), np.uint32), np.ones(n))
    assert np.array_equal(np.sort(order), np.arange(n))
    nothing = np.full((1, n), np.nan, np.float32)
    assert row_order(nothing, np.empty((0, n), np.uint32), np.ones(n)) is not None


def test_x_y_and_weights_stay_together():
    x_cont, x_cat, y = table(FEWEST_ROWS)
    y, weights = x_cont[0].astype(np.float64), x_cont[0].astype(np.float64) + 2
    settings = _core.Settings()
    settings.n_trees = 1
    settings.sigma = 1e-3
    settings.sigma_fixed = True
    outcome = Outcome(y, weights, OutcomeScale(), LIKELIHOODS["gaussian"])
    ready = TrainingProblem(EncodedTable(x_cont, x_cat, [5]), outcome).to_core(settings)
    assert not np.array_equal(ready.y, y)
    np.testing.assert_array_equal(np.sort(ready.y), np.sort(y))
    np.testing.assert_array_equal(ready.weights, ready.y + 2)
    # y is the first column, so that trees explain it only if the columns have its order.
    chain = ready.sampler(0, 0)
    chain.sweep(200)
    assert np.corrcoef(chain.fit(), ready.y)[0, 1] > 0.8


def test_fit_predicts_rows_in_the_users_order():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(FEWEST_ROWS, 2))
    y = np.where(x[:, 0] < 0.5, -2.0, 2.0) + 0.1 * rng.normal(size=len(x))
    model = ObliqueBARTRegressor(
        n_trees=10,
        n_chains=1,
        n_burn=20,
        n_draws=5,
        random_state=0,
        progress=False,
        sigma_quantile=0.99,
    ).fit(x, y)
    assert np.mean((model.predict(x) - y) ** 2) < 0.05 * np.var(y)


def test_the_engine_refuses_an_order_of_other_rows():
    x = np.zeros((1, 3), np.float32)
    levels = np.zeros((0, 3), np.uint32)
    for order in ([0, 1], [0, 1, 3], [-1, 0, 1]):
        with pytest.raises(ValueError, match="order"):
            _core.Data(x, levels, [], np.array(order))


@pytest.mark.parametrize("missing", [False, True])
def test_equal_keys_keep_their_order(missing):
    key = np.random.default_rng(1).integers(0, 3, 4 * BLOCK).astype(np.float32)
    if missing:
        key[key > 0] = np.nan
    rows = np.arange(4 * BLOCK)[::-1]
    order = halved(key, rows)
    value = np.nan_to_num(key, nan=9)
    side = np.sign(value - np.sort(value)[2 * BLOCK])
    assert np.array_equal(order, rows[np.argsort(side[rows], kind="stable")])
