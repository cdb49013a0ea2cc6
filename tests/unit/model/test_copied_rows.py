"""Which rows are copies of others: those of a bootstrap sample, but not equal ones by chance."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart.model.copied_rows import source_of_rows
from obliquebart.table.encoded import EncodedTable


def table_of(x_cont, x_cat=None):
    x_cont = np.atleast_2d(np.asarray(x_cont, np.float32))
    n_rows = x_cont.shape[1]
    x_cat = np.empty((0, n_rows)) if x_cat is None else np.atleast_2d(x_cat)
    return EncodedTable(x_cont, x_cat.astype(np.uint32), [9] * len(x_cat))


def test_different_rows_are_their_own_sources(rng):
    table, y = table_of(rng.normal(size=(2, 50))), rng.integers(0, 3, 50)
    assert source_of_rows(table, y).tolist() == list(range(50))


def test_sources_are_numbered_as_they_appear():
    rows = np.array([5, 2, 5, 5, 0, 2, 1])
    x, y = np.linspace(0, 1, 6), np.arange(6.0) ** 2
    x[5] = np.nan
    assert source_of_rows(table_of(x[rows]), y[rows]).tolist() == [0, 1, 0, 0, 2, 1, 3]


def test_every_column_and_outcome_counts():
    x, y = np.array([0.0, 0.0, 1.0, -0.0]), np.array([3.0, 3.0, 4.0, 3.0])
    assert source_of_rows(table_of(x), y).tolist() == [0, 0, 1, 0]
    assert source_of_rows(table_of(x, [0, 1, 0, 0]), y).tolist() == [0, 1, 2, 0]
    limits = np.stack([y, [5.0, 6.0, 7.0, 5.0]])
    assert source_of_rows(table_of(x), limits).tolist() == [0, 1, 2, 0]


def test_copies_are_known_by_columns_or_by_outcomes(rng):
    rows = rng.integers(0, 60, 90)
    few, many = rng.integers(0, 3, 60), rng.normal(size=60)
    _, expected = np.unique(rows, return_inverse=True)
    for x, y in ((few, many), (many, few)):
        found = source_of_rows(table_of(x[rows]), y[rows])
        assert len(np.unique(found)) == len(np.unique(rows))
        assert len(np.unique(found * 60 + expected)) == len(np.unique(rows))


@pytest.mark.parametrize("n_outcomes", [2, 5])
def test_rows_that_are_equal_by_chance_are_no_copies(rng, n_outcomes):
    x, y = rng.integers(0, 4, 300), rng.integers(0, n_outcomes, 300)
    assert source_of_rows(table_of(x), y).tolist() == list(range(300))
