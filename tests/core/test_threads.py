"""The threads of a chain: the same bits, the choice of their number, and what they cost at rest."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from helpers.probes import probes
from obliquebart import _core

BLOCK = _core.BLOCK_ROWS


def chain(n: int, n_threads: int, *, fixed: bool = True, soft: bool = False) -> _core.Sampler:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (3, n)).astype(np.float32)
    y = np.sin(3 * x[0]) + x[1] + 0.3 * rng.standard_normal(n)
    settings = _core.Settings()
    settings.n_trees, settings.leaf_sd, settings.sigma = 20, 0.2, 0.3
    settings.leaf_sd_fixed = False  # sums over the rows decide about a joint scaling
    settings.n_threads, settings.threads_fixed, settings.soft = n_threads, fixed, soft
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    return _core.Sampler(data, y, np.linspace(0.5, 2, n), settings, 3, 0)


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5, 7, 16, 40])
def test_shares_add_up_to_the_bits_of_one_thread(n_threads, rng):
    for n_blocks in [*range(1, 70), 98, 255, 977, 1024, 1025]:
        blocks = rng.standard_normal((n_blocks, 3)) * 10.0 ** rng.integers(-8, 8, (n_blocks, 3))
        expected = [probes.total_in_pairs(list(column)) for column in blocks.T]
        for in_place, one_by_one in expected:
            assert in_place == one_by_one
        found = probes.total_of_shares(list(blocks.ravel()), 3, n_threads)
        assert found == [in_place for in_place, _ in expected], n_blocks


@pytest.mark.parametrize("n_blocks", [1, 5, 16, 98, 977, 9766])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 16])
def test_shares_are_neighbouring_and_balanced(n_blocks, n_threads):
    shares = probes.list_shares(n_blocks, n_threads)
    assert shares[0][0] == 0
    assert shares[-1][1] == n_blocks
    assert all(one[1] == other[0] for one, other in itertools.pairwise(shares))
    fair = -(-n_blocks // n_threads)
    assert max(last - first for first, last in shares) <= 1.02 * fair


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("n_blocks", [1, 3, 8, 13])
def test_any_number_of_threads_has_the_same_bits(n_blocks, soft):
    """Also more threads than blocks or processors."""
    plain = chain(n_blocks * BLOCK - 70, 1, soft=soft)
    plain.sweep(12)
    for n_threads in (2, 3, 5, 7, 16):
        other = chain(n_blocks * BLOCK - 70, n_threads, soft=soft)
        other.sweep(12)
        assert other.n_threads == n_threads
        assert (other.sigma, other.leaf_sd) == (plain.sigma, plain.leaf_sd)
        np.testing.assert_array_equal(other.residual(), plain.residual())
        assert other.check() == []


def test_a_chain_that_tries_numbers_of_threads_has_the_same_bits():
    one, several = chain(40 * BLOCK, 1), chain(40 * BLOCK, 4, fixed=False)
    one.sweep(60)
    several.sweep(60)
    np.testing.assert_array_equal(several.residual(), one.residual())


# --- how many -------------------------------------------------------------------------------------


def settle(
    seconds: Callable[[int], float], n_blocks: int, most: int, n_sweeps: int = 400
) -> tuple[list[int], int]:
    """Return the numbers of threads of all sweeps, and that of the last tenth."""
    chooser = probes.ThreadChooser(n_blocks, most)
    used = []
    for _ in range(n_sweeps):
        used.append(chooser.n_threads)
        chooser.add(seconds(chooser.n_threads))
    last = used[-n_sweeps // 10 :]
    return used, max(set(last), key=last.count)


def machine(work: float, handover: float, serial: float = 1e-4) -> Callable[[int], float]:
    """Seconds of a sweep of 200 passes with so many threads."""
    return lambda k: serial + work / k + 200 * handover * (k > 1) * (1 + 0.1 * k)


def test_few_rows_have_one_thread():
    used, _ = settle(machine(1e-4, 0.0), 3, 16)
    assert set(used) == {1}


def test_many_rows_have_all_threads_from_the_first_sweep():
    used, last = settle(machine(80e-3, 4e-7), 977, 16)
    assert used[:20] == [16] * 20
    assert last == 16
    assert sum(k != 16 for k in used) <= 10  # a short look at fewer


@pytest.mark.parametrize("n_blocks", [10, 30, 98, 300])
@pytest.mark.parametrize("handover", [0.0, 5e-7, 5e-6, 1e-4])
def test_more_threads_to_choose_from_are_never_slower(n_blocks, handover):
    seconds = machine(n_blocks * 6e-5, handover)
    found = [seconds(settle(seconds, n_blocks, most)[1]) for most in (1, 2, 4, 8, 16, 64)]
    for k in range(1, len(found)):
        assert found[k] <= 1.06 * min(found[:k])


def test_threads_that_pay_are_found_and_the_others_left_idle():
    assert settle(machine(6e-3, 5e-7), 98, 16)[1] == 14  # no larger share than with 16
    assert settle(machine(6e-4, 1e-7), 10, 16)[1] >= 4
    assert settle(machine(6e-4, 1e-4), 10, 16)[1] == 1
    memory_bound = lambda k: 1e-2 / min(k, 4)  # noqa: E731
    assert settle(memory_bound, 977, 16)[1] == 4


def test_noise_does_not_decide(rng):
    seconds = machine(6e-3, 5e-7)
    noisy = lambda k: seconds(k) * (1 + 0.05 * rng.exponential() + (rng.random() < 0.05))  # noqa: E731
    assert settle(noisy, 98, 16)[1] >= 11


def test_other_jobs_come_and_go():
    """Threads that must wait for others are given up, and taken again."""
    chooser = probes.ThreadChooser(977, 16)
    alone = machine(80e-3, 4e-7)
    crowded = lambda k: alone(k) * (1 if k <= 4 else 8)  # noqa: E731
    numbers = []
    for seconds, n_sweeps in ((alone, 300), (crowded, 600), (alone, 4000)):
        for _ in range(n_sweeps):
            chooser.add(seconds(chooser.n_threads))
        numbers.append(chooser.n_threads)
    assert numbers == [16, 4, 16]


def test_threads_without_processors_are_given_up_at_once():
    """Each time half of them, in the middle of a sweep; later tries cost little."""
    chooser = probes.ThreadChooser(977, 16)
    total, numbers = 0.0, []
    for _ in range(2000):
        numbers.append(chooser.n_threads)
        if chooser.n_threads > 4:
            chooser.give_up(0.02)
            total += 0.02
        else:
            chooser.add(0.08 / chooser.n_threads)
        total += 0.08 / chooser.n_threads
    assert numbers[:3] == [16, 8, 4]
    assert numbers[-100:].count(4) >= 98
    assert total < 1.04 * 2000 * 0.02


def test_looks_are_cheap():
    """Over a usual fit, the sweeps with another number than the best cost little."""
    for n_blocks, work in ((10, 6e-4), (98, 6e-3), (977, 80e-3)):
        seconds = machine(work, 5e-7)
        used, last = settle(seconds, n_blocks, 16, 1000)
        assert sum(map(seconds, used)) <= 1.03 * 1000 * seconds(last)


def test_few_rows_need_no_threads_of_their_own():
    small = chain(500, 16, fixed=False)
    small.sweep(30)
    assert small.n_threads == 1


# --- at rest, and where there are none ------------------------------------------------------------


def test_a_chain_at_rest_takes_no_processor_time():
    resting = chain(20 * BLOCK, 4)
    resting.sweep(5)
    time.sleep(0.1)
    start = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - start < 0.03
    resting.sweep(1)  # and it can go on


SHORTAGE = """
import resource
from core.test_threads import chain
plain, warm_up = chain(20 * 1024, 1), chain(20 * 1024, 2)
plain.sweep(1)
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 60 * 2**20,) * 2)
crowded = chain(20 * 1024, 200)
crowded.sweep(1)
assert crowded.n_threads < 200, crowded.n_threads
assert (crowded.residual() == plain.residual()).all()
print("same bits")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_system_without_more_threads_does_with_fewer():
    found = subprocess.run(
        [sys.executable, "-c", SHORTAGE],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert found.stdout == "same bits\n", found.stderr


def test_lists_of_processors():
    assert probes.read_processor_list("0-3,8,10-11\n") == [0, 1, 2, 3, 8, 10, 11]
    assert probes.read_processor_list("5") == [5]
    for wrong in ("", "\n", "a", "1-", "1,", "1;2", "-3", "99999999999"):
        assert probes.read_processor_list(wrong) == []
