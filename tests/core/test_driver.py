"""The core without Python (tests/cpp): kernels, allocations, instructions per sweep."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import instructions
import pytest

SCENARIOS = (
    "oblique",
    "axis",
    "empty_leaves",
    "missing",
    "weighted",
    "probit",
    "probit_defaults",
    "weighted_probit",
    "logit",
    "softmax",
    "causal",
    "causal_probit",
    "causal_varying",
    "categorical",
    "mixed",
    "moves",
    "theta_by_column",
    "axis_theta_by_column",
    "dense",
    "many_columns",
    "wide_trees",
    "soft",
    "soft_axis",
    "soft_threads",
    "threads",
)


@pytest.fixture(scope="module")
def driver() -> Path:
    try:
        return instructions.driver_path()
    except instructions.UnavailableError as reason:
        pytest.skip(str(reason))


def run(driver: Path, *words: str | int) -> list[dict[str, object]]:
    found = subprocess.run(
        [driver, *map(str, words)], capture_output=True, text=True, check=True, env=os.environ
    )
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_the_list_of_scenarios_is_whole(driver: Path) -> None:
    assert tuple(row["scenario"] for row in run(driver, "list")) == SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_sweep_does_not_allocate(driver: Path, scenario: str) -> None:
    n = 3000 if scenario == "threads" else 300  # one block of rows needs no second thread
    n_sweeps = {"threads": 50, "wide_trees": 300}.get(scenario, 2000)
    (row,) = run(driver, "allocations", scenario, n, 100, n_sweeps)
    assert row["allocations"] == 0


def test_ranges_over_cells_agree_with_plain_linear_programmes(driver: Path) -> None:
    (row,) = run(driver, "ranges", 5000)
    assert row["compared"] > 25_000
    assert row["worst"] < 1e-10


def test_kernels_do_what_plain_loops_do(driver: Path) -> None:
    """Bit for bit, at every instruction set that this machine has."""
    (row,) = run(driver, "kernels")
    assert "baseline" in row["tables"]
    assert row["tasks"] > 2000
    assert row["different"] == 0


def test_chains_threads_and_prediction_side_by_side(driver: Path) -> None:
    (row,) = run(driver, "threads")
    assert row["problems"] == 0


def test_what_a_hand_over_costs_is_measured(driver: Path) -> None:
    rows = run(driver, "handover", 3)
    assert [row["threads"] for row in rows] == [2, 3]
    assert 10 < rows[0]["ns"] < 1e6


def test_a_sweep_takes_no_more_instructions_than_recorded() -> None:
    """Short form of `make instructions`."""
    try:
        found = instructions.compare(instructions.SHORT)
    except instructions.UnavailableError as reason:
        pytest.skip(str(reason))
    assert not instructions.too_large(found)
