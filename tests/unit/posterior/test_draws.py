"""Decoded draws: their nodes send rows where the engine does, and parts of them are the same."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import small_models
from obliquebart import ObliqueBARTRegressor
from obliquebart.directions import Signs, Sparse
from obliquebart.posterior.draws import (
    CategoricalNode,
    ContinuousNode,
    DecodedDraws,
    LeafNode,
    constant_draws,
    draws_from_arrays,
    split_draws,
    take_draws,
)


@pytest.fixture(scope="module")
def posterior():
    return small_models.regressor().posterior_


@pytest.fixture(scope="module")
def decoded(posterior):
    return DecodedDraws(posterior.draws, posterior.encoding.n_levels)


def leaf_numbers(nodes, table):
    """Give the number of each row's leaf, and whether a row lies on the edge of a rule."""
    nodes = iter(nodes)
    numbers = np.zeros(table.n_rows, int)
    is_close = np.zeros(table.n_rows, bool)

    def descend(rows):
        node = next(nodes)
        if isinstance(node, LeafNode):
            numbers[rows] = node.number
            return
        if isinstance(node, CategoricalNode):
            goes_right = node.goes_right[table.x_cat[node.column]]
        else:
            above = node.weights @ table.x_cont[node.columns] - node.cut
            is_close[np.abs(above) < 1e-5] = True
            goes_right = above >= 0
        descend(rows & ~goes_right)
        descend(rows & goes_right)

    descend(np.ones(table.n_rows, bool))
    assert next(nodes, None) is None
    return numbers, is_close


def test_nodes_send_rows_where_the_engine_does(posterior, decoded):
    table = posterior.encode(small_models.mixed_table()[0])
    data = table.to_core()
    for draw in (0, 57, 199):
        for tree in range(posterior.n_trees):
            nodes = decoded.nodes(int(decoded.structure_of[draw, tree]))
            numbers, is_close = leaf_numbers(nodes, table)
            expected = posterior.draws.leaf_codes(data, draw, tree)
            np.testing.assert_array_equal(numbers[~is_close], expected[~is_close])
            n_leaves = sum(isinstance(node, LeafNode) for node in nodes)
            assert len(decoded.outputs(draw, tree)) == decoded.n_leaves[draw, tree] == n_leaves


def test_the_table_has_the_rules_of_the_nodes(decoded):
    table = decoded.rules()
    for structure in range(decoded.n_structures):
        rules = [node for node in decoded.nodes(structure) if not isinstance(node, LeafNode)]
        # The table has the continuous rules first.
        rules.sort(key=lambda node: isinstance(node, CategoricalNode))
        for i, node in zip(np.flatnonzero(table.structure == structure), rules, strict=True):
            columns = slice(*table.column_begin[i : i + 2])
            if isinstance(node, CategoricalNode):
                assert not table.is_continuous[i]
                assert table.columns[columns].tolist() == [node.column]
            else:
                assert table.is_continuous[i]
                np.testing.assert_array_equal(table.columns[columns], node.columns)
                np.testing.assert_array_equal(table.weights[columns], node.weights)


def test_parts_of_draws_predict_the_same(posterior):
    data = posterior.encode(small_models.mixed_table()[0]).to_core()
    f = posterior.draws.predict(data)
    index = np.array([150, 3, 3, 0])
    taken = take_draws(posterior.draws, index, posterior.encoding)
    np.testing.assert_array_equal(taken.predict(data), f[index])
    first, second = split_draws(posterior.draws, 2, posterior.encoding)
    np.testing.assert_array_equal(first.predict(data), f[:100])
    np.testing.assert_array_equal(second.predict(data), f[100:])
    first.append(second)
    for name, array in posterior.draws.to_arrays().items():
        np.testing.assert_array_equal(first.to_arrays()[name], array, err_msg=name)


def test_constant_draws(posterior):
    data = posterior.encode(small_models.mixed_table()[0]).to_core()
    draws = constant_draws(3, 5, posterior.encoding)
    assert (draws.n_draws, draws.n_trees) == (3, 5)
    assert not draws.predict(data).any()


def test_arrays_of_the_wrong_shape(posterior):
    for name, array in posterior.draws.to_arrays().items():
        arrays = {**posterior.draws.to_arrays(), name: array[..., None]}
        with pytest.raises(ValueError, match=f"array {name} has the wrong shape"):
            draws_from_arrays(arrays, posterior.encoding)


# ---- soft rules ----------------------------------------------------------------------------------

MISSING_RIGHT = 4


