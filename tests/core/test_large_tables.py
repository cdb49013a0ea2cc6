"""Large tables: a block of rows knows the leaf codes that it has, and the rest is left out there.

Rows are sorted by the column that matters most, so that blocks have few of a tree's leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exact.oracles import core
from obliquebart import _core

# From 32 blocks of 1,024 rows on; one more, and a ragged end.
N = 33 * 1024 + 57

MODELS: dict[str, dict[str, Any]] = {
    "moves": core.MOVES,
    "weighted": {"weighted": True, **core.MOVES},
    "two threads": {"n_threads": 2, "threads_fixed": True},
    "axis, empty leaves": {"axis_rules": True, "min_samples_leaf": 0},
    "probit": {"likelihood": "probit"},
    "weighted_probit": {"likelihood": "weighted_probit", "weighted": True},
    "wide trees": {
        "n_trees": 2,
        "alpha": 0.99,
        "beta": 0.0,
        "leaf_sd": 1.0,
        "sigma": 0.05,
        "sigma_fixed": True,
        "p_change": 0.1,
        "p_perturb": 0.1,
    },
}
SHARED = 63  # codes from this one on share a bit


def maker(weighted: bool = False, **changes: Any) -> Callable[[], _core.Sampler]:
    rng = np.random.default_rng(4)
    x_cont = rng.uniform(-1, 1, (3, N)).astype(np.float32)
    x_cont[0] = np.sort(x_cont[0])
    x_cont[1, ::50] = np.nan
    x_cat = (np.arange(N, dtype=np.uint32) // 3000)[None, :]
    y = 3 * np.sin(4 * x_cont[0]) + x_cont[2] + x_cat[0] % 3 + 0.5 * rng.standard_normal(N)
    y = (y - y.mean()) / y.std()
    settings = _core.Settings()
    settings.n_trees, settings.leaf_sd, settings.sigma = 5, 0.3, 0.3
    for name, value in changes.items():
        setattr(settings, name, value)
    if settings.likelihood.endswith("probit"):
        y = (y > 0).astype(float)
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    data = _core.Data(x_cont, x_cat, [int(x_cat.max()) + 1])
    return lambda: _core.Sampler(data, y, weights, settings, 3, 0)


def n_leaves(chain: _core.Sampler) -> float:
    ensemble = chain.ensemble()
    kinds = ensemble.to_arrays()["node_kind"] & 3
    return np.count_nonzero(kinds == 0) / ensemble.n_trees


@pytest.mark.parametrize("name", MODELS)
def test_every_draw(name):
    chain = maker(**MODELS[name])()
    is_wide = name == "wide trees"
    for n_sweeps in (1, 2, 3, 5, 9, 40, 40, *([50] * 6 if is_wide else [])):
        chain.sweep(n_sweeps)
        assert chain.check() == []
    assert n_leaves(chain) > (SHARED if is_wide else 4)


@pytest.mark.parametrize("name", MODELS)
def test_another_chain_goes_on_bit_for_bit(name):
    make = maker(**MODELS[name])
    chain, other = make(), make()
    other.sweep(10)  # its blocks know other codes
    chain.sweep(30)
    other.set_state(chain.state())
    assert other.check() == []
    for one in (chain, other):
        one.sweep(5)
    assert other.check() == []
    for key, value in chain.state().items():
        np.testing.assert_array_equal(other.state()[key], value, err_msg=key)


def test_an_ensemble_set_is_known_in_all_blocks():
    make = maker(**core.MOVES)
    chain, other = make(), make()
    chain.sweep(30)
    other.sweep(10)
    other.set_ensemble(chain.ensemble(), 0)
    assert other.check() == []
    np.testing.assert_array_equal(other.fit(), chain.fit())
