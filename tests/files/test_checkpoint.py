"""Checkpoints: killed, interrupted and full-disk fits go on, and end with the same draws."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest

import obliquebart
from helpers import ROOT, small_files
from helpers.automatic import bytes_of
from helpers.checkpoints import AUTO, PLAIN_NOISE, stopped_after, sweeps_in, table
from obliquebart import (
    CheckpointWarning,
    ModelFileError,
    ObliqueBARTClassifier,
    ObliqueBARTRegressor,
)
from obliquebart.directions import Axis, Sparse
from obliquebart.files import checkpoint, container
from obliquebart.files.container import Contents

SMALL = {"n_trees": 8, "n_burn": 20, "n_draws": 30, "n_chains": 2, "progress": False}
SMALL["random_state"] = 5
# Long enough to be stopped in the middle.
LONGER = {**SMALL, **PLAIN_NOISE, "n_burn": 300, "n_draws": 700, "n_thin": 3, "n_trees": 20}


@pytest.fixture
def data():
    return table()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


# ---- killed --------------------------------------------------------------------------------------


def kill(tmp_path, n_kills, seed):
    """Kill fits; return how often at each point, and whether one was after its first round."""
    script = ROOT / "tests" / "helpers" / "killing.py"
    result = subprocess.run(
        [sys.executable, script, tmp_path, str(n_kills), str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    scenarios = json.loads(result.stdout)
    is_late = any(max(s["n_burn"], default=0) > 50 for s in scenarios if s["kind"] == "auto")
    by_point = {}
    for scenario in scenarios:
        assert scenario["finished"], result.stderr
        assert scenario["identical"], scenario
        assert scenario["leftovers"] == [], scenario
        for point, n in scenario["kills"].items():
            by_point[point] = by_point.get(point, 0) + n
    return by_point, is_late


def test_killed_fits_go_on_to_the_same_draws(tmp_path, seed):
    for attempt in range(4):  # moments are random, and may all be early on a busy machine
        (tmp_path / str(attempt)).mkdir()
        by_point, is_late = kill(tmp_path / str(attempt), 30, seed + attempt)
        assert sum(by_point.values()) >= 30
        assert min(by_point.values()) >= 1
        if is_late:
            return
    pytest.fail("no fit was killed after its first round")


# ---- interrupted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_sweeps", [50, 301, 800])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_fits_go_on_to_the_same_draws(data, path, n_sweeps, n_jobs, monkeypatch):
    undisturbed = ObliqueBARTRegressor(**LONGER).fit(*data)
    model = ObliqueBARTRegressor(**LONGER, n_jobs=n_jobs)
    for times in (1, 2):
        with stopped_after(n_sweeps * times, monkeypatch):
            model.fit(*data, checkpoint=path)
        assert (sweeps_in(path)[0] or 0) >= n_sweeps * times
    model.fit(*data, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)


@pytest.mark.parametrize("multiclass", ["joint", "one_vs_rest"])
def test_a_checkpoint_changes_nothing(data, path, multiclass):
    X, y = data
    model = ObliqueBARTClassifier(**{**AUTO, "n_trees": 4}, multiclass=multiclass)
    undisturbed = bytes_of(model.fit(X, np.digitize(y, [-0.5, 0.5])))
    assert bytes_of(model.fit(X, np.digitize(y, [-0.5, 0.5]), checkpoint=path)) == undisturbed


@pytest.mark.filterwarnings("ignore::obliquebart.TimeLimitWarning")
def test_more_time_goes_on_from_the_checkpoint(data, path):
    slow = {**LONGER, "n_trees": 200}
    undisturbed = ObliqueBARTRegressor(**slow).fit(*data)
    model = ObliqueBARTRegressor(**slow)
    with contextlib.suppress(TimeoutError):
        model.fit(*data, checkpoint=path, max_seconds=0.05)
    assert 0 < sum(filter(None, sweeps_in(path))) < 2 * 2400
    model.fit(*data, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)


def test_fits_interrupted_within_a_sweep_go_on_to_the_same_draws(path, monkeypatch):
    """With this many rows and trees a sweep itself can be stopped, and is then done again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90_000, 2))
    y = X[:, 0] + rng.normal(size=90_000)
    parameters = {**SMALL, "n_trees": 200, "n_burn": 10, "n_draws": 10, "n_chains": 1}
    undisturbed = ObliqueBARTRegressor(**parameters).fit(X, y)
    model = ObliqueBARTRegressor(**parameters)
    for n_sweeps in (2, 7, 15):
        with stopped_after(n_sweeps, monkeypatch):
            model.fit(X, y, checkpoint=path, checkpoint_every=5)
    model.fit(X, y, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)


