"""Kinds of columns at the command line: categories, dates, row numbers, columns without a name."""

from __future__ import annotations

import datetime as dt
import json

import polars as pl

import obliquebart
from helpers.command_line import QUICK, rows_of, run


def test_categories_keep_their_type(tmp_path):
    """A text column whose next file holds digits only is still text, and numbers stay numbers."""
    data = tmp_path / "d.csv"
    rows = "\n".join(f"{'x' if i == 0 else i % 3},{i % 4},{i % 5}" for i in range(40))
    data.write_text(f"code,zip,y\n{rows}\n")
    path = tmp_path / "m.obart"
    run("fit", data, "-t", "y", "-c", "zip", "-o", path, "--outcome", "number", *QUICK)
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


def test_a_column_without_a_name_is_named_as_in_pandas(tmp_path):
    """As R's write.csv has it for row names."""
    data = tmp_path / "d.csv"
    data.write_text('"","x","y"\n' + "".join(f'"{i}",{i % 7},{i % 5}\n' for i in range(30)))
    result = run("fit", data, "-t", "y", "-o", tmp_path / "m.obart", *QUICK)
    words = " ".join(result.stderr.split())
    assert "Unnamed: 0 continuous 0 to 29, increasing by 1: a row number?" in words
    assert "--drop 'Unnamed: 0' leaves it out" in words
