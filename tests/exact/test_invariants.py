"""What must hold for every draw, and what must not depend on threads or instructions."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from exact.oracles import columnar, core
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior, Table
from helpers.processes import run_with_each_instruction_set
from obliquebart import _core

MODELS = {
    "continuous": (make_table(60, 4), Prior(10, theta=(4.0, 4.0)), core.MOVES),
    "one column": (make_table(50, 1), Prior(5), core.MOVES),
    "categorical": (make_table(70, 0, (3, 40, 64)), Prior(6), core.MOVES),
    "mixed, missing": (
        make_table(90, 5, (3, 33), missing=0.15),
        Prior(20, theta=(4.0, 8.0)),
        core.MOVES,
    ),
    "paper's prior": (make_table(40, 3, (5,)), Prior(8, min_samples_leaf=0, theta=(4.0, 8.0)), {}),
    "deep": (
        make_table(200, 3),
        Prior(3, 0.95, 0.3, min_samples_leaf=2, theta=(4.0, 2.0)),
        core.MOVES,
    ),
    "axis": (make_table(60, 4, (3,)), Prior(10, axis_rules=True), core.MOVES),
    "probit": (make_table(60, 3, (4,)), Prior(10, theta=(4.0, 4.0)), {"likelihood": "probit"}),
}


def outcome(table: Table, is_probit: bool, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(table.n_rows)
    if table.x_cont.shape[0]:
        y += 2 * np.nan_to_num(table.x_cont[0])
    if table.x_cat.shape[0]:
        y += table.x_cat[0]
    y = (y - y.mean()) / y.std()
    return (y > 0).astype(float) if is_probit else y


def make_sampler(name: str, seed: int, weighted: bool = False, **more) -> _core.Sampler:
    table, prior, moves = MODELS[name]
    settings = core.settings(prior, sigma_fixed=False, leaf_sd=0.5, **{**moves, **more})
    y = outcome(table, settings.likelihood == "probit")
    weights = np.linspace(0.2, 3.0, table.n_rows) if weighted else None
    return _core.Sampler(core.data(table), y, weights, settings, seed, 0)


@pytest.mark.parametrize(
    ("name", "weighted"),
    [(name, False) for name in MODELS] + [(name, True) for name in MODELS if name != "probit"],
)
def test_every_draw(name, weighted, seed):
    table = MODELS[name][0]
    chain = make_sampler(name, seed, weighted)
    chain.sweep(100)
    for _ in range(10):
        chain.sweep(17)
        assert chain.check() == []
        now = chain.ensemble()
        nodes = columnar.NodeTable(now.to_arrays(), table.x_cont.shape[0], table.n_levels)
        fit, unsure = columnar.plain_fit(nodes, table, 0)
        np.testing.assert_allclose(chain.fit()[~unsure], fit[~unsure], atol=1e-5)
        predicted = now.predict(core.data(table), "identity", 0.0, 1)[0]
        np.testing.assert_allclose(predicted, chain.fit(), atol=1e-5)
        assert list(columnar.broken_rules(nodes, table)) == []
        rows = nodes.rows(table)
        enough = MODELS[name][1].min_samples_leaf
        counts = rows.sum(axis=1)
        assert (counts[nodes.is_leaf] >= enough).all()


@pytest.mark.parametrize("name", ["continuous", "mixed, missing", "deep"])
def test_residual_does_not_drift(name, seed):
    table = MODELS[name][0]
    chain = make_sampler(name, seed)
    y = outcome(table, False)
    worst = 0.0
    for n in (1, 30, 1_000, 5_000, 3_969, 333, 667):
        chain.sweep(n)
        worst = max(worst, np.abs(y - chain.fit() - chain.residual()).max())
    assert worst < 1e-5
    assert chain.check() == []


def test_kept_draws_are_the_states_of_the_chain(seed):
    """Trees unchanged between kept sweeps share a structure; outputs are each draw's own."""
    table = MODELS["mixed, missing"][0]
    kept, stepped = (make_sampler("mixed, missing", seed) for _ in range(2))
    kept.run(50, 30, 2, _core.Control())
    stepped.sweep(50)
    all_fits = kept.draws.predict(core.data(table), "identity", 0.0, 1)
    assert len(all_fits) == 30
    nodes = columnar.NodeTable(kept.draws.to_arrays(), table.x_cont.shape[0], table.n_levels)
    fits, sigma = nodes.fit(table), kept.trace["sigma"]
    for d in range(30):
        stepped.sweep(2)
        np.testing.assert_allclose(all_fits[d], stepped.fit(), atol=1e-5)
        assert np.mean(np.abs(fits[d] - stepped.fit()) < 1e-5) > 0.98  # rows at a cut may differ
        assert sigma[d] == stepped.sigma


