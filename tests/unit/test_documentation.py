"""Docstrings whose parameters are described in one place for several functions."""

import re

import pytest

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.documentation import shared_parameters
from obliquebart.posterior.posterior import Posterior


def entry(thing, name):
    """Return the first line and the description of a parameter."""
    found = re.search(rf"^{name} : (.*)\n((?: {{4}}.*\n)+)", thing.__doc__, re.MULTILINE)
    return found[1], " ".join(found[2].split())


@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_the_seed_of_a_fit_is_not_that_of_importances(estimator):
    types, words = entry(estimator, "random_state")
    assert types == "int, RandomState or None, default=None"
    assert "Seed of the chains" in words


@pytest.mark.parametrize("owner", [ObliqueBARTRegressor, Posterior])
def test_importances_have_a_seed_of_their_own(owner):
    types, words = entry(owner.importance, "random_state")
    assert types.endswith("default=0")
    assert "shuffling" in words


@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_a_parameter_has_one_default(estimator):
    lines = [line for line in estimator.__doc__.splitlines() if "default=" in line]
    assert len(lines) > 20
    assert all(line.count("default=") == 1 for line in lines)


def test_a_name_is_described_once():
    with pytest.raises(ValueError, match="described twice"):

        @shared_parameters("a : int\n    One.\na : int\n    Other.")
        def function(a):
            """Do nothing."""
