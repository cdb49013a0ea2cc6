"""Treatments on the command line."""

from __future__ import annotations

import csv
import io
import json
import warnings

import numpy as np
import pytest

import obliquebart
from helpers.causal import treated_table
from helpers.command_line import QUICK, run

X, Z, Y = treated_table(80)
DROP = ("-d", "arm", "-d", "label", "-d", "three")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with treatments of several kinds, one row incomplete, and a model of it."""
    folder = tmp_path_factory.mktemp("causal")
    table = X.assign(
        z=Z.astype(float),
        arm=np.where(Z == 1, "drug", "placebo"),
        three=np.arange(80) % 3,
        label=np.where(Y > 0.5, "well", "ill"),
        y=Y,
    )
    table.loc[4, "z"] = np.nan
    table.to_csv(folder / "data.csv", index=False)
    X.assign(z=np.nan, y=Y).to_csv(folder / "none.csv", index=False)
    halves = np.arange(80) % 2 == 0
    apart = X.assign(z=np.where(halves, Z, np.nan), y=np.where(halves, np.nan, Y))
    apart.to_csv(folder / "apart.csv", index=False)
    X.assign(z=["0", "1", "oops", *["0"] * 77], y=Y).to_csv(folder / "text.csv", index=False)
    words = ["-t", "y", "--treatment", "z", *DROP]
    run("fit", folder / "data.csv", *words, "-o", folder / "m.obart", *QUICK)
    return folder


def test_fit_says_what_the_treatment_does(folder, tmp_path):
    words = ["-t", "y", "--treatment", "z", *DROP, "-o", tmp_path / "m.obart", *QUICK]
    result = run("fit", folder / "data.csv", *words)
    shown = " ".join(result.stdout.split())
    assert "Average effect of 1 against 0 on y" in shown
    said = " ".join(result.stderr.split())
    assert "Treatment 'z'" in said
    assert "Dropped 1 row with a missing target or treatment" in said
    kept = np.setdiff1d(np.arange(80), [4])
    model = obliquebart.load(tmp_path / "m.obart")
    again = obliquebart.ObliqueBARTCausal(**model.get_params())
    with warnings.catch_warnings():
        # So few rows may have no counterparts.
        warnings.simplefilter("ignore", obliquebart.OverlapWarning)
        again.fit(X.iloc[kept], Y.iloc[kept], Z[kept])
    np.testing.assert_allclose(again.effect(X), model.effect(X), atol=1e-6)


def test_options_reach_the_estimator(folder, tmp_path):
    words = ["-t", "label", "--treatment", "arm", "--control", "placebo", "--propensity", "none"]
    words += ["-d", "z", "-d", "three", "-d", "y", "--json", "-o", tmp_path / "m.obart"]
    answer = json.loads(run("fit", folder / "data.csv", *words, *QUICK).stdout)
    assert (answer["treatment"], answer["outcome"]) == ("arm", "class")
    assert answer["columns"]["arm"] == "treatment"
    average = answer["effects"]["drug against placebo"]["ate"]
    assert average["outcome"] == "the probability that label is well"
    assert average["low"] < average["mean"] < average["high"]
    model = obliquebart.load(tmp_path / "m.obart")
    assert (model.control, model.propensity, model.outcome) == ("placebo", None, "binary")


@pytest.mark.parametrize(("values", "task"), [((1, 2), "class"), ((0.5, 1.5), "number")])
def test_two_numbers_are_what_they_are_in_python(values, task, tmp_path):
    y = np.where(Y > 0.5, values[1], values[0])
    X.assign(z=Z, y=y).to_csv(tmp_path / "data.csv", index=False)
    words = ["-t", "y", "--treatment", "z", "--json", "-o", tmp_path / "m.obart", *QUICK]
    answer = json.loads(run("fit", tmp_path / "data.csv", *words).stdout)
    assert answer["outcome"] == task
    in_python = obliquebart.ObliqueBARTCausal(n_trees=5, n_burn=2, n_draws=2, propensity=None)
    of_file = obliquebart.load(tmp_path / "m.obart")._fitted.likelihood
    assert in_python.fit(X, y, Z)._fitted.likelihood.has_classes == of_file.has_classes


def test_predict_writes_effects(folder, tmp_path):
    table = run("predict", folder / "m.obart", folder / "data.csv", "--interval", "0.5").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert list(rows[0]) == ["effect", "low", "high", "probability_positive"]
    model = obliquebart.load(folder / "m.obart")
    mean, interval = model.effect(X, return_interval=True, coverage=0.5)
    np.testing.assert_allclose([float(row["effect"]) for row in rows], mean, atol=1e-6)
    np.testing.assert_allclose([float(row["high"]) for row in rows], interval[:, 1], atol=1e-6)
    words = ["-t", "y", "--treatment", "three", "--control", "1", "--propensity", "none"]
    words += ["-d", "arm", "-d", "label", "-d", "z", "-o", tmp_path / "m.obart", "-q"]
    run("fit", folder / "data.csv", *words, *QUICK)
    first = run("predict", tmp_path / "m.obart", folder / "data.csv").stdout.splitlines()[0]
    assert first.startswith("effect_0,low_0,high_0,probability_positive_0,effect_2,")


def test_summary_shows_effects(folder):
    shown = " ".join(run("summary", folder / "m.obart", folder / "data.csv").stdout.split())
    assert "Average effect of 1 against 0 on y" in shown
    assert "variance of the effect lost" in shown
    assert "add a table" in " ".join(run("summary", folder / "m.obart").stdout.split())
    answer = json.loads(run("summary", folder / "m.obart", folder / "data.csv", "--json").stdout)
    assert answer["effects"]["1 against 0"]["importance"]
    assert run("summary", folder / "m.obart", "--rules").stdout


def test_the_report_needs_treatments_only(folder, tmp_path):
    page = tmp_path / "page.html"
    run("report", folder / "m.obart", folder / "data.csv", "-o", page)
    assert "What does z change?" in page.read_text("utf-8")
    X.to_csv(tmp_path / "bare.csv", index=False)
    result = run("report", folder / "m.obart", tmp_path / "bare.csv", "-o", page, code=1)
    assert "no column 'z'" in " ".join(result.stderr.split())


MISTAKES = {
    "no such column": ("fit {data} -t y --treatment zz", "no column 'zz' (--treatment)"),
    "the target": ("fit {data} -t y --treatment y", "'y' cannot be the target"),
    "dropped": ("fit {data} -t y --treatment z -d z", "cannot be in --drop"),
    "control alone": ("fit {data} -t y --control a", "--control requires --treatment"),
    "type alone": ("fit {data} -t y --treatment-type dose", "--treatment-type requires"),
    "propensity alone": ("fit {data} -t y --propensity none", "--propensity requires"),
    "unknown control": ("fit {data} -t y --treatment arm --control x", "drug, placebo"),
    "counts": ("fit {data} -t three --treatment z --outcome count", "not for --outcome count"),
    "text as dose": (
        "fit {folder}/text.csv -t y --treatment z --treatment-type dose",
        "The --treatment column 'z' contains text ('oops' in row 2) instead of numbers",
    ),
    "text as arm": (
        "report {folder}/m.obart {folder}/text.csv",
        "The treatment 'z' contains text ('oops' in row 2) instead of numbers",
    ),
    "a category": (
        "fit {data} -t y --treatment z -c z",
        "The --treatment column 'z' needs no --categorical",
    ),
    "no treatments": (
        "fit {folder}/none.csv -t y --treatment z",
        "All values of the --treatment column 'z'",
    ),
    "no treatments in the report": (
        "report {folder}/m.obart {folder}/none.csv",
        "All values of the treatment column 'z'",
    ),
    "no row with both": (
        "fit {folder}/apart.csv -t y --treatment z",
        "has both a target and a treatment",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(folder, name):
    words, message = MISTAKES[name]
    result = run(*words.format(folder=folder, data=folder / "data.csv").split(), code=1)
    assert message in " ".join(result.stderr.split())


def test_summary_without_rows_has_no_empty_table(folder, tmp_path):
    words = ["-t", "y", "--treatment", "z", *DROP, "--set", "rules=axis", "-q"]
    run("fit", folder / "data.csv", *words, "-o", tmp_path / "m.obart", *QUICK)
    shown = run("summary", tmp_path / "m.obart").stdout
    assert shown.count("R-hat") == 1
    assert "effect, 1 against 0: 2 chains of" in shown
