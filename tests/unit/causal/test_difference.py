"""The average difference of predictions: values that it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from obliquebart import ObliqueBARTRegressor, average_difference


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_must_be_finite(value):
    x = np.linspace(0, 1, 30).reshape(-1, 1)
    model = ObliqueBARTRegressor(n_trees=3, n_burn=2, n_draws=2, n_chains=1).fit(x, x[:, 0])
    with pytest.raises(ValueError, match="must be finite"):
        average_difference(model, x, 0, (0.0, value))


def test_levels_that_are_numbers():
    table = pd.DataFrame({"n": np.tile([1.0, 2.5], 20), "b": np.linspace(0, 1, 40)})
    options = {"n_trees": 3, "n_burn": 2, "n_draws": 2, "n_chains": 1}
    model = ObliqueBARTRegressor(**options, categorical_features=["n"]).fit(table, table["b"])
    found = average_difference(model, table, "n", (1.0, 2.5))
    assert found.mean == average_difference(model, table, "n", ("1", "2.5")).mean
    assert found.mean == average_difference(model, table, "n", (1, np.float32(2.5))).mean
    with pytest.raises(ValueError, match=r"3\.0 is not a level of 'n'"):
        average_difference(model, table, "n", (1.0, 3.0))
    with pytest.raises(ValueError, match="values=3 must be a pair"):
        average_difference(model, table, "n", 3)
