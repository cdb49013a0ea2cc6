"""The command `summary`: importances, errors, and rows that were in training."""

from __future__ import annotations

import json

import polars as pl

import obliquebart
from helpers import small_models
from helpers.command_line import run


def test_summary(folder):
    result = run("summary", folder / "y.obart", folder / "data.csv", "-t", "y", "--rows", "3")
    words = " ".join(result.stdout.split())
    # What matters most comes first.
    expected = ("Columns by importance", "Errors (training rows", "RMSE", "f[74]", "Accepted moves")
    assert list(expected) == sorted(expected, key=words.index)
    assert "Columns by use" not in words
    alone = run("summary", folder / "l.obart").stdout
    assert "Accepted moves" in alone
    assert "f[" not in alone
    assert "To see which columns matter, add a table" in " ".join(alone.split())
    rules = run("summary", folder / "l.obart", "--rules").stdout
    assert "Columns by use" in rules
    assert "Pairs that share" in rules
    answer = json.loads(run("summary", folder / "l.obart", "--json").stdout)
    assert answer["importance"] is None
    assert answer["classes"] == ["high", "low"]
    assert {row["column"] for row in answer["rules"][""]["variable_inclusion"]} == {
        *("age", "bmi", "noise", "colour")
    }
    assert answer["scores"] is None


def test_summary_has_importances_of_given_rows_or_of_the_training(folder, tmp_path):
    answer = json.loads(run("summary", folder / "y.obart", folder / "data.csv", "--json").stdout)
    found = {row["column"]: row["share"] for row in answer["importance"]["columns"]}
    assert set(found) == {"age", "bmi", "noise", "colour"}
    path = tmp_path / "with_data.obart"
    small_models.regressor().save(path, include_data=True)
    words = run("summary", path, "--top", "1").stdout
    first = small_models.regressor().importance()[0]
    assert f"{first.share:.1%}" in words
    assert "(1 of 4)" in words


def test_summary_finds_the_only_other_column(folder, tmp_path):
    data = pl.read_csv(folder / "data.csv").drop("label")[:20]
    data.write_csv(tmp_path / "new.csv")
    words = run("summary", folder / "y.obart", tmp_path / "new.csv").stdout
    assert "training rows, so too good" in words
    answer = json.loads(run("summary", folder / "y.obart", tmp_path / "new.csv", "--json").stdout)
    assert answer["scores"]["RMSE"] > 0
    assert answer["rows_in_training"] == 20


def test_summary_counts_the_rows_that_were_in_training(folder, tmp_path):
    data = pl.read_csv(folder / "data.csv")
    new = data[:50].with_columns(y=pl.col("y") + 1.0)
    pl.concat([new, data[:30]]).write_csv(tmp_path / "some.csv")
    words = run("summary", folder / "y.obart", tmp_path / "some.csv").stdout
    assert "30 of 80 rows were in training, so too good" in " ".join(words.split())
    new.write_csv(tmp_path / "none.csv")
    assert (
        "rows not in training" in run("summary", folder / "y.obart", tmp_path / "none.csv").stdout
    )
    model = obliquebart.load(folder / "y.obart")
    model.save(tmp_path / "private.obart", include_state=False)
    words = run("summary", tmp_path / "private.obart", tmp_path / "none.csv").stdout
    assert "does not know whether these rows were in training" in " ".join(words.split())
