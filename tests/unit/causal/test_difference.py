"""The average difference of predictions: values that it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart import ObliqueBARTRegressor, average_difference


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_must_be_finite(value):
    x = np.linspace(0, 1, 30).reshape(-1, 1)
    model = ObliqueBARTRegressor(n_trees=3, n_burn=2, n_draws=2, n_chains=1).fit(x, x[:, 0])
    with pytest.raises(ValueError, match="must be finite"):
        average_difference(model, x, 0, (0.0, value))
