"""Dates on request: the same days from every library, from text, and in model files."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import obliquebart
from helpers.tables import encode, same
from obliquebart import ObliqueBARTRegressor
from obliquebart.exceptions import DoubtfulColumnWarning
from obliquebart.table import Encoding
from obliquebart.table.words import as_date, days_of_text

MOMENTS = [
    dt.datetime(2024, 5, 2, 12, 30),
    None,
    dt.datetime(1969, 12, 31, 6),
    dt.datetime(2024, 2, 29, 23, 59, 59, 250000),
]
DAYS = [19845 + 12.5 / 24, np.nan, -0.75, 19782 + (86399.25) / 86400]
TEXT = [None if moment is None else moment.isoformat() for moment in MOMENTS]


def in_zone(hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    return [
        None if m is None else m.replace(tzinfo=dt.timezone.utc).astimezone(zone) for m in MOMENTS
    ]


COLUMNS = {
    "pandas": lambda: pd.DataFrame({"d": pd.to_datetime(MOMENTS)}),
    "pandas nanoseconds": lambda: pd.DataFrame({"d": pd.to_datetime(MOMENTS).as_unit("ns")}),
    "pandas zone": lambda: pd.DataFrame({"d": pd.to_datetime(in_zone(2), utc=True)}),
    "pandas arrow": lambda: pd.DataFrame(
        {"d": pd.Series(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us")))}
    ),
    "pandas objects": lambda: pd.DataFrame({"d": pd.Series(MOMENTS, dtype=object)}),
    "objects in a zone": lambda: pd.DataFrame({"d": pd.Series(in_zone(-5), dtype=object)}),
    "pandas text": lambda: pd.DataFrame({"d": TEXT}),
    "text in a zone": lambda: pd.DataFrame(
        {"d": [None if m is None else m.isoformat() for m in in_zone(-5)]}
    ),
    "spaces and Z": lambda: pd.DataFrame(
        {"d": [None if text is None else text.replace("T", " ") + "Z" for text in TEXT]}
    ),
    "polars": lambda: pl.DataFrame({"d": MOMENTS}),
    "polars milliseconds": lambda: pl.DataFrame({"d": pl.Series(MOMENTS, dtype=pl.Datetime("ms"))}),
    "polars zone": lambda: pl.DataFrame(
        {"d": pl.Series(MOMENTS).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")}
    ),
    "polars text": lambda: pl.DataFrame({"d": TEXT}),
    "arrow": lambda: pa.table({"d": MOMENTS}),
    "dictionary": lambda: {"d": np.array(MOMENTS, dtype="M8[us]")},
}


@pytest.mark.parametrize("name", COLUMNS)
def test_days_agree_across_libraries(name):
    encoding, encoded = encode(COLUMNS[name](), dates="auto")
    scale = encoding.columns[0]
    assert scale.is_date
    assert encoding.kinds == ["continuous"]
    assert [scale.low, scale.high] == [min(DAYS[::2]), max(DAYS[::2])]
    reference, expected = encode(pd.DataFrame({"d": DAYS}))
    same(encoded, expected)
    assert not reference.columns[0].is_date
    for other in COLUMNS.values():
        same(encoding.transform(other()), expected)


@pytest.mark.parametrize("dates", [None, "auto"])
def test_dates_of_other_forms_must_be_converted_first(dates):
    days = pd.date_range("2009-06-22", periods=1500).strftime("%d/%m/%Y")
    with pytest.warns(DoubtfulColumnWarning, match=r"not ISO dates.*dayfirst=True") as caught:
        Encoding.fit(pd.DataFrame({"d": days[:100]}), dates=dates)
    assert 'dates="auto"' not in str(caught[0].message)
    with pytest.raises(
        ValueError, match=r"'d' contains dates.*not ISO dates.*dayfirst=True"
    ) as raised:
        Encoding.fit(pd.DataFrame({"d": days}), dates=dates)
    assert 'dates="auto"' not in str(raised.value)


def test_dates_without_a_time_of_day():
    days = [dt.date(2024, 5, 2), dt.date(2024, 5, 12), None]
    frames = [
        pl.DataFrame({"d": days}),
        pa.table({"d": days}),
        pd.DataFrame({"d": days}),
        pd.DataFrame({"d": ["2024-05-02", "2024-05-12", None]}),
        pd.DataFrame({"d": pd.Series([*days[:2], np.nan], dtype=object)}),
    ]
    for frame in frames:
        encoding, encoded = encode(frame, dates="auto")
        assert (encoding.columns[0].low, encoding.columns[0].high) == (19845.0, 19855.0)
        np.testing.assert_array_equal(encoded.x_cont, [[-1, 1, np.nan]])
    array = np.array([["2024-05-02"], ["2024-05-12"]], dtype="M8[D]")
    assert encode(array, dates="auto")[1].x_cont.tolist() == [[-1, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-02", 1.0),
        ("1970-01-02T06:00", 1.25),
        ("1970-01-02 06:00:00.123456789Z", 1.25 + 0.123456 / 86400),
        ("1970-01-01T23:00-0300", 26 / 24),
        ("1969-12-31", -1.0),
        ("2024-02-30", None),
        ("2024-13-01", None),
        ("1970-01-01T25:00", None),
        ("02.01.1970", None),
        ("1/2/1970", None),
        ("19700102", None),
        ("1970-1-2", None),
        (" 1970-01-02", None),
        ("", None),
    ],
)
def test_iso_dates(text, expected):
    assert days_of_text(text) == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_days_are_written_as_dates():
    assert as_date(19845.0) == "2024-05-02"
    assert as_date(19845.5) == "2024-05-02 12:00"
    assert as_date(-1.0) == "1969-12-31"


def test_only_dates_become_days():
    frame = pd.DataFrame(
        {
            "day": ["2024-05-02", "2024-06-11", "2024-07-01"],
            "mostly": ["2024-05-02", "2024-06-11", "later"],
            "german": ["02.05.2024", "11.06.2024", "01.07.2024"],
            "category": pd.Categorical(["2024-05-02", "2024-06-11", "2024-05-02"]),
            "number": [20240502, 20240611, 20240701],
            "declared": ["2024-05-02", "2024-06-11", "2024-07-01"],
        }
    )
    encoding = Encoding.fit(frame, dates="auto", categorical_features=["declared"])
    assert [getattr(column, "is_date", None) for column in encoding.columns] == [
        *(True, None, None, None, False, None)
    ]
    assert Encoding.fit(frame).p_cat == 5


def test_without_the_request():
    with pytest.raises(TypeError, match=r"Column 'd' contains dates\. Set dates=\"auto\""):
        Encoding.fit(pl.DataFrame({"d": MOMENTS}))
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    with pytest.warns(DoubtfulColumnWarning, match='looks like dates.*dates="auto"'):
        Encoding.fit(pd.DataFrame({"d": days}))
    many = pd.date_range("2020-01-01", periods=1200).strftime("%Y-%m-%d")
    with pytest.raises(
        ValueError, match=r"'d' contains dates written as text: 1200.*dates=\"auto\""
    ):
        Encoding.fit(pd.DataFrame({"d": many}))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"d": ["2024-05-02", "soon"]}), "'soon' in row 1.*of dates.*YYYY-MM-DD"),
        (pd.DataFrame({"d": [1.0, 2.0]}), "contains numbers instead of dates"),
        (pl.DataFrame({"d": [dt.timedelta(1)] * 2}), "contains durations"),
    ],
)
def test_other_values_where_dates_were(frame, message):
    encoding = Encoding.fit(pl.DataFrame({"d": MOMENTS}), dates="auto")
    with pytest.raises(TypeError, match=f"Column 'd'.*{message}"):
        encoding.transform(frame)
    assert np.isnan(encoding.transform(pd.DataFrame({"d": [np.nan]})).x_cont).all()


def test_the_state_knows_of_dates():
    encoding = Encoding.fit(pl.DataFrame({"d": MOMENTS, "x": [1, 2, 3, 4]}), dates="auto")
    state = json.loads(json.dumps(encoding.to_state(), allow_nan=False))
    assert [column.is_date for column in Encoding.from_state(state).columns] == [True, False]
    assert "is_date" not in state["columns"][1]
    state["columns"][0]["is_date"] = "yes"
    with pytest.raises(ValueError, match="is_date must be true or false"):
        Encoding.from_state(state)


def test_a_saved_model_reads_dates_of_another_library(tmp_path, rng):
    start = dt.date(2023, 1, 1)
    days = [start + dt.timedelta(int(day)) for day in rng.integers(0, 700, 80)]
    y = np.array([day.toordinal() for day in days]) / 100 + rng.normal(size=80)
    model = ObliqueBARTRegressor(
        n_trees=10, n_burn=50, n_draws=20, n_chains=1, dates="auto", random_state=1, progress=False
    )
    expected = model.fit(pl.DataFrame({"day": days}), y).predict(pl.DataFrame({"day": days}))
    assert np.corrcoef(expected, y)[0, 1] > 0.8
    model.save(tmp_path / "m.obart")
    again = obliquebart.load(tmp_path / "m.obart")
    assert again.dates == "auto"
    for frame in (pd.DataFrame({"day": pd.to_datetime(days)}), pa.table({"day": days})):
        np.testing.assert_array_equal(again.predict(frame), expected)
    text = pd.DataFrame({"day": [day.isoformat() for day in days]})
    np.testing.assert_array_equal(again.predict(text), expected)
    again.sample_more(5, text, y)
    trees = "".join(str(model.posterior_.tree(0, tree)) for tree in range(10))
    assert "day < 202" in trees or "day > 202" in trees
