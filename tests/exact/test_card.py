"""Chains on a card have the bits of chains on the processor.

Without a card the kernels run as plain C++ (the backend `plain_card`); with one, also on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact import test_same_draws as recorded
from helpers.arrays import assert_same
from obliquebart import _core
from obliquebart.estimators import running
from obliquebart.exceptions import CudaUnavailableError
from obliquebart.sampling import cuda
from obliquebart.sampling.device import CPU, Device

RECORD = json.loads(recorded.RECORD.read_text())
PLAIN = Device("plain", "plain_card")


def has_card() -> bool:
    try:
        cuda.prepare()
    except CudaUnavailableError:
        return False
    return True


needs_card = pytest.mark.skipif(not has_card(), reason="this machine has no NVIDIA card")
DEVICES = [
    pytest.param(PLAIN, id="plain"),
    pytest.param(Device("card", "cuda"), id="cuda", marks=needs_card),
]
every_card = pytest.mark.parametrize("card", DEVICES)


def use(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all fits run on a device."""
    monkeypatch.setattr(running, "resolve_device", lambda *_: device)


# ---- whole fits ----------------------------------------------------------------------------------


HARD = [name for name in recorded.NAMES if name not in recorded.SOFT_NAMES]


@every_card
@pytest.mark.parametrize("name", HARD)
def test_draws_are_those_of_the_processor(name, card, monkeypatch):
    use(card, monkeypatch)
    settings_of = recorded.class_settings
    monkeypatch.setattr(
        recorded, "class_settings", lambda *given: card.applied_to(settings_of(*given))
    )
    assert recorded.found(name) == RECORD[name]


@every_card
@pytest.mark.parametrize("name", recorded.SOFT_NAMES)
def test_soft_rules_run_on_the_processor_only(name, card, monkeypatch):
    use(card, monkeypatch)
    with pytest.raises(ValueError, match=r"soft rules .* run on the CPU only"):
        recorded.found(name)


def test_the_device_reaches_the_engine(monkeypatch):
    use(Device("none", "no such card"), monkeypatch)
    with pytest.raises(ValueError, match="no backend is called 'no such card'"):
        recorded.found("default")


@every_card
@pytest.mark.parametrize(
    "name",
    [
        *("default", "large table", "large table, weights", "two classes"),
        "scales of trees, large table",
    ],
)
def test_chains_side_by_side(name, card, monkeypatch):
    use(card, monkeypatch)
    assert recorded.found(name, n_jobs=2) == RECORD[name]


@every_card
@pytest.mark.parametrize(
    "name",
    ["weights", "Student's t", "two classes", "varying noise", "scales of trees, weights"],
)
@pytest.mark.parametrize("starts_on_card", [True, False])
def test_a_fit_goes_on_elsewhere(name, starts_on_card, card, monkeypatch, tmp_path):
    first, second = (card, CPU) if starts_on_card else (CPU, card)
    model, x, y, weights = recorded.make_model(name)
    use(first, monkeypatch)
    model.set_params(n_draws=10).fit(x, y, weights)
    assert model.device_ == first.name
    use(second, monkeypatch)
    assert recorded.digest(model.sample_more(5)) == RECORD[name]
    assert model.device_ == second.name

    path = tmp_path / "checkpoint"
    model, *_ = recorded.make_model(name)
    model.set_params(n_draws=15)
    use(first, monkeypatch)
    interrupt(model, (x, y, weights), path, monkeypatch)
    use(second, monkeypatch)
    n_done = expect_starts(monkeypatch)
    assert recorded.digest(model.fit(x, y, weights, checkpoint=path)) == RECORD[name]
    assert 0 < max(n_done) < 35


def interrupt(model: Any, data: tuple[Any, ...], path: Path, monkeypatch: Any) -> None:
    """Stop a fit after some of its sweeps, with a checkpoint."""
    run_rounds = running.run_rounds

    def stop_at_first_save(recorder: Any) -> None:
        visit = recorder.visit

        def visit_once(*given: Any) -> None:
            visit(*given)
            raise KeyboardInterrupt

        recorder.visit = visit_once

    def stopped(requests: Any, *rest: Any) -> Any:
        for request in requests:
            stop_at_first_save(request.recorder)
        return run_rounds(requests, *rest)

    with monkeypatch.context() as context:
        context.setattr(running, "run_rounds", stopped)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data, checkpoint=path, checkpoint_every=7)


def expect_starts(monkeypatch: Any) -> list[int]:
    """Return a list that gets the sweeps which chains have behind them when a fit begins."""
    run_rounds, n_done = running.run_rounds, []

    def looked_at(requests: Any, *rest: Any) -> Any:
        n_done.extend(start.n_done for each in requests for start in each.starts if start)
        return run_rounds(requests, *rest)

    monkeypatch.setattr(running, "run_rounds", looked_at)
    return n_done


# ---- chains --------------------------------------------------------------------------------------

