"""Decoded draws: their nodes send rows where the engine does, and parts of them are the same."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import small_models
from obliquebart.posterior.draws import (
    CategoricalNode,
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
