"""Replaced columns in the engine: against plain predictions of tables with that column replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from helpers.processes import run_with_each_instruction_set
from obliquebart import _core

N_LEVELS = [3, 40]
P_CONT = 4
FIELDS = ("mean", "variance", "change", "square")


def columns(rng, n: int, missing: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    x_cont = rng.uniform(-1, 1, (P_CONT, n)).astype(np.float32)
    x_cont[rng.random((P_CONT, n)) < missing] = np.nan
    # One code above the levels: unseen in training.
    x_cat = np.array([rng.integers(0, k + 1, n) for k in N_LEVELS], dtype=np.uint32)
    return x_cont, x_cat


def draws(rng, n: int = 300, n_draws: int = 12, **settings: Any) -> _core.Draws:
    x_cont, x_cat = columns(rng, n)
    y = rng.standard_normal(n) + 2 * np.nan_to_num(x_cont[0]) * (x_cat[0] > 0) + x_cat[1] / 10
    chosen = _core.Settings()
    for name, value in {"n_trees": 15, "leaf_sd": 0.3, "p_change": 0.2, **settings}.items():
        setattr(chosen, name, value)
    if chosen.likelihood == "probit":
        y = (y > y.mean()).astype(float)
    data = _core.Data(x_cont, x_cat, N_LEVELS)
    sampler = _core.Sampler(data, (y - y.mean()) / y.std(), None, chosen, 1, 0)
    sampler.run(80, n_draws, 1, _core.Control())
    return sampler.draws


def replaced(x, other, j: int):
    """Return a table with column j of another, continuous columns first."""
    x_cont, x_cat = x[0].copy(), x[1].copy()
    if j < P_CONT:
        x_cont[j] = other[0][j]
    else:
        x_cat[j - P_CONT] = other[1][j - P_CONT]
    return x_cont, x_cat


def predictions(ensembles, offsets, link: str, index, x) -> np.ndarray:
    """Return (draws, rows, ensembles)."""
    f = np.stack(
        [e.predict(_core.Data(*x, N_LEVELS)).astype(float)[index] for e in ensembles], axis=-1
    )
    if link == "probit":
        f = ndtr(f + np.array(offsets))
    return f / f.sum(axis=-1, keepdims=True) if len(ensembles) > 1 else f


def expected(ensembles, offsets, link: str, index, x, tables) -> dict[str, np.ndarray]:
    g = predictions(ensembles, offsets, link, index, x)
    change = [predictions(ensembles, offsets, link, index, other) - g for other in tables]
    return {
        "mean": g.mean(axis=1),
        "variance": g.var(axis=1, ddof=1),
        "change": np.stack([c.mean(axis=1) for c in change], axis=1),
        "square": np.stack([(c**2).mean(axis=1) for c in change], axis=1),
    }


MODELS: dict[str, dict[str, Any]] = {
    "oblique": {"theta": 0.5, "theta_fixed": True},
    "axis": {"axis_rules": True},
    "probit": {"likelihood": "probit"},
    "soft": {"soft": True, "theta": 0.5, "theta_fixed": True},
}


def check(ensembles, offsets, link: str, rng, n: int) -> None:
    x, other = columns(rng, n), columns(rng, n)
    index = np.array([0, 3, 4, 11])
    common = (ensembles, offsets, link)
    data = _core.Data(*x, N_LEVELS)
    found = _core.swap_columns(*common, index, data, _core.Data(*other, N_LEVELS), 2)
    tables = [replaced(x, other, j) for j in range(P_CONT + len(N_LEVELS))]
    want = expected(*common, index, x, tables)
    for name in FIELDS:
        np.testing.assert_allclose(found[name], want[name], rtol=2e-5, atol=2e-6, err_msg=name)
    for j in (1, P_CONT + 1):
        grid = columns(rng, 5)
        rows = [[np.repeat(part[:, k : k + 1], n, axis=1) for part in grid] for k in range(5)]
        want = expected(*common, index, x, [replaced(x, row, j) for row in rows])
        found = _core.fix_column(*common, index, data, _core.Data(*grid, N_LEVELS), j)
        for name in FIELDS:
            np.testing.assert_allclose(found[name], want[name], rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [2, 256, 700])
def test_one_ensemble_is_that_of_plain_predictions(name, n, rng):
    link = "probit" if name == "probit" else "identity"
    check([draws(rng, **MODELS[name])], [0.3], link, rng, n)


def test_probabilities_of_several_ensembles_sum_to_one(rng):
    ensembles = [draws(rng, likelihood="probit") for _ in range(3)]
    check(ensembles, [0.3, -0.2, 0.0], "probit", rng, 300)


def test_no_result_depends_on_the_number_of_threads(rng):
    kept = draws(rng, n_draws=100)
    data, other = (_core.Data(*columns(rng, 600), N_LEVELS) for _ in range(2))
    index = np.arange(100)
    one, *more = (
        _core.swap_columns([kept], [0.0], "identity", index, data, other, n) for n in (1, 2, 7, 200)
    )
    for answer in more:
        for name in FIELDS:
            np.testing.assert_array_equal(answer[name], one[name])
    some = _core.swap_columns([kept], [0.0], "identity", index[40:41], data, other, 1)
    for name in FIELDS:
        np.testing.assert_array_equal(some[name][0], one[name][40])


BITS = """
import hashlib
import numpy as np
from core import test_replace as t
rng = np.random.default_rng(3)
kept = t.draws(rng, likelihood="probit")
data, other = (t._core.Data(*t.columns(rng, 300), t.N_LEVELS) for _ in range(2))
answer = t._core.swap_columns([kept, kept], [0.1, 0.2], "probit", np.arange(12), data, other)
print(hashlib.sha256(b"".join(answer[name].tobytes() for name in t.FIELDS)).hexdigest())
"""


def test_all_instruction_sets_give_the_same_bits():
    answers = run_with_each_instruction_set(BITS)
    assert len({digest for (digest,) in answers.values()}) == 1


def test_a_column_that_no_rule_uses_changes_nothing(rng):
    kept = draws(rng, n_trees=1, n_draws=2)
    arrays = kept.to_arrays()
    used = {*arrays["phi_column"].tolist(), *(P_CONT + arrays["cat_column"]).tolist()}
    unused = sorted(set(range(P_CONT + len(N_LEVELS))) - used)
    assert used
    assert unused
    data, other = (_core.Data(*columns(rng, 200), N_LEVELS) for _ in range(2))
    answer = _core.swap_columns([kept], [0.0], "identity", np.arange(2), data, other)
    assert (answer["square"][:, unused] == 0).all()
    assert (answer["square"][:, sorted(used)].max(axis=0) > 0).all()


def test_wrong_calls_are_errors(rng):
    kept = draws(rng)
    x = columns(rng, 20)
    data = _core.Data(*x, N_LEVELS)
    index = np.arange(2)

    def swap(ensembles=(kept,), offsets=(0.0,), link="identity", at=index, other=data):
        return _core.swap_columns(list(ensembles), list(offsets), link, at, data, other)

    assert swap()["mean"].shape == (2, 1)
    assert swap(at=np.arange(0))["mean"].shape == (0, 1)
    with pytest.raises(ValueError, match="another number of rows"):
        swap(other=_core.Data(*columns(rng, 19), N_LEVELS))
    with pytest.raises(ValueError, match="other columns"):
        swap(other=_core.Data(x[0][:2].copy(), x[1], N_LEVELS))
    with pytest.raises(ValueError, match="no such draw"):
        swap(at=np.array([99]))
    with pytest.raises(ValueError, match="offset"):
        swap(offsets=())
    with pytest.raises(ValueError, match="link"):
        swap(link="log")
    with pytest.raises(ValueError, match="no such column"):
        _core.fix_column([kept], [0.0], "identity", index, data, data, 6)
