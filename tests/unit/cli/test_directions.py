"""Directions of rules on the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from helpers.command_line import QUICK, run
from obliquebart import load
from obliquebart.directions import Axis, Patch, Signs, Sparse


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A table with the 12 pixels of images, their outcome, and whether they were treated."""
    path = tmp_path_factory.mktemp("directions") / "images.csv"
    pixels = np.random.default_rng(0).normal(size=(60, 12)).round(3)
    columns = {f"p{j}": pixels[:, j] for j in range(12)}
    outcome = {"y": pixels[:, 5] + pixels[:, 6], "treated": np.arange(60) % 2}
    pl.DataFrame(columns | outcome).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["patch:3x4"], Patch((3, 4))),
        (["patch:12:smooth", "sparse"], [Patch(12, values="smooth"), Sparse()]),
        (["patch:2x3x2:difference"], Patch((2, 3, 2), values="difference")),
        (["Signs", "axis"], [Signs(), Axis()]),
    ],
)
def test_the_model_has_the_directions_that_were_named(images, tmp_path, given, expected):
    model = tmp_path / "m.obart"
    options = [word for each in given for word in ("--directions", each)]
    run("fit", images, "-t", "y", "-d", "treated", *options, "-o", model, *QUICK)
    assert load(model).directions == expected
    run("predict", model, images)


def test_a_patch_of_the_command_line_is_that_of_python(images, tmp_path):
    model = tmp_path / "m.obart"
    words = ("-d", "treated", "--directions", "patch:3x4", "-o", model)
    run("fit", images, "-t", "y", *words, *QUICK)
    table = pl.read_csv(images)
    X = table.drop("y", "treated")
    found = load(model)
    again = type(found)(**found.get_params()).fit(X, table["y"])
    np.testing.assert_array_equal(found.predict(X), again.predict(X))


def test_effects_of_a_treatment_have_directions_too(images, tmp_path):
    model = tmp_path / "m.obart"
    words = ("--treatment", "treated", "--directions", "patch:3x4")
    run("fit", images, "-t", "y", "-o", model, *words, *QUICK)
    table = pl.read_csv(images)
    found = load(model)
    assert found.directions == Patch((3, 4))
    again = type(found)(**found.get_params()).fit(table.drop("y"), table["y"], "treated")
    X = table.drop("y")
    np.testing.assert_array_equal(found.effect(X), again.effect(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--directions stripes", "is unknown: write sparse, axis, signs, or patch with the shape"),
        ("--directions sparse:3", "is unknown"),
        ("--directions patch", "needs a shape"),
        ("--directions patch:3x", "needs a shape"),
        ("--directions patch:1x1x2x6", "needs a shape"),
        ("--directions patch:3x4:soft", "'soft' is none of normal, smooth, difference"),
        ("--directions patch:5x5", "needs 25 numeric columns, but the table has 12: correct"),
        ("--directions patch:0x4", "shape=0 is out of range"),
        ("--directions patch:3x4 --rules axis", "use --directions axis"),
        ("--directions patch:3x4 --set rules=axis", "use --directions axis"),
        ("--set directions=patch:3x4", "--set cannot set directions: use --directions, as in"),
        ("--directions patch:99999999999999999999", "must be an integer <= 2147483647"),
    ],
)
def test_mistakes_name_the_fix(images, options, message):
    result = run("fit", images, "-t", "y", "-d", "treated", *options.split(), code=1)
    assert message in " ".join(result.output.split())
