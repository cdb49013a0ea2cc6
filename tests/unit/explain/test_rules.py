"""Inclusion, loadings, interactions and sparsity: against a plain loop over the trees."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from sklearn.inspection import PartialDependenceDisplay

from helpers import small_models
from obliquebart import ObliqueBARTRegressor
from obliquebart.directions import Axis, Groups, Patch, Sparse
from obliquebart.explain.directions import prior_pairs
from obliquebart.explain.rules import (
    Rules,
    interactions,
    loadings,
    rule_sparsity,
    variable_inclusion,
)
from obliquebart.explain.trees import Split, walk


def rules_of_draw(posterior, draw):
    """All rules of a draw, each as the tuple of its columns, read tree by tree."""
    return [
        [node.columns for node in walk(posterior.tree(draw, m).root) if isinstance(node, Split)]
        for m in range(posterior.n_trees)
    ]


@pytest.fixture(scope="module")
def thinned():
    """Few draws, so that a plain loop is quick."""
    return small_models.regressor().posterior_._take(np.arange(0, 200, 20))


@pytest.fixture(scope="module")
def read(thinned):
    return [rules_of_draw(thinned, draw) for draw in range(10)]


def test_inclusion_agrees_with_a_loop(thinned, read):
    shares = {name: [] for name in thinned.encoding.names}
    for trees in read:
        rules = list(itertools.chain.from_iterable(trees))
        for name, values in shares.items():
            values.append(sum(name in columns for columns in rules) / len(rules))
    table = variable_inclusion(Rules(thinned), coverage=0.8)
    assert [row.share for row in table] == sorted((row.share for row in table), reverse=True)
    for row in table:
        values = shares[row.column]
        np.testing.assert_allclose(row.share, np.mean(values))
        np.testing.assert_allclose([row.low, row.high], np.quantile(values, [0.1, 0.9]))
        np.testing.assert_allclose(row.draws, np.mean(np.array(values) > 0))
        assert row.kind == ("categorical" if row.column == "colour" else "continuous")


def test_interactions_agree_with_a_loop(thinned, read):
    for by in ("rule", "tree"):
        shares = {}
        for draw, trees in enumerate(read):
            sets = (
                list(itertools.chain.from_iterable(trees)) if by == "rule" else map(merged, trees)
            )
            joint = [columns for columns in sets if len(columns) >= 2]
            for pair in itertools.combinations(sorted(thinned.encoding.names), 2):
                together = sum(set(pair) <= set(columns) for columns in joint)
                shares.setdefault(pair, np.zeros(10))[draw] = together / max(len(joint), 1)
        table = interactions(Rules(thinned), by=by)
        assert len(table) == (3 if by == "rule" else 6)
        for row in table:
            values = shares[tuple(sorted((row.first, row.second)))]
            np.testing.assert_allclose(row.share, values.mean())
            np.testing.assert_allclose([row.low, row.high], np.quantile(values, [0.05, 0.95]))


def merged(rules):
    return set(itertools.chain.from_iterable(rules))


def test_sparsity_agrees_with_a_loop(thinned, read):
    shares = {}
    n_categorical = []
    for draw, trees in enumerate(read):
        rules = list(itertools.chain.from_iterable(trees))
        continuous = [columns for columns in rules if columns != ("colour",)]
        n_categorical.append(1 - len(continuous) / len(rules))
        for size, count in Counter(map(len, continuous)).items():
            shares.setdefault(size, np.zeros(10))[draw] = count / len(continuous)
    result = rule_sparsity(Rules(thinned))
    assert [row.n_columns for row in result.sizes] == sorted(shares)
    for row in result.sizes:
        np.testing.assert_allclose(row.share, shares[row.n_columns].mean())
    np.testing.assert_allclose(result.oblique, 1 - shares[1].mean())
    np.testing.assert_allclose(result.categorical, np.mean(n_categorical))
    np.testing.assert_allclose(1 - result.oblique, np.nanmean(thinned.trace["axis_share"]))


def test_loadings_are_means_of_phi(thinned):
    arrays = thinned.draws.to_arrays()
    table = {row.column: row for row in loadings(Rules(thinned))}
    assert set(table) == {"age", "bmi", "noise"}
    for row in table.values():
        assert 0 <= row.low <= row.mean <= row.high <= 1
        assert row.when_used > row.mean
    # All draws from one structure: the mean is the plain one.
    phi = np.abs(arrays["phi_value"])
    assert max(row.when_used for row in table.values()) <= phi.max()


PRIORS = {
    "patches": [Patch((5, 6), 1, 3)],
    "channels": [Patch((3, 5), channels=2)],
    "groups": [Groups([range(j, min(j + 7, 30)) for j in range(0, 30, 6)], inclusion=0.4)],
    "mixture": [Patch((4, 6), columns=range(24)), Sparse("rest"), Axis()],
}


@pytest.mark.parametrize("directions", PRIORS.values(), ids=PRIORS)
def test_pairs_share_rules_as_often_as_in_the_prior(directions):
    # Without noise that means anything, rules are drawn from the prior. Deeper nodes reject more of
    # the rules than the root; against all pairs, those of neighbours come out at 5 to 30.
    rng = np.random.default_rng(0)
    model = ObliqueBARTRegressor(
        n_trees=50,
        n_burn=200,
        n_draws=200,
        sigma=1e4,
        prior="paper",
        directions=directions,
        random_state=0,
    ).fit(rng.normal(size=(300, 30)), rng.normal(size=300))
    pairs = model.posterior_.interactions(top=30)
    lifts = np.array([pair.lift for pair in pairs])
    assert 0.7 < np.median(lifts) < 1.4
    assert lifts.max() < 2.5
    assert all(np.isnan(pair.lift) for pair in model.posterior_.interactions(by="tree"))


def test_pairs_of_the_prior_are_those_of_drawn_patches():
    # By counting: all patches of one or two rows and two columns of a plane of 3 x 4.
    sets = [
        {4 * (top + i) + left + j for i in range(height) for j in range(2)}
        for height in (1, 2)
        for top in range(4 - height)
        for left in range(3)
    ]
    component = Patch((3, 4), (1, 2), (2, 2)).to_core(Columns(12), [])
    pairs = np.triu_indices(12, 1)
    shares = prior_pairs({"theta": np.array([0.5])}, [component], 12, pairs)
    expected = [
        sum({a, b} <= each for each in sets) / len(sets) for a, b in zip(*pairs, strict=True)
    ]
    np.testing.assert_allclose(shares, expected)
    # Of a group of three, two and three columns are as likely as this, given that there are two.
    groups = Groups([[0, 1, 2]], inclusion=0.5).to_core(Columns(12), [])
    shares = prior_pairs({"theta": np.array([0.5])}, [groups], 12, pairs)
    np.testing.assert_allclose(shares[:2], 2 / 4)
    assert shares.sum() == pytest.approx(3 * 2 / 4)


class Columns:
    """Continuous columns."""

    def __init__(self, n_columns):
        self.names = [f"x{j}" for j in range(n_columns)]
        self.kinds = ["continuous"] * n_columns


def test_the_data_show():
    X, y = small_models.mixed_table(500)
    model = ObliqueBARTRegressor(n_trees=50, n_burn=500, n_draws=200, random_state=0).fit(X, y)
    rules = Rules(model.posterior_)
    pairs = interactions(rules)
    assert {pairs[0].first, pairs[0].second} == {"age", "bmi"}
    assert pairs[0].lift > 1
    share = {row.column: row.share for row in variable_inclusion(rules)}
    assert share["noise"] < min(share["age"], share["bmi"])


@pytest.mark.parametrize("rules", ["oblique", "axis"])
def test_the_prior_share_is_that_of_the_prior(rules):
    # With the likelihood all but off, rules are drawn from the prior. Deeper nodes, with fewer
    # levels and rows, differ from the root; the rest is noise of about 0.005.
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(size=(500, 3)), rng.integers(0, 20, 500)])
    model = ObliqueBARTRegressor(
        n_trees=50,
        n_burn=200,
        n_draws=300,
        sigma=1e4,
        prior="paper",
        min_samples_leaf=1,
        rules=rules,
        categorical_features=[3],
        random_state=2,
    ).fit(X, rng.normal(size=500))
    for row in variable_inclusion(Rules(model.posterior_)):
        assert abs(row.share - row.prior) < 0.02, row


def test_axis_rules_and_stumps():
    X, y = small_models.mixed_table()
    options = {**small_models.OPTIONS, "n_burn": 20, "n_draws": 10}
    axis = ObliqueBARTRegressor(**options, rules="axis", random_state=0).fit(X, y).posterior_
    assert axis.interactions() == []
    assert axis.rule_sparsity().mean_columns == 1.0
    assert axis.interactions(by="tree")
    assert [row.prior for row in axis.variable_inclusion()] == pytest.approx([0.25] * 4, abs=0.01)
    with pytest.warns(UserWarning, match="outcomes in y are equal"):
        empty = ObliqueBARTRegressor(**options).fit(X, np.ones(len(y))).posterior_
    assert all(row.share == 0 for row in empty.variable_inclusion())
    assert empty.interactions() == []
    assert empty.rule_sparsity().n_rules == 0
    assert str(empty.tree()) == "+0"


def test_mistakes_are_named():
    posterior = small_models.regressor().posterior_
    with pytest.raises(ValueError, match="coverage"):
        posterior.variable_inclusion(coverage=1.5)
    with pytest.raises(ValueError, match="by="):
        posterior.interactions(by="draw")
    with pytest.raises(ValueError, match="top"):
        posterior.interactions(top=0)


def test_partial_dependence_of_scikit_learn():
    X, _ = small_models.mixed_table()
    display = PartialDependenceDisplay.from_estimator(
        small_models.regressor(),
        X,
        ["age", "colour"],
        categorical_features=["colour"],
        grid_resolution=7,
    )
    low, *_, high = display.pd_results[0]["average"][0]
    assert high > low + 3
    classifier = PartialDependenceDisplay.from_estimator(
        small_models.classifier(), X, ["age"], grid_resolution=4
    )
    assert classifier.pd_results[0]["average"].shape == (1, 4)
