"""Automatic fits that are stopped go on in the round that they were in."""

from __future__ import annotations

import numpy as np
import pytest

import obliquebart
from helpers.automatic import ON_THE_WAY, bytes_of
from helpers.checkpoints import AUTO, PLAIN_NOISE, stopped_after, sweeps_in, table
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.model.parameters import Schedule, SweepCost
from obliquebart.posterior import rounds


@pytest.fixture
def data():
    return table()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_automatic_fits_go_on_in_their_round(data, path, n_jobs, monkeypatch):
    undisturbed = ObliqueBARTRegressor(**AUTO, **PLAIN_NOISE).fit(*data)
    schedule = undisturbed.posterior_.schedule
    assert schedule.n_burn >= 550
    model = ObliqueBARTRegressor(**AUTO, **PLAIN_NOISE, n_jobs=n_jobs)
    for n_sweeps in (30, 600, schedule.n_burn + 300):
        with stopped_after(n_sweeps, monkeypatch):
            model.fit(*data, checkpoint=path, checkpoint_every=100)
        assert sweeps_in(path)[0] >= n_sweeps
    model.fit(*data, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)
    # A finished checkpoint is the fit.
    monkeypatch.setattr(obliquebart._core, "Sampler", None)
    assert bytes_of(
        ObliqueBARTRegressor(**AUTO, **PLAIN_NOISE).fit(*data, checkpoint=path)
    ) == bytes_of(model)


def test_fits_go_on_in_a_last_round_that_is_cut_short(data, path, monkeypatch):
    monkeypatch.setattr(rounds, "measure_chains", lambda *_: ON_THE_WAY)
    monkeypatch.setattr(SweepCost, "affordable_sweeps", lambda *_: 2_700)
    undisturbed = ObliqueBARTRegressor(**AUTO, **PLAIN_NOISE).fit(*data)
    assert undisturbed.posterior_.schedule == Schedule(2, 1_550, 500, 2)
    model = ObliqueBARTRegressor(**AUTO, **PLAIN_NOISE)
    with stopped_after(2_000, monkeypatch):
        model.fit(*data, checkpoint=path, checkpoint_every=100)
    model.fit(*data, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)


def test_classes_go_on_in_rounds_of_their_own(data, path, monkeypatch):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    undisturbed = ObliqueBARTClassifier(**AUTO, multiclass="one_vs_rest").fit(X, labels)
    schedules = [posterior.schedule for posterior in undisturbed.posteriors_.values()]
    assert len(set(schedules)) > 1
    model = ObliqueBARTClassifier(**AUTO, multiclass="one_vs_rest")
    with stopped_after(schedules[0].n_burn + 100, monkeypatch):
        model.fit(X, labels, checkpoint=path, checkpoint_every=100)
    model.fit(X, labels, checkpoint=path)
    assert bytes_of(model) == bytes_of(undisturbed)
