"""Scaling of continuous columns: by hand, monotone and finite at the extremes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from helpers.tables import encode
from obliquebart.table import FEATURE_SCALINGS, Encoding
from obliquebart.table.scaling import MAX_KNOTS, ColumnScale


def column(values, scaling):
    values = np.asarray(values, dtype=np.float64)[:, None]
    encoding, encoded = encode(values, feature_scaling=scaling)
    return encoded.x_cont[0], lambda new: encoding.transform(np.reshape(new, (-1, 1))).x_cont[0]


def test_range_by_hand():
    scaled, again = column([2.0, 4.0, 10.0], "range")
    np.testing.assert_allclose(scaled, [-1, -0.5, 1])
    np.testing.assert_allclose(again([-6.0, 6.0, 18.0]), [-3, 0, 3])


def test_rank_by_hand():
    # counts 2, 1, 1: mid-ranks 1, 2.5, 3.5
    scaled, again = column([5.0, 1.0, 1.0, 100.0], "rank")
    np.testing.assert_allclose(scaled, [0.2, -1, -1, 1], rtol=1e-6)
    np.testing.assert_allclose(again([-7.0, 3.0, 52.5, 1e9]), [-1, -0.4, 0.6, 1], rtol=1e-6)


def test_blend_is_the_mean():
    values = np.random.default_rng(0).exponential(size=200)
    new = np.linspace(-2, values.max() + 3, 500)
    blend, by_range, by_rank = (
        column(values, scaling)[1](new) for scaling in ("blend", "range", "rank")
    )
    np.testing.assert_allclose(blend, (by_range + by_rank) / 2, atol=1e-6)


def test_joint_uses_one_range():
    X = np.array([[0.0, 100.0], [1.0, 300.0], [np.nan, 200.0]])
    np.testing.assert_allclose(
        encode(X, feature_scaling="joint")[1].x_cont,
        [[-1, -1 + 2 / 300, np.nan], [-1 / 3, 1, 1 / 3]],
        rtol=1e-6,
    )


def test_rank_is_the_mid_rank():
    values = np.random.default_rng(3).integers(0, 40, size=300).astype(float)
    ranks = stats.rankdata(values)
    expected = 2 * (ranks - ranks.min()) / (ranks.max() - ranks.min()) - 1
    np.testing.assert_allclose(column(values, "rank")[0], expected, atol=1e-6)


def test_many_distinct_values_need_few_knots():
    values = np.random.default_rng(4).standard_cauchy(size=20 * MAX_KNOTS)
    encoding, encoded = encode(values[:, None], feature_scaling="rank")
    assert len(encoding.columns[0].knots) <= MAX_KNOTS
    exact = 2 * (stats.rankdata(values) - 1) / (len(values) - 1) - 1
    assert np.abs(encoded.x_cont[0] - exact).max() < 2 / MAX_KNOTS
    assert len(json.dumps(encoding.to_state())) < 50 * MAX_KNOTS


EXTREMES = {
    "overflowing range": [1.7e308, -1.7e308, 0.0, 1.0],
    "huge": [1.7e308, 1.6e308, 1.65e308, 1.61e308],
    "tiny": [1e-300, 3e-300, 2e-300],
    "denormal": [5e-324, 0.0, 1e-323],
    "small among huge": [-1e300, 1.0, 2.0, 3.0, 1e300],
    "denormal among ones": [0.0, 1e-310, 1.0, 2.0],
    "narrow": [1.0, 1.0 + 2**-52, 1.0 + 2**-51],
    "one": [4.0],
    "constant": [4.0, 4.0, np.nan],
    "usual": [3.0, 1.0, 2.0, 2.0, -7.0],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scaling", FEATURE_SCALINGS)
@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES)
def test_scaling_is_monotone_and_finite(values, scaling):
    scaled, again = column(values, scaling)
    known = ~np.isnan(values)
    assert (np.isnan(scaled) == ~known).all()
    distinct = np.unique(np.asarray(values)[known])
    image = again(distinct)
    assert (np.diff(image) >= 0).all()
    if len(distinct) == 1:
        assert image.tolist() == [0.0]
    else:
        assert image[[0, -1]].tolist() == [-1.0, 1.0]
    largest = np.finfo(float).max
    probes = np.sort([-largest, -1.0, -5e-324, 0.0, 5e-324, 1.0, largest, *distinct])
    outside = again(probes)
    assert np.isfinite(outside).all()
    assert (np.diff(outside) >= 0).all()
    assert np.isnan(again([np.nan])).all()


def test_rank_keeps_what_range_merges():
    for name in ("narrow", "small among huge", "tiny", "denormal", "huge"):
        values = EXTREMES[name]
        assert len(np.unique(column(values, "rank")[0])) == len(values), name


@pytest.mark.parametrize("scaling", ["rank", "blend"])
def test_monotone_on_random_columns(scaling):
    rng = np.random.default_rng(11)
    for scale in (1e-150, 1.0, 1e200):
        values = np.round(rng.standard_t(1, size=6000), 3) * scale
        _, again = column(values, scaling)
        probes = np.sort(np.concatenate([values, rng.choice(values, 3000) * 1.0000001]))
        assert (np.diff(again(probes)) >= 0).all()


def test_scale_comes_from_training_rows_only():
    encoding = Encoding.fit([[0.0], [10.0]])
    assert encoding.transform([[5.0]]).x_cont.tolist() == [[0.0]]
    assert encoding.transform([[5.0], [20.0]]).x_cont.tolist() == [[0.0, 3.0]]


@pytest.mark.parametrize("scaling", ["range", "rank", "blend"])
@pytest.mark.parametrize("unit", [1.0, 1e-290, 1e300])
def test_undo_gives_the_values_back(scaling, unit):
    values = np.random.default_rng(0).exponential(size=300)
    values[5] = np.nan
    scale = ColumnScale.fit(values * unit, scaling)
    back = scale.undo(scale.apply(values * unit))
    np.testing.assert_allclose(back, values * unit, rtol=1e-4, atol=1e-5 * unit)
    if scaling != "rank" and unit == 1.0:
        np.testing.assert_allclose(scale.undo(scale.apply(np.array([-3.0, 20.0]))), [-3, 20], 1e-5)
    if scaling == "rank":
        ends = scale.undo(scale.apply(np.array([-3.0, 200.0]) * unit))
        np.testing.assert_array_equal(ends, [scale.low, scale.high])


def test_undo_of_a_column_without_variation():
    one, none = (ColumnScale.fit(np.array(v), "range") for v in ([3.0, 3.0], [np.nan]))
    np.testing.assert_array_equal(one.undo(np.array([0.0, np.nan])), [3.0, np.nan])
    assert np.isnan(none.undo(np.array([0.0]))).all()
