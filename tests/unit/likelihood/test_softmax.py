"""Joint classes: probabilities, densities, simulation, the prior's settings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from obliquebart.likelihood import Given
from obliquebart.likelihood.logit import Logit
from obliquebart.likelihood.softmax import Softmax
from obliquebart.model.parameters import Hyperparameters

F = np.array([[0.0, 1.0, -2.0], [3.0, 3.0, 0.5]])
LABELS = np.array(["b", "a", "c", "a", "a", "b"])


def test_probabilities_sum_to_one_and_give_the_density():
    softmax, given = Softmax(3), Given(F, {})
    p = softmax.mean(F)
    np.testing.assert_allclose(p.sum(axis=-1), 1.0)
    np.testing.assert_allclose(p[0, 1] / p[0, 0], np.e)
    for k in range(3):
        y = np.full(2, float(k))
        np.testing.assert_allclose(np.exp(softmax.log_density(y, given)), p[:, k])
        weighted = given._replace(weights=np.array([2.0, 0.5]))
        np.testing.assert_allclose(softmax.log_density(y, weighted), np.log(p[:, k]) * [2.0, 0.5])
        # The step at a class counts half.
        np.testing.assert_allclose(softmax.cdf(y, given), p[:, :k].sum(axis=1) + p[:, k] / 2)


def test_a_constant_added_to_all_classes_changes_nothing():
    np.testing.assert_allclose(Softmax(3).mean(F + 700.0), Softmax(3).mean(F))


def test_new_outcomes_follow_the_probabilities():
    n = 20_000
    y = Softmax(3).simulate(Given(np.broadcast_to(F[0], (n, 3)), {}), np.random.RandomState(1))
    expected = n * Softmax(3).mean(F[0])
    assert stats.chisquare(np.bincount(y.astype(int), minlength=3), expected).pvalue > 1e-5


def test_offsets_are_the_shares_and_every_class_has_the_same_prior():
    parameters = Hyperparameters(n_trees=50).validated()
    outcome = Softmax().encode(LABELS)
    softmax = outcome.likelihood
    part = softmax.part(outcome, 0)
    settings = softmax.noise_prior(parameters, part)
    offsets = np.array([settings["more"][f"offset.{k}"] for k in range(3)])
    np.testing.assert_allclose(softmax.mean(offsets), [3 / 6, 2 / 6, 1 / 6])
    assert offsets.sum() == pytest.approx(0.0)
    first = {"n_trees": 50, "leaf_sd": softmax.leaf_sd(parameters, part), "sigma": 1.0}
    others = softmax.more_ensembles(parameters, part, first)
    assert others == [{"n_trees": 50, "leaf_sd": first["leaf_sd"]}] * 2
    assert first["leaf_sd"] == Logit().leaf_sd(parameters, part)


def test_weights_count_in_the_offsets():
    outcome = Softmax().encode(LABELS, np.array([1.0, 0.5, 2.0, 0.25, 0.25, 1.0]))
    offsets = outcome.likelihood.offsets(outcome)
    np.testing.assert_allclose(outcome.likelihood.mean(offsets), [1 / 5, 2 / 5, 2 / 5])


def test_two_classes_are_logit():
    assert type(Softmax().encode(LABELS[:2]).likelihood) is Logit
    assert Softmax().encode(LABELS).likelihood.fits(np.array(["a", "b", "c"]))
    assert not Softmax(4).fits(np.array(["a", "b", "c"]))


def test_observed_outcomes_are_numbers_of_classes():
    np.testing.assert_array_equal(Softmax(3).check_observed([0, 2], 2), [0.0, 2.0])
    for wrong in ([0, 3], [0.5, 1], [0, 1, 2]):
        with pytest.raises(ValueError, match="2 numbers from 0 to 2"):
            Softmax(3).check_observed(wrong, 2)