Make = Callable[[Device], _core.Sampler]


def chains_of(
    n: int = 300, weighted: bool = False, likelihood: str = "gaussian", **changes: Any
) -> Make:
    """Return what makes a chain on a device, with missing values and a categorical column."""
    rng = np.random.default_rng(n)
    x_cont = rng.uniform(-1, 1, (3, n)).astype(np.float32)
    x_cont[1, : n // 9] = np.nan
    x_cat = rng.integers(0, 5, (1, n)).astype(np.uint32)
    data = _core.Data(x_cont, x_cat, [5])
    y = np.sin(3 * x_cont[0]) + 0.5 * x_cat[0] + 0.3 * rng.standard_normal(n)
    weights = rng.uniform(0.2, 3, n) if weighted else None
    settings = _core.Settings()
    settings.likelihood, settings.n_trees, settings.leaf_sd = likelihood, 8, 0.4
    settings.leaf_sd_fixed = False
    settings.p_change, settings.p_perturb = 0.2, 0.3
    if likelihood == "varying_noise":
        settings.more = {"df_rate": 0.1}
        settings.add_ensemble()
        second = settings.ensemble(1)
        second.n_trees, second.leaf_sd, second.leaf_model = 5, 0.3, "precision"
    for name, value in changes.items():
        setattr(settings, name, value)
    return lambda device: _core.Sampler(data, y, weights, device.applied_to(settings), 5, 1)


def assert_same_chains(one: _core.Sampler, other: _core.Sampler) -> None:
    assert_same(one.state(), other.state())
    for e in range(other.n_ensembles):
        np.testing.assert_array_equal(one.residual(e), other.residual(e))
        np.testing.assert_array_equal(one.fit(e), other.fit(e))
    assert one.check() == []


@every_card
@pytest.mark.parametrize("n", [1, 63, 1024, 1025, 5000])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_of_all_sizes(n, weighted, card):
    make = chains_of(n, weighted, min_samples_leaf=min(n, 5))
    ours, expected = make(card), make(CPU)
    for n_sweeps in (0, 1, 30):
        ours.sweep(n_sweeps)
        expected.sweep(n_sweeps)
        assert_same_chains(ours, expected)


@every_card
@pytest.mark.parametrize("n", [300, 3000])
def test_an_ensemble_on_the_card_and_one_on_the_processor(n, card):
    make = chains_of(n, likelihood="varying_noise")
    ours, expected = make(card), make(CPU)
    for chain in (ours, expected):
        chain.run(20, 5, 2, _core.Control())
    assert_same_chains(ours, expected)
    assert_same(ours.trace, expected.trace)


@every_card
@pytest.mark.parametrize("likelihood", ["gaussian", "varying_noise"])
def test_a_state_moves_between_devices(likelihood, card):
    make = chains_of(1500, weighted=likelihood == "gaussian", likelihood=likelihood)
    expected = make(CPU)
    expected.sweep(25)
    ours = make(card)
    ours.sweep(3)  # what is on the card must be replaced
    ours.set_state(expected.state())
    assert_same_chains(ours, expected)
    for chain in (ours, expected):
        chain.sweep(25)
    assert_same_chains(ours, expected)
    back = make(CPU)
    back.set_state(ours.state())
    for chain in (back, expected):
        chain.sweep(10)
    assert_same_chains(back, expected)


@every_card
def test_outcomes_and_trees_that_are_put_in(card):
    make = chains_of(2500)
    donor = make(CPU)
    donor.run(30, 2, 5, _core.Control())
    ours, expected = make(card), make(CPU)
    for chain in (ours, expected):
        chain.sweep(5)
        chain.set_ensemble(donor.draws, 1)
    assert_same_chains(ours, expected)
    for chain in (ours, expected):
        chain.sweep(5)
        chain.set_y(np.cos(np.arange(2500.0)))
    assert_same_chains(ours, expected)
    for chain in (ours, expected):
        chain.sigma = 0.7
        chain.sweep(20)
    assert_same_chains(ours, expected)


@every_card
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_with_many_leaves(weighted, card):
    """Codes of more than 127 leaves leave no room for the side of a row beside them."""
    sizes = {"n_trees": 2, "alpha": 0.999, "beta": 0.02, "sigma": 0.05, "sigma_fixed": True}
    make = chains_of(4000, weighted, **sizes, min_samples_leaf=1, p_change=0.0, p_perturb=0.0)
    expected = make(CPU)
    expected.sweep(2500)
    assert most_leaves(expected) > 140
    ours = make(card)
    ours.set_state(expected.state())
    for chain in (ours, expected):
        chain.sweep(40)
    assert_same_chains(ours, expected)
    assert most_leaves(ours) > 140


def most_leaves(chain: _core.Sampler) -> int:
    state = chain.state()
    return int((np.diff(state["node_begin"].astype(int)).max() + 1) // 2)
