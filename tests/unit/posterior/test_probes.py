"""Rows between the rows of a table."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart.posterior.probes import rows_between
from obliquebart.table.encoded import EncodedTable


def table_of(x_cont, x_cat=()):
    x_cont = np.asarray(x_cont, np.float32)
    x_cat = np.asarray(x_cat, np.uint32).reshape(len(x_cat), x_cont.shape[1])
    return EncodedTable(x_cont, x_cat, [5] * len(x_cat))


@pytest.mark.parametrize("n", [2, 3, 10, 63, 64, 65, 1000])
def test_no_row_is_one_of_the_table(n):
    # On a parabola no row lies half-way between two others.
    values = np.linspace(-1, 1, n)
    found = rows_between(table_of([values, values**2]))
    assert found.n_rows == min(n, 64)
    assert (found.x_cont[1] > found.x_cont[0] ** 2 + 1e-7).all()


def test_rows_of_a_sorted_table_are_spread():
    values = rows_between(table_of([np.linspace(0, 1, 5000)])).x_cont[0]
    assert values.min() < 0.15
    assert values.max() > 0.85
    assert abs(values.mean() - 0.5) < 0.05


def test_missing_values_and_categories():
    nan = np.nan
    found = rows_between(table_of([[nan, 2.0], [nan, nan]], [[1, 4], [3, 3]]))
    np.testing.assert_array_equal(found.x_cont, [[2.0, 2.0], [nan, nan]])
    np.testing.assert_array_equal(found.x_cat, [[1, 1], [3, 3]])
    assert found.n_levels == [5, 5]
    both = rows_between(table_of([np.zeros(4)], [[0, 1, 2, 3], [0, 1, 2, 3]])).x_cat
    # One column is that of a row, the other that of its partner.
    assert (both[0] != both[1]).all()


def test_tables_of_one_row_and_of_none():
    np.testing.assert_array_equal(rows_between(table_of([[3.0]])).x_cont, [[3.0]])
    assert rows_between(table_of(np.zeros((2, 0)))).n_rows == 0
