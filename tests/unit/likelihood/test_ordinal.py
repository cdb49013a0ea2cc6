"""Ordered classes: the likelihood's functions agree with each other and with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from obliquebart.likelihood import LIKELIHOODS, Given, likelihood_of
from obliquebart.likelihood.ordinal import Ordinal
from obliquebart.likelihood.probit import Probit
from obliquebart.posterior.outcome_quantiles import outcome_quantiles

CUTS = (-1.0, 0.3, 2.0)
NOISE = {f"cut.{k}": np.array([[cut]]) for k, cut in enumerate(CUTS, start=1)}
ORDINAL = Ordinal(4)
F = np.linspace(-6.0, 6.0, 25)[None, :]


def test_probabilities_are_differences_of_the_normal_distribution():
    p = ORDINAL.predictions(Given(F, NOISE))
    limits = [-np.inf, *CUTS, np.inf]
    expected = np.diff(stats.norm.cdf(np.array(limits) - F[..., None]), axis=-1)
    np.testing.assert_allclose(p, expected, atol=1e-15)
    np.testing.assert_allclose(p.sum(axis=-1), 1.0)


def test_log_probabilities_are_right_far_out():
    for k in range(4):
        log_p = ORDINAL.log_density(np.full(F.shape[1], float(k)), Given(F, NOISE))
        p = ORDINAL.predictions(Given(F, NOISE))[..., k]
        is_large = p > 1e-8
        np.testing.assert_allclose(log_p[is_large], np.log(p[is_large]), rtol=1e-6)
    far = ORDINAL.log_density(np.array([1.0]), Given(np.array([[40.0]]), NOISE))
    expected = stats.norm.logcdf(0.3 - 40.0) + np.log1p(
        -np.exp(stats.norm.logcdf(-41.0) - stats.norm.logcdf(-39.7))
    )
    np.testing.assert_allclose(far[0, 0], expected, rtol=1e-12)
    weighted = Given(F, NOISE, np.full(F.shape[1], 3.0))
    np.testing.assert_allclose(
        ORDINAL.log_density(np.zeros(F.shape[1]), weighted),
        3 * ORDINAL.log_density(np.zeros(F.shape[1]), Given(F, NOISE)),
    )


def test_new_outcomes_follow_the_probabilities():
    f = np.full((1, 40_000), 0.4)
    y = ORDINAL.simulate(Given(f, NOISE), np.random.RandomState(0))
    count = np.bincount(y[0].astype(int), minlength=4)
    p = ORDINAL.predictions(Given(f[:, :1], NOISE))[0, 0]
    assert stats.chisquare(count, p * f.size).pvalue > 1e-4
    variance = ORDINAL.variance(Given(f[:, :1], NOISE))[0, 0]
    assert abs(y.var() - variance) < 0.05
    assert abs(ORDINAL.cdf(y, Given(f, NOISE)).mean() - 0.5) < 5 * 0.3 / np.sqrt(f.size)


def test_quantiles_are_numbers_of_classes():
    quantiles = outcome_quantiles(ORDINAL, Given(np.array([[0.0, 3.0]]), NOISE), (0.1, 0.5, 0.9))
    np.testing.assert_allclose(quantiles, [[0, 1, 2], [2, 3, 3]], atol=1e-9)


def test_the_settings_say_how_many_classes_there_are():
    likelihood = likelihood_of("ordinal", {"n_classes": 5.0, "concentration": 1.0})
    assert [scalar.name for scalar in likelihood.noise] == ["cut.1", "cut.2", "cut.3", "cut.4"]
    assert likelihood.fits(np.arange(5))
    assert not likelihood.fits(np.arange(4))
    assert likelihood_of("probit", {}) is LIKELIHOODS["probit"]
    assert not LIKELIHOODS["probit"].joint_classes


def test_cuts_of_a_file_must_increase():
    assert ORDINAL.are_scalars(NOISE)
    assert not ORDINAL.are_scalars({**NOISE, "cut.2": np.array([[-1.0]])})


def test_classes_are_numbered_in_their_order():
    y = np.array(["mid", "low", "high", "low"])
    outcome = Ordinal(order=["low", "mid", "high", "unused"]).encode(y)
    assert outcome.classes.tolist() == ["low", "mid", "high"]
    assert outcome.values.tolist() == [1, 0, 2, 0]
    assert outcome.likelihood.titles(outcome.classes) == [""]
    assert outcome.likelihood.part(outcome, 0).values.tolist() == [1.0, 0.0, 2.0, 0.0]
    two = Ordinal(order=["low", "high"]).encode(y[1:])
    assert type(two.likelihood) is Probit
    assert two.classes.tolist() == ["high", "low"]
    assert two.values.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="'mid', which is not among the labels"):
        Ordinal(order=["low", "high"]).encode(y)
    with pytest.raises(ValueError, match="101 classes, but ordered classes can be at most 100"):
        Ordinal().encode(np.arange(101))


def test_numbers_that_scikit_learn_gave_to_text_have_a_remedy():
    with pytest.raises(ValueError, match=r"not among .* pass ordered=\[1, 2, 0\]\."):
        Ordinal(order=["lo", "mid", "hi"]).encode(np.array([0, 1, 2, 1]))
    for y, order in (
        (np.array([0, 1, 3]), ["lo", "mid", "hi"]),
        (np.array([0, 1, 2]), [1, 2, 3]),
        (np.array([False, True]), ["lo", "hi"]),
        (np.array(["lo", "top"]), ["lo", "hi"]),
    ):
        with pytest.raises(ValueError, match="not among") as caught:
            Ordinal(order=order).encode(y)
        assert "VotingClassifier" not in str(caught.value)


def test_observed_classes_are_numbers():
    np.testing.assert_array_equal(ORDINAL.check_observed([0, 3], 2), [0.0, 3.0])
    for y in ([0, 4], [0.5, 1], [0]):
        with pytest.raises(ValueError, match=r"numbers from 0 to 3.* model\.ordered_classes_"):
            ORDINAL.check_observed(y, 2)
