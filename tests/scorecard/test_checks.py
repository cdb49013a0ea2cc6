"""Short forms of the scripts of the scorecard: seconds each, and each can fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers import ROOT
from scorecard import full_disk, interrupts, kills, many_readers, memory_limit
from scorecard.finding import FIGURE, finish

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and kills")


def script(path, *words):
    """Run a script in a process of its own, and return its figure."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / path, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.rpartition(FIGURE)[2].strip()


def test_problems_are_counted(capsys):
    assert finish("12 runs", []) == 0
    assert finish("12 runs", ["one crashed"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["FIGURE 12 runs", "PROBLEM one crashed", "FIGURE 1 problems; 12 runs"]


def test_fuzz(tmp_path):
    figure = script("files/fuzz/run.py", "--seconds", 4, "--seed", 1, "--folder", tmp_path)
    assert "no find" in figure
    assert all(kind in figure for kind in ("model (", "checkpoint (", "CSV ("))


# ---- kill ----------------------------------------------------------------------------------------


def test_killed_saves(tmp_path, rng):
    _, problems = kills.kill_saves(5, tmp_path, rng)
    assert problems == []


def test_a_save_in_place_is_noticed(tmp_path, rng, monkeypatch):
    """That is, one that leaves half a file when it is killed."""

    def in_place(path, data):
        with open(path, "wb", buffering=0) as file:
            for begin in range(0, len(data), 1000):
                file.write(data[begin : begin + 1000])
                time.sleep(0.001)

    monkeypatch.setattr("obliquebart.files.model_file.write_file", in_place)
    _, problems = kills.kill_saves(5, tmp_path, rng)
    assert problems


# ---- disk ----------------------------------------------------------------------------------------


def test_a_full_disk(tmp_path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "disk").mkdir()
    kit = full_disk.new_kit(tmp_path / "kit")
    with full_disk.Disk(tmp_path / "disk") as disk:
        rooms = [None, 0, 16384] if disk.has_mount else [0, 16384]
        for room in rooms:
            for name in ("save", "report", "checkpoint"):
                assert full_disk.attempt(name, kit, disk, room, True) == (True, ""), (name, room)
        assert full_disk.attempt("predict -o CSV", kit, disk, 4096, True) == (True, "")
        assert full_disk.attempt("save", kit, disk, 10_000_000, True) == (False, "")


def test_a_lost_old_file_is_noticed(tmp_path, monkeypatch):
    def in_place(path, data):
        path.write_bytes(b"")
        path.write_bytes(data)

    (tmp_path / "kit").mkdir()
    (tmp_path / "disk").mkdir()
    kit = full_disk.new_kit(tmp_path / "kit")
    monkeypatch.setattr("obliquebart.files.model_file.write_file", in_place)
    with full_disk.Disk(tmp_path / "disk") as disk:
        assert "old file" in full_disk.attempt("save", kit, disk, 4096, True)[1]


# ---- memory --------------------------------------------------------------------------------------


def test_little_memory():
    figure = script("scorecard/memory_limit.py", "--step", 24, "--only", "fit", "predict")
    n_runs, n_fine, n_refused = (int(word) for word in figure.split() if word.isdigit())
    assert n_runs == n_fine + n_refused
    assert n_fine >= 4
    assert n_refused >= 2


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "crash (SIGKILL)"),
        (lambda: {}["x"], memory_limit.OTHER),
        (lambda: np.zeros(10**9), memory_limit.NO_MEMORY),
        (lambda: 1, memory_limit.CHANGED),
        (lambda: 0, memory_limit.FINE),
    ],
)
def test_what_a_child_may_come_to(operation, expected, tmp_path):
    limited = memory_limit.Limited(lambda: 0, tmp_path / "log")
    limited._operation = operation
    assert limited.run(100 * memory_limit.MEGABYTE) == expected


def test_many_fits():
    """In a process of its own, whose memory nothing else has filled before."""
    assert script("scorecard/many_fits.py", "--fits", 200).startswith("200 fits of ten kinds")


LEAKING = """
import sys
import numpy as np
from helpers import small_files
from scorecard import many_fits
kept = []
leak = lambda seed: kept.append(np.ones(10**6)) or small_files.small_regressor()
many_fits.fits = lambda: [leak]
sys.exit(many_fits.main(["--fits", "20"]))
"""


def test_a_leak_is_noticed():
    """In a process of its own as well: memory from before would have room for the leak."""
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", LEAKING],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the process grew by" in done.stdout


def test_many_readers(tmp_path):
    path = tmp_path / "model.obart"
    many_readers.save_model(path)
    n_done, _, problems = many_readers.run(2, 1.0, path)
    assert problems == []
    assert n_done >= 2 * 4 * many_readers.PER_LOAD


# ---- Ctrl-C --------------------------------------------------------------------------------------


def test_interrupts():
    """The times depend on what else this machine does, so here they have room."""
    cases = interrupts.cases(20_000)
    for name in ("small", "16 chains", "large, two threads"):
        found = interrupts.latency(cases[name], 0.2)
        assert isinstance(found, float), found
        assert 0.0 < found < 10.0


def test_interrupts_with_a_checkpoint(tmp_path):
    assert interrupts.lose_nothing(5, tmp_path) == []


def test_fits_that_swallow_the_interrupt_are_noticed():
    def stubborn():
        try:
            time.sleep(5.0)
        except KeyboardInterrupt:
            return

    assert interrupts.latency(interrupts.Case(stubborn, 0.1), 0.1) == "the fit ended by itself"
