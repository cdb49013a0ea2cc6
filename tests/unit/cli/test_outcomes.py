"""Kinds of outcomes at the command line: classes, truth values, counts with exposures."""

from __future__ import annotations

import json

import pytest

import obliquebart
from helpers.command_line import QUICK, rows_of, run


def test_more_classes_and_numbers_as_labels(tmp_path):
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{i % 7},{i % 5},{i % 3}" for i in range(60))
    data.write_text(f"a,b,c\n{rows}\n")
    path = tmp_path / "m.obart"
    fit = run("fit", data, "-t", "c", "--outcome", "class", "-o", path, *QUICK)
    assert "least certain for class 2" in " ".join(fit.stdout.split())
    answer = rows_of(run("predict", path, data).stdout)
    assert list(answer[0]) == [*("prediction", "probability_0", "probability_1", "probability_2")]
    assert "accuracy" in run("summary", path, data).stdout


def test_booleans_are_classes(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("x,y\n" + "".join(f"{i},{i % 3 == 0}\n" for i in range(40)))
    path = tmp_path / "m.obart"
    run("fit", data, "-t", "y", "-o", path, *QUICK)
    assert obliquebart.load(path).classes_.tolist() == [False, True]
    answer = rows_of(run("predict", path, data).stdout)
    assert list(answer[0]) == ["prediction", "probability_False", "probability_True"]
    assert "accuracy" in run("summary", path, data).stdout
    run("fit", data, "-t", "y", "--outcome", "number", "-o", path, *QUICK)


def test_rows_without_a_target_are_left_out(tmp_path):
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{i},{'NA' if i < 5 else i * i}" for i in range(40))
    data.write_text(f"x,y\n{rows}\n")
    result = run("fit", data, "-t", "y", "-o", tmp_path / "m.obart", *QUICK)
    assert "Dropped 5 rows with a missing target" in " ".join(result.stderr.split())
    assert json.loads(run("summary", tmp_path / "m.obart", data, "--json").stdout)["scores"]


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    rows = "\n".join(
        f"{i % 7},{'ab'[i % 2]},{1 + i % 5},{(i % 7) * (1 + i % 5)}" for i in range(60)
    )
    path.write_text(f"power,region,years,claims\n{rows}\n")
    return path


def test_counts_with_exposures(claims, tmp_path):
    path, page = tmp_path / "m.obart", tmp_path / "page.html"
    options = ("--outcome", "count", "--exposure", "years")
    fit = run("fit", claims, "-t", "claims", *options, "-o", path, *QUICK)
    words = " ".join(fit.stderr.split())
    assert "years exposure 1 to 5" in words
    assert "60 rows, 2 columns. Target 'claims': count regression, 0 to 30." in words
    assert "dispersion" in fit.stdout
    model = obliquebart.load(path)
    assert isinstance(model, obliquebart.ObliqueBARTCountRegressor)
    assert model._fitted.encoding.names == ["power", "region"]
    answer = rows_of(run("predict", path, "-", stdin="power,region,years\n5,a,1\n5,a,10\n").stdout)
    one, ten = (float(row["prediction"]) for row in answer)
    assert ten == pytest.approx(10 * one)
    assert all(float(row["low"]).is_integer() for row in answer)
    assert "D²" in run("summary", path, claims).stdout
    run("report", path, claims, "-o", page)
    assert "claims, a count" in page.read_text("utf-8")
    missing = run("predict", path, "-", stdin="power,region\n5,a\n", code=1)
    words = " ".join(missing.stderr.split())
    assert "standard input has no column 'years' (the exposures of the counts)." in words
    bad = run("predict", path, "-", stdin="power,region,years\n5,a,1\n5,a,long\n", code=1)
    fault = "The exposure column 'years' contains text ('long' in row 1) instead of numbers"
    assert fault in " ".join(bad.stderr.split())


def test_text_in_order(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("x,y\n" + "".join(f"{i},{('lo', 'mid', 'hi')[i % 3]}\n" for i in range(30)))
    words = ("fit", data, "-t", "y", "--outcome", "ordered", "-o", tmp_path / "m.obart", *QUICK)
    said = " ".join(run(*words).stderr.split())
    order = "ordered=['lo', 'mid', 'hi']"
    assert "alphabetical order, 'hi' < 'lo' < 'mid'. If that is not their order, write" in said
    assert f'--set "{order}".' in said
    assert "pd." not in said
    assert "alphabetical" not in run(*words, "--set", order).stderr
    assert obliquebart.load(tmp_path / "m.obart").ordered_classes_.tolist() == ["lo", "mid", "hi"]
    assert "3 classes: lo, mid, hi." in " ".join(
        run("summary", tmp_path / "m.obart").stdout.split()
    )
    run("predict", tmp_path / "m.obart", data, "-o", tmp_path / "p.csv")
    headings = (tmp_path / "p.csv").read_text().splitlines()[0].split(",")
    assert headings == ["prediction", "probability_lo", "probability_mid", "probability_hi"]


OUTCOME_ERRORS = {
    "exposure of numbers": ("--outcome number --exposure years", "--exposure is for counts"),
    "unknown exposure": ("--outcome count --exposure months", "months"),
    "text as exposure": (
        "--outcome count --exposure region",
        "The --exposure column 'region' contains text ('a' in row 0) instead of numbers",
    ),
    "negative counts": (
        "--outcome count -t change",
        "y is negative at row 0 (-3), but counts are whole numbers of at least 0. For other "
        "numbers, write --outcome number; if y is a rate, let --target name the column with the "
        "counts, and --exposure the one with what they are divided by.",
    ),
    "rates": ("--outcome count -t rate", "y is not a whole number at row 0 (0.5), but counts"),
    "decimals": (
        "--outcome class -t rate",
        "y holds numbers with decimals. To predict numbers, write --outcome number; if they are "
        "classes, write them as words in the file.",
    ),
    "two roles": ("--outcome count --exposure years --drop years", "cannot be the target"),
}


@pytest.mark.parametrize("case", OUTCOME_ERRORS)
def test_outcomes_that_do_not_fit(claims, tmp_path, case):
    options, message = OUTCOME_ERRORS[case]
    if "-t" not in options:
        options += " -t claims"
    data = tmp_path / "claims.csv"
    header, *rows = claims.read_text().split()
    data.write_text(
        "\n".join(
            [f"{header},rate,change", *(f"{r},{i + 0.5},{i - 3}" for i, r in enumerate(rows))]
        )
    )
    words = ("fit", data, "-o", tmp_path / "m.obart", *options.split())
    said = " ".join(run(*words, code=1).stderr.split())
    assert message in said
    assert "ObliqueBART" not in said
