"""Automatic run lengths: rounds, when they end, and that they are plain fits."""

from __future__ import annotations

import contextlib
import io
import pickle
from dataclasses import replace

import joblib
import numpy as np
import pytest
from rich.console import Console

from helpers.automatic import (
    ARRIVED,
    CLASSES,
    ENDLESS,
    ON_THE_WAY,
    SMALL,
    bytes_of,
    explicit,
    table,
)
from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTRegressor,
    load,
)
from obliquebart.model import parameters
from obliquebart.model.parameters import (
    AUTO_CLASS_DRAWS,
    AUTO_DRAWS,
    FEWEST_CLASS_DRAWS,
    RUN_LENGTHS,
    RunLength,
    Schedule,
    SweepCost,
)
from obliquebart.posterior import rounds
from obliquebart.posterior.verdict import examine
from obliquebart.sampling import memory, run
from obliquebart.sampling.progress import FitProgress


@pytest.fixture
def data():
    return table()


@pytest.fixture
def arriving_in(monkeypatch):
    """Let the chains arrive in a round of our choice, counted from 0."""

    def set_round(number):
        answers = iter([ON_THE_WAY] * number + [ARRIVED])
        monkeypatch.setattr(rounds, "measure_chains", lambda *_: next(answers))

    return set_round


@contextlib.contextmanager
def interrupted_when(is_time, monkeypatch):
    """Act as Ctrl-C when the sweeps of the chains say so."""

    def update(_, snapshots):
        if is_time([snapshot["sweep"] for snapshot in snapshots]):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "update", update)
        patch.setattr(run, "POLL_SECONDS", 0.001)
        yield


# ---- an automatic run is a plain one -------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [8, 9, 10])
def test_it_is_the_fit_with_the_schedule_that_it_found(data, seed, weighted):
    weights = np.random.default_rng(1).uniform(0.5, 2, 120) if weighted else None
    model = ObliqueBARTRegressor(**{**SMALL, "random_state": seed}).fit(*data, weights)
    # These take two to five rounds, so that there is something to compare.
    assert model.posterior_.schedule.n_burn > 50
    assert model.posterior_.n_draws == AUTO_DRAWS
    assert bytes_of(model) == bytes_of(explicit(model).fit(*data, weights))


@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("n_thin", [1, 3])
def test_rounds_of_labels(data, number, n_thin, arriving_in):
    X, y = data
    arriving_in(number)
    model = ObliqueBARTClassifier(**SMALL, n_thin=n_thin).fit(X, y > 0)
    schedule = Schedule(2, 50, AUTO_DRAWS, n_thin)
    for _ in range(number):
        schedule = schedule.next_round(ENDLESS)
    assert model.posterior_.schedule == schedule
    assert bytes_of(model) == bytes_of(explicit(model).fit(X, y > 0))


def test_every_class_has_its_own_schedule(data):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    model = ObliqueBARTClassifier(**{**CLASSES, "random_state": 11}).fit(X, labels)
    schedules = {label: p.schedule for label, p in model.posteriors_.items()}
    assert len({schedule.n_burn for schedule in schedules.values()}) > 1
    n_draws = AUTO_CLASS_DRAWS // 3
    assert {schedule.n_draws for schedule in schedules.values()} == {n_draws}
    for label, schedule in schedules.items():
        other = ObliqueBARTClassifier(**{**CLASSES, "random_state": 11, **vars(schedule)})
        same = other.fit(X, labels).posteriors_[label]
        np.testing.assert_array_equal(model.posteriors_[label].predict(X), same.predict(X))
    assert model.predict_proba(X, return_draws=True).shape == (2 * n_draws, 120, 3)


def test_many_classes_keep_fewer_draws_of_as_many_sweeps():
    length = RunLength(n_burn=1000)
    one = length.first_round()
    assert one == Schedule(8, 1000, AUTO_DRAWS, 1)
    assert length.first_round(6) == Schedule(8, 1000, 50, 10)
    for n_classes in (3, 4, 6, 10, 12):
        schedule = length.first_round(n_classes)
        assert n_classes * schedule.n_draws <= AUTO_CLASS_DRAWS
        assert one.n_sweeps <= schedule.n_sweeps < 1.02 * one.n_sweeps
    assert length.first_round(100).n_draws == FEWEST_CLASS_DRAWS
    # Whoever asks for a number of draws gets it, for every class.
    assert RunLength(n_draws=70).first_round(6).n_draws == 70


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_draws_do_not_depend_on_n_jobs(data, n_jobs):
    plain = ObliqueBARTRegressor(**SMALL).fit(*data)
    assert bytes_of(ObliqueBARTRegressor(**SMALL, n_jobs=n_jobs).fit(*data)) == bytes_of(plain)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_draws_do_not_depend_on_the_joblib_backend(data, backend):
    plain = ObliqueBARTRegressor(**SMALL).fit(*data)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert bytes_of(ObliqueBARTRegressor(**SMALL).fit(*data)) == bytes_of(plain)


