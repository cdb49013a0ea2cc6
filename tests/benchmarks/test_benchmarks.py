"""The benchmarks that need no other package, tiny sizes, and the page made from the results."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
import run

from helpers import ROOT

BENCHMARKS = ROOT / "benchmarks"


def test_every_question_is_asked():
    assert sorted(run.QUESTIONS + run.ON_A_CARD) == sorted(
        path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py")
    )


@pytest.mark.parametrize("name", run.QUESTIONS)
def test_a_question_has_small_sizes(name):
    question = importlib.import_module(f"bench_{name}")
    assert set(question.QUICK) <= set(question.rows.__annotations__)


def test_two_threads_have_the_bits_of_one():
    (row,) = importlib.import_module("bench_threads").rows(n=5_000, n_burn=3, n_pairs=3)
    assert row["same_bits"]


def test_memory_stays_within_its_bound():
    # Libraries and their allocators add up to ten megabytes, and now and then more: three tries.
    rows = importlib.import_module("bench_memory").rows
    for _ in range(3):
        found = rows(sizes=(100_000,))
        if all(row["peak_mb"] < row["bound_mb"] + 10 for row in found):
            return
    pytest.fail(f"more memory than the bound, three times: {found}")


def test_all_instruction_sets_have_the_same_bits():
    rows = importlib.import_module("bench_simd").rows(sizes=(100,), n_draws=3, n_rows=200, rounds=1)
    assert all(row["same_bits"] for row in rows)


def test_bytes_moved():
    """A pass over rows moves at least the residual, twice, and two codes."""
    small, reference = importlib.import_module("bench_rows").rows((1_000, 10_000), 10, 1)
    assert reference["over_reference"] == 1
    for row in (small, reference):
        assert 10 < row["bytes_per_row_tree"] < 20
        assert row["gb_s"] > 0
        assert row["memory_gb_s"] > 0


def test_figures_of_the_page_are_those_of_the_results():
    command = [sys.executable, str(BENCHMARKS / "report.py"), "--check"]
    remedy = "Run .venv/bin/python benchmarks/report.py"
    assert subprocess.run(command).returncode == 0, remedy
