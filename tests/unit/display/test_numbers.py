"""Numbers as people write them."""

from __future__ import annotations

import math

import pytest

from obliquebart.display.numbers import about, duration, plain


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (-0.0, 3, "0"),
        (151.4, 3, "151"),
        (0.17, 3, "0.17"),
        (-0.00123456, 3, "-0.00123"),
        (1260.4, 3, "1260"),
        (2015.5, 5, "2015.5"),
        (9999.96, 5, "10000"),
        (1_000_000.0, 3, "1,000,000"),
        (-1_234_567.8, 3, "-1,234,568"),
        (12_345.678, 7, "12,345.68"),
        (99.96, 3, "100"),
        (3e-7, 2, "3e-7"),
        (-1.25e20, 3, "-1.25e20"),
        (math.nan, 3, "–"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "-∞"),
    ],
)
def test_plain(value, digits, text):
    assert plain(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (37123.4, "37,000"),
        (0.0567, "0.057"),
        (996.0, "1,000"),
        (5432.0, "5,400"),
        (-4.44, "-4.4"),
        (math.inf, "∞"),
    ],
)
def test_about(value, text):
    assert about(value) == text


def test_no_number_of_an_ordinary_size_has_an_exponent():
    for power in range(-4, 11):
        for lead in (1.0, 1.5, 9.99951):
            value = lead * 10.0**power
            text = plain(value)
            assert "e" not in text
            assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-3)


def test_durations():
    assert [duration(s) for s in (0.1, 89, 91, 7000)] == ["1 s", "89 s", "2 min", "2 h"]
