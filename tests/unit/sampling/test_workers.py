"""Rows on several workers: a chain has the bits that it has on one machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.workers import ThreadCollective, on_workers
from obliquebart import _core
from obliquebart.sampling.workers import first_rows

N = 11_300  # 12 blocks, the last one not full
PER_ROW = ("residual", "target")


@pytest.fixture(scope="module")
def columns() -> tuple[Any, Any, list[int]]:
    rng = np.random.default_rng(0)
    x_cont = rng.uniform(-1, 1, size=(4, N)).astype(np.float32)
    x_cont[2, N - 40 :] = np.nan  # only the last worker has missing values
    return x_cont, rng.integers(0, 5, size=(1, N)).astype(np.uint32), [5]


@pytest.fixture(scope="module")
def y(columns: Any) -> Any:
    x = columns[0]
    noise = np.random.default_rng(1).normal(0, 0.2, N)
    return np.ascontiguousarray(np.sin(3 * x[0]) + x[1] * (columns[1][0] > 2) + noise)


def settings_of(likelihood: str = "gaussian", **more: Any) -> Callable[[], _core.Settings]:
    def settings() -> _core.Settings:
        s = _core.Settings()
        s.n_trees, s.likelihood, s.min_samples_leaf = 12, likelihood, 5
        s.leaf_sd, s.leaf_sd_fixed, s.leaf_shape, s.leaf_rate = 0.3, False, 3.0, 0.3
        s.scale_jointly, s.theta, s.sigma = True, 0.4, 0.5
        s.more = more
        return s

    return settings


def swept(sampler: _core.Sampler, _: slice) -> tuple[Any, Any, Any]:
    sampler.run(10, 5, 2, _core.Control())
    assert sampler.check() == []
    return sampler.state(), sampler.trace, sampler.draws.to_arrays()


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return set(a) == set(b) and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)


@pytest.mark.parametrize(
    ("starts", "likelihood", "weighted"),
    [
        ((0,), "gaussian", False),
        ((0, 6144), "gaussian", False),
        ((0, 1024, 5120), "gaussian", True),
        ((0, 3072, 5120, 9216), "gaussian", False),
        ((0, 4096, 8192), "student_t", True),
    ],
)
def test_the_bits_are_those_of_one_machine(
    columns: Any, y: Any, starts: tuple[int, ...], likelihood: str, weighted: bool
) -> None:
    weights = np.random.default_rng(2).uniform(0.5, 2.0, N) if weighted else None
    settings = settings_of(likelihood, **({"df": 6.0} if likelihood == "student_t" else {}))
    alone = _core.Sampler(_core.Data(*columns), y, weights, settings(), 7, 3)
    state, trace, draws = swept(alone, slice(None))
    results = on_workers(starts, columns, y, weights, settings, swept)
    for own_state, own_trace, own_draws in results:
        assert same(own_trace, trace)
        assert same(own_draws, draws)
        shared = {name: value for name, value in own_state.items() if name not in PER_ROW}
        assert same(shared, {k: v for k, v in state.items() if k not in PER_ROW})
    for name in PER_ROW:
        assert np.array_equal(np.concatenate([own[0][name] for own in results]), state[name])


def test_a_state_goes_on_with_other_workers(columns: Any, y: Any) -> None:
    settings = settings_of()
    alone = _core.Sampler(_core.Data(*columns), y, None, settings(), 7, 3)
    alone.sweep(6)
    state = alone.state()
    alone.sweep(5)

    def go_on(sampler: _core.Sampler, rows: slice) -> Any:
        sampler.set_state({**state, **{name: state[name][rows] for name in PER_ROW}})
        sampler.sweep(5)
        return sampler.state()["residual"]

    parts = on_workers((0, 2048, 7168), columns, y, None, settings, go_on)
    assert np.array_equal(np.concatenate(parts), alone.state()["residual"])


def test_little_travels(columns: Any, y: Any) -> None:
    collective = ThreadCollective(2)
    on_workers(
        (0, 8192),
        columns,
        y,
        None,
        settings_of(),
        lambda sampler, _: sampler.sweep(10),
        collective,
    )
    # A pass per tree, the counts of all proposals, and the sums of the scales.
    assert collective.n_calls <= 10 * (12 + 3)
    assert collective.n_bytes < 10 * 12 * 250


def test_a_likelihood_that_needs_all_rows_says_so(columns: Any, y: Any) -> None:
    with pytest.raises(ValueError, match="learned_t needs all rows in one place"):
        on_workers((0, 6144), columns, y, None, settings_of("learned_t", df_rate=0.1), swept)


def test_an_error_of_the_collective_reaches_python(columns: Any, y: Any) -> None:
    def fail(_: Any) -> None:
        raise ConnectionError("gone")

    data = _core.Data(*columns).as_part(0, N, [False, False, True, False])
    workers = _core.Workers([0], N, 0, fail)
    sampler = _core.Sampler(data, y, None, settings_of()(), 0, 0, workers)
    with pytest.raises(ConnectionError, match="gone"):
        sampler.sweep()


def test_wrong_parts_are_refused(columns: Any, y: Any) -> None:
    data = _core.Data(*columns)

    def ignore(values: Any) -> None:
        """Do nothing."""

    for starts in ([0, 1000], [1024], [0, 0], [0, 12288]):
        with pytest.raises(ValueError, match="worker"):
            _core.Workers(starts, N, 0, ignore)
    workers = _core.Workers([0, 1024], N, 0, ignore)
    with pytest.raises(ValueError, match="part of the table"):
        _core.Sampler(data, y, None, settings_of()(), 0, 0, workers)
    with pytest.raises(ValueError, match="within its table"):
        data.as_part(1024, N, [False] * 4)


@pytest.mark.parametrize("n_rows", [1, 1024, 5000, 70_000, 4_000_000])
def test_workers_get_nearly_equal_shares(n_rows: int) -> None:
    for n_workers in (1, 2, 3, 4, 7):
        starts = first_rows(n_rows, n_workers)
        assert starts[0] == 0
        assert all(start % _core.BLOCK_ROWS == 0 for start in starts)
        assert len(starts) <= n_workers
        sizes = np.diff([*starts, n_rows])
        assert sizes.min() > 0
        if n_rows >= 70_000 and n_workers < 7:
            assert sizes.max() <= 1.1 * n_rows / n_workers
