"""Contests of methods on tables: the cache, units that fail, and the scores."""

from __future__ import annotations

import math
import os
import sys
import time
from functools import partial
from types import ModuleType

import contest
import noise
import numpy as np
import outcome_tables
import pandas as pd
import pytest
import survival
from contest import AbsentError, Cache, Contest, Method, Unit
from outcome_tables import Split, Table

N_ROWS = 40


def _fine(split: Split, shift: float = 0.0) -> np.ndarray:
    return np.full(len(split.test), split.y_train.mean() + shift)


def _fails(_: Split) -> None:
    raise ValueError("no such thing")


def _dies(_: Split) -> None:
    os._exit(3)


def _hangs(_: Split) -> None:
    time.sleep(60)


def _absent(_: Split) -> None:
    raise AbsentError("not in this version")


def _error(split: Split, forecast: np.ndarray) -> dict[str, float]:
    return {"error_sd": float(np.abs(split.y_test - forecast).mean())}


def _toy(*_: str) -> Table:
    return Table("toy", pd.DataFrame({"x": np.arange(N_ROWS)}), np.arange(N_ROWS, dtype=float))


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Contest:
    adapter = ModuleType("adapters.toys")
    methods = {"good": _fine, "bad": partial(_fine, shift=100.0)}
    methods |= {"fails": _fails, "dies": _dies, "hangs": _hangs, "absent": _absent}
    for name, function in methods.items():
        setattr(adapter, name, function)
    monkeypatch.setitem(sys.modules, "adapters.toys", adapter)
    monkeypatch.setattr(outcome_tables, "load", _toy)
    return Contest(
        question="toys",
        kind="regression",
        methods={name: Method("toys", name, ours=name == "bad") for name in methods},
        measure=_error,
        columns={"error_sd": False},
    )


def _run(toys: Contest, cache: Cache, *methods: str, n_splits: int = 1) -> None:
    units = [Unit("toy", split, method) for split in range(n_splits) for method in methods]
    contest.run(toys, cache, units, 1, 5.0 if "hangs" not in methods else 0.5)


def test_what_was_run_is_found_again(toys, tmp_path):
    _run(toys, Cache(tmp_path / "toys.jsonl"), "good", "bad")
    found = Cache(tmp_path / "toys.jsonl").lines
    assert set(found) == {Unit("toy", 0, "good"), Unit("toy", 0, "bad")}


@pytest.mark.parametrize(
    ("method", "words"),
    [("fails", "no such thing"), ("dies", "died (3)"), ("hangs", "more than 0 s")],
)
def test_a_unit_that_does_not_end_well_is_a_line_with_an_error(toys, tmp_path, method, words):
    cache = Cache(tmp_path / "toys.jsonl")
    _run(toys, cache, method, "good")
    assert words in cache.lines[Unit("toy", 0, method)]["error"]
    assert "error" not in cache.lines[Unit("toy", 0, "good")]


def test_a_method_that_is_not_there_yet_is_not_kept(toys, tmp_path):
    cache = Cache(tmp_path / "toys.jsonl")
    _run(toys, cache, "absent")
    assert cache.lines == {}


def test_means_are_over_splits_that_all_methods_have(toys, tmp_path):
    cache = Cache(tmp_path / "toys.jsonl")
    _run(toys, cache, "good", n_splits=2)
    _run(toys, cache, "bad", n_splits=1)
    found = contest.means(toys, cache.lines.values())["toy"]
    assert found["good"]["splits"] == 1
    assert found["good"]["error_sd"] == cache.lines[Unit("toy", 0, "good")]["error_sd"]


def test_the_report_says_who_loses(toys, tmp_path, capsys):
    cache = Cache(tmp_path / "toys.jsonl")
    _run(toys, cache, "good", "bad")
    contest.report(toys, list(cache.lines.values()), ["bad", "good"])
    assert "bad loses on 1 of 1 tables: toy" in capsys.readouterr().out


def test_splits_are_the_same_every_time_and_cover_all_rows():
    table = _toy()
    one, again = outcome_tables.split(table, 1), outcome_tables.split(table, 1)
    assert np.array_equal(one.test, again.test)
    assert not np.array_equal(one.test, outcome_tables.split(table, 2).test)
    assert sorted([*one.train, *one.test]) == list(range(N_ROWS))


def test_crps_of_normal_samples_is_that_of_the_formula():
    # At the mean of a normal distribution it is sd (sqrt(2) - 1) / sqrt(pi); the standard error
    # with 20,000 samples is below 0.005.
    samples = np.random.default_rng(0).normal(1.0, 2.0, (20_000, 1))
    expected = 2 * (math.sqrt(2) - 1) / math.sqrt(math.pi)
    assert noise.crps(samples, np.array([1.0])) == pytest.approx(expected, abs=0.02)


def test_kaplan_meier_of_a_case_by_hand():
    # Deaths at 1 and 3, a row censored at 2: (1 - 1/4) (1 - 1/2).
    y = np.array(
        [(True, 1.0), (False, 2.0), (True, 3.0), (False, 4.0)],
        dtype=[("event", bool), ("time", float)],
    )
    assert survival._kaplan_meier(y, 3.5) == pytest.approx(0.375)
