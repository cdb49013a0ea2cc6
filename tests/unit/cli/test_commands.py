"""The command line: what it writes, what it refuses and how, exit codes."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import obliquebart
from helpers import small_models
from helpers.command_line import QUICK, run
from obliquebart.cli import app, datafile
from obliquebart.posterior.verdict import HEADLINES


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_fit_shows_types_and_convergence(folder, tmp_path):
    result = run("fit", folder / "data.csv", "-t", "y", "-o", tmp_path / "m.obart", *QUICK)
    words = " ".join(result.stderr.split())
    assert "colour categorical 6 levels" in words
    assert "1 missing" in words
    assert "regression" in words
    assert "Fitted in" in words
    assert "R-hat" in result.stdout
    assert "sigma" in result.stdout
    assert any(headline in result.stdout for headline in HEADLINES.values())
    assert "sample_more" not in result.stdout
    # Once, with the results.
    assert not any(headline in result.stderr for headline in HEADLINES.values())
    quiet = run("fit", folder / "data.csv", "-t", "y", "-o", tmp_path / "m.obart", "-q", *QUICK)
    assert "categorical" not in quiet.stderr


def test_a_model_knows_its_target(folder, tmp_path):
    model = obliquebart.load(folder / "y.obart")
    assert model.target_name_ == "y"
    # The table has another column that is none of the model's.
    result = run("summary", folder / "y.obart", folder / "data.csv")
    assert "ObliqueBARTRegressor of 'y' with 3 continuous" in " ".join(result.stdout.split())
    assert "RMSE" in result.stdout
    page = tmp_path / "page.html"
    run("report", folder / "l.obart", folder / "data.csv", "-o", page)
    assert "label" in page.read_text("utf-8")


def test_fit_as_json(folder, tmp_path):
    path = tmp_path / "m.obart"
    result = run("fit", folder / "data.csv", "-t", "label", "-o", path, "--json", *QUICK)
    answer = json.loads(result.stdout)
    assert answer["task"] == "classification"
    assert answer["model"] == str(path)
    assert answer["columns"]["colour"] == "categorical"
    assert answer["diagnostics"][""]["n_chains"] == 2
    assert answer["verdict"]["headline"] == HEADLINES[answer["verdict"]["tier"]]
    assert answer["interrupted"] is False


def test_the_model_is_that_of_python(folder):
    X, y = small_models.mixed_table()
    X = X.copy()
    X.loc[3, "age"] = np.nan
    model = obliquebart.ObliqueBARTRegressor(
        n_trees=10, n_burn=30, n_draws=20, n_chains=2, random_state=1
    ).fit(X, y)
    answer = run("predict", folder / "y.obart", folder / "data.csv", "--interval", "0.5").stdout
    predicted = np.array([float(row["prediction"]) for row in rows_of(answer)])
    np.testing.assert_array_equal(predicted, model.predict(X))
    low = np.array([float(row["low"]) for row in rows_of(answer)])
    np.testing.assert_array_equal(low, model.predict_interval(X, 0.5, "outcome")[:, 0])


def test_parquet_and_csv_agree(folder, tmp_path):
    out = tmp_path / "p.parquet"
    run("predict", folder / "y.obart", folder / "data.parquet", "-o", out)
    answer = rows_of(run("predict", folder / "y.obart", folder / "data.csv").stdout)
    assert pl.read_parquet(out)["prediction"].to_list() == [float(r["prediction"]) for r in answer]
    args = ("-t", "y", "-d", "label", "-o", tmp_path / "q.obart", *QUICK)
    run("fit", folder / "data.parquet", *args)
    again = rows_of(run("predict", tmp_path / "q.obart", folder / "data.csv").stdout)
    assert again == answer


def test_predict_classes(folder):
    answer = rows_of(run("predict", folder / "l.obart", folder / "data.csv").stdout)
    assert set(answer[0]) == {"prediction", "probability_high", "probability_low"}
    assert {row["prediction"] for row in answer} == {"high", "low"}
    plain = json.loads(run("predict", folder / "l.obart", folder / "data.csv", "--json").stdout)
    assert plain["prediction"] == [row["prediction"] for row in answer]


def test_predict_from_standard_input(folder):
    text = (folder / "data.csv").read_text()
    answer = run("predict", folder / "y.obart", "-", stdin=text).stdout
    assert answer == run("predict", folder / "y.obart", folder / "data.csv").stdout


def test_predict_warns_of_unseen_levels(folder):
    text = "age,bmi,noise,colour\n40,20,0.5,violet\n"
    result = run("predict", folder / "y.obart", "-", stdin=text)
    assert "Warning: Levels unseen in training" in " ".join(result.stderr.split())
    assert len(rows_of(result.stdout)) == 1


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


def test_report(folder, tmp_path):
    page = tmp_path / "page.html"
    args = ("-t", "y", "-o", page, "--title", "A <title>")
    result = run("report", folder / "y.obart", folder / "data.csv", *args)
    assert "Saved" in result.stderr
    assert "A &lt;title&gt;" in page.read_text(encoding="utf-8")


def test_more_classes_and_numbers_as_labels(tmp_path):
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{i % 7},{i % 5},{i % 3}" for i in range(60))
    data.write_text(f"a,b,c\n{rows}\n")
    path = tmp_path / "m.obart"
    fit = run("fit", data, "-t", "c", "--task", "classification", "-o", path, *QUICK)
    assert "least certain for class 2" in " ".join(fit.stdout.split())
    answer = rows_of(run("predict", path, data).stdout)
    assert list(answer[0]) == [*("prediction", "probability_0", "probability_1", "probability_2")]
    assert "accuracy" in run("summary", path, data).stdout


def test_categories_keep_their_type(tmp_path):
    """A text column whose next file holds digits only is still text, and numbers stay numbers."""
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{'x' if i == 0 else i % 3},{i % 4},{i % 5}" for i in range(40))
    data.write_text(f"code,zip,y\n{rows}\n")
    path = tmp_path / "m.obart"
    run("fit", data, "-t", "y", "-c", "zip", "-o", path, "--task", "regression", *QUICK)
    assert obliquebart.load(path)._fitted.encoding.kinds == ["categorical", "categorical"]
    run("predict", path, "-", stdin="zip,code\n1,2\n2,1\n")


def test_text_is_a_category_beside_those_named(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text(
        "shop,city,y\n" + "".join(f"{i % 3},{'ab'[i % 2]},{i % 5}\n" for i in range(40))
    )
    path = tmp_path / "m.obart"
    result = run("fit", data, "-t", "y", "-c", "shop", "-o", path, "--json", *QUICK)
    assert json.loads(result.stdout)["columns"] == {"shop": "categorical", "city": "categorical"}
    assert obliquebart.load(path).categorical_features == ["shop"]


def test_an_id_is_carried_through(tmp_path):
    data = tmp_path / "d.csv"
    rows = [f"{i:04d},{i % 7},{i % 5}" for i in range(40)]
    data.write_text("flat,x,y\n" + "\n".join(rows) + "\n")
    path = tmp_path / "m.obart"
    run("fit", data, "-t", "y", "--id", "flat", "-o", path, *QUICK)
    assert list(obliquebart.load(path).feature_names_in_) == ["x"]
    answer = rows_of(run("predict", path, data, "--id", "flat").stdout)
    assert list(answer[0]) == ["flat", "prediction", "low", "high"]
    assert [row["flat"] for row in answer] == [f"{i:04d}" for i in range(40)]
    plain = rows_of(run("predict", path, data).stdout)
    assert [row["prediction"] for row in answer] == [row["prediction"] for row in plain]
    as_json = json.loads(run("predict", path, data, "--id", "flat", "--json").stdout)
    assert as_json["flat"][:2] == ["0000", "0001"]
    out = tmp_path / "p.parquet"
    run("predict", path, data, "--id", "flat", "-o", out)
    assert pl.read_parquet(out)["flat"].to_list()[1] == "0001"


def test_dates_on_request(tmp_path):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=3 * i) for i in range(40)]
    frame = pl.DataFrame({"day": days, "y": [float(i % 9) for i in range(40)]})
    frame.write_csv(tmp_path / "d.csv")
    frame.write_parquet(tmp_path / "d.parquet")
    path = tmp_path / "m.obart"
    result = run("fit", tmp_path / "d.csv", "-t", "y", "--dates", "-o", path, *QUICK)
    assert "day date 2024-01-01 to 2024-04-27" in " ".join(result.stderr.split())
    answer = run("predict", path, tmp_path / "d.csv").stdout
    assert run("predict", path, tmp_path / "d.parquet").stdout == answer
    predicted = [float(row["prediction"]) for row in rows_of(answer)]
    assert obliquebart.load(path).predict(frame.select("day")).tolist() == predicted
    as_json = run("predict", path, tmp_path / "d.parquet", "--id", "day", "--json").stdout
    assert json.loads(as_json)["day"][0] == "2024-01-01"
    page = tmp_path / "page.html"
    run("report", path, tmp_path / "d.csv", "-o", page)
    assert "2024-01-01 to 2024-04-27" in page.read_text(encoding="utf-8")


def test_booleans_are_classes(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("x,y\n" + "".join(f"{i},{i % 3 == 0}\n" for i in range(40)))
    path = tmp_path / "m.obart"
    run("fit", data, "-t", "y", "-o", path, *QUICK)
    assert obliquebart.load(path).classes_.tolist() == [False, True]
    answer = rows_of(run("predict", path, data).stdout)
    assert list(answer[0]) == ["prediction", "probability_False", "probability_True"]
    assert "accuracy" in run("summary", path, data).stdout
    run("fit", data, "-t", "y", "--task", "regression", "-o", path, *QUICK)


def test_a_column_without_a_name_is_named_as_in_pandas(tmp_path):
    """As R's write.csv has it for row names."""
    data = tmp_path / "d.csv"
    data.write_text('"","x","y"\n' + "".join(f'"{i}",{i % 7},{i % 5}\n' for i in range(30)))
    result = run("fit", data, "-t", "y", "-o", tmp_path / "m.obart", *QUICK)
    words = " ".join(result.stderr.split())
    assert "Unnamed: 0 continuous 0 to 29, increasing by 1: a row number?" in words
    assert "--drop 'Unnamed: 0' leaves it out" in words


