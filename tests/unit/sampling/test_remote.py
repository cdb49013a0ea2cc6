"""Fits on Dask collections: the rows are on workers, and the model is that of one machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import AuthenticationError
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="Dask is optional")
pytest.importorskip("distributed", reason="Dask is optional")

import dask.array as da
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

from obliquebart import (
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    directions,
)
from obliquebart.exceptions import TimeLimitWarning, WorkerLostError
from obliquebart.files import model_file
from obliquebart.model import parameters, remote_order
from obliquebart.model.parameters import SweepCost
from obliquebart.sampling.collective import connected, start_meeting

# Without an estimate of the noise, which takes longer than all else.
OPTIONS: dict[str, Any] = {
    "n_trees": 10,
    "n_burn": 6,
    "n_draws": 4,
    "n_chains": 2,
    "random_state": 0,
    "progress": False,
    "sigma_quantile": 0.9,
}
N = 5000
LARGE = 33_000  # rows are put in another order


def content(model: Any) -> bytes:
    """Return all that a model has but its training data and the time that it took."""
    return model_file.to_bytes(model._fitted._replace(seconds=None, training=None), {})


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(LARGE, 3)), columns=list("abc"))
    frame["d"] = rng.choice(["u", "v", "w"], LARGE)
    frame.loc[5:50, "a"] = np.nan
    y = pd.Series(np.sin(3 * frame["b"]) + (frame["d"] == "u"), name="out")
    return frame, y + 0.1 * rng.normal(size=LARGE), rng.integers(0, 3, LARGE).astype(float)


@pytest.fixture(scope="module")
def client() -> Any:
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_a_frame_gives_the_model_of_one_machine(
    table: Any, client: Any, n_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_order, "PART_ROWS", 9000)
    workers = dict(sorted(client.nthreads().items())[:n_workers])
    monkeypatch.setattr(type(client), "nthreads", lambda _: workers)
    X, y, weights = table
    expected = ObliqueBARTRegressor(**OPTIONS).fit(X, y, weights)
    model = ObliqueBARTRegressor(**OPTIONS, n_jobs=2)
    model.fit(dd.from_pandas(X, npartitions=5), y, da.from_array(weights, chunks=7000))
    assert content(model) == content(expected)
    assert model.target_name_ == "out"
    np.testing.assert_array_equal(model.predict(X[:20]), expected.predict(X[:20]))


@pytest.mark.usefixtures("client")
def test_an_array_with_an_estimate_of_the_noise() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1200, 2))
    y = X[:, 0] + 0.1 * rng.standard_t(3, 1200)
    options = {**OPTIONS, "sigma_quantile": None, "soft": False}
    expected = ObliqueBARTRegressor(**options).fit(X, y)
    # The estimate chooses heavy tails, whose weights all workers draw.
    assert expected.posterior_.settings["likelihood"] == "student_t"
    lazy = da.from_array(X, chunks=(500, 1))
    model = ObliqueBARTRegressor(**options).fit(lazy, da.from_array(y, chunks=300))
    assert content(model) == content(expected)
    np.testing.assert_array_equal(model.predict(lazy).compute(), expected.predict(X))


@pytest.mark.usefixtures("client")
def test_auto_rounds_and_more_draws(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table[0][:1500], table[1][:1500]
    monkeypatch.setattr(parameters, "AUTO_DRAWS", 10)
    monkeypatch.setattr(SweepCost, "affordable_sweeps", lambda *_: 90)
    options = {**OPTIONS, "n_draws": "auto", "n_burn": 20, "n_trees": 5}
    expected = ObliqueBARTRegressor(**options).fit(X, y)
    assert expected.posterior_.schedule.n_burn > 20  # there was a second round
    lazy = dd.from_pandas(X, npartitions=3)
    model = ObliqueBARTRegressor(**options).fit(lazy, y)
    assert content(model) == content(expected)
    with pytest.raises(ValueError, match="pass the X and y of fit"):
        model.sample_more(3)
    assert content(model.sample_more(3, lazy, y)) == content(expected.sample_more(3))
    # The chains can also go on without a cluster.
    assert content(model.sample_more(2, X, y)) == content(expected.sample_more(2))


@pytest.mark.usefixtures("client")
def test_what_needs_the_whole_table_says_so(table: Any) -> None:
    lazy, y = dd.from_pandas(table[0][:N], npartitions=3), table[1][:N]
    for model, outcome in (
        (ObliqueBARTClassifier(**_plain()), y > 0),
        (ObliqueBARTCountRegressor(**_plain()), y.round().abs()),
        (ObliqueBARTRegressor(noise="varying", **_plain()), y),
        (ObliqueBARTRegressor(noise="student_t", **_plain()), y),
    ):
        with pytest.raises(TypeError, match=r"pass X\.compute\(\)"):
            model.fit(lazy, outcome)
    with pytest.raises(TypeError, match=r"pass X\.compute\(\)"):
        ObliqueBARTCausal(**_plain()).fit(lazy, y, (table[0]["d"][:N] == "u").astype(int))
    with pytest.raises(TypeError, match=r"soft=True needs .* pass X\.compute\(\)"):
        ObliqueBARTRegressor(soft=True, **OPTIONS).fit(lazy, y)
    with pytest.raises(ValueError, match="joint"):
        ObliqueBARTRegressor(feature_scaling="joint", **OPTIONS).fit(lazy, y)
    pixels = da.from_array(np.zeros((20, 4)), chunks=10)
    patch = directions.Patch((2, 2))
    with pytest.raises(TypeError, match="Patch"):
        ObliqueBARTRegressor(directions=patch, **OPTIONS).fit(pixels, np.arange(20.0))


def _plain() -> dict[str, Any]:
    return {key: value for key, value in OPTIONS.items() if key != "sigma_quantile"}


@pytest.mark.usefixtures("client")
def test_faults_of_columns_are_named() -> None:
    frame = pd.DataFrame({"good": np.arange(40.0), "bad": [np.inf] * 40})
    with pytest.raises(ValueError, match="'bad'"):
        ObliqueBARTRegressor(**OPTIONS).fit(dd.from_pandas(frame, npartitions=2), np.arange(40.0))


def _kill_when_saved(path: Any, pid: int) -> None:
    end, seen = time.monotonic() + 60, set()
    while len(seen) < 3 and time.monotonic() < end:
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("n_workers", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_lost_worker_and_its_remedy(table: Any, tmp_path: Any, n_workers: int) -> None:
    X, y = table[0][:N], table[1][:N]
    options = {**OPTIONS, "n_burn": 100, "n_chains": 1}
    path = tmp_path / "fit.ckpt"
    saved = {"checkpoint": path, "checkpoint_every": 10}
    expected = ObliqueBARTRegressor(**options).fit(X, y)
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        lazy = dd.from_pandas(X, npartitions=3)
        pids = client.run(os.getpid)
        pid = pids[sorted(pids)[-1]]
        killer = threading.Thread(target=_kill_when_saved, args=(path, pid))
        killer.start()
        with pytest.raises(WorkerLostError, match="given a checkpoint"):
            ObliqueBARTRegressor(**options).fit(lazy, y, **saved)
        killer.join()
        # With the workers that are left, or were started again.
        client.wait_for_workers(n_workers - 1)
        model = ObliqueBARTRegressor(**options).fit(lazy, y, **saved)
    assert content(model) == content(expected)


@pytest.mark.usefixtures("client")
def test_a_time_limit_ends_chains_on_workers(table: Any) -> None:
    lazy = dd.from_pandas(table[0][:N], npartitions=3)
    model = ObliqueBARTRegressor(**{**OPTIONS, "n_draws": 1_000_000, "n_chains": 1})
    with pytest.warns(TimeLimitWarning):
        model.fit(lazy, table[1][:N], max_seconds=2.0)
    assert 0 < model.posterior_.n_draws < 1_000_000


def test_a_worker_that_parts_is_noticed() -> None:
    meeting = start_meeting("tcp://127.0.0.1:0", 2)

    def other(results: list[Any]) -> None:
        with connected(meeting, 1) as add_up:
            values = np.array([0.0, 2.0])
            add_up(values)
            results.append(values)

    results: list[Any] = []
    thread = threading.Thread(target=_silenced, args=(other, results))
    thread.start()
    with connected(meeting, 0) as add_up:
        values = np.array([1.0, 0.0])
        add_up(values)
        thread.join()
        with pytest.raises(ConnectionError, match="another worker is gone"):
            add_up(np.zeros(4))
    assert values.tolist() == [1.0, 2.0]
    assert [each.tolist() for each in results] == [[1.0, 2.0]]


def test_strangers_are_turned_away() -> None:
    meeting = start_meeting("tcp://127.0.0.1:0", 2)

    def stranger(_: list[Any]) -> None:
        with connected(meeting._replace(key=b"another"), 1):
            pass

    results: list[Any] = []
    thread = threading.Thread(target=_silenced, args=(stranger, results))
    thread.start()
    with pytest.raises(AuthenticationError), connected(meeting, 0):
        pass
    thread.join()
    assert isinstance(results[0], (AuthenticationError, EOFError, OSError))


def _silenced(work: Any, results: list[Any]) -> None:
    try:
        work(results)
    except Exception as error:
        results.append(error)
