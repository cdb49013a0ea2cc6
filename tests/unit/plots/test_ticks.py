"""Labels of ticks: distinct, true, and apart from each other, on axes of any range and size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib import pyplot as plt

from obliquebart.plots.ticks import PlainFormatter, plain_ticks

RANGES = [
    *[(0.0, 10.0**power) for power in range(-9, 16)],
    *[(-(10.0**power), 2.7 * 10.0**power) for power in range(-6, 13, 3)],
    (0.0012, 0.00347),
    (0.001, 0.0011),
    (2015.5, 2024.25),
    (2015.5, 2015.75),
    (2015.50001, 2015.50004),
    (1_000_000.0, 1_000_003.0),
    (187_500.0, 755_000.0),
    (999_999.0, 1_000_001.0),
    (-73.99, -73.91),
    (-0.004, 0.0),
    (-17.3, 23.9),
    (-1e6, -9e5),
    (3.0, 1000.7),
    (5e20, 6e20),
]
SIZES = [(3.0, 2.0), (6.4, 4.8)]
PERCENTAGES = [(0.0, 1.0), (0.0, 0.05), (0.0012, 0.0031), (0.981, 0.999), (-0.2, 0.35), (0.0, 30.0)]
CASES = [*itertools.product(["number"], RANGES), *itertools.product(["percent"], PERCENTAGES)]


def value_of(text, percent):
    number = float(text.replace(",", "").replace("−", "-").removesuffix("%"))
    return number / 100 if percent else number


def shown_labels(axis):
    """Return value, text and box of each label that was drawn."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    return [
        (float(tick.get_loc()), tick.label1.get_text(), tick.label1.get_window_extent())
        for tick in axis.get_major_ticks()
        if low - slack <= tick.get_loc() <= high + slack
    ]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_labels_are_distinct_true_and_apart(size):
    figure = plt.figure(figsize=size, layout="constrained")
    for kind, limits in CASES:
        figure.clear()
        ax = figure.subplots()
        ax.set(xlim=limits, ylim=limits)
        plain_ticks(ax, x=kind, y=kind)
        figure.canvas.draw()
        width = limits[1] - limits[0]
        for axis in (ax.xaxis, ax.yaxis):
            labels = shown_labels(axis)
            where = f"{limits}, {kind}, {[text for _, text, _ in labels]}"
            assert len(labels) >= 2, where
            assert len({text for _, text, _ in labels}) == len(labels), where
            for value, text, _ in labels:
                error = abs(value_of(text, kind == "percent") - value)
                assert error <= 1e-3 * width, where
            for (_, _, first), (_, _, second) in itertools.pairwise(labels):
                assert not first.overlaps(second), where


def test_numbers_of_ordinary_size_have_no_exponent():
    for low, high in RANGES:
        if high - low >= 0.01 and abs(high) < 1e12:
            ticks = list(np.linspace(low, high, 4))
            assert not any("e" in text for text in PlainFormatter().labels(ticks, ticks))


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0, 500_000, 1_000_000], ["0", "500,000", "1,000,000"]),
        ([2015, 2016, 2017], ["2015", "2016", "2017"]),
        ([2015.0, 2015.5, 2016.0], ["2015.0", "2015.5", "2016.0"]),
        ([-5000, 0, 10_000], ["-5,000", "0", "10,000"]),
        ([0, 0.25, 0.5], ["0.00", "0.25", "0.50"]),
        ([0, 2e-7, 4e-7], ["0", "2e-7", "4e-7"]),
        ([0.3], ["0.3"]),
        ([0.0], ["0"]),
        ([], []),
    ],
)
def test_labels(ticks, texts):
    assert PlainFormatter().labels(ticks, ticks) == texts


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0, 0.005, 0.01], ["0.0%", "0.5%", "1.0%"]),
        ([0, 0.2, 1.0], ["0%", "20%", "100%"]),
        ([0.0012, 0.0013], ["0.12%", "0.13%"]),
    ],
)
def test_percentages(ticks, texts):
    assert PlainFormatter(percent=True).labels(ticks, ticks) == texts


def test_a_narrow_axis_has_fewer_ticks_than_a_wide_one():
    counts = []
    for width in (2.5, 12.0):
        ax = plt.subplots(figsize=(width, 2.0))[1]
        ax.set(xlim=(0, 4e6))
        plain_ticks(ax, x="number")
        ax.figure.canvas.draw()
        counts.append(len(shown_labels(ax.xaxis)))
    assert counts[0] < counts[1]
