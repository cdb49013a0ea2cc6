"""The table of planted bugs is about tests and bugs that there are; `make bugs` runs it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from helpers import ROOT

FOLDER = ROOT / "tests" / "planted"


@pytest.fixture(scope="module")
def run():
    """Return the script as a module; it imports its neighbour by name."""
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("planted_run", FOLDER / "run.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


def test_all_its_tests_exist(run):
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *run.tests_for("")], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert f"{len(run.tests_for(''))} tests collected" in done.stdout


def test_its_bugs_are_those_of_the_sources(run):
    assert run.planted_in_sources() == set(run.BUGS)


def test_every_beginning_of_a_name_is_that_of_a_bug(run):
    for beginnings in run.OWN_TESTS:
        for beginning in beginnings:
            assert any(bug.startswith(beginning) for bug in run.BUGS), beginning


def test_bugs_of_likelihoods_have_tests_of_their_own(run):
    """Without, they would run with tests of regressions, which cannot see them."""
    beginnings = ("logistic_", "softmax_", "ordinal_", "varying_", "causal_", "censored_", "card_")
    general = set(run.columns_for("no such bug"))
    of_likelihoods = [bug for bug in run.BUGS if bug.startswith(beginnings)]
    assert len(of_likelihoods) > 40
    for bug in of_likelihoods:
        assert not general & set(run.columns_for(bug)), bug
