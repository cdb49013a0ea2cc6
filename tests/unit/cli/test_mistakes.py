"""Mistakes at the command line: one sentence that names the fix, and the exit code."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from typer.testing import CliRunner

from helpers import small_models
from helpers.command_line import QUICK, run
from obliquebart.cli import app, datafile

MISTAKES = {
    "no file": ("fit nothing.csv -t y", "No such file: nothing.csv"),
    "a folder": ("fit {folder} -t y", "is a folder"),
    "misspelt": ("fit {data} -t Yy", "(the target). Did you mean 'y'?"),
    "misspelt drop": ("fit {data} -t y -d lable", "'lable' (--drop). Did you mean 'label'?"),
    "no such target": ("fit {data} -t yy", "no column 'yy' (the target)"),
    "no such category": ("fit {data} -t y -c zz", "no column 'zz' (--categorical)"),
    "no such drop": ("fit {data} -t y -d zz", "no column 'zz' (--drop)"),
    "target dropped": ("fit {data} -t y -d y", "The target 'y' cannot be in"),
    "text regression": ("fit {data} -t label --outcome number", "contains text"),
    "unknown parameter": ("fit {data} -t y --set tau=1", "Unknown parameter 'tau'"),
    "no value": ("fit {data} -t y --set tau", "NAME=VALUE"),
    "bad value": ("fit {data} -t y --set k=-1", "k=-1"),
    "no trees": ("fit {data} -t y --n-trees 0", "n_trees=0"),
    "no output folder": ("fit {data} -t y -o {folder}/none/m.obart", "no folder"),
    "output is a folder": ("fit {data} -t y -o {folder}", "is a folder"),
    "empty": ("fit {folder}/empty.csv -t y", "is empty"),
    "header only": ("fit {folder}/header.csv -t y", "no data"),
    "numbers first": ("fit {folder}/numbers.csv -t y", "starts with numbers"),
    "no such id": ("fit {data} -t y --id zz", "no column 'zz' (--id)"),
    "target as id": ("fit {data} -t y --id y", "The --id column 'y' cannot be"),
    "no such id in predict": ("predict {folder}/y.obart {data} --id zz", "no column 'zz' (--id)"),
    "id like a prediction": ("predict {folder}/y.obart {folder}/low.csv --id low", "rename"),
    "several bad columns": (
        "fit {folder}/several.csv -t y",
        "2 columns cannot be used: - 'x' contains an infinite value in row 0. Write finite "
        "numbers, or leave the cell empty; --drop NAME leaves the column out. - 'z' looks like "
        "free text: 1500 distinct values in 1500 rows. --drop NAME leaves the column out, "
        "and so does --id NAME, for a column that identifies the rows. --categorical NAME",
    ),
    "dates in Parquet": (
        "fit {folder}/dates.parquet -t y",
        "'day' contains dates. --dates converts",
    ),
    "text for numbers": (
        "predict {folder}/y.obart {folder}/text.csv",
        "'age' contains text ('old' in row 0) instead of numbers. Correct the file",
    ),
    "one bad cell": (
        "predict {folder}/y.obart {folder}/cell.csv",
        "'age' contains text ('oops' in row 2) instead of numbers. Correct the file",
    ),
    "text for a category of numbers": (
        "predict {folder}/n.obart {folder}/levels.csv",
        "'n' mixes text and numbers ('one' in row 1, 1 in row 0). Correct the file",
    ),
    "text for outcomes": (
        "summary {folder}/y.obart {folder}/outcomes.csv",
        "The target 'y' contains text ('oops' in row 1) instead of numbers: correct",
    ),
    "twice": ("fit {folder}/twice.csv -t y", "duplicate column names: 'x'"),
    "ragged": ("fit {folder}/ragged.csv -t y", "ragged.csv, line 3: 3 values"),
    "latin1": ("fit {folder}/latin1.csv -t y", "not UTF-8"),
    "UTF-16": ("fit {folder}/utf16.csv -t y", "iconv -f utf-16 -t utf-8"),
    "parquet by name": ("fit {folder}/text.parquet -t y", "not a Parquet file"),
    "damaged gzip": ("fit {folder}/bad.csv.gz -t y", "damaged"),
    "only a target": ("fit {folder}/only.csv -t y", "no columns other than the target"),
    "no target values": ("fit {folder}/missing.csv -t y", "All values of the target"),
    "free text": ("fit {folder}/free.csv -t y", "looks like free text"),
    "infinite": ("fit {folder}/infinite.csv -t y", "infinite value"),
    "no model": ("predict none.obart {data}", "No such file: none.obart"),
    "a folder as model": ("report . {data}", "it is not a regular file"),
    "not a model": ("predict {data} {data}", "Cannot load"),
    "column missing": ("predict {folder}/y.obart {folder}/missing.csv", "no column 'age'"),
    "which target": ("report {folder}/y.obart {folder}/renamed.csv -o {folder}/r.html", "--target"),
    "unknown label": ("summary {folder}/l.obart {folder}/labels.csv -t label", "'medium'"),
}


@pytest.fixture(scope="module")
def bad(folder):
    files = {
        "empty.csv": "",
        "header.csv": "x,y\n",
        "numbers.csv": "1,2\n3,4\n",
        "several.csv": "x,z,y\n" + "".join(f"{i or 'inf'},word{i},{i}\n" for i in range(1500)),
        "low.csv": "age,bmi,noise,colour,low\n40,20,0.5,red,1\n",
        "text.csv": "age,bmi,noise,colour\nold,20,0.5,red\n",
        "cell.csv": "age,bmi,noise,colour\n40,20,0.5,red\n,20,0.5,red\noops,20,0.5,red\n",
        "levels.csv": "n\n1\none\n",
        "outcomes.csv": "age,bmi,noise,colour,y\n40,20,0.5,red,1\n40,20,0.5,red,oops\n",
        "twice.csv": "x,x,y\n1,2,3\n",
        "ragged.csv": "x,y\n1,2\n1,2,3\n",
        "text.parquet": "x,y\n1,2\n",
        "only.csv": "y\n1\n2\n3\n",
        "missing.csv": "x,y\n1,\n2,NA\n",
        "infinite.csv": "x,y\n1,1\ninf,2\n3,4\n",
        "free.csv": "x,y\n" + "".join(f"word{i},{i}\n" for i in range(1500)),
        "labels.csv": "age,bmi,noise,colour,label\n40,20,0.5,red,medium\n",
        "renamed.csv": "age,bmi,noise,colour,id,outcome\n40,20,0.5,red,1,2\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "latin1.csv").write_bytes("x,y\ncaf\xe9,1\n".encode("latin1"))
    (folder / "utf16.csv").write_bytes("x,y\ncaf\xe9,1\n".encode("utf-16"))
    (folder / "bad.csv.gz").write_bytes(b"no gzip")
    days = [dt.date(2024, 1, 1 + i % 28) for i in range(30)]
    pl.DataFrame({"day": days, "y": range(30)}).write_parquet(folder / "dates.parquet")
    numbers = folder / "n.csv"
    numbers.write_text("n,y\n" + "".join(f"{i % 3},{i}\n" for i in range(30)))
    run("fit", numbers, "-t", "y", "-c", "n", "-o", folder / "n.obart", *QUICK)
    return folder


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_a_sentence(bad, case):
    line, expected = MISTAKES[case]
    words = line.format(folder=bad, data=bad / "data.csv").split()
    if words[0] == "fit" and "-o" not in words:
        words += ["-o", str(bad / "unwanted.obart")]
    result = run(*words, code=1)
    message = " ".join(result.stderr.split())
    assert message.count("Error:") == 1
    assert expected in message
    assert result.stdout == ""
    assert not (bad / "unwanted.obart").exists()


@pytest.mark.parametrize(("name", "message"), [(".csv", "No such file: .csv."), ("..", "folder")])
def test_a_file_without_a_name(name, message):
    assert message in run("fit", name, "-t", "y", code=1).stderr


@pytest.mark.parametrize(
    "line",
    [
        *("fit", "fit x.csv", "grow", "fit x.csv -t y --n-trees many", "predict a b --kind c"),
        *(f"predict a b --decimal={mark}" for mark in ("", ",,", "1", "-", "\u066b")),
    ],
)
def test_a_command_line_that_makes_no_sense(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["fit x.csv", "summary m x.csv", "report m x.csv"])
def test_a_second_target_is_not_ignored(command):
    result = CliRunner().invoke(app, [*command.split(), "-t", "y", "--target", "label"])
    assert result.exit_code == 2
    assert "2 targets (y, label)" in result.output


def test_an_interval_in_percent_is_refused():
    result = CliRunner().invoke(app, ["predict", "a", "b", "--interval", "90"])
    assert result.exit_code == 2
    assert "write 0.9" in result.output
    assert CliRunner().invoke(app, ["predict", "a", "b", "--interval", "0"]).exit_code == 2


def test_debugging_shows_the_error(monkeypatch):
    monkeypatch.setenv("OBLIQUEBART_DEBUG", "1")
    result = CliRunner().invoke(app, ["fit", "nothing.csv", "-t", "y"])
    assert isinstance(result.exception, datafile.FileError)


def test_without_a_data_frame_library(bad, tmp_path, monkeypatch):
    monkeypatch.setattr(datafile, "find_spec", lambda _: None)
    result = run("fit", bad / "data.parquet", "-t", "y", "-o", tmp_path / "m.obart", code=1)
    assert "pip install pyarrow" in " ".join(result.stderr.split())
    result = run("predict", bad / "y.obart", bad / "data.csv", "-o", tmp_path / "p.pq", code=1)
    assert "pip install pyarrow" in " ".join(result.stderr.split())


def test_doubtful_columns_and_mistaken_options(tmp_path):
    data = tmp_path / "data.csv"
    rows = "".join(f"{i},2024-0{i % 9 + 1}-{i % 28 + 1},remark {i},{i % 7}\n" for i in range(60))
    data.write_text("id,day,remark,y\n" + rows)
    model = tmp_path / "m.obart"
    words = " ".join(run("fit", data, "-t", "y", "-o", model, *QUICK).output.split())
    assert "0 to 59, increasing by 1: a row number?" in words
    assert "'id' seems to number the rows: --drop id leaves it out, --id id also" in words
    assert "'day' looks like dates" in words
    assert "'remark' has 60 distinct values" in words
    assert "--drop NAME" in words
    answer = run("fit", data, "-t", "y", "-d", "id,remark", "-o", model, *QUICK, code=1).output
    assert "Repeat --drop for each column." in " ".join(answer.split())
    run("fit", data, "-t", "y", "-d", "id", "-c", "day", "-c", "remark", "-o", model, *QUICK)
    new = tmp_path / "new.csv"
    new.write_text("day,remark\n2030-01-01,other\n")
    answer = run("predict", model, new, "-o", tmp_path / "p.csv").output
    assert answer.count("Levels unseen") == 1
    new.write_text("id,day,remark,outcome\n1,2024-01-01,remark 1,2\n")
    answer = run("report", model, new, code=1).output
    expected = f"{new} has no column 'y' (the target); name it with --target."
    assert "".join(expected.split()) in "".join(answer.split())
    small_models.classifier().save(model)
    new.write_text("age,bmi,noise,colour,id,outcome\n40,20,0.5,red,1,2\n")
    answer = run("report", model, new, code=1).output
    assert "is the target: 'id', 'outcome'?" in " ".join(answer.split())


def test_warnings_are_shown_before_a_fit_and_when_it_fails(tmp_path):
    data = tmp_path / "many.csv"
    data.write_text("x,y\n" + "".join(f"{i},{i % 120}\n" for i in range(240)))
    words = ["fit", data, "-t", "y", "--outcome", "class", "-o", tmp_path / "m.obart"]
    words += ["--set", "multiclass=one_vs_rest", "--max-seconds", "0.001"]
    result = run(*words, *QUICK, code=1)
    message = " ".join(result.stderr.split())
    assert message.index("y holds 120 different numbers") < message.index("Error:")
    assert "before the chains of all 120 classes, which share the time" in message


def test_an_id_is_not_the_target(folder, tmp_path):
    new = tmp_path / "new.csv"
    data = pl.read_csv(folder / "data.csv").drop("y", "label")
    data.with_columns(id=pl.format("row {}", pl.int_range(pl.len()))).write_csv(new)
    for model in ("y.obart", "l.obart"):
        result = run("summary", folder / model, new)
        assert "Columns by importance" in result.stdout
        assert "R-hat" in result.stdout
        assert "Errors (" not in result.stdout
        assert "(the target); name it with --target." in " ".join(result.stderr.split())
        answer = run("report", folder / model, new, code=1).output
        assert "(the target); name it with --target." in " ".join(answer.split())
    data.write_csv(new)
    assert "has no column 'y' (the target)." in " ".join(
        run("report", folder / "y.obart", new, code=1).output.split()
    )
