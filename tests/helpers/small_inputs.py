"""Twenty rows that good and bad inputs are made of."""

from __future__ import annotations

import numpy as np
import pandas as pd

SMALL = {"n_trees": 5, "n_burn": 5, "n_draws": 5, "n_chains": 1, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (20, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(20)
LABELS = (X[:, 0] > 0).astype(int)


def frame(**columns):
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], **columns})