def test_an_interrupted_fit_can_sample_on(data, monkeypatch):
    model = ObliqueBARTRegressor(**LONGER, n_jobs=2)
    with stopped_after(600, monkeypatch):
        model.fit(*data)
    n_draws = model.posterior_.n_draws
    assert n_draws < 700
    model.sample_more(10)
    assert model.posterior_.n_draws == n_draws + 10
    trace = model.posterior_.trace["n_leaves"]
    n_leaves = model.posterior_.draws.to_arrays()["outputs"].size
    assert round(trace.sum() * model.n_trees) == n_leaves


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_interrupted_sample_more(data, n_classes, monkeypatch):
    X, y = data
    labels = np.digitize(y, [0.0] if n_classes == 2 else [-0.5, 0.5])
    model = ObliqueBARTClassifier(**SMALL, multiclass="one_vs_rest").fit(X, labels)
    before = bytes_of(model)
    if n_classes == 2:
        with stopped_after(1, monkeypatch):
            model.sample_more(10**6)
        assert model.posterior_.n_chains == 2
        assert model.posterior_.n_draws >= 30
    else:
        with stopped_after(1, monkeypatch):
            model.sample_more(10**6)
        # One class without new draws is no model, so nothing was added.
        assert bytes_of(model) == before
    model.predict_proba(X)


# ---- the disk is full ----------------------------------------------------------------------------


def fit_on_a_full_disk(data, path, make_room):
    undisturbed = ObliqueBARTRegressor(**LONGER).fit(*data)
    model = ObliqueBARTRegressor(**LONGER)
    with pytest.warns(CheckpointWarning, match="could not be written .*continues"):
        model.fit(*data, checkpoint=path, checkpoint_every=100)
    # The fit itself has lost nothing.
    assert bytes_of(model) == bytes_of(undisturbed)
    assert os.listdir(path.parent) == [path.name]
    n_done = sum(filter(None, sweeps_in(path)))
    assert 0 < n_done < 2 * 2400
    make_room()
    again = ObliqueBARTRegressor(**LONGER).fit(*data, checkpoint=path)
    assert bytes_of(again) == bytes_of(undisturbed)
    assert sweeps_in(path) == [2400, 2400]


