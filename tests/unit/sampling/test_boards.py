"""Progress below the cell of a notebook; that of terminals is tested with runs."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from helpers.fake_notebook import FakeNotebook
from obliquebart import ConvergenceWarning, ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.sampling import boards
from obliquebart.sampling.boards import ChainLine, NotebookBoard

SMALL = {"n_trees": 10, "n_burn": 20, "n_draws": 30, "n_chains": 3, "n_jobs": 1, "random_state": 0}


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setattr("obliquebart.sampling.progress.QUIET_SECONDS", 0.0)
    monkeypatch.setattr(boards, "NOTEBOOK_SECONDS", 0.0)
    return FakeNotebook(monkeypatch)


def test_a_fit_in_a_notebook_shows_bars_and_leaves_a_line(notebook, capfd):
    X = np.random.default_rng(0).uniform(size=(200, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # So few draws of this model do not agree yet.
        warnings.simplefilter("ignore", ConvergenceWarning)
        ObliqueBARTRegressor(**SMALL, progress="auto").fit(X, 1e6 * X[:, 0])
    assert capfd.readouterr() == ("", "")
    (versions,) = notebook.outputs
    assert len(versions) >= 2
    assert versions[0]["text/html"].count("<progress") == 3
    assert 'aria-label="chain 3"' in versions[0]["text/html"]
    last = versions[-1]["text/html"]
    assert "<progress" not in last
    assert re.search(r"3 chains, 50 sweeps, \d+ s\.", last)
    assert versions[-1]["text/plain"] == "150 of 150 sweeps"


def test_classes_have_an_output_each_that_names_them(notebook):
    X = np.arange(30.0).reshape(-1, 1)
    model = ObliqueBARTClassifier(**SMALL, multiclass="one_vs_rest", progress=True)
    model.fit(X, np.repeat(["a", "<b>", "c"], 10))
    lines = [versions[-1]["text/html"] for versions in notebook.outputs]
    assert len(lines) == 3
    assert "&lt;b&gt; 3 chains" in lines[0]


def test_a_silent_fit_shows_nothing(notebook):
    ObliqueBARTRegressor(**SMALL, progress=False).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    assert notebook.outputs == []


def test_what_the_bars_say(notebook, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("obliquebart.sampling.boards.time.monotonic", lambda: next(clock))
    board = NotebookBoard(began=0.0)
    board.show([ChainLine("chain 1", 0, 100, "waiting"), ChainLine("chain 2", 0, 100, "waiting")])
    board.tell("550 sweeps: R-hat < 2")
    board.show([ChainLine("chain 1", 40, 100, "σ 5"), ChainLine("chain 2", 0, 100, "waiting")])
    board.close()
    first, second, last = (version["text/html"] for version in notebook.outputs[0])
    assert "left</p>" not in first
    assert "550 sweeps: R-hat &lt; 2" in second
    assert 'max="100" value="40"' in second
    assert "40 of 100" in second
    assert re.search(r"about \d+ min left</p>", second)
    assert "2 chains, stopped after 0 to 40 of 100 sweeps" in last


def test_bars_are_not_sent_too_often(monkeypatch):
    notebook = FakeNotebook(monkeypatch)
    board = NotebookBoard(began=0.0)
    for done in range(50):
        board.show([ChainLine("chain 1", done, 100, "")])
    assert len(notebook.outputs[0]) == 1
