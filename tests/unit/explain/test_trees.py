"""One tree in words: its rules, evaluated as printed, must send the rows where the engine does."""

from __future__ import annotations

import re

import numpy as np
import pytest

from helpers import small_models
from obliquebart import ObliqueBARTRegressor
from obliquebart.explain.trees import Leaf, Split, rule_text
from obliquebart.table.scaling import ColumnScale


def follow(rule, X):
    """Evaluate a printed rule, so that what is printed is what is tested."""
    if " is " in rule:
        name, _, levels = rule.partition(" is ")
        negate = levels.startswith(("not ", "none of "))
        chosen = re.sub("^(not |none of |one of )", "", levels).split(", ")
        return X[name].isin(chosen).to_numpy() ^ negate
    left, sign, threshold = re.fullmatch(r"(.*) ([<>]) (\S+)", rule).groups()
    value = X.eval(re.sub(r"(\d) ([a-z])", r"\1 * \2", left)).to_numpy()
    return value < float(threshold) if sign == "<" else value > float(threshold)


def leaf_of_rows(node, X, rows, out):
    if isinstance(node, Leaf):
        out[rows] = node.output
        return
    yes = follow(node.rule, X) & rows
    leaf_of_rows(node.yes, X, yes, out)
    leaf_of_rows(node.no, X, rows & ~yes, out)


def test_the_trees_add_up_to_f():
    X, _ = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    f = posterior.predict(X)
    wrong = 0
    for draw in (0, 99, -1):
        total = np.full(len(X), posterior.scale.location)
        for number in range(posterior.n_trees):
            part = np.zeros(len(X))
            tree = posterior.tree(draw, number, X)
            leaf_of_rows(tree.root, X, np.ones(len(X), dtype=bool), part)
            total += part
            assert sum(leaf.n_rows for leaf in tree.leaves) == len(X)
        wrong += int((np.abs(total - f[draw]) > 1e-3).sum())
    # Printed numbers have four digits: a row may lie between the printed and the exact cut.
    assert wrong <= 0.03 * 3 * len(X)


def test_text():
    tree = small_models.regressor().posterior_.tree(-1, 3)
    text = str(tree)
    assert len(text.splitlines()) == 2 * len(tree.leaves) - 1
    if isinstance(tree.root, Split):
        assert text.splitlines()[0] == tree.root.rule
    assert tree.depth < len(tree.leaves)


def scale(low, high, scaling="range"):
    return ColumnScale.fit(np.linspace(low, high, 11), scaling)


@pytest.mark.parametrize(
    ("phi", "cut", "expected"),
    [
        ([1.0], 0.5, "a < 7.5"),
        ([-1.0], 0.5, "a > 2.5"),
        ([0.6, 0.8], 0.0, "b + 0.75 a < 8.75"),
        ([0.6, -0.8], 0.0, "b - 0.75 a > 1.25"),
        ([], 1.0, "always"),
    ],
)
def test_rules_in_units(phi, cut, expected):
    names = ["a", "b"][: len(phi)]
    assert rule_text(names, [scale(0, 10)] * len(phi), np.array(phi), cut) == expected


def test_rules_with_other_scalings():
    squares = ColumnScale.fit(np.arange(11.0) ** 2, "rank")
    assert rule_text(["a"], [squares], np.array([1.0]), 0.0) == "a < 25"
    blend = ColumnScale.fit(np.arange(11.0) ** 2, "blend")
    cut = float(blend.apply(np.array([49.0]))[0])
    assert rule_text(["a"], [blend], np.array([-1.0]), -cut) == "a > 49"
    text = rule_text(["a", "b"], [squares, squares], np.array([0.6, 0.8]), 0.1)
    assert text == "s(b) + 0.75 s(a) < 0.125"
    flat = scale(3, 3)
    assert rule_text(["a"], [flat], np.array([1.0]), 0.5) == "s(a) < 0.5"
    huge = ColumnScale.fit(np.array([-1.7e308, 1.7e308]), "range")
    assert "a" in rule_text(["a", "b"], [huge, scale(0, 1e-300)], np.array([0.6, 0.8]), 0.1)


@pytest.mark.parametrize(
    ("phi", "cut", "width", "expected"),
    [
        ([1.0], 0.5, 0.1, "a < 7.5 (soft, 7 to 8)"),
        ([-1.0], 0.5, 0.2, "a > 2.5 (soft, 1.5 to 3.5)"),
        ([1.0], 0.0, 2.0, "a < 5 (soft, -5 to 15)"),
        ([1.0], 0.5, 1e-7, "a < 7.5"),
        ([0.6, -0.8], 0.0, 1e-9, "b - 0.75 a > 1.25"),
        ([0.6, -0.8], 0.0, 0.08, "b - 0.75 a > 1.25 (soft, 0.75 to 1.75)"),
        ([], 1.0, 1.0, "always"),
    ],
)
def test_soft_rules_say_where_rows_go_both_ways(phi, cut, width, expected):
    names = ["a", "b"][: len(phi)]
    assert rule_text(names, [scale(0, 10)] * len(phi), np.array(phi), cut, width) == expected


def test_soft_rules_with_other_scalings():
    squares = ColumnScale.fit(np.arange(11.0) ** 2, "rank")
    assert rule_text(["a"], [squares], np.array([1.0]), 0.0, 0.4) == "a < 25 (soft, 9 to 49)"
    text = rule_text(["a", "b"], [squares, squares], np.array([0.6, 0.8]), 0.1, 0.2)
    assert text == "s(b) + 0.75 s(a) < 0.125 (soft, -0.125 to 0.375)"


def test_many_columns_and_levels_are_cut():
    names = [f"c{j}" for j in range(10)]
    text = rule_text(names, [scale(0, 1)] * 10, np.full(10, 10**-0.5), 0.0)
    assert "(4 more columns)" in text
    X = np.arange(400).reshape(-1, 1) % 40
    y = np.random.default_rng(0).normal(size=40)[X[:, 0]]
    model = ObliqueBARTRegressor(
        n_trees=3, n_burn=50, n_draws=1, n_chains=1, categorical_features=[0], random_state=0
    ).fit(X, y)
    assert " more" in str(model.posterior_.tree(0, 0))


def test_out_of_range():
    posterior = small_models.regressor().posterior_
    for wrong in (1.5, "a", None):
        with pytest.raises(TypeError, match=r"draw=.* must be an integer in \[-200, 200\)"):
            posterior.tree(wrong)
    with pytest.raises(ValueError, match=r"draw=200 is out of range: it must be in \[-200, 200\)"):
        posterior.tree(200)
    with pytest.raises(ValueError, match="tree=20"):
        posterior.tree(0, 20)
