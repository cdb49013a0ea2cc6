"""Simulated effects of treatments: the problems, the figures of a fit, and the cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import causal
import causal_study
import numpy as np
import pandas as pd
import pytest
from causal_study import Cache, Effects, Line, Method, Problem, Study, Unit

N_ROWS = 8


def _toy_problem(replicate: int) -> Problem:
    x = pd.DataFrame({"x": np.arange(N_ROWS, dtype=float)})
    effect = np.linspace(0.0, 7.0, N_ROWS) + replicate
    z = np.arange(N_ROWS) % 2.0
    return Problem(x, z * effect, z, effect)


def _guess(problem: Problem, shift: float = 0.0) -> Effects:
    """Draws around the truth, all of them one to each side of it."""
    both = np.array([-1.0, 1.0])[:, None]
    return Effects(problem.effect + shift + both, n_sweeps=10)


def _guesses(problems: Sequence[Problem]) -> list[Effects]:
    """The same for problems that have one shape."""
    assert len({problem.numbers().shape for problem in problems}) == 1
    return [_guess(problem) for problem in problems]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    adapter = ModuleType("adapters.toys")
    adapter.right = _guess  # type: ignore[attr-defined]
    adapter.rights = _guesses  # type: ignore[attr-defined]
    adapter.wrong = partial(_guess, shift=3.0)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "adapters.toys", adapter)
    methods = {
        "mine": Method("toys", "right", ours=True),
        causal_study.STOCHTREE: Method("toys", "wrong"),
    }
    return Study("toys", {"a": _toy_problem}, methods)


def _lines(study: Study, n_replicates: int = 3) -> list[Line]:
    units = [Unit("a", r, method) for r in range(n_replicates) for method in study.methods]
    return [{**unit._asdict(), **study.run(unit)} for unit in units]


def test_figures_of_a_fit(study: Study) -> None:
    right, wrong = _lines(study, 1)
    assert right["ate"] == pytest.approx(right["ate_true"]) == pytest.approx(3.5)
    assert right["cate_rmse"] == pytest.approx(0.0)
    assert right["cate_cover"] == 1.0
    assert right["cate_width"] == pytest.approx(2 * causal_study.COVERAGE)
    assert wrong["cate_rmse"] == pytest.approx(3.0)
    assert wrong["cate_cover"] == 0.0
    assert not wrong["ate_low"] <= wrong["ate_true"] <= wrong["ate_high"]


def test_methods_face_the_same_replicates(study: Study) -> None:
    lines = _lines(study)[:-1]  # the last replicate of one method is missing
    found = causal_study.shared_lines(lines, list(study.methods))
    assert [len(of) for of in found["a"].values()] == [2, 2]


def test_report_says_who_is_ahead(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    rows = causal_study.report(study, _lines(study), list(study.methods))
    assert [row["ATE cover"] for row in rows] == [1.0, 0.0]
    assert rows[1]["ATE bias"] == pytest.approx(3.0)
    assert "mine: CATE rmse not above the better peer's in 1 of 1" in capsys.readouterr().out


def test_cache_goes_on(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "toys.jsonl"
    cache = Cache(path)
    first, second, *_ = _lines(study)
    cache.add(first)
    cache.add({**Unit("a", 0, causal_study.STOCHTREE)._asdict(), "error": "no such thing"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"setting": "a", "repl')  # a run that was stopped
    again = Cache(path)
    assert again.has(Unit("a", 0, "mine"))
    assert not again.has(Unit("a", 0, causal_study.STOCHTREE))
    assert not again.has(Unit("a", 1, "mine"))
    assert second["method"] == causal_study.STOCHTREE


def test_many_fits_at_once(study: Study, tmp_path: Path) -> None:
    def smaller(replicate: int) -> Problem:
        problem = _toy_problem(replicate)
        return Problem(problem.x[:4], problem.y[:4], problem.z[:4], problem.effect[:4])

    study = replace(study, settings={"a": _toy_problem, "b": smaller})
    units = [Unit(setting, r, "mine") for r in range(3) for setting in "ab"]
    # Three replicates are a whole batch and one that is filled.
    sizes = [[unit.setting for unit in batch] for batch in causal_study.batches(study, units, 2)]
    assert sizes == [["a", "a"], ["b", "b"], ["a"], ["b"]]
    cache = Cache(tmp_path / "toys.jsonl")
    causal_study.run_together(study, cache, units, size=2, seconds=100)
    assert set(cache.lines) == set(units)
    for unit in units:
        alone = study.run(unit)
        assert all(cache.lines[unit][key] == alone[key] for key in ("ate", "cate_rmse", "n"))


def test_no_batch_is_begun_when_time_is_over(study: Study, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "toys.jsonl")
    causal_study.run_together(study, cache, [Unit("a", 0, "mine")], size=2, seconds=-1)
    assert not cache.lines


def test_lengths_are_not_mixed() -> None:
    short = causal.STUDY.of_length("short")
    assert short.question != causal.STUDY.question
    assert causal.STUDY.of_length("long") == causal.STUDY
    kept = dict(short.methods[causal_study.STOCHTREE].settings)["n_draws"]
    for name in (causal_study.OURS, causal_study.ONE_CHAIN, causal_study.BARTZ):
        assert dict(short.methods[name].settings)["n_draws"] == kept


def test_fits_have_processes_of_their_own(tmp_path: Path) -> None:
    nothing = Study("causal", causal.PAPER, {"absent": Method("no_such_adapter", "forest")})
    unit = Unit(next(iter(causal.PAPER)), 0, "absent")
    cache = Cache(tmp_path / "causal.jsonl")
    causal_study.run(nothing, cache, [unit], jobs=1, seconds=100)
    assert "ModuleNotFoundError" in cache.lines[unit]["error"]


@pytest.mark.parametrize("name", causal.STUDY.settings)
def test_settings(name: str) -> None:
    problem = causal.STUDY.settings[name](5)
    assert len(problem.y) == int(name.split()[-1])
    # Both arms are possible for all rows, and the more likely one depends on the outcome.
    assert 0.3 < problem.z.mean() < 0.7
    noise = problem.y - problem.effect * problem.z
    assert noise[problem.z == 1].mean() > noise[problem.z == 0].mean() + 1
    same = causal.STUDY.settings[name](5)
    assert (same.y == problem.y).all()
    assert problem.numbers().shape[1] == 7


def test_effects_of_the_paper() -> None:
    x = pd.DataFrame(
        {
            "x1": [1.0, 2.0, 0.0],
            "x2": [3.0, 4.0, 5.0],
            "x3": [1.0, -1.0, 0.0],
            "x4": pd.Categorical(["1", "2", "3"], categories=["1", "2", "3"]),
            "x5": [0.0, 1.0, 1.0],
        }
    )
    assert causal.heterogeneous(x).tolist() == [1.0, 9.0, 11.0]
    assert causal.homogeneous(x).tolist() == [3.0] * 3
    assert causal.linear(x).tolist() == [4.0, -2.0, -3.0]
    assert causal.nonlinear(x).tolist() == [-4.0, 5.0, -4.0]
