"""Ctrl-C in real processes: it stops searches, and a fit of one's own keeps its draws."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from helpers import ROOT

# A fit that ends by itself only after hours, with draws from its first moments on. Each fit that
# begins leaves a line, and so does a score.
PREPARE = """
import sys, warnings
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
from obliquebart import ObliqueBARTClassifier

class Loud(ObliqueBARTClassifier):
    def fit(self, X, y):
        print("FIT BEGINS", file=sys.stderr, flush=True)
        return super().fit(X, y)
    def score(self, X, y):
        print("SCORE BEGINS", file=sys.stderr, flush=True)
        return super().score(X, y)

X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
y = (X[:, 0] > 0).astype(int)
model = Loud(n_trees=5, n_burn=0, n_draws=100_000_000, n_chains=1)
"""
SEARCHES = {
    "cross_val_score": "cross_val_score(model, X, y, cv=3, n_jobs={n_jobs})",
    "GridSearchCV": "GridSearchCV(model, {{'n_trees': [4, 5]}}, cv=3, n_jobs={n_jobs}).fit(X, y)",
}


def interrupted(code, *, whole_group=True, wait_for="FIT BEGINS", seconds=0.5):
    """Run code, send Ctrl-C soon after a word on standard error, and return how it ended.

    A terminal sends it to all processes of the group.
    """
    path = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
    )
    try:
        first = process.stderr.readline()
        while wait_for not in first:
            assert process.poll() is None, first
            first = process.stderr.readline()
        time.sleep(seconds)
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    return process.returncode, output, first + errors


@pytest.mark.parametrize(
    ("search", "n_jobs", "whole_group"),
    [
        ("cross_val_score", 1, True),
        ("cross_val_score", 2, True),
        ("cross_val_score", 2, False),
        ("GridSearchCV", 1, True),
        ("GridSearchCV", 2, True),
    ],
)
def test_searches_stop(search, n_jobs, whole_group):
    call = SEARCHES[search].format(n_jobs=n_jobs)
    code = f"{PREPARE}\nprint('found', {call})"
    status, output, errors = interrupted(code, whole_group=whole_group)
    # Python ends as the signal says, or with an error.
    assert status in (-signal.SIGINT, 1), errors
    assert "KeyboardInterrupt" in errors
    assert "found" not in output
    assert "SCORE BEGINS" not in errors
    assert errors.count("FIT BEGINS\n") <= n_jobs
    assert "nanobind" not in errors
    assert "terminate called" not in errors


AFTER = """
try:
    model.fit(X, y)
except KeyboardInterrupt as interrupt:
    print(interrupt)
    print(model.posterior_.n_draws, model.predict_proba(X).shape)
"""


def test_a_fit_keeps_its_draws_and_raises():
    status, output, errors = interrupted(PREPARE + AFTER)
    assert status == 0, errors
    message, result = output.splitlines()
    assert message.startswith("The fit was interrupted. The model keeps ")
    n_draws, *shape = result.split(" ", 1)
    assert f"keeps {n_draws} of 100000000 draws per chain, from 1 of 1 chains" in message
    assert shape == ["(80, 2)"]


def test_a_script_ends_with_the_message():
    status, output, errors = interrupted(PREPARE + "\nmodel.fit(X, y)\nprint('on')")
    assert status == -signal.SIGINT
    assert output == ""
    assert "KeyboardInterrupt: The fit was interrupted. The model keeps" in errors
    assert "nanobind" not in errors
