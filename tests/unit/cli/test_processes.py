"""Commands in a process of their own: time limits, Ctrl-C, closed pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import obliquebart
from helpers.command_line import QUICK, run


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "obliquebart", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


# Seconds in which an interrupted fit ends on any machine, however busy.
PATIENCE = 300


def interrupted(*words, again=()):
    """Send Ctrl-C a second after the fit has begun.

    Others follow `again`: after so many seconds, or when standard error has a word.
    """
    with start(*words) as process:
        try:
            while "Target" not in process.stderr.readline():
                assert process.poll() is None
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            before = ""
            for moment in again:
                while isinstance(moment, str) and moment not in before:
                    before += process.stderr.readline()
                    assert process.poll() is None, before
                if isinstance(moment, float):
                    time.sleep(moment)
                process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    errors = before + errors
    for noise in ("Traceback", "Exception ignored", "nanobind", "terminate"):
        assert noise not in errors
    # A shell says 130 to both. CPython ends by the signal if it came while text was executed, as
    # where a dataclass is made.
    assert process.returncode in (130, -signal.SIGINT), errors
    return output, errors


def test_fit_until_the_chains_agree(folder, tmp_path):
    path = tmp_path / "m.obart"
    args = ["--n-trees", "10", "--n-burn", "30", "--n-chains", "2", "--seed", "1", "-o", path]
    run("fit", folder / "data.csv", "-t", "y", "--n-draws", "auto", *args)
    posterior = obliquebart.load(path).posterior_
    assert posterior.n_draws == 500
    run("fit", folder / "data.csv", "-t", "y", *args)
    assert obliquebart.load(path).posterior_.schedule == posterior.schedule
    result = run("fit", folder / "data.csv", "-t", "y", "--n-draws", "many", *args, code=1)
    assert "n_draws='many' must be" in " ".join(result.stderr.split())


def test_fit_for_a_limited_time(folder, tmp_path):
    path = tmp_path / "m.obart"
    words = ["fit", folder / "data.csv", "-t", "y", "-o", path, *QUICK, "--n-draws", "1000000"]
    result = run(*words, "--max-seconds", "0.5", "--json")
    assert "reached max_seconds" in " ".join(result.stderr.split())
    assert json.loads(result.stdout)["interrupted"] is False
    assert 1 <= obliquebart.load(path).posterior_.n_draws < 1_000_000
    path.unlink()
    slow = ["--n-burn", "10000000", "--max-seconds", "0.1"]
    result = run(*words, *slow, code=1)
    assert "allow more time" in " ".join(result.stderr.split())
    assert not path.exists()


def test_an_interrupt_keeps_the_draws(folder, tmp_path):
    path = tmp_path / "m.obart"
    args = ["--n-burn", "0", "--n-trees", "50", "--set", "n_thin=500", "--json"]
    output, errors = interrupted("fit", folder / "data.csv", "-t", "y", "-o", path, *args)
    assert "The fit was interrupted before the chains had converged. The model keeps" in errors
    assert json.loads(output)["interrupted"] is True
    assert 1 <= obliquebart.load(path).posterior_.n_draws < 1000


def test_a_second_interrupt_does_not_deny_the_model(folder, tmp_path):
    path = tmp_path / "m.obart"
    args = ["--n-burn", "0", "--n-trees", "50", "--set", "n_thin=500"]
    words = ["fit", folder / "data.csv", "-t", "y", "-o", path, *args]
    _, errors = interrupted(*words, again=["Saved"])
    assert "the model was saved to" in " ".join(errors.split())
    assert "no model was saved" not in errors
    assert obliquebart.load(path).posterior_.n_draws >= 1


@pytest.mark.parametrize("again", [[0.0], [0.01, 0.05], [0.1, 0.1, 0.1, 0.1]])
def test_impatient_interrupts_tell_the_truth(folder, tmp_path, again):
    path = tmp_path / "m.obart"
    args = ["--n-burn", "0", "--n-trees", "50", "--set", "n_thin=500"]
    words = ["fit", folder / "data.csv", "-t", "y", "-o", path, *args]
    _, errors = interrupted(*words, again=again)
    told = " ".join(errors.split())
    if path.exists():
        assert "no model was saved" not in told
        assert obliquebart.load(path).posterior_.n_draws >= 1
    else:
        assert "Interrupted:" in told
        assert "the model was saved to" not in told


def test_an_interrupt_before_the_first_draw(folder, tmp_path):
    path = tmp_path / "m.obart"
    args = ["--n-burn", "10000000"]
    _, errors = interrupted("fit", folder / "data.csv", "-t", "y", "-o", path, *args)
    assert "no model was saved" in errors
    assert not path.exists()


def test_a_closed_pipe_is_no_error(folder):
    process = start("predict", folder / "y.obart", folder / "data.csv")
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert errors == ""
