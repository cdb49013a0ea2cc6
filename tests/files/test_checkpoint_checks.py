"""Each check of a checkpoint, alone: one wrong value, and its own message."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import small_files
from helpers.automatic import ON_THE_WAY
from obliquebart import ModelFileError, ObliqueBARTRegressor
from obliquebart.files import checkpoint, container
from obliquebart.files.container import Contents
from obliquebart.model.parameters import SweepCost
from obliquebart.posterior import rounds

SMALL = {**small_files.SMALL, "feature_scaling": "blend"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def fit(path, **parameters):
    X, y = small_files.small_table()
    return ObliqueBARTRegressor(**{**SMALL, **parameters}).fit(X, y, checkpoint=path)


def opened(path):
    return container.unpack(path.read_bytes(), checkpoint.FORMAT, (checkpoint.SCHEMA,))


HEADERS = {
    "negative seed": (("seeds",), [-1], "seeds are not 64-bit numbers"),
    "large seed": (("seeds",), [2**64], "seeds are not 64-bit numbers"),
    "text for a seed": (("seeds",), ["1"], "seeds are not 64-bit numbers"),
    "fractions": (("seeds",), [0.5], "seeds are not 64-bit numbers"),
    "two seeds": (("seeds",), [1, 2], "seeds are not 64-bit numbers"),
    "one chain": (("chains", 0), [None], "a different number of chains"),
    "no chains": (("chains", 0), None, "a different number of chains"),
    "no posteriors": (("chains",), [], "a different number of chains"),
    "no rounds": (("rounds",), [], "rounds are not those of this fit"),
    "sweeps": (("chains", 0, 0, "n_sweeps"), 10, "task.0.chain.0.state does not belong to this"),
    "fewer sweeps": (("chains", 0, 0, "n_sweeps"), 8, "state does not belong to this fit"),
    "parameters": (("identity", "parameters"), {}, "made with alpha=another value, not"),
    "no parameters": (("identity", "parameters"), None, "parameters"),
    "a parameter": (("identity", "parameters", "k"), 3.0, "made with k=3.0, not 2.0"),
    "settings": (("identity", "priors"), None, "different settings .it is damaged"),
    "no settings": (("identity", "priors"), [], "different settings .it is damaged"),
    "length": (("identity", "n_burn"), 6, "made with n_burn=6, not 5"),
    "more estimates": (("identity", "estimates"), [None] * 2, "made with estimates="),
    "no estimates": (("identity", "estimates"), None, "estimates"),
    "another estimate": (("identity", "estimates"), [{"sigma": 1.0}], "with other fields"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_wrong_value_of_the_header_is_refused(path, name):
    place, value, message = HEADERS[name]
    fit(path, random_state=None)
    contents = opened(path)
    header = copy.deepcopy(contents.header)
    parent, key = small_files._parent(header, place)
    parent[key] = value
    path.write_bytes(small_files.closed(Contents(header, contents.arrays)))
    with pytest.raises(ModelFileError, match=message):
        fit(path, random_state=None)


AUTO = {"n_trees": 20, "n_burn": 50, "n_draws": "auto"}
IMPOSSIBLE_ROUNDS = [
    *({"n_burn": n_burn} for n_burn in (7, 551, 500_000_550, 10**400, -(10**400))),
    *({"n_thin": n_thin} for n_thin in (0, True, 10**9, 10**400)),
    *({"n_burn": 20_050, "n_thin": 19}, {"n_draws": 501}, {"n_chains": 3}, {"more": 1}),
]


@pytest.fixture
def two_rounds(monkeypatch):
    monkeypatch.setattr(rounds, "measure_chains", lambda *_: ON_THE_WAY)
    monkeypatch.setattr(SweepCost, "affordable_sweeps", lambda *_: 1_550)


@pytest.mark.usefixtures("two_rounds")
def test_a_round_that_is_not_of_this_fit_is_refused(path):
    assert fit(path, **AUTO).posterior_.schedule.n_burn == 550
    header, arrays = opened(path)
    (present,) = header["rounds"]
    changed = [{**present, **change} for change in IMPOSSIBLE_ROUNDS]
    for wrong in (*changed, None, [present], "x"):
        path.write_bytes(small_files.closed(Contents({**header, "rounds": [wrong]}, arrays)))
        with pytest.raises(ModelFileError, match="its rounds are not those of this fit"):
            fit(path, **AUTO)


@pytest.mark.usefixtures("two_rounds")
def test_chains_of_a_later_round_have_its_burn_in_behind_them(path):
    """Otherwise a small file could ask for as many sweeps as there are numbers."""
    schedule = fit(path, **AUTO).posterior_.schedule
    header, arrays = opened(path)
    later = vars(schedule.next_round(2**31 - 1))
    path.write_bytes(small_files.closed(Contents({**header, "rounds": [later]}, arrays)))
    with pytest.raises(ModelFileError, match="state does not belong to this fit"):
        fit(path, **AUTO)
    endless = {**later, "n_burn": schedule.n_sweeps + 500_000_000, "n_thin": 10**6}
    chains = [[None] * len(header["chains"][0])]
    empty = {**header, "rounds": [endless], "chains": chains}
    path.write_bytes(small_files.closed(Contents(empty, {})))
    with pytest.raises(ModelFileError, match=r"task\.0\.chain\.0\.state is missing"):
        fit(path, **AUTO)


def test_rows_and_arrays_are_those_of_the_fit(path):
    fit(path)
    header, arrays = opened(path)
    shorter = {name: a[:-1] if name.endswith("residual") else a for name, a in arrays.items()}
    shorter = {name: a[:-1] if name.endswith("state.target") else a for name, a in shorter.items()}
    path.write_bytes(small_files.closed(Contents(header, shorter)))
    with pytest.raises(ModelFileError, match="state does not belong to this fit"):
        fit(path)
    path.write_bytes(small_files.closed(Contents(header, {**arrays, "x": np.zeros(1)})))
    with pytest.raises(ModelFileError, match="an array 'x' that does not belong"):
        fit(path)


def test_the_largest_seed_is_allowed(path):
    fit(path, random_state=None)
    header, arrays = opened(path)
    path.write_bytes(small_files.closed(Contents({**header, "seeds": [2**64 - 1]}, arrays)))
    fit(path, random_state=None)


def test_a_chain_looks_at_the_clock_less_often_if_sweeps_are_fast(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: now[0]))
    written = []
    file = SimpleNamespace(
        every=None,
        schedule=lambda _: None,
        starts=lambda _: [None, None],
        put=lambda *put, **options: written.append((put, options)),
    )
    recorder = checkpoint.TaskRecorder(file, 0)
    stages = []
    for seconds in (0.1, 0.1, 0.3, 0.1, 60.0, 0.1):
        stages.append(recorder.stage(1))
        now[0] += seconds
        recorder.visit(1, lambda: "chain")
    assert stages == [1, 2, 4, 4, 8, 8]
    assert recorder.stage(0) == 1
    # Once, after a minute; the minute then begins again.
    assert written == [((0, 1, "chain"), {"write": True})]
