"""Chains: the same draws however they are run, progress, and Ctrl-C."""

from __future__ import annotations

import concurrent.futures
import io
import math
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from rich.console import Console

from helpers.arrays import assert_same
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.sampling import memory
from obliquebart.sampling import run as run_module
from obliquebart.sampling.progress import FitProgress
from obliquebart.sampling.run import new_seed, threads_by_chain
from obliquebart.validation import effective_jobs

SMALL = {"n_trees": 10, "n_burn": 20, "n_draws": 15, "n_chains": 3, "progress": False}


@pytest.fixture
def data(rng):
    x = rng.uniform(-1, 1, (80, 3))
    return x, x[:, 0] + 0.1 * rng.standard_normal(80)


def arrays_of(model):
    return {**model.posterior_.draws.to_arrays(), **model.posterior_.trace}


def assert_same_draws(one, other):
    assert_same(arrays_of(one), arrays_of(other))


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7, -1, -2])
def test_draws_do_not_depend_on_n_jobs(data, n_jobs):
    plain = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    assert_same_draws(
        plain, ObliqueBARTRegressor(**SMALL, random_state=3, n_jobs=n_jobs).fit(*data)
    )


@pytest.mark.parametrize(
    ("jobs", "n_chains", "expected"),
    [
        (1, 1, [1]),
        (16, 1, [16]),
        (16, 3, [6, 5, 5]),
        (16, 8, [2] * 8),
        (16, 16, [1] * 16),
        (8, 16, [1] * 16),
        (2, 3, [1, 1, 2]),  # the third runs alone
        (16, 20, [1] * 16 + [4] * 4),
        (64, 2, [8, 8]),  # there are 16 cores
        (64, 20, [1] * 20),
    ],
)
def test_chains_share_all_jobs(jobs, n_chains, expected, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
    assert threads_by_chain(jobs, n_chains) == expected


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_draws_do_not_depend_on_the_joblib_backend(data, backend):
    plain = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_draws(plain, ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data))


def test_joblib_context_sets_the_number_of_jobs():
    assert effective_jobs(None) == 1
    with joblib.parallel_config(n_jobs=2):
        assert effective_jobs(None) == 2
        assert effective_jobs(3) == 3


def test_chains_differ_and_seeds_matter(data):
    model = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    sigma = model.posterior_.trace["sigma"]
    assert len(np.unique(sigma)) == sigma.size
    other = ObliqueBARTRegressor(**SMALL, random_state=4).fit(*data)
    assert not np.array_equal(sigma, other.posterior_.trace["sigma"])


def test_a_chain_does_not_depend_on_how_many_follow(data):
    few = ObliqueBARTRegressor(**{**SMALL, "n_chains": 1}, random_state=3).fit(*data)
    many = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    np.testing.assert_array_equal(
        few.posterior_.trace["sigma"][0], many.posterior_.trace["sigma"][0]
    )


def test_thinning_keeps_every_nth_sweep(data):
    options = {**SMALL, "n_chains": 1, "random_state": 5}
    all_of_them = ObliqueBARTRegressor(**{**options, "n_draws": 30}).fit(*data)
    thinned = ObliqueBARTRegressor(**{**options, "n_draws": 10, "n_thin": 3}).fit(*data)
    np.testing.assert_array_equal(
        all_of_them.posterior_.trace["sigma"][:, 2::3], thinned.posterior_.trace["sigma"]
    )


def test_burn_in_is_recorded(data):
    model = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    assert model.posterior_.burn_sigma.shape == (3, 20)
    assert np.isfinite(model.posterior_.burn_sigma).all()


def test_seed_has_64_bits_and_follows_the_state():
    seeds = {new_seed(i) for i in range(50)}
    assert len(seeds) == 50
    assert max(seeds) > 2**60
    assert all(0 <= seed < 2**64 for seed in seeds)
    state = np.random.RandomState(0)
    assert new_seed(state) != new_seed(state)
    assert new_seed(0) == new_seed(np.random.RandomState(0))


