"""Packed draws: the same arrays come back, in fewer bytes, and nothing odd comes through."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import small_models
from obliquebart import ObliqueBARTRegressor, _core
from obliquebart.directions import Axis, Sparse
from obliquebart.posterior.draws import constant_draws, draws_from_arrays, take_draws
from obliquebart.posterior.packing import pack_draws, unpack_draws


def paper_model():
    """Return a model with rules that have no column, and trees with empty leaves."""
    X, y = small_models.mixed_table()
    model = ObliqueBARTRegressor(
        n_trees=20, n_burn=20, n_draws=30, n_chains=2, prior="paper", random_state=0
    )
    return model.fit(X, y)


def mixture_model():
    """Return a model whose rules have different components of directions."""
    X, y = small_models.mixed_table()
    model = ObliqueBARTRegressor(
        n_trees=20, n_burn=20, n_draws=30, n_chains=2, directions=[Sparse(), Axis()], random_state=0
    )
    return model.fit(X, y)


def soft_model():
    X, y = small_models.mixed_table()
    model = ObliqueBARTRegressor(
        n_trees=20, n_burn=20, n_draws=30, n_chains=2, soft=True, random_state=0
    )
    return model.fit(X, y)


def plain_arrays(kind):
    posterior = small_models.regressor().posterior_
    encoding = posterior.encoding
    draws = {
        "mixed": lambda: posterior.draws,
        "labels": lambda: small_models.classifier().posterior_.draws,
        "paper": lambda: paper_model().posterior_.draws,
        "mixture": lambda: mixture_model().posterior_.draws,
        "soft": lambda: soft_model().posterior_.draws,
        "constant": lambda: constant_draws(5, 4, encoding),
        "one constant tree": lambda: constant_draws(5, 1, encoding),
        # Structures without a tree, and trees that go back to earlier ones.
        "some": lambda: take_draws(posterior.draws, np.array([7, 3, 3, 150, 0]), encoding),
        "none": lambda: take_draws(posterior.draws, np.arange(1), encoding),
    }[kind]()
    return draws.to_arrays(), draws.n_trees


KINDS = ["mixed", "labels", "paper", "mixture", "soft"]
KINDS += ["constant", "one constant tree", "some", "none"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arrays_come_back(kind):
    arrays, n_trees = plain_arrays(kind)
    again = unpack_draws(pack_draws(arrays), n_trees)
    assert set(again) == set(arrays) == set(_core.DRAW_FORMAT)
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype, name
        np.testing.assert_array_equal(again[name], array, name)


def test_components_that_do_not_fit_the_rules_are_refused():
    arrays, n_trees = plain_arrays("mixture")
    packed = pack_draws(arrays)
    with pytest.raises(ValueError, match="one entry per continuous rule"):
        unpack_draws({**packed, "component": packed["component"][:-1]}, n_trees)


def test_the_kinds_differ_in_what_the_test_is_about():
    assert "component" in pack_draws(plain_arrays("mixture")[0])
    assert "component" not in pack_draws(plain_arrays("mixed")[0])
    assert len(pack_draws(plain_arrays("soft")[0])["width"]) > 0
    assert "structure_of" not in pack_draws(plain_arrays("mixed")[0])
    assert "structure_of" in pack_draws(plain_arrays("some")[0])
    assert "is_new" in pack_draws(plain_arrays("one constant tree")[0])
    assert (plain_arrays("paper")[0]["phi_count"] == 0).any()
    arrays, n_trees = plain_arrays("mixed")
    # A weight that is not 1 is not lost.
    at = int(np.flatnonzero(np.repeat(arrays["phi_count"] == 1, arrays["phi_count"]))[3])
    arrays["phi_value"][at] = 0.5
    packed = pack_draws(arrays)
    assert "phi_sign" not in packed
    assert unpack_draws(packed, n_trees)["phi_value"][at] == 0.5


@pytest.mark.parametrize("n_structures", [1, 2, 3])
def test_an_odd_number_of_nodes(n_structures):
    nodes = np.array([1, 0, 13, 0, 0, 0, 0][: [0, 5, 6, 7][n_structures]], np.uint8)
    arrays = {**plain_arrays("mixed")[0], "node_kind": nodes}
    again = unpack_draws(pack_draws(arrays), 20)
    np.testing.assert_array_equal(again["node_kind"], nodes)
    np.testing.assert_array_equal(again["node_begin"], [0, 5, 6, 7][: n_structures + 1])


def test_bytes_are_saved():
    arrays, _ = plain_arrays("mixed")
    packed = pack_draws(arrays)
    assert 1.7 * sum(a.nbytes for a in packed.values()) < sum(a.nbytes for a in arrays.values())
    assert packed["phi_column"].dtype == np.uint8
    arrays["phi_column"][0] = 300
    assert pack_draws(arrays)["phi_column"].dtype == np.uint16


def without(arrays, name):
    return {key: array for key, array in arrays.items() if key != name}


WRONG = {
    "an unknown array": lambda a: {**a, "surprise": a["cut"]},
    "what is left out": lambda a: {**a, "node_begin": np.zeros(1, np.uint64)},
    "two sources": lambda a: {**a, "structure_of": np.zeros((1, 1), np.uint8)},
    "no structures": lambda a: without(a, "is_new"),
    "no nodes": lambda a: without(a, "node_kind"),
    "no counts": lambda a: without(a, "phi_count"),
    "signed counts": lambda a: {**a, "phi_count": a["phi_count"].astype(np.int8)},
    "wide counts": lambda a: {**a, "phi_count": a["phi_count"].astype(np.uint64)},
    "wide nodes": lambda a: {**a, "node_kind": a["node_kind"].astype(np.uint16)},
    "flat bits": lambda a: {**a, "is_new": a["is_new"].reshape(-1)},
    "too many trees": lambda a: {**a, "is_new": np.tile(a["is_new"], (1, 2))},
    "too many draws": lambda a: {**a, "is_new": np.tile(a["is_new"], (1000, 1))},
    "an old tree at first": lambda a: {**a, "is_new": a["is_new"] * np.uint8(0)},
    "too few signs": lambda a: {**a, "phi_sign": a["phi_sign"][:-1]},
    "too many weights": lambda a: {**a, "phi_value": np.tile(a["phi_value"], 2)},
    "huge counts": lambda a: {**a, "phi_count": np.full(a["phi_count"].shape, 2**31, np.uint32)},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(what):
    arrays, n_trees = plain_arrays("mixed")
    with pytest.raises(ValueError, match=r".+"):
        unpack_draws(WRONG[what](pack_draws(arrays)), n_trees)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("structure_of", 10**6, "structure_of is out of range"),
        ("node_begin", 2**63, "node_begin must start at 0"),
        ("phi_count", 2**31, "phi_count is too large"),
    ],
)
def test_plain_arrays_are_checked(name, value, message):
    """Files of older schemas have them, and so has what was unpacked."""
    arrays, _ = plain_arrays("mixed")
    arrays[name].flat[0] = value
    with pytest.raises(ValueError, match=message):
        draws_from_arrays(arrays, small_models.regressor().posterior_.encoding)