def test_rows_without_a_target_are_left_out(tmp_path):
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{i},{'NA' if i < 5 else i * i}" for i in range(40))
    data.write_text(f"x,y\n{rows}\n")
    result = run("fit", data, "-t", "y", "-o", tmp_path / "m.obart", *QUICK)
    assert "Dropped 5 rows with a missing target" in " ".join(result.stderr.split())
    assert json.loads(run("summary", tmp_path / "m.obart", data, "--json").stdout)["scores"]


def test_other_parameters(folder, tmp_path):
    path = tmp_path / "m.obart"
    more = ["--set", "k=3", "--set", "prior=paper", "--set", "theta-prior=(2, 5)"]
    run("fit", folder / "data.csv", "-t", "y", "-o", path, *QUICK, *more)
    parameters = obliquebart.load(path).get_params()
    assert (parameters["k"], parameters["prior"]) == (3, "paper")
    assert tuple(parameters["theta_prior"]) == (2, 5)


def test_checkpoint(folder, tmp_path):
    args = ["fit", folder / "data.csv", "-t", "y", *QUICK]
    run(*args, "-o", tmp_path / "a.obart", "--checkpoint", tmp_path / "run.ckpt")
    run(*args, "-o", tmp_path / "b.obart")
    first, second = (
        rows_of(run("predict", tmp_path / f"{name}.obart", folder / "data.csv").stdout)
        for name in "ab"
    )
    assert first == second