def test_columnar_round_trip(seed):
    table = MODELS["mixed, missing"][0]
    chain = make_sampler("mixed, missing", seed)
    chain.run(20, 10, 1, _core.Control())
    arrays = chain.draws.to_arrays()
    again = core.draws(arrays, table).to_arrays()
    assert arrays.keys() == again.keys()
    for name, value in arrays.items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)


def test_an_ensemble_set_is_the_ensemble_got(seed):
    table = MODELS["paper's prior"][0]
    chain = make_sampler("paper's prior", seed)
    chain.sweep(300)
    other = make_sampler("paper's prior", seed + 1)
    other.set_ensemble(chain.ensemble(), 0)
    assert other.check() == []
    np.testing.assert_array_equal(other.fit(), chain.fit())
    residual = outcome(table, False) - chain.fit()
    np.testing.assert_allclose(other.residual(), residual, atol=1e-6)


# --- the same bits --------------------------------------------------------------------------------

BIG = 3_000  # several blocks of rows, and a ragged end
LARGE = 34_000  # so many that blocks know their leaves


def fingerprint(seed: int = 7, n_threads: int = 1) -> str:
    """Hash of all draws of six models."""
    digest = hashlib.sha256()
    for name, weighted, n in (
        ("continuous", False, BIG),
        ("mixed", True, BIG),
        ("probit", False, BIG),
        ("cat", False, BIG),
        ("continuous", False, LARGE),
        ("mixed", True, LARGE),
    ):
        p_cont = 0 if name == "cat" else 4
        n_levels = () if name == "continuous" else (3, 40)
        table = make_table(n, p_cont, n_levels, missing=0.1 if name == "mixed" else 0.0)
        if n == LARGE:
            table.x_cont[0].sort()
        prior = Prior(7, theta=(3.0, 3.0) if p_cont else 1.0)
        kind = "probit" if name == "probit" else "gaussian"
        settings = core.settings(
            prior,
            sigma_fixed=False,
            likelihood=kind,
            n_threads=n_threads,
            threads_fixed=True,
            **core.MOVES,
        )
        weights = np.linspace(0.5, 2.0, n) if weighted else None
        y = outcome(table, kind == "probit")
        chain = _core.Sampler(core.data(table), y, weights, settings, seed, 1)
        chain.run(20, 10, 1, _core.Control())
        for value in chain.draws.to_arrays().values():
            digest.update(np.ascontiguousarray(value).tobytes())
        digest.update(chain.residual().tobytes())
        digest.update(np.array(chain.trace["sigma"]).tobytes())
    return digest.hexdigest()


def test_same_seed_same_bits_another_seed_other_bits():
    assert fingerprint() == fingerprint()
    assert fingerprint() != fingerprint(seed=8)


@pytest.mark.parametrize("n_threads", [2, 3, 5, 7, 16])
def test_same_bits_for_any_number_of_threads(n_threads):
    assert fingerprint(n_threads=n_threads) == fingerprint()


def test_same_bits_for_any_instruction_set():
    code = "from exact import test_invariants as t; print(t._core.simd_level(), t.fingerprint())"
    expected = fingerprint()
    for level, words in run_with_each_instruction_set(code).items():
        assert words == [level, expected]