def soft_posterior(**parameters):
    """Return a posterior with soft rules, and the table it was fitted to, with missing values."""
    X, y = small_models.mixed_table()
    X = X.assign(bmi=X["bmi"].where(np.arange(len(X)) % 7 != 0))
    options = {"n_trees": 15, "n_burn": 100, "n_draws": 20, "n_chains": 2, "random_state": 3}
    posterior = ObliqueBARTRegressor(soft=True, **options | parameters).fit(X, y).posterior_
    return posterior, posterior.encode(X)


def shares_of_leaves(decoded, structure, table):
    """Return the share of each leaf in each row, by the formula of soft rules."""
    begin, end = decoded.arrays["node_begin"][structure : structure + 2].tolist()
    kinds = decoded.arrays["node_kind"][begin:end].tolist()
    nodes = iter(zip(decoded.nodes(structure), kinds, strict=True))
    shares = []

    def descend(share):
        node, kind = next(nodes)
        if isinstance(node, LeafNode):
            shares.append(share)
            return
        if isinstance(node, CategoricalNode):
            left = 1.0 - node.goes_right[table.x_cat[node.column]]
        else:
            score = node.weights.astype(np.float32) @ table.x_cont[node.columns]
            z = np.clip((node.cut - score.astype(np.float64)) / node.width, -1.0, 1.0)
            missing_left = float(kind & MISSING_RIGHT == 0)
            left = np.where(np.isnan(score), missing_left, 0.5 + z * (3.0 - z**2) / 4.0)
        descend(share * left)
        descend(share * (1.0 - left))

    descend(np.ones(table.n_rows))
    return np.array(shares)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"rules": "axis"}, {"directions": [Sparse(), Signs()]}, {"feature_scaling": "range"}],
    ids=str,
)
def test_shares_of_leaves_add_up_to_the_predictions_of_the_engine(parameters):
    posterior, table = soft_posterior(**parameters)
    decoded = DecodedDraws(posterior.draws, posterior.encoding.n_levels)
    found = posterior.draws.predict(table.to_core())
    n_between = n_missing = 0
    for draw in (0, 19, 39):
        f = np.zeros(table.n_rows)
        for tree in range(posterior.n_trees):
            structure = int(decoded.structure_of[draw, tree])
            shares = shares_of_leaves(decoded, structure, table)
            np.testing.assert_allclose(shares.sum(axis=0), 1.0)
            n_between += int(((shares > 0.01) & (shares < 0.99)).sum())
            n_missing += any(
                np.isnan(table.x_cont[node.columns]).any()
                for node in decoded.nodes(structure)
                if isinstance(node, ContinuousNode)
            )
            f += decoded.outputs(draw, tree) @ shares
        np.testing.assert_allclose(found[draw], f, atol=1e-5)
    # Otherwise hard rules, or rules without missing values, would pass too.
    assert n_between > 100
    assert n_missing > 0


def test_parts_of_soft_draws_are_the_same():
    posterior, table = soft_posterior()
    data = table.to_core()
    f = posterior.draws.predict(data)
    taken = take_draws(posterior.draws, np.array([30, 3, 3]), posterior.encoding)
    np.testing.assert_array_equal(taken.predict(data), f[[30, 3, 3]])
    first, second = split_draws(posterior.draws, 2, posterior.encoding)
    np.testing.assert_array_equal(second.predict(data), f[20:])
    arrays = second.to_arrays()
    assert 0 < len(arrays["width"]) == len(arrays["cut"]) < len(posterior.draws.to_arrays()["cut"])
    first.append(second)
    for name, array in posterior.draws.to_arrays().items():
        np.testing.assert_array_equal(first.to_arrays()[name], array, err_msg=name)


def test_arrays_without_widths_are_hard(posterior):
    arrays = posterior.draws.to_arrays()
    del arrays["width"]
    data = posterior.encode(small_models.mixed_table()[0]).to_core()
    again = draws_from_arrays(arrays, posterior.encoding)
    np.testing.assert_array_equal(again.predict(data), posterior.draws.predict(data))
    node = next(n for n in DecodedDraws(again, [6]).nodes(0) if not isinstance(n, LeafNode))
    assert getattr(node, "width", 0.0) == 0.0


@pytest.mark.parametrize("widths", [[0.5], [np.nan], [0.0], [-1.0], [np.inf]], ids=str)
def test_wrong_widths_are_refused(posterior, widths):
    """One of them is right, but there are other rules."""
    arrays = posterior.draws.to_arrays()
    n_rules = len(arrays["cut"])
    good = np.full(n_rules, 0.5, np.float32)
    draws_from_arrays({**arrays, "width": good}, posterior.encoding)
    wrong = np.array(widths if widths == [0.5] else [*good[1:], *widths], np.float32)
    with pytest.raises(ValueError, match="width"):
        draws_from_arrays({**arrays, "width": wrong}, posterior.encoding)