MISTAKES = {
    "no file": ("fit nothing.csv -t y", "No such file: nothing.csv"),
    "a folder": ("fit {folder} -t y", "is a folder"),
    "misspelt": ("fit {data} -t Yy", "(the target). Did you mean 'y'?"),
    "misspelt drop": ("fit {data} -t y -d lable", "'lable' (--drop). Did you mean 'label'?"),
    "no such target": ("fit {data} -t yy", "no column 'yy' (the target)"),
    "no such category": ("fit {data} -t y -c zz", "no column 'zz' (--categorical)"),
    "no such drop": ("fit {data} -t y -d zz", "no column 'zz' (--drop)"),
    "target dropped": ("fit {data} -t y -d y", "The target 'y' cannot be in"),
    "text regression": ("fit {data} -t label --task regression", "contains text"),
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
    "twice": ("fit {folder}/twice.csv -t y", "duplicate column names: 'x'"),
    "ragged": ("fit {folder}/ragged.csv -t y", "ragged.csv, line 3: 3 values"),
    "latin1": ("fit {folder}/latin1.csv -t y", "not UTF-8"),
    "parquet by name": ("fit {folder}/text.parquet -t y", "not a Parquet file"),
    "damaged gzip": ("fit {folder}/bad.csv.gz -t y", "damaged"),
    "only a target": ("fit {folder}/only.csv -t y", "no columns other than the target"),
    "no target values": ("fit {folder}/missing.csv -t y", "All values of the target"),
    "free text": ("fit {folder}/free.csv -t y", "looks like free text"),
    "infinite": ("fit {folder}/infinite.csv -t y", "infinite value"),
    "no model": ("predict none.obart {data}", "No such file: none.obart"),
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
    (folder / "bad.csv.gz").write_bytes(b"no gzip")
    days = [dt.date(2024, 1, 1 + i % 28) for i in range(30)]
    pl.DataFrame({"day": days, "y": range(30)}).write_parquet(folder / "dates.parquet")
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


@pytest.mark.parametrize(
    "line", ["fit", "fit x.csv", "grow", "fit x.csv -t y --n-trees many", "predict a b --kind c"]
)
def test_a_command_line_that_makes_no_sense(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.output


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


def test_version_and_help():
    assert run("--version").stdout.strip() == f"obliquebart {obliquebart.__version__}"
    text = run("--help").stdout
    for name in ("fit", "predict", "summary", "report", "demo", "Exit codes"):
        assert name in text


def test_demo(tmp_path):
    result = run("demo", tmp_path / "demo", "--n-draws", "20", "--n-burn", "30")
    assert "$ obliquebart fit" in result.stderr
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {*("train.csv", "test.csv", "model.obart", "predictions.csv", "report.html")}


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
    words = ["fit", data, "-t", "y", "--task", "classification", "-o", tmp_path / "m.obart"]
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
    assert "no column 'years'" in " ".join(missing.stderr.split())


OUTCOME_ERRORS = {
    "exposure of numbers": ("--outcome number --exposure years", "--exposure is for counts"),
    "contradiction": ("--outcome count --task classification", "contradict each other"),
    "unknown exposure": ("--outcome count --exposure months", "months"),
    "two roles": ("--outcome count --exposure years --drop years", "cannot be the target"),
}


@pytest.mark.parametrize("case", OUTCOME_ERRORS)
def test_outcomes_that_do_not_fit(claims, tmp_path, case):
    options, message = OUTCOME_ERRORS[case]
    words = ("fit", claims, "-t", "claims", "-o", tmp_path / "m.obart", *options.split())
    assert message in " ".join(run(*words, code=1).stderr.split())


def test_outcome_is_another_name_of_task(claims, tmp_path):
    for option in (("--outcome", "class"), ("--task", "classification")):
        path = tmp_path / f"{option[1]}.obart"
        run("fit", claims, "-t", "region", *option, "-o", path, "--seed", "1", *QUICK)
    first, second = (tmp_path / f"{name}.obart" for name in ("class", "classification"))
    assert first.read_bytes() == second.read_bytes()
