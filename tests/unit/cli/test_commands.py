"""The commands `fit`, `predict`, `report` and `demo`: what they write."""

from __future__ import annotations

import json
import os
import re
import threading

import numpy as np
import polars as pl
import pytest

import obliquebart
from helpers import small_models
from helpers.command_line import QUICK, rows_of, run
from obliquebart import _core
from obliquebart.estimators import running
from obliquebart.files import container
from obliquebart.posterior.verdict import HEADLINES
from obliquebart.sampling.device import Device


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


def test_the_device_belongs_to_the_machine(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "resolve_device", lambda *_: Device("plain", "plain_card"))
    path = tmp_path / "m.obart"
    line = ["fit", folder / "data.csv", "-t", "y", "-o", path, "--device", "auto", *QUICK]
    line.append("--no-soft")  # cards have hard rules only
    assert "s on plain. Saved" in " ".join(run(*line).stderr.split())
    assert obliquebart.load(path).device == "cpu"
    assert json.loads(run(*line, "--json").stdout)["device"] == "plain"


def test_without_a_card(folder, tmp_path, monkeypatch):
    def fail():
        raise _core.CardError("there is no NVIDIA driver")

    monkeypatch.setattr(_core, "cuda_device", fail)
    path = tmp_path / "m.obart"
    line = ["fit", folder / "data.csv", "-t", "y", "-o", path, "--device", "cuda", *QUICK]
    assert "needs an NVIDIA card" in " ".join(run(*line, code=1).stderr.split())
    assert not path.exists()


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


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_failed_write_leaves_the_old_predictions(name, folder, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / name
    path.write_text("old")
    monkeypatch.setattr(container.os, "fsync", fail)
    result = run("predict", folder / "y.obart", folder / "data.csv", "-o", path, code=1)
    # Long messages are broken at spaces and, where a path is too long for a line, inside it.
    message = re.sub(r"\s", "", result.stderr)
    assert f"{path}:Nospaceleftondevice." in message
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_predictions_go_through_pipes(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    run("predict", folder / "y.obart", folder / "data.csv", "-o", pipe)
    reader.join(60)
    assert read == [run("predict", folder / "y.obart", folder / "data.csv").stdout]


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


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predictions_as_json_and_to_a_file(name, folder, tmp_path):
    path, words = tmp_path / name, ("predict", folder / "y.obart", folder / "data.csv", "--json")
    result = run(*words, "-o", path)
    assert "Saved" in result.stderr
    assert result.stdout == run(*words).stdout
    saved = pl.read_csv(path) if name == "p.csv" else pl.read_parquet(path)
    assert saved.to_dict(as_series=False) == json.loads(result.stdout)


def test_what_json_lacks_is_text(folder, tmp_path):
    data = pl.read_parquet(folder / "data.parquet")[:3]
    data.with_columns(id=pl.Series([float("nan"), float("inf"), 1.5])).write_parquet(
        tmp_path / "new.parquet"
    )
    words = ("predict", folder / "y.obart", tmp_path / "new.parquet", "--id", "id", "--json")
    assert json.loads(run(*words).stdout)["id"] == ["nan", "inf", 1.5]


def test_names_and_levels_are_shown_as_they_are(tmp_path):
    data, path = tmp_path / "d.csv", tmp_path / "m.obart"
    rows = "".join(f"{i % 9},{'[/x]' if i % 2 else '[bold]'},{i % 7},{i}\n" for i in range(40))
    data.write_text(f"a[1],level,:cat:,y\n{rows}")
    said = run("fit", data, "-t", "y", "-o", path, *QUICK).stderr
    shown = run("summary", path, data, "--rules").stdout
    for text in (said, shown):
        assert "\\" not in text
        assert "a[1]" in text
        assert ":cat:" in text
    assert "2 levels: [bold], [/x]" in said


def test_predict_from_standard_input(folder):
    text = (folder / "data.csv").read_text()
    answer = run("predict", folder / "y.obart", "-", stdin=text).stdout
    assert answer == run("predict", folder / "y.obart", folder / "data.csv").stdout
    assert answer == run("predict", folder / "y.obart", "-", stdin=f"\ufeff{text}").stdout


def test_predict_warns_of_unseen_levels(folder):
    text = "age,bmi,noise,colour\n40,20,0.5,violet\n"
    result = run("predict", folder / "y.obart", "-", stdin=text)
    assert "Warning: Levels unseen in training" in " ".join(result.stderr.split())
    assert len(rows_of(result.stdout)) == 1


def test_report(folder, tmp_path):
    page = tmp_path / "page.html"
    args = ("-t", "y", "-o", page, "--title", "A <title>")
    result = run("report", folder / "y.obart", folder / "data.csv", *args)
    assert "Saved" in result.stderr
    assert "A &lt;title&gt;" in page.read_text(encoding="utf-8")


def test_other_parameters(folder, tmp_path):
    path = tmp_path / "m.obart"
    more = ["--set", "k=3", "--set", "prior=paper", "--set", "theta-prior=(2, 5)"]
    more += ["--set", "noise_df=inf"]
    run("fit", folder / "data.csv", "-t", "y", "-o", path, *QUICK, *more)
    parameters = obliquebart.load(path).get_params()
    assert (parameters["k"], parameters["prior"]) == (3, "paper")
    assert tuple(parameters["theta_prior"]) == (2, 5)
    assert parameters["noise_df"] == float("inf")
    assert json.loads(run("summary", path, "--json").stdout)["parameters"]["noise_df"] == "inf"


def test_checkpoint(folder, tmp_path):
    args = ["fit", folder / "data.csv", "-t", "y", *QUICK]
    run(*args, "-o", tmp_path / "a.obart", "--checkpoint", tmp_path / "run.ckpt")
    run(*args, "-o", tmp_path / "b.obart")
    first, second = (
        rows_of(run("predict", tmp_path / f"{name}.obart", folder / "data.csv").stdout)
        for name in "ab"
    )
    assert first == second


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
