"""Survival times as users give them, and their concordance with risks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.survival import structured
from obliquebart.model.concordance import concordance
from obliquebart.model.times import NO_LIMIT, Times, read_times

EVENT, TIME = np.array([True, False, True]), np.array([1.5, 2.0, 4.0])


@pytest.mark.parametrize(
    "y",
    [
        structured(EVENT, TIME),
        np.rec.fromarrays([TIME, EVENT], names="days,dead"),
        np.column_stack([EVENT, TIME]),
        [(True, 1.5), (False, 2.0), (True, 4.0)],
        pd.DataFrame({"dead": EVENT, "days": TIME}),
        pd.DataFrame({"dead": EVENT.astype(int), "days": TIME}),
        pd.DataFrame({"days": TIME, "dead": EVENT}),
        pd.DataFrame({"dead": pd.array(EVENT, dtype="boolean"), "days": TIME}),
        pl.DataFrame({"dead": EVENT, "days": TIME}),
        np.column_stack([EVENT, TIME]).astype(object),
    ],
    ids=lambda y: type(y).__name__,
)
def test_forms_of_events_and_times(y):
    times = read_times(y, 3)
    np.testing.assert_array_equal(times.lower, TIME)
    np.testing.assert_array_equal(times.upper, [1.5, np.inf, 4.0])


def test_limits_and_their_logarithms():
    frame = pd.DataFrame({"Upper": [2.0, np.inf, 3.0, 5.0], "Lower": [2.0, 1.0, -np.inf, 4.0]})
    times = read_times(frame, 4)
    np.testing.assert_array_equal(times.lower, [2.0, 1.0, 0.0, 4.0])
    np.testing.assert_array_equal(times.is_exact, [True, False, False, False])
    np.testing.assert_array_equal(times.is_right_censored, [False, True, False, False])
    np.testing.assert_array_equal(times.middle, [2.0, 1.0, 1.5, 4.5])
    limits = times.to_log()
    assert limits[0, 2] == -NO_LIMIT
    assert limits[1, 1] == NO_LIMIT
    np.testing.assert_allclose(limits[1, [0, 2, 3]], np.log([2.0, 3.0, 5.0]), rtol=1e-15)
    again = Times.from_log(limits)
    np.testing.assert_allclose(again.lower, times.lower)
    np.testing.assert_allclose(again.upper, times.upper)


LIMITS = {"lower": [1.0, 2.0], "upper": [1.5, np.inf]}
WRONG = {
    "none": (None, "y is None"),
    "a masked time": (
        np.ma.masked_array([[1.0, 5.0], [1.0, 99.0]], [[False, False], [False, True]]),
        r"time in y contains NaN \(row 1\)",
    ),
    "a masked event": (
        np.ma.masked_array(structured(EVENT[:2], TIME[:2]), [(True, False), (False, False)]),
        r"event in y contains NaN \(row 0\)",
    ),
    "a vector": ([1.0, 2.0], "two columns"),
    "three columns": (np.ones((2, 3)), "it has 3 columns"),
    "other rows": (np.ones((3, 2)), "inconsistent numbers of rows: 2 in X, 3 in y"),
    "time first": ([[5.5, 1], [2.5, 0]], "order is event, time.*swap"),
    "an event of 2": ([[2, 1.0], [1, 2.0]], "must be boolean"),
    "text as event": (np.array([["yes", "1"], ["no", "2"]]), "event in y must be numeric"),
    "text as time": (pd.DataFrame({"e": [True, False], "t": ["a", "b"]}), "time in y must be num"),
    "zero": ([[1, 0.0], [0, 2.0]], "must be positive, but it is 0 at row 0"),
    "negative": ([[1, 1.0], [0, -2.0]], "must be positive, but it is -2 at row 1"),
    "infinite": ([[1, 1.0], [0, np.inf]], "infinite at row 1.*last time"),
    "missing time": ([[1, np.nan], [0, 2.0]], r"time in y contains NaN \(row 0\)"),
    "missing event": ([[np.nan, 1.0], [0, 2.0]], r"event in y contains NaN \(row 0\)"),
    "null": (pl.DataFrame({"e": [1, None], "t": [1.0, 2.0]}), r"event in y contains NaN \(row 1\)"),
    "dates": (
        pd.DataFrame({"e": [True, True], "t": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        "convert it to numbers",
    ),
    "crossed limits": (pd.DataFrame({**LIMITS, "upper": [0.5, 9.0]}), r"lower > upper at row 0"),
    "no limit": (pd.DataFrame({"lower": [0.0, 1.0], "upper": [np.inf, 2.0]}), "no limit at all"),
    "negative limit": (pd.DataFrame({**LIMITS, "lower": [-1.0, 1.0]}), "lower is negative at row"),
    "upper of zero": (pd.DataFrame({"lower": [0.0, 1.0], "upper": [0.0, 2.0]}), "upper in y must"),
    "infinite lower": (
        pd.DataFrame({"lower": [np.inf, 1.0], "upper": [np.inf, 2.0]}),
        "lower is infinite at row 0",
    ),
    "missing limit": (pd.DataFrame({**LIMITS, "lower": [np.nan, 1.0]}), "use 0 for the lower"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    y, message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=message):
        read_times(y, 2)


# ---- concordance ---------------------------------------------------------------------------------


def random_times(n, k, rng):
    time = rng.integers(1, k, n).astype(float)
    event = rng.uniform(size=n) < 0.6
    return time, event, np.round(rng.normal(size=n) - 0.1 * time, 1)


def test_concordance_is_that_of_scikit_survival():
    """The numbers are those of `concordance_index_censored` in scikit-survival 0.28."""
    rng = np.random.default_rng(5)
    for n, k, expected in ((40, 8, 0.4894067796610169), (300, 40, 0.7780812974607428)):
        time, event, risk = random_times(n, k, rng)
        assert concordance(read_times(structured(event, time), n), risk) == pytest.approx(
            expected, abs=1e-12
        )


def slow_concordance(times, risk):
    good = pairs = 0.0
    for i in range(len(risk)):
        for j in range(len(risk)):
            end, begin = times.upper[i], times.lower[j]
            if end < begin or (end == begin and times.lower[j] < times.upper[j]):
                pairs += 1
                good += (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    return good / pairs


def test_concordance_of_intervals(monkeypatch):
    monkeypatch.setattr("obliquebart.model.concordance.BLOCK", 7)
    rng = np.random.default_rng(1)
    lower = rng.integers(1, 9, 60).astype(float)
    upper = lower + rng.choice([0.0, 1.0, 3.0, np.inf], 60)
    times, risk = Times(lower, upper), np.round(-lower + rng.normal(0, 3, 60))
    assert concordance(times, risk) == pytest.approx(slow_concordance(times, risk), abs=1e-12)


def test_concordance_without_pairs():
    times = read_times(structured(np.array([False, True]), np.array([1.0, 2.0])), 2)
    assert np.isnan(concordance(times, np.zeros(2)))
