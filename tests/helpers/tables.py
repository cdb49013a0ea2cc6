"""A small table with columns of every kind, and how tests of encodings compare results."""

from __future__ import annotations

import numpy as np
import pandas as pd

from obliquebart.table import Encoding


def encode(X, **options):
    return Encoding.fit_transform(X, **options)


def same(a, b):
    np.testing.assert_array_equal(a.x_cont, b.x_cont)
    np.testing.assert_array_equal(a.x_cat, b.x_cat)


def pandas_plain():
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, 3.5, 2.0],
            "count": [4, 2, 1, 2],
            "flag": [True, False, True, True],
            "text": ["b", None, "a", "b"],
            "group": pd.Categorical(["x", "z", None, "x"], categories=["z", "y", "x"]),
        }
    )
