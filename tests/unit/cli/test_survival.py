"""Survival times on the command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import obliquebart
from helpers.command_line import QUICK, rows_of, run
from helpers.survival import right_censored


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of times, two of them incomplete, and a model of it."""
    folder = tmp_path_factory.mktemp("survival")
    x, y = right_censored(80)
    rows = [[*row, time, int(event)] for row, (event, time) in zip(x.tolist(), y, strict=True)]
    rows[4][3] = rows[9][4] = ""
    with (folder / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "days", "dead"], *rows])
    others = {
        "none.csv": "a,days,dead\n1,2,\n2,3,NA\n",
        "apart.csv": "a,days,dead\n1,2,\n2,,1\n",
        "text.csv": "a,days,dead\n1,2,1\n2,long,0\n",
    }
    for name, text in others.items():
        (folder / name).write_text(text)
    words = ["-t", "days", "--outcome", "survival", "--event", "dead"]
    run("fit", folder / "data.csv", *words, "-o", folder / "m.obart", *QUICK)
    return folder


def test_fit_uses_times_and_events(folder, tmp_path):
    words = ["-t", "days", "--outcome", "survival", "--event", "dead", "--json"]
    result = run("fit", folder / "data.csv", *words, "-o", tmp_path / "m.obart", *QUICK)
    answer = json.loads(result.stdout)
    assert answer["task"] == "survival"
    assert (answer["n_rows"], answer["rows_without_target"]) == (78, 2)
    assert list(answer["columns"]) == ["a", "b", "c"]
    x, y = right_censored(80)
    kept = np.setdiff1d(np.arange(80), [4, 9])
    model = obliquebart.load(tmp_path / "m.obart")
    again = obliquebart.ObliqueBARTSurvival(**model.get_params()).fit(
        dict(zip("abc", x[kept].T, strict=True)), y[kept]
    )
    some = dict(zip("abc", x[:5].T, strict=True))
    np.testing.assert_array_equal(again.predict(some), model.predict(some))
    assert "with an event" in " ".join(result.stderr.split())


def test_predict_writes_times_and_risks(folder):
    rows = rows_of(run("predict", folder / "m.obart", folder / "data.csv").stdout)
    assert list(rows[0]) == ["prediction", "low", "high", "risk"]
    numbers = [[float(row[name]) for name in ("low", "prediction", "high")] for row in rows]
    assert (np.diff(numbers) > 0).all()
    narrow = run("predict", folder / "m.obart", folder / "data.csv", "--kind", "mean").stdout
    assert float(rows_of(narrow)[0]["high"]) < numbers[0][2]


def test_summary_and_report(folder, tmp_path):
    result = run("summary", folder / "m.obart", folder / "data.csv", "--event", "dead")
    assert "concordance" in result.stdout
    assert "training rows" in result.stdout
    silent = run("summary", folder / "m.obart", folder / "data.csv")
    assert "Name it with --event" in " ".join(silent.stderr.split())
    page = tmp_path / "page.html"
    run("report", folder / "m.obart", folder / "data.csv", "--event", "dead", "-o", page)
    assert "Survival curves" in page.read_text("utf-8")


MISTAKES = {
    "no event": ("fit {data} -t days --outcome survival", "need --event COLUMN"),
    "no such event": (
        "fit {data} -t days --outcome survival --event zz",
        "no column 'zz' (--event)",
    ),
    "the target as event": (
        "fit {data} -t days --outcome survival --event days",
        "'days' cannot be the target",
    ),
    "event alone": ("fit {data} -t days --event dead", "--event requires --outcome survival"),
    "not an event": ("fit {data} -t days --outcome survival --event a", "must be boolean"),
    "no events": (
        "fit {folder}/none.csv -t days --outcome survival --event dead",
        "All values of the --event column 'dead'",
    ),
    "no row with both": (
        "fit {folder}/apart.csv -t days --outcome survival --event dead",
        "has both 'days' and 'dead'",
    ),
    "text as time": (
        "fit {folder}/text.csv -t days --outcome survival --event dead",
        "The target 'days' contains text ('long' in row 1) instead of numbers",
    ),
    "no such event in the summary": (
        "summary {folder}/m.obart {data} --event zz",
        "no column 'zz' (--event)",
    ),
    "report": ("report {folder}/m.obart {data}", "Name it with --event"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(folder, name):
    words, message = MISTAKES[name]
    result = run(*words.format(folder=folder, data=folder / "data.csv").split(), code=1)
    assert message in " ".join(result.stderr.split())
