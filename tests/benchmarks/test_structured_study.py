"""Benchmarks of images and curves: tasks, the figures of a fit, and who is ahead."""

from __future__ import annotations

import sys
from types import ModuleType

import curves
import images
import numpy as np
import pytest
import structured_study
from causal_study import Line, Unit
from structured_data import Rows
from structured_study import Method, Study, Task, measure, split


def _classes(seed: int) -> Task:
    x = np.eye(2)[[0, 1, 0, 1]]
    return Task(x, np.array([0, 1, 0, 1]), x, np.array([0, 1, 0, 1]), (2,), seed)


def _numbers(seed: int) -> Task:
    x = np.arange(4.0)[:, None]
    return Task(x, x[:, 0], x, x[:, 0], (1,), seed)


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    adapter = ModuleType("adapters.toys")
    adapter.right = lambda task: task.x_test  # type: ignore[attr-defined]
    adapter.wrong = lambda task: 1 - task.x_test  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "adapters.toys", adapter)
    methods = {
        "mine": Method("toys", "right", kind="ours"),
        "theirs": Method("toys", "wrong", kind="tree"),
    }
    return Study("toys", {"a": _classes}, methods)


def _lines(study: Study) -> list[Line]:
    units = [Unit("a", seed, method) for seed in range(2) for method in study.methods]
    return [{**unit._asdict(), **study.run(unit)} for unit in units]


def test_figures_of_classes_and_numbers() -> None:
    found = measure(_classes(0), np.array([[0.8, 0.2], [0.2, 0.8], [0.0, 1.0], [0.5, 0.5]]))
    smallest = structured_study.SMALLEST / (1 + structured_study.SMALLEST)
    expected = -np.log([0.8, 0.8, smallest, 0.5]).mean()
    assert (found["accuracy"], found["n_test"]) == (0.5, 4)
    assert found["log_loss"] == pytest.approx(expected)
    found = measure(_numbers(0), np.array([1.0, 1.0, 2.0, 3.0]))
    assert found["rmse"] == pytest.approx(0.5)
    assert found["r2"] == pytest.approx(1 - 0.25 / 1.25)


def test_the_report_says_who_is_ahead(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    rows = structured_study.report(study, _lines(study), list(study.methods))
    assert [(row["method"], row["accuracy"], row["seeds"]) for row in rows] == [
        ("mine", 1.0, 2),
        ("theirs", 0.0, 2),
    ]
    assert "mine on a, accuracy: ahead of theirs by 1.0000" in capsys.readouterr().out


def test_splits_are_disjoint_and_repeatable() -> None:
    rows = Rows(np.arange(60.0)[:, None], np.arange(60) % 3, (1,))
    one, same, other = (split(rows, seed, 30, 12) for seed in (0, 0, 1))
    assert not set(one.x_train.ravel()) & set(one.x_test.ravel())
    assert (np.bincount(one.y_train) == 10).all()
    assert (one.x_train == same.x_train).all()
    assert (one.x_train != other.x_train).any()


@pytest.mark.parametrize("make", [images.bars, images.circles, curves.bumps])
def test_synthetic_classes_differ(make) -> None:
    task = make(0, n_train=40)
    assert task.x_train.shape == (40, np.prod(task.shape))
    assert set(task.y_train) == {0, 1}
    # Discs and bumps have more mass; bars differ in the direction along which they vary.
    images_ = task.x_test.reshape(-1, *task.shape)
    size = images_.mean(axis=2).var(axis=1) if make is images.bars else images_.sum(axis=-1)
    size = size.reshape(len(images_), -1).sum(axis=1)
    assert size[task.y_test == 1].mean() > 1.2 * size[task.y_test == 0].mean()


def test_methods_name_functions_that_exist() -> None:
    for study in (images.STUDY, curves.STUDY):
        for method in study.methods.values():
            assert callable(
                getattr(structured_study.adapters.load(method.adapter), method.function)
            )