def test_the_schedule_outlives_the_process(data, tmp_path):
    model = ObliqueBARTRegressor(**SMALL).fit(*data)
    model.save(tmp_path / "m")
    for other in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert other.posterior_.schedule == model.posterior_.schedule
        assert other.n_draws == "auto"


def test_sample_more_goes_on_as_far_apart(data, tmp_path):
    model = ObliqueBARTRegressor(**SMALL).fit(*data)
    longer = explicit(model).set_params(n_draws=AUTO_DRAWS + 20).fit(*data)
    model.save(tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        assert one.posterior_.schedule.n_thin > 1
        assert bytes_of(one.sample_more(20, *data)) == bytes_of(longer)
    assert model.posterior_.schedule == longer.posterior_.schedule


def test_a_constant_outcome(data):
    with pytest.warns(UserWarning, match="constant|equal"):
        model = ObliqueBARTRegressor(**SMALL).fit(data[0], np.ones(120))
    assert model.posterior_.schedule == Schedule(2, 0, AUTO_DRAWS, 1)
    assert model.sample_more(5).posterior_.n_draws == AUTO_DRAWS + 5


# ---- when it ends --------------------------------------------------------------------------------


def test_it_ends_when_the_chains_have_arrived(data):
    model = ObliqueBARTRegressor(**SMALL).fit(*data)
    assert examine(model.posterior_, model._fitted.training.table).convergence.arrived


def test_the_measure_is_that_of_the_posterior(data, monkeypatch):
    found = []
    original = rounds.measure_chains
    monkeypatch.setattr(
        rounds, "measure_chains", lambda *given: found.append(original(*given).f) or ARRIVED
    )
    X, y = data
    # With mean one, so that a row of weight one is the same for the engine and the user.
    weights = np.linspace(0.5, 1.5, 120)
    model = ObliqueBARTRegressor(**SMALL).fit(X, 100 * y, weights)
    # In the user's units; shares and R-hat are the same in the engine's.
    expected = examine(model.posterior_, model._fitted.training.table).convergence
    assert found[0].mc_share == pytest.approx(expected.mc_share, rel=1e-4)
    assert found[0].rhat_f == pytest.approx(expected.rhat_f, rel=1e-4)
    assert found[0].scale_rhat == pytest.approx(expected.scale_rhat, rel=1e-6)
    found.clear()
    ObliqueBARTRegressor(**SMALL, sigma=0.3, leaf_sd=0.2).fit(X, y)
    ObliqueBARTClassifier(**SMALL).fit(X, y > 0)
    assert [set(one.scale_rhat) for one in found] == [set(), {"leaf_sd"}]


def test_it_ends_when_its_sweeps_are_spent(data, monkeypatch):
    monkeypatch.setattr(rounds, "measure_chains", lambda *_: ON_THE_WAY)
    monkeypatch.setattr(parameters, "AUTO_SECONDS", 0.04)
    most = RunLength(**{k: SMALL[k] for k in ("n_chains", "n_burn")}).max_sweeps(
        SweepCost(120, 15, 1)
    )
    schedule = ObliqueBARTRegressor(**SMALL, soft=False).fit(*data).posterior_.schedule
    assert 550 < schedule.n_sweeps <= most < 2 * schedule.n_sweeps


def test_the_last_round_takes_what_is_left():
    """A round is cut short if at least half of it can be had."""
    first = Schedule(8, 500, 500, 1)
    assert first.next_round(1_499) is None
    assert first.next_round(1_500) == first.next_round(1_999) == Schedule(8, 1_000, 500, 1)
    second = first.next_round(2_000)
    assert second == first.next_round(ENDLESS) == Schedule(8, 1_000, 500, 2)
    assert second.next_round(2_999) is None
    assert second.next_round(3_700) == Schedule(8, 2_000, 500, 3)
    assert second.next_round(3_700).next_round(3_700) is None


@pytest.mark.parametrize("n_posteriors", [1, 3])
@pytest.mark.parametrize("n_rows", [10, 300, 3_000, 100_000, 10_000_000])
@pytest.mark.parametrize("task", RUN_LENGTHS)
def test_the_most_that_a_default_fit_does(task, n_rows, n_posteriors):
    length, cost = RUN_LENGTHS[task], SweepCost(n_rows, 200, n_posteriors)
    most, schedule = length.max_sweeps(cost), length.first_round(n_posteriors)
    n_draws = schedule.n_draws
    schedules = [schedule]
    while schedule := schedule.next_round(most):
        assert schedule.n_burn == schedules[-1].n_sweeps
        assert schedule.n_sweeps >= 1.5 * schedule.n_burn
        assert schedule.n_draws == n_draws
        schedules.append(schedule)
    assert all(schedule.n_sweeps >= 2 * schedule.n_burn for schedule in schedules[1:-1])
    seconds = schedules[-1].n_sweeps * cost.seconds * length.n_chains * n_posteriors
    assert len(schedules) == 1 or seconds <= parameters.AUTO_SECONDS
    if n_rows <= 3_000:
        assert len(schedules) >= 3
        assert seconds >= 0.6 * parameters.AUTO_SECONDS
    if n_rows >= 100_000:
        assert len(schedules) == 1


def test_a_number_of_draws_is_one_round():
    length = RunLength(n_draws=70)
    assert length.max_sweeps(None) == 0
    assert length.first_round().n_draws == 70
    assert length.max_sweeps(SweepCost(10, 1, 1)) == 0


def test_memory_is_asked_for_what_is_kept(data, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=f"2 chains of {AUTO_DRAWS} draws of 15 trees"):
        ObliqueBARTRegressor(**SMALL).fit(*data)


# ---- Ctrl-C --------------------------------------------------------------------------------------


def test_an_interrupt_early_in_a_round_keeps_the_round_before(data, monkeypatch, arriving_in):
    arriving_in(40)
    model = ObliqueBARTRegressor(**SMALL, n_thin=40)
    second = Schedule(2, 50, AUTO_DRAWS, 40).next_round(ENDLESS)
    with (
        pytest.raises(
            KeyboardInterrupt,
            match=r"had converged\. .* keeps 500 draws per chain, .* after 50 sweeps",
        ),
        interrupted_when(lambda sweeps: sweeps[0] > second.n_burn + 10, monkeypatch),
    ):
        model.fit(*data)
    assert model.posterior_.schedule == Schedule(2, 50, AUTO_DRAWS, 40)
    assert bytes_of(model) == bytes_of(explicit(model).fit(*data))


def test_an_interrupt_late_in_a_round_keeps_its_draws(data, monkeypatch, arriving_in):
    arriving_in(40)
    # One chain: of two that are not equally far, the one with fewer draws may be left out.
    model = ObliqueBARTRegressor(**{**SMALL, "n_chains": 1}, n_thin=40)
    second = Schedule(1, 50, AUTO_DRAWS, 40).next_round(ENDLESS)
    enough = second.n_burn + (rounds.FEWEST_DRAWS + 1) * second.n_thin
    with (
        pytest.raises(
            KeyboardInterrupt, match=r"converged.* keeps \d+ draws per chain, from 1 of 1"
        ),
        interrupted_when(lambda sweeps: min(sweeps) > enough, monkeypatch),
    ):
        model.fit(*data)
    schedule = model.posterior_.schedule
    assert (schedule.n_burn, schedule.n_thin) == (second.n_burn, second.n_thin)
    assert rounds.FEWEST_DRAWS <= schedule.n_draws < AUTO_DRAWS
    same = explicit(model).fit(*data)
    np.testing.assert_array_equal(model.predict(data[0]), same.predict(data[0]))


@pytest.mark.parametrize(
    ("owner", "name"), [(rounds, "measure_chains"), (FitProgress, "tell")], ids=["check", "words"]
)
def test_an_interrupt_between_two_rounds_loses_nothing(data, monkeypatch, arriving_in, owner, name):
    def interrupt(*_):
        raise KeyboardInterrupt

    arriving_in(40)
    monkeypatch.setattr(owner, name, interrupt)
    model = ObliqueBARTRegressor(**SMALL)
    with pytest.raises(KeyboardInterrupt, match=r"after 50 sweeps of burn-in\. Check"):
        model.fit(*data)
    assert model.posterior_.schedule == Schedule(2, 50, AUTO_DRAWS, 1)


def test_an_interrupt_between_two_classes_loses_nothing(data, monkeypatch, arriving_in):
    """Displays of classes are closed after each class's turn."""
    closed = []

    def close(_):
        closed.append(1)
        if len(closed) == 4:  # each of three classes has ended a round
            raise KeyboardInterrupt

    arriving_in(40)
    monkeypatch.setattr(FitProgress, "close", close)
    X, y = data
    model = ObliqueBARTClassifier(**CLASSES)
    with pytest.raises(KeyboardInterrupt, match=r"The model keeps \d+ draws per chain"):
        model.fit(X, np.digitize(y, [-0.5, 0.5]))
    assert len(model.posteriors_) == 3


def test_an_interrupt_of_the_last_check_loses_nothing(data, monkeypatch, arriving_in):
    def interrupt(*_):
        raise KeyboardInterrupt

    arriving_in(0)
    with monkeypatch.context() as patch:
        patch.setattr(ObliqueBARTRegressor, "_warn_if_apart", interrupt)
        model = ObliqueBARTRegressor(**SMALL)
        with pytest.raises(KeyboardInterrupt, match=r"check .* was interrupted\. .* all its draws"):
            model.fit(*data)
        assert model.posterior_.n_draws == AUTO_DRAWS
        with pytest.raises(KeyboardInterrupt, match=r"check .* was interrupted\. .* all its draws"):
            model.sample_more(5)
    assert model.posterior_.n_draws == AUTO_DRAWS + 5
    arriving_in(0)
    assert bytes_of(model) == bytes_of(ObliqueBARTRegressor(**SMALL).fit(*data).sample_more(5))


def test_an_interrupt_of_other_processes_keeps_the_round_before(data, monkeypatch, arriving_in):
    arriving_in(40)
    original, calls = rounds.run, []

    def run_once(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(rounds, "run", run_once)
    model = ObliqueBARTRegressor(**SMALL)
    with pytest.raises(KeyboardInterrupt, match=r"after 50 sweeps of burn-in\. Check"):
        model.fit(*data)
    assert model.posterior_.schedule == Schedule(2, 50, AUTO_DRAWS, 1)


def test_an_interrupt_of_classes_keeps_the_rounds_that_all_have_finished(
    data, monkeypatch, arriving_in
):
    """The third of three classes is in its second round, in which it has not kept enough."""
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    arriving_in(40)
    original, calls = rounds.run, []

    def interrupt(*given):
        calls.append(given)
        if len(calls) == 6:
            schedule = replace(given[0].schedule, n_draws=2)
            result = original(given[0]._replace(schedule=schedule), *given[1:])
            return result._replace(ending="interrupted", schedule=given[0].schedule)
        return original(*given)

    monkeypatch.setattr(rounds, "run", interrupt)
    model = ObliqueBARTClassifier(**CLASSES)
    with pytest.raises(KeyboardInterrupt, match="keeps 100 draws per chain, from 2 of 2 chains"):
        model.fit(X, labels)
    first = RunLength(2, 50).first_round(3)
    second = first.next_round(ENDLESS)
    schedules = [posterior.schedule for posterior in model.posteriors_.values()]
    assert schedules == [second, second, first]
    for label, posterior in model.posteriors_.items():
        same = ObliqueBARTClassifier(**{**CLASSES, **vars(posterior.schedule)}).fit(X, labels)
        np.testing.assert_array_equal(posterior.predict(X), same.posteriors_[label].predict(X))
    assert model.sample_more(3).posteriors_[2].n_draws == 103


def test_an_interrupt_before_all_classes_have_draws_keeps_nothing(data, monkeypatch):
    X, y = data
    model = ObliqueBARTClassifier(**CLASSES)
    with (
        pytest.raises(KeyboardInterrupt, match="before there were any draws to keep"),
        interrupted_when(lambda sweeps: max(sweeps) > 60, monkeypatch),
    ):
        model.fit(X, np.digitize(y, [-0.5, 0.5]))
    assert not hasattr(model, "posteriors_")


# ---- what the user sees --------------------------------------------------------------------------


def test_progress_tells_of_the_rounds(data, monkeypatch, arriving_in):
    arriving_in(1)
    console = Console(file=io.StringIO(), force_terminal=True, width=150)
    monkeypatch.setattr("obliquebart.sampling.progress.QUIET_SECONDS", 0.0)
    monkeypatch.setattr("obliquebart.sampling.progress.Console", lambda **_: console)
    ObliqueBARTRegressor(**{**SMALL, "progress": True}).fit(*data)
    shown = console.file.getvalue()
    told = (
        "550 sweeps: Monte Carlo share 2.3% (target 1%), R-hat 1.040 (target 1.015). "
        "Continuing to 1,550 sweeps."
    )
    assert told in shown
    assert "1,550 sweeps: Monte Carlo share 0.1%" in shown
    assert "Converged." in shown
    assert "1550/1550" in shown
    # One line per chain at the end, not one per chain and round.
    assert shown[shown.rindex("Converged.") :].count("chain 1") <= 2


def test_a_chain_that_has_not_begun_its_round_waits():
    progress = FitProgress(False)
    assert progress._state({"sweep": 1000}) == "waiting"