def test_a_full_disk(data, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or mount is None or subprocess.run(command, check=False).returncode:
        pytest.skip("only root can make a small disk")
    try:
        remount = [mount, "-o", "remount,size=50m", str(disk)]
        fit_on_a_full_disk(data, disk / "run.ckpt", lambda: subprocess.run(remount, check=True))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_limited_file_size(data, path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        make_room = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))  # noqa: E731
        fit_on_a_full_disk(data, path, make_room)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_warnings_as_errors_stop_the_fit(data, path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    ObliqueBARTRegressor(**SMALL).fit(*data, checkpoint=path)
    before = path.read_bytes()
    path.unlink()
    original = checkpoint.write_file
    calls = []
    monkeypatch.setattr(
        checkpoint,
        "write_file",
        lambda *args: calls.append(1) or (original if len(calls) < 3 else fail)(*args),
    )
    with pytest.raises(CheckpointWarning, match="No space left"):
        ObliqueBARTRegressor(**SMALL).fit(*data, checkpoint=path, checkpoint_every=5)
    monkeypatch.undo()
    ObliqueBARTRegressor(**SMALL).fit(*data, checkpoint=path)
    assert path.read_bytes() == before


# ---- whose checkpoint is it? ---------------------------------------------------------------------

OTHERS = {
    "X": (lambda X, y: ({**X, "a": X["b"]}, y), {}, "different X"),
    "y": (lambda X, y: (X, y**3), {}, "different y"),
    "sample_weight": (lambda X, y: (X, y, np.arange(1, 81)), {}, "different sample_weight"),
    "categories": (lambda X, y: ({**X, "c": X["c"][::-1]}, y), {}, "different X"),
    "rows": (
        lambda X, y: ({k: v[1:] for k, v in X.items()}, y[1:]),
        {},
        "different X and a different y",
    ),
    "alpha": (lambda *data: data, {"alpha": 0.5}, "made with alpha=0.95, not 0.5"),
    "n_trees": (lambda *data: data, {"n_trees": 9}, "made with n_trees=8, not 9"),
    "soft": (lambda *data: data, {"soft": False}, "made with soft='auto', not False"),
    "tree_df": (lambda *data: data, {"tree_df": 2.0}, "made with tree_df=None, not 2.0"),
    "directions": (
        lambda *data: data,
        {"directions": [Axis(["a"]), Sparse()]},
        r"made with directions=None, not \[Axis\(columns=\('a',\)\), Sparse\(\)\]",
    ),
    "noise_df": (lambda *data: data, {"noise_df": math.inf}, "made with noise_df=None, not 'inf'"),
    "noise": (lambda *data: data, {"noise": "student_t"}, "noise='constant', not 'student_t'"),
    "sigma": (lambda *data: data, {"sigma": 1.0}, "made with sigma=None, not 1.0"),
    "scaling": (lambda *data: data, {"feature_scaling": "range"}, "feature_scaling=None, not"),
    "n_draws": (lambda *data: data, {"n_draws": 31}, "n_draws=30, not 31"),
    "auto": (lambda *data: data, {"n_draws": "auto"}, "n_draws=30, not 'auto'"),
    "n_chains": (lambda *data: data, {"n_chains": 3}, "n_chains=2, not 3"),
    "n_burn": (lambda *data: data, {"n_burn": 0}, "n_burn=20, not 0"),
    "seed": (lambda *data: data, {"random_state": 6}, "different random_state"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_checkpoint_of_another_fit_is_refused(data, path, other):
    ObliqueBARTRegressor(**SMALL).fit(*data, checkpoint=path)
    before = path.read_bytes()
    change, parameters, message = OTHERS[other]
    model = ObliqueBARTRegressor(**{**SMALL, **parameters})
    with pytest.raises(ModelFileError, match=message) as caught:
        model.fit(*change(*data), checkpoint=path)
    assert "To start again, delete the file" in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert not hasattr(model, "posterior_")


def test_the_checkpoint_of_another_estimator_or_version_is_refused(data, path, monkeypatch):
    X, y = data
    ObliqueBARTClassifier(**SMALL).fit(X, y > 0, checkpoint=path)
    with pytest.raises(ModelFileError, match="it is of an ObliqueBARTClassifier, not"):
        ObliqueBARTRegressor(**SMALL).fit(X, y, checkpoint=path)
    monkeypatch.setattr(obliquebart, "__version__", "9.9")
    with pytest.raises(ModelFileError, match=r"made by obliquebart \S+, whose draws may differ"):
        ObliqueBARTClassifier(**SMALL).fit(X, y > 0, checkpoint=path)


def test_other_files_are_never_overwritten(data, path, tmp_path):
    model = ObliqueBARTRegressor(**SMALL).fit(*data)
    for content in (b"", b"a,b\n1,2\n", bytes_of(model)):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="Cannot continue from the checkpoint"):
            model.fit(*data, checkpoint=path)
        assert path.read_bytes() == content
    with pytest.raises(ModelFileError, match="not a regular file"):
        model.fit(*data, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint_every requires checkpoint"):
        model.fit(*data, checkpoint_every=10)
    for wrong in (0, -1, 2.5, "10"):
        with pytest.raises((TypeError, ValueError), match="checkpoint_every"):
            model.fit(*data, checkpoint=tmp_path / "new", checkpoint_every=wrong)


def test_without_a_seed_the_one_of_the_checkpoint_counts(data, path, monkeypatch):
    model = ObliqueBARTRegressor(**{**LONGER, "random_state": None})
    with stopped_after(500, monkeypatch):
        model.fit(*data, checkpoint=path)
    first = model.posterior_.burn_sigma[0]
    model.fit(*data, checkpoint=path)
    np.testing.assert_array_equal(model.posterior_.burn_sigma[0], first)
    assert model.posterior_.n_draws == 700


# ---- when ----------------------------------------------------------------------------------------


def count_writes(monkeypatch):
    times = []
    original = checkpoint.write_file
    monkeypatch.setattr(
        checkpoint, "write_file", lambda *args: times.append(time.monotonic()) or original(*args)
    )
    return times


@pytest.mark.parametrize("every", [1, 7, 50, 10**6])
@pytest.mark.parametrize("n_thin", [1, 4])
def test_every_so_many_sweeps(data, path, every, n_thin, monkeypatch):
    parameters = {**SMALL, "n_thin": n_thin, "n_chains": 1}
    undisturbed = ObliqueBARTRegressor(**parameters).fit(*data)
    writes = count_writes(monkeypatch)
    model = ObliqueBARTRegressor(**parameters)
    model.fit(*data, checkpoint=path, checkpoint_every=every)
    assert len(writes) == 1 + -(-(20 + 30 * n_thin) // every)
    assert bytes_of(model) == bytes_of(undisturbed)


def test_by_the_clock(data, path, monkeypatch):
    monkeypatch.setattr(checkpoint, "DEFAULT_SECONDS", 0.02)
    monkeypatch.setattr(checkpoint, "LOOK_SECONDS", 0.001)
    undisturbed = ObliqueBARTRegressor(**LONGER).fit(*data)
    writes = count_writes(monkeypatch)
    model = ObliqueBARTRegressor(**LONGER).fit(*data, checkpoint=path)
    assert len(writes) >= 4
    assert bytes_of(model) == bytes_of(undisturbed)
    monkeypatch.setattr(checkpoint, "DEFAULT_SECONDS", 60.0)
    path.unlink()
    del writes[:]
    ObliqueBARTRegressor(**LONGER).fit(*data, checkpoint=path)
    # At the start, and at the end of each chain.
    assert len(writes) == 3


def test_a_finished_checkpoint_is_the_fit(data, path, monkeypatch):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    model = ObliqueBARTClassifier(**SMALL).fit(X, labels, checkpoint=path)
    writes = count_writes(monkeypatch)
    monkeypatch.setattr(obliquebart._core, "Sampler", None)
    again = ObliqueBARTClassifier(**SMALL).fit(X, labels, checkpoint=path)
    assert bytes_of(again) == bytes_of(model)
    assert writes == []


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_chains_in_other_processes(data, path, monkeypatch):
    undisturbed = ObliqueBARTRegressor(**LONGER).fit(*data)
    with stopped_after(500, monkeypatch):
        ObliqueBARTRegressor(**LONGER, n_jobs=2).fit(*data, checkpoint=path)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        model = ObliqueBARTRegressor(**LONGER).fit(*data, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)
    assert sweeps_in(path) == [2400, 2400]


# ---- hostile checkpoints -------------------------------------------------------------------------


def test_damaged_checkpoints_are_refused(data, path):
    X, y = data
    rows = {name: values[:10] for name, values in X.items()}
    parameters = {**SMALL, "n_trees": 2, "n_burn": 2, "n_draws": 3}
    model = ObliqueBARTRegressor(**parameters)

    def fit():
        return model.fit(rows, y[:10], checkpoint=path)

    undisturbed = bytes_of(fit())
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 150, replace=False):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            fit()
        path.write_bytes(content[:place])
        with pytest.raises(ModelFileError):
            fit()
    path.write_bytes(content)
    assert bytes_of(fit()) == undisturbed


@pytest.mark.filterwarnings("ignore")
def test_crafted_checkpoints_are_refused_or_harmless(data, path, monkeypatch):
    X, y = data
    rows = {name: values[:10] for name, values in X.items()}
    parameters = {**SMALL, "n_trees": 2, "n_burn": 2, "n_draws": 400, "n_chains": 1}
    model = ObliqueBARTRegressor(**parameters)
    with stopped_after(3, monkeypatch):
        model.fit(rows, y[:10], checkpoint=path, checkpoint_every=3)
    content = path.read_bytes()
    header, arrays = container.unpack(content, checkpoint.FORMAT, (checkpoint.SCHEMA,))
    rng = np.random.default_rng(1)
    n_refused = n_tried = 0
    for name, array in arrays.items():
        for value in small_files.EXTREMES[array.dtype.kind](array.dtype):
            if array.size == 0:
                continue
            changed = array.copy()
            changed.flat[rng.integers(array.size)] = value
            path.write_bytes(small_files.closed(Contents(header, {**arrays, name: changed})))
            n_tried += 1
            try:
                model.fit(rows, y[:10], checkpoint=path)
            except ValueError:
                n_refused += 1
    assert n_tried > 100
    assert n_refused > n_tried // 3
