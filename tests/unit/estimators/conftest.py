"""Tables that several files fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="module")
def friedman():
    rng = np.random.default_rng(5)
    x = rng.uniform(size=(400, 6))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, f + 5 * x[:, 4], f + 5 * x[:, 4] + rng.standard_normal(400)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(1, 9, 200),
            "colour": rng.choice(["red", "green", "blue"], 200),
            "flag": rng.uniform(size=200) < 0.5,
            "count": rng.integers(0, 9, 200),
        }
    )
    frame["grade"] = pd.Categorical(rng.choice(["low", "high"], 200))
    y = frame["size"] + 5 * (frame["colour"] == "red") + rng.standard_normal(200)
    return frame, y
