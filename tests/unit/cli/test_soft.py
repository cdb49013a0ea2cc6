"""Soft rules on the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from helpers.command_line import QUICK, run
from obliquebart import load


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("soft") / "table.csv"
    x = np.linspace(0, 1, 60)
    columns = {"x": x, "y": np.sin(6 * x), "n": np.arange(60) % 4, "treated": np.arange(60) % 2}
    pl.DataFrame(columns).write_csv(path)
    return path


@pytest.mark.parametrize("option", ["--soft", "--set soft=True"])
def test_the_model_has_soft_rules(table, tmp_path, option):
    path = tmp_path / "m.obart"
    words = ("fit", table, "-t", "y", "-d", "n", "-d", "treated", *QUICK)
    run(*words, *option.split(), "-o", path)
    model = load(path)
    assert model.soft is True
    assert len(model.posterior_.draws.to_arrays()["width"]) > 0
    run("predict", path, table)
    run(*words, "--no-soft", "-o", path)
    assert load(path).soft is False


def test_short_fits_choose_by_default(table, tmp_path):
    path = tmp_path / "m.obart"
    run("fit", table, "-t", "y", "-d", "n", "-d", "treated", *QUICK, "-o", path)
    assert load(path).soft == "auto"
    assert load(path).soft_


def test_effects_can_be_soft(table, tmp_path):
    path = tmp_path / "m.obart"
    run("fit", table, "-t", "y", "-d", "n", "--treatment", "treated", "--soft", *QUICK, "-o", path)
    assert load(path).soft is True


def test_counts_cannot(table):
    words = ("fit", table, "-t", "n", "--outcome", "count", "--soft")
    result = run(*words, code=1)
    assert "--soft and --outcome count exclude each other" in " ".join(result.output.split())
