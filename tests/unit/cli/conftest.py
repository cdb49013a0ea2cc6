"""A table and models of it, for the tests of the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from helpers import small_models
from helpers.command_line import QUICK, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with text and a missing value, as CSV and Parquet, and a model of each kind."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = small_models.mixed_table()
    frame = pl.DataFrame(X.to_dict("list")).with_columns(
        y=pl.Series(y), label=pl.Series(np.where(y > 105, "high", "low"))
    )
    frame = frame.with_columns(
        age=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("age"))
    )
    frame.write_csv(folder / "data.csv")
    frame.write_parquet(folder / "data.parquet")
    run("fit", folder / "data.csv", "-t", "y", "-d", "label", "-o", folder / "y.obart", *QUICK)
    run("fit", folder / "data.csv", "-t", "label", "-d", "y", "-o", folder / "l.obart", *QUICK)
    return folder
