"""Tables, outcomes and weights in any container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from helpers.estimators import regressor
from obliquebart import UnseenLevelWarning, load


def test_containers_give_the_same_draws(mixed):
    frame, y = mixed
    tables = {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "arrow-backed": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
    }
    expected = regressor().fit(frame, y).predict(frame)
    for name, table in tables.items():
        model = regressor().fit(table, y)
        np.testing.assert_array_equal(model.predict(table), expected, err_msg=name)
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert model.n_features_in_ == 5


@pytest.mark.parametrize(
    "convert",
    [list, np.asarray, pl.Series, pa.array, lambda y: y.convert_dtypes(), lambda y: y.to_frame()],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_outcomes_in_any_container(mixed, convert):
    frame, y = mixed
    expected = regressor().fit(frame, y).predict(frame)
    np.testing.assert_array_equal(regressor().fit(frame, convert(y)).predict(frame), expected)


def test_weights_in_any_container(mixed):
    frame, y = mixed
    w = pd.Series(np.arange(200) % 4)
    expected = regressor().fit(frame, y, w.to_numpy()).predict(frame)
    for weights in (w, w.tolist(), pl.Series(w), w.convert_dtypes()):
        np.testing.assert_array_equal(regressor().fit(frame, y, weights).predict(frame), expected)


@pytest.mark.parametrize("chosen", [["count"], [3]])
def test_chosen_categories_add_to_those_found(mixed, chosen, tmp_path):
    frame, y = mixed
    mask = [False, True, False, True, True]
    expected = regressor(categorical_features=mask).fit(frame, y).predict(frame)
    model = clone(regressor(categorical_features=chosen, dates="auto")).fit(frame, y)
    assert list(model.posterior_.encoding.levels) == ["colour", "count", "grade"]
    np.testing.assert_array_equal(model.predict(frame), expected)
    model.save(tmp_path / "m.obart")
    again = load(tmp_path / "m.obart")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(clone(again).fit(frame, y).predict(frame), expected)


def test_unseen_levels_are_reported(mixed):
    frame, y = mixed
    model = regressor().fit(frame, y)
    new = frame.head(3).assign(colour=["red", "mauve", "blue"])
    with pytest.warns(UnseenLevelWarning, match="'colour' in 1 row"):
        assert np.isfinite(model.predict(new)).all()


def test_missing_values_are_native(mixed):
    frame, y = mixed
    holes = frame.copy()
    holes.loc[::7, "size"] = np.nan
    holes.loc[::5, "colour"] = None
    model = regressor().fit(holes, y)
    assert np.isfinite(model.predict(holes)).all()
    assert model.score(holes, y) > 0.5
    assert np.isfinite(
        regressor().fit(frame.assign(colour="x"), y).predict(frame.assign(colour="x", size=np.nan))
    ).all()


def test_refit_forgets_the_old_names(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    model = regressor().fit(numbers, y)
    assert hasattr(model, "feature_names_in_")
    model.fit(numbers.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("scaling", ["range", "rank", "blend", "joint"])
def test_every_scaling_fits(friedman, scaling):
    x, _, y = friedman
    assert regressor(feature_scaling=scaling).fit(x, y).score(x, y) > 0.5
