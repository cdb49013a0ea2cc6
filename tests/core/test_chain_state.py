"""A chain's state: taken out and put back bit for bit, and refused where it cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.arrays import assert_same
from obliquebart import _core

State = dict[str, Any]
MOVES = {"p_change": 0.2, "p_perturb": 0.3}
MODELS: dict[str, dict[str, Any]] = {
    "oblique": MOVES,
    "paper": {"min_samples_leaf": 0},
    "a theta for each column": {"theta_by_column": True, "theta_a": 2.0, **MOVES},
    "axis": {"axis_rules": True},
    "scales of trees": {"tree_df": 2.0, "leaf_sd_fixed": False, **MOVES},
    "scales of trees, soft": {"tree_df": 2.0, "soft": True},
    "probit": {"likelihood": "probit", "leaf_sd_fixed": False},
    "weighted_probit": {"likelihood": "weighted_probit", "leaf_sd_fixed": False},
    "logit": {"likelihood": "logit", "leaf_sd_fixed": False},
    "softmax": {
        "likelihood": "softmax",
        "leaf_sd_fixed": False,
        "more": {"offset.0": 0.2, "offset.1": -0.1, "offset.2": 0.0},
    },
    "student_t": {"likelihood": "student_t", "more": {"df": 4.0}, "leaf_sd_fixed": False},
    **{
        f"causal_{noise}": {"likelihood": f"causal_{noise}", "leaf_sd_fixed": False, **MOVES}
        for noise in ("gaussian", "student_t", "learned_t", "varying_noise", "probit")
    },
    "causal_weighted_probit": {"likelihood": "causal_weighted_probit", "sigma_fixed": True},
}
# Three arms, with what the kinds of noise need.
EFFECTS = {"n_treatments": 2, "codes_arms": 1.0, "level_sd": 0.5, "df": 4.0}
LEARNED = {**EFFECTS, "df_rate": 0.1}
N, N_TREES, N_LEVELS = 120, 12, 40


Parts = tuple[_core.Data, np.ndarray, np.ndarray | None, _core.Settings]


def maker(**changes: Any) -> Callable[[], _core.Sampler]:
    parts = make_parts(**changes)
    return lambda: _core.Sampler(*parts, 3, 0)


def make_parts(**changes: Any) -> Parts:
    """Return data, outcomes, weights and settings of a chain."""
    rng = np.random.default_rng(8)
    x_cont = rng.uniform(-1, 1, (3, N)).astype(np.float32)
    x_cont[1, :9] = np.nan
    x_cat = rng.integers(0, N_LEVELS, (1, N)).astype(np.uint32)
    data = _core.Data(x_cont, x_cat, [N_LEVELS])
    settings = _core.Settings()
    settings.n_trees = N_TREES
    settings.leaf_sd = 0.3
    for name, value in changes.items():
        setattr(settings, name, value)
    y = x_cont[0] + (x_cat[0] % 3) + rng.standard_normal(N)
    if settings.likelihood == "softmax":
        for _ in range(2):
            settings.add_ensemble()
            ensemble = settings.ensemble(settings.n_ensembles - 1)
            ensemble.n_trees, ensemble.leaf_sd, ensemble.leaf_sd_fixed = N_TREES, 0.3, False
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    elif settings.likelihood.endswith("it"):
        y = (y > y.mean()).astype(float)
    else:
        y /= y.std()
    if settings.likelihood.startswith("causal_"):
        y = add_effects(settings, y)
    is_weighted = settings.likelihood.endswith(("weighted_probit", "causal_gaussian"))
    weights = rng.uniform(0.1, 3, N) if is_weighted else None
    return data, y, weights, settings


def add_effects(settings: _core.Settings, y: np.ndarray) -> np.ndarray:
    """Give the settings what three arms need; return the outcome and two doses."""
    varies = settings.likelihood.endswith("varying_noise")
    settings.more = LEARNED if settings.likelihood.endswith("learned_t") else EFFECTS
    for k in range(2 + varies):
        settings.add_ensemble()
        ensemble = settings.ensemble(1 + k)
        ensemble.n_trees, ensemble.leaf_sd, ensemble.leaf_sd_fixed = 7, 0.3, False
        if varies and k == 0:
            ensemble.leaf_model = "precision"
        else:
            ensemble.hidden_columns = 1
    arm = np.arange(N) % 3
    return np.stack([y, arm == 1, arm == 2]).astype(float)


@pytest.mark.parametrize("name", MODELS)
def test_a_state_goes_round_bit_for_bit(name):
    make = maker(**MODELS[name])
    chain = make()
    chain.run(20, 10, 2, _core.Control())
    chain.sweep(3)
    state = chain.state()
    n_ensembles = 1 + sum(key.endswith(".target") for key in state)
    other = make()
    other.set_state(state)
    for e in range(n_ensembles):
        kept = _core.Draws.from_arrays(chain.draws_of(e).to_arrays(), 3, [N_LEVELS])
        other.set_draws(kept, e)
    assert_same(other.state(), state)
    for one in (chain, other):
        one.run(0, 20, 1, _core.Control())
    assert_same(other.state(), chain.state())
    for e in range(n_ensembles):
        assert_same(other.draws_of(e).to_arrays(), chain.draws_of(e).to_arrays())
    assert other.check() == []


def test_soft_rules_need_rows_that_a_backend_can_share():
    with pytest.raises(ValueError, match=r"soft rules .* run on the CPU only"):
        maker(soft=True, backend="plain_card")()


def one_rule(state: State, kinds: list[int], words: list[list[int]]) -> State:
    """Return the state with other structures: the first tree has these nodes, the rest none."""
    n_rules = sum(kind == 2 for kind in kinds)
    n_leaves = n_rules + 1
    return state | {
        "structure_of": np.array([[0] + [1] * (N_TREES - 1)], np.uint32),
        "node_begin": np.array([0, len(kinds), len(kinds) + 1], np.uint64),
        "node_kind": np.array([*kinds, 0], np.uint8),
        "cut": np.zeros(0, np.float32),
        "phi_count": np.zeros(0, np.uint32),
        "phi_column": np.zeros(0, np.uint32),
        "phi_value": np.zeros(0, np.float32),
        "cat_column": np.zeros(n_rules, np.uint32),
        "level_words": np.array(words, np.uint32).ravel(),
        "outputs": np.zeros(n_leaves + N_TREES - 1, np.float32),
        "leaf_code": np.array([*range(n_leaves), *[0] * (N_TREES - 1)], np.uint8),
        "changed": np.ones(N_TREES, np.uint8),
    }


ALL = [0xFFFFFFFF, 0xFF]
LEVEL_SETS: dict[str, tuple[list[int], list[list[int]]]] = {
    "all left": ([2, 0, 0], [[0, 0]]),
    "all right": ([2, 0, 0], [ALL]),
    "levels that the parent sent away": ([2, 2, 0, 0, 0], [[7, 0], [3, 0]]),
    "one of them sent away": ([2, 2, 0, 0, 0], [[7, 0], [12, 0]]),
    "none left to the left": ([2, 0, 2, 0, 0], [[7, 0], [7, 0]]),
    "the only level there": ([2, 0, 2, 0, 0], [[1, 0], [1, 0]]),
}


@pytest.mark.parametrize("name", LEVEL_SETS)
def test_rules_must_split_the_levels_of_their_node(name):
    chain = maker(**MOVES)()
    chain.sweep(10)
    before = chain.state()
    with pytest.raises(ValueError, match="does not split the levels of its node"):
        chain.set_state(one_rule(before, *LEVEL_SETS[name]))
    assert_same(chain.state(), before)


def test_rules_that_split_the_levels_are_taken():
    chain = maker(min_samples_leaf=0, **MOVES)()
    chain.sweep(10)
    for kinds, words in (
        ([2, 0, 0], [[7, 0]]),
        ([2, 0, 2, 0, 0], [[7, 0], [3, 0]]),
        ([2, 2, 0, 0, 0], [[7, 0], [0, 0xFF]]),
    ):
        chain.set_state(one_rule(chain.state(), kinds, words))
        chain.sweep(200)


def test_trees_not_marked_as_changed_must_be_those_of_the_last_draw():
    make = maker(**MOVES)
    chain = make()
    chain.run(30, 5, 1, _core.Control())
    kept = chain.draws
    assert not chain.state()["changed"].any()
    chain.sweep(40)
    later = chain.state()
    assert later["changed"].any()
    hidden = later | {"changed": np.zeros_like(later["changed"])}
    with pytest.raises(ValueError, match="not marked as changed differs from the last draw"):
        chain.set_state(hidden)
    assert_same(chain.state(), later)
    chain.set_state(later)
    # A new chain has no draws yet: they can come after the state.
    other = make()
    other.set_state(hidden)
    with pytest.raises(ValueError, match="not marked as changed differs from the last draw"):
        other.set_draws(kept)
    assert other.draws.n_draws == 0
    other.set_state(later)
    other.set_draws(kept)


def with_one(name: str, value: Any) -> Callable[[State], State]:
    def change(state: State) -> State:
        array = state[name].copy()
        array.flat[0] = value
        return state | {name: array}

    return change


def shortened(name: str) -> Callable[[State], State]:
    return lambda state: state | {name: state[name][:-1]}


BROKEN: dict[str, tuple[Callable[[State], State], str]] = {
    "changed": (with_one("changed", 2), "changed is out of range"),
    "changed, short": (shortened("changed"), "changed has the wrong length"),
    "leaf_code, twice": (lambda s: s | {"leaf_code": s["leaf_code"] * 0}, "a permutation"),
    "leaf_code, large": (with_one("leaf_code", 251), "a permutation"),
    "leaf_code, short": (shortened("leaf_code"), "leaf codes than of leaves"),
    "residual": (with_one("residual", np.inf), "residual is not finite"),
    "residual, short": (shortened("residual"), "residual has the wrong length"),
    "target": (with_one("target", np.nan), "target is not finite"),
    "rng": (lambda s: s | {"rng": s["rng"] * 0}, "rng must not be all zeros"),
    "theta": (with_one("theta", 1.5), "theta is out of range"),
    "theta, long": (lambda s: s | {"theta": np.full(2, 0.5)}, "theta has the wrong length"),
    "sigma": (lambda s: s | {"sigma": 0.0}, "sigma is out of range"),
    "leaf_sd": (lambda s: s | {"leaf_sd": np.nan}, "leaf_sd is not finite"),
    "n_sweeps": (lambda s: s | {"n_sweeps": 2**63 - 1}, "n_sweeps is out of range"),
    "proposed": (with_one("proposed", 2**63 - 1), "proposed is out of range"),
    "accepted": (with_one("accepted", -1), "accepted is out of range"),
    "invalid": (with_one("invalid", 2**60), "invalid is out of range"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_a_state_is_refused_and_changes_nothing(name):
    change, message = BROKEN[name]
    chain = maker(**MOVES)()
    chain.sweep(20)
    before = chain.state()
    with pytest.raises(ValueError, match=message):
        chain.set_state(change(before))
    assert_same(chain.state(), before)
    chain.set_state(before)


def test_rules_on_columns_that_an_ensemble_does_not_see_are_refused():
    parts = make_parts(likelihood="causal_gaussian", theta_fixed=True, theta=0.9, **MOVES)
    chain = _core.Sampler(*parts, 3, 0)
    chain.sweep(50)
    before = chain.state()
    seen = before["ensemble.1.phi_column"]
    assert len(seen) > 0
    assert set(seen.tolist()) <= {0, 1}
    assert 2 in before["phi_column"]
    counts = before["ensemble.1.phi_count"].tolist()
    last = np.cumsum(counts)[np.flatnonzero(counts)[0]] - 1  # the largest column of its rule
    columns = seen.copy()
    columns[last] = 2
    wrong = before | {"ensemble.1.phi_column": columns}
    with pytest.raises(ValueError, match="a column that its ensemble does not see"):
        chain.set_state(wrong)
    assert_same(chain.state(), before)
    settings = parts[-1]
    _core.check_state(settings, 3, [N_LEVELS], before, [])
    with pytest.raises(ValueError, match="a column that its ensemble does not see"):
        _core.check_state(settings, 3, [N_LEVELS], wrong, [])


TOO_LARGE = {
    "sigma": ("oblique", [0.0, 1e-101, 1e101]),
    "leaf_sd": ("probit", [0.0, 1e-101, 1e101]),
    "target": ("probit", [1e31, -1e31]),
    "residual": ("probit", [1e31, -1e31]),
    "outputs": ("oblique", [1e16, -1e16]),
    "level.0": ("causal_gaussian", [1e16, -1e16]),
}


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, 1e-51, 1e51])
def test_scales_of_trees_must_be_scales(value):
    chain = maker(**MODELS["scales of trees"])()
    chain.sweep(20)
    state = chain.state()
    assert len(state["tree_scales"]) == N_TREES
    assert len(np.unique(state["tree_scales"])) == N_TREES
    with pytest.raises(ValueError, match="tree_scales is"):
        chain.set_state(with_one("tree_scales", value)(state))
    with pytest.raises(ValueError, match="tree_scales has the wrong length"):
        chain.set_state(shortened("tree_scales")(state))
    with pytest.raises(ValueError, match="one for each tree"):
        chain.set_tree_scales([1.0])
    assert_same(chain.state(), state)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_numbers_that_would_overflow_are_refused(name):
    model, wrong = TOO_LARGE[name]
    chain = maker(**MODELS[model])()
    chain.sweep(10)
    state = chain.state()
    for value in wrong:
        changed: Any = value
        if isinstance(state[name], np.ndarray):
            changed = state[name].copy()
            changed[5] = value
        with pytest.raises(ValueError, match=name.removesuffix("s")):
            chain.set_state(state | {name: changed})
    assert_same(chain.state(), state)


@pytest.mark.parametrize("name", ["oblique", "probit", "logit", "softmax", "student_t"])
def test_what_is_taken_does_not_overflow(name):
    make = maker(**MODELS[name])
    chain = make()
    chain.sweep(20)
    state = chain.state()
    for key in ("sigma", "leaf_sd", "target", "residual", "outputs"):
        for value in (1e-100, 1e-30, -1e15, 1e15, 1e30, 1e100):
            changed: Any = value
            if isinstance(state[key], np.ndarray):
                changed = state[key].copy()
                with np.errstate(over="ignore"):
                    changed[5] = value
            other = make()
            try:
                other.set_state(state | {key: changed})
            except ValueError:
                continue
            other.sweep(20)
            for after, number in other.state().items():
                if isinstance(number, float):
                    assert np.isfinite(number), (key, value, after)
