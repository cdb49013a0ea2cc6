"""Fits with a limited time: what they keep, and what they say."""

from __future__ import annotations

import time
from types import SimpleNamespace

import joblib
import numpy as np
import pytest

from helpers.automatic import CLASSES, ENDLESS, ON_THE_WAY, SMALL, bytes_of, explicit, table
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, TimeLimitWarning
from obliquebart.estimators.ending import warn_if_out_of_time
from obliquebart.model import parameters
from obliquebart.model.parameters import Schedule
from obliquebart.posterior import rounds
from obliquebart.sampling import run


@pytest.fixture
def data():
    return table()


# Seconds in which a limited fit ends on any machine, however busy; without a limit it takes longer.
PATIENCE = 40.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_max_seconds_stops_a_number_of_draws(data, n_jobs):
    model = ObliqueBARTRegressor(**SMALL, n_draws=1_000_000, n_jobs=n_jobs)
    start = time.monotonic()
    with pytest.warns(
        TimeLimitWarning, match=r"max_seconds.*keeps \d+ of 1000000 draws per chain, from 2"
    ):
        model.fit(*data, max_seconds=2.0)
    assert time.monotonic() - start < PATIENCE
    # Chains that wait for each other share the time.
    assert model.posterior_.n_chains == 2
    assert 10 < model.posterior_.n_draws < 1_000_000
    n_draws = model.posterior_.n_draws
    assert model.sample_more(5).posterior_.n_draws == n_draws + 5


def test_time_that_is_not_needed_changes_nothing(data):
    plain = ObliqueBARTRegressor(**SMALL).fit(*data)
    assert bytes_of(ObliqueBARTRegressor(**SMALL).fit(*data, max_seconds=1e6)) == bytes_of(plain)


def test_max_seconds_takes_the_place_of_the_cpu_seconds(data, monkeypatch, recwarn):
    monkeypatch.setattr(rounds, "measure_chains", lambda *_: ON_THE_WAY)
    monkeypatch.setattr(parameters, "AUTO_SECONDS", 0.0)
    # Without short fits, which would choose other rules with less time.
    model = ObliqueBARTRegressor(**SMALL, sigma_quantile=0.9)
    start = time.monotonic()
    model.fit(*data, max_seconds=2.0)
    assert time.monotonic() - start < PATIENCE
    assert not [w for w in recwarn if issubclass(w.category, TimeLimitWarning)]
    schedule = model.posterior_.schedule
    assert schedule.n_burn > 50
    assert schedule.n_draws >= rounds.FEWEST_DRAWS
    # The draws are those of a plain fit also where the last round was cut short.
    same = explicit(model).fit(*data)
    np.testing.assert_array_equal(model.predict(data[0]), same.predict(data[0]))


def test_a_first_round_that_is_cut_short(data):
    model = ObliqueBARTRegressor(**{**SMALL, "n_trees": 200, "n_chains": 8})
    with pytest.warns(TimeLimitWarning, match=r"keeps \d+ of 500 draws per chain, from [1-8] of 8"):
        model.fit(*data, max_seconds=0.25)


@pytest.mark.parametrize(("n_kept", "warns"), [(3, True), (rounds.FEWEST_DRAWS, False)])
def test_a_later_round_that_is_cut_short(n_kept, warns, recwarn):
    """A fit that goes on from a checkpoint there has no draws of an earlier round to keep."""
    first = Schedule(n_chains=2, n_burn=50)
    later = first.next_round(ENDLESS)
    chain = SimpleNamespace(draws=SimpleNamespace(n_draws=n_kept))
    stopped = run.Run([chain] * 2, later, "out of time")
    kept = SimpleNamespace(n_chains=2, n_draws=n_kept)
    assert warn_if_out_of_time([stopped], kept, first) is warns
    found = [str(w.message) for w in recwarn if w.category is TimeLimitWarning]
    assert len(found) == warns
    assert all(f"keeps {n_kept} of 500 draws per chain, from 2 of 2" in text for text in found)


def test_too_little_time(data):
    model = ObliqueBARTRegressor(**{**SMALL, "n_burn": 10_000_000})
    with pytest.raises(TimeoutError, match=r"max_seconds .* allow more time, or lower n_burn"):
        model.fit(*data, max_seconds=0.1)
    assert not hasattr(model, "posterior_")


def test_classes_share_the_time(data):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    model = ObliqueBARTClassifier(**CLASSES, n_draws=1_000_000)
    start = time.monotonic()
    with pytest.warns(TimeLimitWarning):
        model.fit(X, labels, max_seconds=2.0)
    assert time.monotonic() - start < PATIENCE
    assert len({posterior.schedule for posterior in model.posteriors_.values()}) == 1
    assert np.isfinite(model.predict_proba(X)).all()
    n_draws = model.posteriors_[0].n_draws
    assert model.sample_more(5).posteriors_[2].n_draws == n_draws + 5


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_chains_in_other_processes_stop_in_time(data):
    # Too many sweeps for any machine.
    model = ObliqueBARTRegressor(**SMALL, n_draws=1_000_000, n_thin=100)
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.warns(TimeLimitWarning),
    ):
        model.fit(*data, max_seconds=6.0)
    assert model.posterior_.n_chains == 2


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf, "60", True])
def test_max_seconds_must_be_a_positive_number(data, wrong):
    with pytest.raises((TypeError, ValueError), match="max_seconds="):
        ObliqueBARTRegressor(**SMALL).fit(*data, max_seconds=wrong)


def test_there_is_time_for_a_round_if_there_is_for_half_of_it():
    following = Schedule(2, 1000, 500, 2)
    limit = rounds.TimeLimit.after(50.0)
    assert rounds._is_time_for(following, 0.09, limit)
    assert not rounds._is_time_for(following, 0.11, limit)
    assert not rounds._is_time_for(following, 0.0, rounds.TimeLimit.after(0.0))
    assert rounds._is_time_for(following, 1e9, None)
    assert limit.share(5).seconds_left == pytest.approx(10.0, abs=0.1)
