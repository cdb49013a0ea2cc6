"""The runner: nothing twice, deaths and time-outs retried and recorded, resumable."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.study_library import write_library
from obliquebart.study.pool import ProcessPool, UnitResult
from obliquebart.study.runner import Limits, run
from obliquebart.study.store import Store, read_table, write_table
from obliquebart.study.units import Unit

SHORT = (("n_burn", 10), ("n_chains", 1), ("n_draws", 10), ("n_trees", 5))


def units_of(count: int) -> list[Unit]:
    return [Unit("servo", i % 20, "obliqueBART", settings=(*SHORT, ("k", 2.0 + i)))
            for i in range(count)]  # fmt: skip


class ScriptedPool:
    """Does units in this process; a script says what happens to attempts, by their number."""

    def __init__(self, script: dict[int, str] | None = None, size: int = 2) -> None:
        self.script, self.size = script or {}, size
        self.given: list[Unit] = []
        self.running: list[Unit] = []

    @property
    def n_free(self) -> int:
        return self.size - len(self.running)

    def give(self, unit: Unit) -> None:
        self.given.append(unit)
        self.running.append(unit)

    def outcomes(self, patience: float = 1.0) -> Iterator[UnitResult]:  # noqa: ARG002
        unit = self.running.pop(0)
        event = self.script.get(len(self.given) - len(self.running), "finished")
        result = {"key": unit.key, "unit": unit.to_dict(), "status": "done", "n": 1}
        yield UnitResult(unit, event, result if event == "finished" else None, 0.1)

    def close(self) -> None:
        pass


def test_only_what_is_missing_is_done(tmp_path: Path):
    store, units = Store(tmp_path), units_of(6)
    first = ScriptedPool()
    tally = run(units[:4] + units[:2], store, first)
    assert (tally.total, tally.done, tally.present) == (4, 4, 0)
    second = ScriptedPool()
    tally = run(units, store, second)
    assert (tally.done, tally.present) == (2, 4)
    assert second.given == units[4:]
    assert run(units, store, ScriptedPool()).done == 0


def test_lost_and_late_attempts_are_tried_again_and_recorded(tmp_path: Path):
    store, units = Store(tmp_path), units_of(3)
    pool = ScriptedPool({1: "lost", 3: "timeout"}, size=1)
    tally = run(units, store, pool)
    assert (tally.done, tally.lost, tally.timeouts) == (3, 1, 1)
    assert len(pool.given) == 5
    events = [[a["event"] for a in store.read(unit.key)["attempts"]] for unit in units]
    assert events == [["lost"], ["timeout"], []]


def test_giving_up_is_a_result(tmp_path: Path):
    store, units = Store(tmp_path), units_of(2)
    pool = ScriptedPool({1: "timeout", 2: "timeout"}, size=1)
    tally = run(units, store, pool, Limits(timeouts=2))
    assert (tally.done, tally.failed) == (1, 1)
    assert store.read(units[0].key)["status"] == "timeout"
    assert run(units, store, ScriptedPool()).present == 2


def test_no_unit_starts_that_cannot_end(tmp_path: Path):
    units = units_of(5)
    long = set(units[1:3])
    tally = run(
        units, Store(tmp_path), ScriptedPool(), Limits(seconds=50),
        lambda unit: 100.0 if unit in long else 0.0,
    )  # fmt: skip
    assert (tally.done, tally.skipped) == (3, 2)


def test_a_stored_result_is_never_replaced(tmp_path: Path):
    store = Store(tmp_path)
    assert store.write({"key": "abc", "status": "done", "n": 1})
    assert not store.write({"key": "abc", "status": "done", "n": 2})
    assert store.read("abc")["n"] == 1
    assert [result["n"] for result in store] == [1]
    assert not list(tmp_path.glob("**/.*")), "no unfinished files are left"


def test_tables_of_the_same_results_are_the_same_bytes(tmp_path: Path):
    results = [{"key": "b", "n": 1.5}, {"key": "a", "n": 2}]
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        write_table(results, tmp_path / name)
        results.reverse()
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert [result["key"] for result in read_table(tmp_path / "one.jsonl.gz")] == ["a", "b"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_library(tmp_path / "data")


def scores(store: Store) -> dict[str, float]:
    return {result["key"]: result["metrics"]["score"] for result in store}


def test_processes_survive_murder_and_time_outs(folder: Path, tmp_path: Path):
    units = units_of(6)
    calm = ProcessPool(1, folder, timeout=60)
    run(units, Store(tmp_path / "calm"), calm)
    calm.close()

    store = Store(tmp_path / "wild")
    # More sweeps than fit into the time: ended, tried again, given up.
    slow = Unit("servo", 0, "obliqueBART", settings=(("n_burn", 10**7),))
    pool = ProcessPool(2, folder, timeout=4)
    victim = pool.workers[0].process.pid
    killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
    killer.start()
    try:
        tally = run([slow, *units], store, pool, Limits(timeouts=1))
    finally:
        killer.cancel()
        pool.close()
    assert tally.done == 6
    assert tally.lost >= 1
    assert store.read(slow.key)["status"] == "timeout"
    store.discard(slow.key)
    assert scores(store) == scores(Store(tmp_path / "calm"))


def test_interrupted_and_resumed(folder: Path, tmp_path: Path):
    units, store = units_of(6), Store(tmp_path / "results")
    pool = ProcessPool(1, folder, timeout=60)

    def interrupt(tally) -> None:
        if tally.done == 2:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            run(units, store, pool, watch=interrupt)
    finally:
        pool.close()
    assert len(list(store)) == 2
    pool = ProcessPool(1, folder, timeout=60)
    tally = run(units, store, pool)
    pool.close()
    assert (tally.present, tally.done) == (2, 4)


def dask_run(units, folder, store, n_workers, every=None, timeout=60.0, limits=None):
    """Run on a local cluster, killing a worker every so many seconds."""
    from obliquebart.study.cluster import connected

    stop, killed = threading.Event(), []

    def murder(pool) -> None:
        while not stop.wait(every):
            try:
                pids = list(pool.client.run(os.getpid, on_error="ignore").values())
                victim = pids[len(killed) % len(pids)]
                os.kill(victim, signal.SIGKILL)
            except Exception:  # between two workers there may be none
                continue
            killed.append(victim)

    with connected(None, n_workers, folder, timeout) as pool:
        murderer = threading.Thread(target=murder, args=(pool,))
        if every:
            murderer.start()
        try:
            tally = run(units, store, pool, limits or Limits(losses=30))
        finally:
            stop.set()
            if every:
                murderer.join()
    return tally, len(killed)


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_gives_the_same_table(folder: Path, tmp_path: Path):
    pytest.importorskip("distributed")
    units = units_of(12)
    here = ProcessPool(1, folder, timeout=60)
    run(units, Store(tmp_path / "here"), here)
    here.close()
    store = Store(tmp_path / "there")
    tally, _ = dask_run(units, folder, store, 2)
    assert (tally.done, tally.failed) == (12, 0)
    assert scores(store) == scores(Store(tmp_path / "here"))


class ClientWithout:
    """A client whose cluster has no worker for its first answers."""

    def __init__(self, n_answers: float) -> None:
        self.n_left = n_answers

    def nthreads(self) -> dict[str, int]:
        self.n_left -= 1
        return {} if self.n_left >= 0 else {"tcp://worker": 1}

    def subscribe_topic(self, topic: str, handler: object) -> None:
        """Hear nothing."""


def test_a_cluster_whose_workers_are_all_gone(monkeypatch):
    from obliquebart.study import cluster

    monkeypatch.setattr(cluster, "GONE_SECONDS", 0.2)
    pool = cluster.DaskPool(ClientWithout(float("inf")), None, 60.0)
    assert list(pool.outcomes(patience=0.01)) == []
    time.sleep(0.3)
    with pytest.raises(RuntimeError, match=r"has had no worker .* run the same command to go on"):
        list(pool.outcomes(patience=0.01))
    # One that comes back in time is all that is needed.
    pool = cluster.DaskPool(ClientWithout(1), None, 60.0)
    for _ in range(3):
        assert list(pool.outcomes(patience=0.01)) == []
        time.sleep(0.15)


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_chaos(folder: Path, tmp_path: Path):
    """200 units on 4 workers, one killed every 2 seconds, or less often on a busy machine."""
    pytest.importorskip("distributed")
    # Some tenths of a second each, so that deaths hit units at work.
    longer = (("n_burn", 1000), ("n_chains", 1), ("n_draws", 500), ("soft", False))
    units = [Unit("servo", i % 20, "obliqueBART", settings=(*longer, ("k", 2.0 + i)))
             for i in range(200)]  # fmt: skip
    calm, wild = Store(tmp_path / "calm"), Store(tmp_path / "wild")
    begin = time.monotonic()
    dask_run(units, folder, calm, 4)
    # A worker must live long enough to start and to do some units.
    every = max(2.0, (time.monotonic() - begin) / 20)
    begin = time.monotonic()
    tally, n_killed = dask_run(units, folder, wild, 4, every=every)
    print(f"{n_killed} workers killed in {time.monotonic() - begin:.0f} s: {tally}")
    assert n_killed >= 5
    assert tally.lost >= 3
    assert (tally.done, tally.failed) == (200, 0)
    files = list((tmp_path / "wild").glob("**/*"))
    assert sum(path.is_file() for path in files) == 200
    assert scores(wild) == scores(calm)
    again, _ = dask_run(units, folder, wild, 4)
    assert (again.present, again.done) == (200, 0)


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_dask_ends_a_unit_that_takes_too_long(folder: Path, tmp_path: Path):
    pytest.importorskip("distributed")
    slow = Unit("servo", 0, "obliqueBART", settings=(("n_burn", 10**7),))
    store = Store(tmp_path / "results")
    limits = Limits(timeouts=1, losses=30)
    tally, _ = dask_run([slow, *units_of(4)], folder, store, 2, timeout=4.0, limits=limits)
    assert store.read(slow.key)["status"] == "timeout"
    assert tally.done == 4
