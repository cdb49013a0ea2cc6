"""Files of models with soft rules or scales of trees, and of those without."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import small_files
from obliquebart import ObliqueBARTRegressor, load
from obliquebart.files import model_file
from obliquebart.files.model_reader import read_model

WIDTH = "posterior.0.draws.width"


def varying_noise():
    """Return a model whose second ensemble has hard rules."""
    return small_files.small_regressor(soft=True, noise="varying", n_noise_trees=2)


@pytest.mark.parametrize("make", [small_files.small_soft, varying_noise])
def test_soft_rules_keep_their_widths(make):
    model = make()
    data = model_file.to_bytes(model._fitted, {})
    contents = small_files.opened(data)
    assert contents.header["schema"] == model_file.ALIKE_SCHEMA
    assert {name for name in contents.arrays if "width" in name} == {
        WIDTH,
        *(f"posterior.0.state.{chain}.width" for chain in range(2)),
    }
    again = model_file._new_estimator(read_model(data))
    assert model_file.to_bytes(again._fitted, {}) == data


def test_hard_rules_are_written_as_before_there_were_soft_ones():
    model = small_files.small_regressor(soft=False)
    header, arrays = small_files.opened(model_file.to_bytes(model._fitted, model.get_params()))
    assert header["schema"] == model_file.HARD_SCHEMA
    assert "soft" not in header["parameters"]
    assert not [name for name in (*header["posteriors"][0]["prior"], *arrays) if "width" in name]


@pytest.mark.parametrize("soft", [False, True])
def test_scales_of_trees_are_in_a_schema_of_their_own(soft, tmp_path):
    model = small_files.small_regressor(soft=soft, tree_df=3.0)
    data = model_file.to_bytes(model._fitted, model.get_params())
    header, arrays = small_files.opened(data)
    assert header["schema"] == model_file.SCHEMA
    assert header["posteriors"][0]["prior"]["tree_df"] == 3.0
    scales = [arrays[f"posterior.0.state.{chain}.tree_scales"] for chain in range(2)]
    assert all((each > 0.0).all() and len(each) == model.n_trees for each in scales)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.tree_df, again.soft) == (3.0, soft)
    X, y = small_files.small_table()
    kept = [one.sample_more(3, X, y).predict(X) for one in (again, model)]
    np.testing.assert_array_equal(*kept)


def test_a_constant_outcome_keeps_the_scales_that_the_user_asked_for(tmp_path):
    model = ObliqueBARTRegressor(tree_df=3.0, n_burn=2, n_draws=2, n_chains=2)
    with pytest.warns(UserWarning, match="constant"):
        model.fit(np.arange(8.0).reshape(-1, 1), np.ones(8))
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").tree_df == 3.0


def test_scales_are_written_although_the_parameter_has_changed_since():
    model = small_files.small_regressor(soft=False, tree_df=3.0).set_params(tree_df=None)
    data = model_file.to_bytes(model._fitted, model.get_params())
    assert small_files.opened(data).header["schema"] == model_file.SCHEMA
    again = model_file._new_estimator(read_model(data))
    assert again.posterior_.has_tree_scales
    assert again.tree_df is None


def test_trees_that_are_alike_are_written_as_before_there_were_scales():
    for soft, schema in ((False, model_file.HARD_SCHEMA), (True, model_file.ALIKE_SCHEMA)):
        model = small_files.small_regressor(soft=soft)
        header, arrays = small_files.opened(model_file.to_bytes(model._fitted, model.get_params()))
        assert header["schema"] == schema
        names = (*header["parameters"], *header["posteriors"][0]["prior"], *arrays)
        assert not [name for name in names if "tree_" in name]


def test_a_pickle_that_is_older_than_scales_of_trees():
    state = small_files.small_regressor(soft=False).__getstate__()
    del state["tree_df"]
    model = ObliqueBARTRegressor.__new__(ObliqueBARTRegressor)
    model.__setstate__(state)
    assert model.tree_df is None


@pytest.mark.parametrize("soft", [False, "auto"])
def test_a_model_of_hard_rules_remembers_whether_it_had_a_choice(soft, tmp_path):
    model = small_files.small_regressor(soft=soft, sigma=1.0)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.soft, again.soft_) == (soft, False)
