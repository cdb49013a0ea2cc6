"""Files of models with soft rules, and of those without."""

from __future__ import annotations

import pytest

from helpers import small_files
from obliquebart import load
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
    assert contents.header["schema"] == model_file.SCHEMA
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


@pytest.mark.parametrize("soft", [False, "auto"])
def test_a_model_of_hard_rules_remembers_whether_it_had_a_choice(soft, tmp_path):
    model = small_files.small_regressor(soft=soft, sigma=1.0)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.soft, again.soft_) == (soft, False)