def interrupt_after(seconds):
    """Send the process what Ctrl-C sends."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_keeps_the_draws_so_far(rng, n_jobs):
    x = rng.uniform(-1, 1, (500, 2))
    # Without an estimate of the noise, which takes most of that time.
    noise = {"nu": 3, "sigma_quantile": 0.9, "noise_df": math.inf}
    model = ObliqueBARTRegressor(
        n_trees=20, n_burn=5, n_draws=2_000_000, n_chains=2, n_jobs=n_jobs, progress=False, **noise
    )
    timer = interrupt_after(1.5)
    start = time.monotonic()
    with pytest.raises(
        KeyboardInterrupt, match=r"keeps \d+ of 2000000 draws per chain, from [12] of 2"
    ):
        model.fit(x, x[:, 0])
    timer.join()
    assert time.monotonic() - start < 40.0  # On any machine, however busy; the fit takes minutes.
    posterior = model.posterior_
    # Chains one after the other: the second had no turn, so it is left out.
    assert posterior.n_chains == n_jobs
    assert 1 <= posterior.n_draws < 2_000_000
    assert posterior.draws.n_draws == posterior.n_chains * posterior.n_draws
    assert np.isfinite(model.predict(x)).all()


def press_again_and_again(monkeypatch, n_times):
    """Send what Ctrl-C sends so often, at short intervals, from when the chains are watched on."""

    def press():
        for _ in range(n_times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)

    presses = threading.Thread(target=press)
    own_watch, own_wait_for_end = run_module._watch, run_module._wait_for_end

    def watch(futures, runners, *given):
        while not any(runner.snapshot()["sweep"] > 1 for runner in runners):
            time.sleep(0.001)  # else there would be no draws to keep
        presses.start()
        own_watch(futures, runners, *given)

    def wait_for_end(futures):
        presses.join()  # None may come after the end of the chains, where it would stop this test.
        own_wait_for_end(futures)

    monkeypatch.setattr(run_module, "_watch", watch)
    monkeypatch.setattr(run_module, "_wait_for_end", wait_for_end)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_impatient_user_loses_no_draws(rng, monkeypatch, n_jobs):
    """An exception at a bad moment would leave locks that the chains wait for, for ever."""
    press_again_and_again(monkeypatch, n_times=200)
    x = rng.uniform(-1, 1, (500, 2))
    chains = {"n_chains": 3, "n_jobs": n_jobs}
    model = ObliqueBARTClassifier(n_trees=20, n_burn=0, n_draws=2_000_000, **chains)
    with pytest.raises(KeyboardInterrupt, match=r"keeps \d+ of 2000000 draws"):
        model.fit(x, x[:, 0] > 0)
    assert not [t for t in threading.enumerate() if t.name.startswith("obliquebart")]
    assert model.posterior_.n_draws >= 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_handles_interrupts_itself(rng, monkeypatch):
    """Its exceptions come between any two lines; threads left behind could crash Python."""
    waits = []

    def wait(*given, **options):
        waits.append(given)
        # The first is that for the chains, the next ones are those for their end.
        if len(waits) in (2, 3, 4):
            os.kill(os.getpid(), signal.SIGINT)
        return concurrent.futures.wait(*given, **options)

    def handle(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "wait", wait)
    x = rng.uniform(-1, 1, (500, 2))
    model = ObliqueBARTClassifier(n_trees=20, n_burn=5, n_draws=2_000_000, n_chains=1)
    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"keeps \d+ of 2000000 draws"):
            model.fit(x, x[:, 0] > 0)
        assert signal.getsignal(signal.SIGINT) is handle
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(waits) >= 5
    assert not [t for t in threading.enumerate() if t.name.startswith("obliquebart")]
    assert model.posterior_.n_draws >= 1


def test_fits_in_other_threads_leave_interrupts_alone(data):
    handlers = []

    def fit():
        ObliqueBARTRegressor(**SMALL).fit(*data)
        handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_where_threading_takes_another_thread_for_the_main_one(data, monkeypatch):
    """So it is in some programs that embed Python; there, handlers cannot be set."""

    def refuse(*_):
        raise ValueError("signal only works in main thread of the main interpreter")

    plain = ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data)
    monkeypatch.setattr("obliquebart.sampling.interrupts.signal.signal", refuse)
    assert_same_draws(plain, ObliqueBARTRegressor(**SMALL, random_state=3).fit(*data))


def interrupted_at_the_end(monkeypatch):
    """Press Ctrl-C when all chains have ended."""
    own_wait_for_end = run_module._wait_for_end

    def wait_for_end(futures):
        own_wait_for_end(futures)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(run_module, "_wait_for_end", wait_for_end)


def test_an_interrupt_of_the_last_sweep_is_not_lost(data, monkeypatch):
    model = ObliqueBARTRegressor(**SMALL, sigma_quantile=0.9).fit(*data)
    interrupted_at_the_end(monkeypatch)
    with pytest.raises(KeyboardInterrupt, match="5 of 5 draws per chain were added"):
        model.sample_more(5)
    assert model.posterior_.n_draws == SMALL["n_draws"] + 5
    with pytest.raises(KeyboardInterrupt, match="keeps 15 of 15 draws per chain"):
        model.fit(*data)
    assert model.posterior_.n_draws == SMALL["n_draws"]


def test_an_interrupt_where_a_card_fails_does_not_begin_again(data, monkeypatch):
    def fail(*_):
        raise run_module._core.CardError("no memory")

    monkeypatch.setattr(run_module.ChainRunner, "run", fail)
    interrupted_at_the_end(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        ObliqueBARTRegressor(**SMALL, sigma_quantile=0.9).fit(*data)


def test_no_chain_is_left_behind_where_a_thread_cannot_start(data, monkeypatch):
    submit, calls = concurrent.futures.ThreadPoolExecutor.submit, []

    def submit_once(*given):
        calls.append(given)
        if len(calls) == 2:
            raise RuntimeError("can't start new thread")
        return submit(*given)

    monkeypatch.setattr(concurrent.futures.ThreadPoolExecutor, "submit", submit_once)
    model = ObliqueBARTRegressor(**{**SMALL, "n_draws": 5_000_000}, sigma_quantile=0.9, n_jobs=3)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        model.fit(*data)
    assert not [t for t in threading.enumerate() if t.name.startswith("obliquebart")]


def test_interrupt_stops_the_chains_at_once(rng):
    x = rng.uniform(-1, 1, (500, 2))
    model = ObliqueBARTRegressor(n_burn=10_000_000, n_draws=1, n_chains=2, n_jobs=2, progress=False)
    timer = interrupt_after(0.5)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, x[:, 0])
    timer.join()
    assert time.monotonic() - start < 20.0  # On any machine, however busy; the fit takes minutes.
    assert not hasattr(model, "posterior_")
    assert not hasattr(model, "n_features_in_")


def test_interrupt_of_many_classes_leaves_nothing(rng):
    x, y = rng.uniform(-1, 1, (300, 2)), np.arange(300) % 3
    model = ObliqueBARTClassifier(
        n_trees=20,
        n_burn=5,
        n_draws=1_000_000,
        n_chains=1,
        multiclass="one_vs_rest",
        progress=False,
    )
    timer = interrupt_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    timer.join()
    assert not hasattr(model, "posteriors_")


def test_an_interrupted_refit_leaves_the_old_fit(data):
    x, y = data
    model = ObliqueBARTRegressor(**SMALL, random_state=0).fit(x, y)
    before = model.predict(x)
    model.set_params(n_burn=10_000_000, n_draws=1)
    timer = interrupt_after(0.4)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x[:, :2], y)
    timer.join()
    np.testing.assert_array_equal(model.predict(x), before)


def test_an_error_in_a_chain_is_raised(data, monkeypatch):
    def broken(*_):
        raise RuntimeError("the engine is broken")

    monkeypatch.setattr("obliquebart.sampling.run._core.Sampler", broken)
    model = ObliqueBARTRegressor(**SMALL)
    with pytest.raises(RuntimeError, match="the engine is broken"):
        model.fit(*data)
    assert not hasattr(model, "posterior_")


def test_memory_is_asked_for_before_the_chains_start(data, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"Keeping 3 chains of 15 draws of 100 trees needs"):
        ObliqueBARTRegressor(**{**SMALL, "n_trees": 100}).fit(*data)
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    ObliqueBARTRegressor(**SMALL).fit(*data)


def test_a_limit_of_the_address_space_counts(data, monkeypatch):
    """Without it, a thread that has no memory to begin with would be waited for for ever."""
    monkeypatch.setattr(memory, "_address_space_left", lambda: 9_000_000)
    assert memory.available_memory() == 9_000_000
    with pytest.raises(
        MemoryError, match=r"Running a thread needs .* leaves 9 MB\. Raise it, or lower"
    ):
        ObliqueBARTRegressor(**SMALL).fit(*data)
    monkeypatch.setattr(memory, "_address_space_left", lambda: 90_000_000)
    ObliqueBARTRegressor(**SMALL).fit(*data)


def test_available_memory_is_plausible():
    available = memory.available_memory()
    assert available is None or 10_000_000 < available < 10**15


def shown(console):
    return console.file.getvalue()


def display(mode, *, terminal, monkeypatch, quiet=0.0):
    monkeypatch.setattr("obliquebart.sampling.progress.QUIET_SECONDS", quiet)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=150)
    noise_units = {"sigma": ("σ", 2.0)}
    progress = FitProgress(mode, 100, noise_units, title="blue ", console=console)
    progress.open()
    snapshots = [
        {"sweep": 40, "sigma": 1.25, "acceptance": 0.31},
        {"sweep": 0, "sigma": 1.0, "acceptance": 0.0},
    ]
    progress.update(snapshots)
    progress.close()
    return shown(console)


@pytest.mark.parametrize("mode", [True, "auto"])
def test_progress_shows_chain_sweep_sigma_acceptance(mode, monkeypatch):
    text = display(mode, terminal=True, monkeypatch=monkeypatch)
    for piece in ("blue chain 1", "blue chain 2", "40/100", "σ 2.5", "accepted 31%", "waiting"):
        assert piece in text


def test_progress_is_silent_when_nobody_watches(monkeypatch):
    assert display(False, terminal=True, monkeypatch=monkeypatch) == ""
    assert display("auto", terminal=False, monkeypatch=monkeypatch) == ""
    assert display(True, terminal=True, monkeypatch=monkeypatch, quiet=60.0) == ""


def test_a_fit_shows_progress(data, monkeypatch, capfd):
    monkeypatch.setattr("obliquebart.sampling.progress.QUIET_SECONDS", 0.0)
    ObliqueBARTRegressor(**{**SMALL, "progress": True}).fit(*data)
    assert "chain 3" in capfd.readouterr().err


def test_a_fit_is_silent_off_a_terminal(data, capfd):
    ObliqueBARTRegressor(**{**SMALL, "progress": "auto"}).fit(*data)
    assert capfd.readouterr() == ("", "")
