"""The trace says of each draw what the state had then."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from obliquebart import _core

N = 60


def make_chain(**values: object) -> _core.Sampler:
    rng = np.random.default_rng(4)
    x_cont = rng.uniform(-1, 1, (3, N)).astype(np.float32)
    x_cat = rng.integers(0, 4, (1, N)).astype(np.uint32)
    settings = _core.Settings()
    plain = {"n_trees": 6, "leaf_sd": 0.4, "leaf_sd_fixed": False, "p_change": 0.2}
    for name, value in {**plain, "p_perturb": 0.3, **values}.items():
        setattr(settings, name, value)
    y = x_cont[0] + 0.3 * rng.normal(size=N)
    return _core.Sampler(_core.Data(x_cont, x_cat, [4]), y, None, settings, 2, 0)


def depths(kinds: np.ndarray) -> int:
    """Return the depth of a tree in preorder: 0 is a leaf, other kinds have two children."""
    open_, deepest = [0], 0
    for kind in kinds:
        depth = open_.pop()
        deepest = max(deepest, depth)
        if kind != 0:
            open_ += [depth + 1, depth + 1]
    return deepest


@pytest.mark.parametrize(
    "values",
    [
        {"theta_by_column": True, "theta_a": 2.0, "theta_b": 3.0},
        {"theta": 0.4, "theta_fixed": True},
        {"theta_a": 2.0, "theta_b": 3.0},
        {"axis_rules": True},
    ],
    ids=["theta by column", "theta fixed", "one theta", "axis"],
)
def test_every_number_of_the_trace(values):
    chain = make_chain(**values)
    moves = dict.fromkeys(_core.MOVES, (0, 0))
    for _ in range(12):
        before = chain.counters
        chain.run(0, 1, 1, _core.Control())
        state, trace = (
            chain.state(),
            {name: value[-1] for name, value in chain.trace.items() if len(value)},
        )
        assert trace["sigma"] == state["sigma"]
        assert trace["leaf_sd"] == state["leaf_sd"]
        assert trace["theta"] == pytest.approx(np.mean(state["theta"]), rel=1e-14)
        begin = state["node_begin"].astype(int)
        trees = [state["node_kind"][begin[s] : begin[s + 1]] for s in state["structure_of"][0]]
        assert trace["n_leaves"] == pytest.approx(np.mean([(tree == 0).sum() for tree in trees]))
        assert trace["depth"] == pytest.approx(np.mean([depths(tree) for tree in trees]))
        n_continuous = len(state["cut"])
        if n_continuous:
            assert trace["axis_share"] == pytest.approx(np.mean(state["phi_count"] == 1))
        else:
            assert np.isnan(trace["axis_share"])
        after = chain.counters
        for move in moves:
            n, k = (after[f"{c}_{move}"] - before[f"{c}_{move}"] for c in ("proposed", "accepted"))
            assert trace[move] == pytest.approx(k / n if n else np.nan, nan_ok=True)
            moves[move] = (moves[move][0] + n, moves[move][1] + k)
    assert sum(n for n, _ in moves.values()) == 12 * 6
    assert all(0 < k < n for n, k in moves.values())


def test_weights_of_a_mixture_add_up_to_one():
    components = [{"kind": "sparse", "concentration": 3.0}, {"kind": "axis", "concentration": 1.0}]
    chain = make_chain(directions=components, theta_a=2.0, theta_b=3.0)
    assert chain.state()["direction_weights"].tolist() == [0.75, 0.25]
    chain.run(0, 20, 1, _core.Control())
    weights = np.array([chain.trace["direction.0"], chain.trace["direction.1"]])
    np.testing.assert_allclose(weights.sum(axis=0), 1.0, rtol=1e-14)
    assert (weights > 0.0).all()
    assert chain.state()["direction_weights"].tolist() == weights[:, -1].tolist()


def test_progress_tells_the_share_of_accepted_proposals():
    chain, control = make_chain(), _core.Control()
    chain.run(3, 0, 1, control)
    counts = chain.counters
    accepted, proposed = (
        sum(counts[f"{what}_{move}"] for move in _core.MOVES) for what in ("accepted", "proposed")
    )
    assert proposed == 3 * 6
    shown = control.snapshot()
    assert shown["sweep"] == 3
    assert shown["acceptance"] == accepted / proposed


def test_counts_of_moves_travel_with_the_state():
    chain = make_chain(min_samples_leaf=20)
    chain.sweep(30)
    counts, state = chain.counters, chain.state()
    for what in ("proposed", "accepted", "invalid"):
        assert state[what].tolist() == [counts[f"{what}_{move}"] for move in _core.MOVES]
    assert sum(state["invalid"]) > 0
    other = make_chain(min_samples_leaf=20)
    other.set_state(state)
    assert other.counters == counts


def test_a_state_can_draw_some_column():
    chain = make_chain(theta_by_column=True, theta_a=2.0, theta_b=3.0)
    state = chain.state()
    chain.set_state({**state, "theta": np.array([0.0, 0.0, 1.0])})
    with pytest.raises(ValueError, match="theta"):
        chain.set_state({**state, "theta": np.zeros(3)})


@pytest.mark.parametrize("deepest", [0, 1, 2])
def test_trees_are_no_deeper_than_allowed(deepest):
    chain = make_chain(max_depth=deepest, alpha=0.99, beta=0.0, min_samples_leaf=0)
    for _ in range(60):
        chain.sweep(1)
        state = chain.state()
        begin = state["node_begin"].astype(int)
        found = [depths(state["node_kind"][i:j]) for i, j in itertools.pairwise(begin)]
        assert max(found) <= deepest
    assert max(found) == deepest


def test_draws_route_only_tables_with_their_columns():
    chain = make_chain()
    chain.run(0, 3, 1, _core.Control())
    cont, cat = np.zeros((3, 5), np.float32), np.zeros((1, 5), np.uint32)
    same = _core.Data(cont, cat, [4])
    others = [
        _core.Data(cont[:2], cat, [4]),
        _core.Data(cont, cat, [3]),
        _core.Data(cont, np.zeros((2, 5), np.uint32), [4, 4]),
    ]
    draws = chain.draws_of(0)
    for call in (draws.predict, draws.summarise, lambda x: draws.leaf_codes(x, 0, 0)):
        call(same)
        for other in others:
            with pytest.raises(ValueError, match="column"):
                call(other)
    for draw, tree in ((-1, 0), (3, 0), (0, -1), (0, 6)):
        with pytest.raises(ValueError, match="no such draw or tree"):
            draws.leaf_codes(same, draw, tree)
    draws.leaf_codes(same, 2, 5)
