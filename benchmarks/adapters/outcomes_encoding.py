"""Columns for methods that want numbers only."""

from __future__ import annotations

import numpy as np
import pandas as pd
from outcome_tables import Split
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def one_hot(split: Split, *, standardise: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A column for each level; missing numbers become the median, missing levels a level."""
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        # Two levels are one column.
        OneHotEncoder(handle_unknown="ignore", drop="if_binary", sparse_output=False),
    )
    encoder = make_column_transformer(
        (levels, make_column_selector(dtype_include="category")),
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
    )
    pipeline = make_pipeline(encoder, StandardScaler() if standardise else "passthrough")
    train = pipeline.fit_transform(_objects(split.x_train))
    return np.asarray(train, float), np.asarray(pipeline.transform(_objects(split.x_test)), float)


def _objects(x: pd.DataFrame) -> pd.DataFrame:
    """Categories without the levels that they do not have."""
    text = x.select_dtypes("category").columns
    return x.assign(**{name: x[name].cat.remove_unused_categories() for name in text})
