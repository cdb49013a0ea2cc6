"""The defaults and the way from the user's units to the engine's."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest
from scipy import stats

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model.calibration import calibrate
from obliquebart.model.parameters import (
    DEFAULTS,
    RUN_LENGTHS,
    SOFT_NUMBERS,
    WIDTH_SCALE,
    Hyperparameters,
)
from obliquebart.model.settings import settings_from_dict, settings_of, settings_to_dict

continuous_outcome = LIKELIHOODS["gaussian"].encode


def calibrated(y, p_cont=3, **given):
    outcome = continuous_outcome(np.asarray(y, float))
    return calibrate(Hyperparameters(**given).validated(), outcome, p_cont), outcome


@pytest.mark.parametrize("estimator", [ObliqueBARTRegressor, ObliqueBARTClassifier])
def test_signatures_and_docstrings_have_the_one_default(estimator):
    parameters = inspect.signature(estimator).parameters
    task = estimator._family.task
    defaults = {**vars(DEFAULTS), **vars(RUN_LENGTHS[task])}
    if task == "regression":
        defaults["soft"] = SOFT_NUMBERS
    shared = [name for name in defaults if name in parameters]
    assert {name: parameters[name].default for name in shared} == {
        name: defaults[name] for name in shared
    }
    assert len(shared) >= 14
    for name, parameter in parameters.items():
        (line,) = re.findall(rf"^(?:\w+, )?{name}\b.* : .*, default=.*$", estimator.__doc__, re.M)
        assert repr(parameter.default).replace("'", '"') in line.partition("default=")[2]


def test_sigma_is_below_sd_of_y_with_its_quantile(rng):
    for nu, quantile in [(3.0, 0.9), (10.0, 0.75), (3.0, 0.99)]:
        settings, outcome = calibrated(rng.normal(5, 7, 200), nu=nu, sigma_quantile=quantile)
        prior = stats.invgamma(nu / 2, scale=nu * settings.lambda_ / 2)
        assert prior.cdf(1.0) == pytest.approx(quantile)
        assert outcome.values.std(ddof=1) == pytest.approx(1.0)
        assert not settings.sigma_fixed


def test_paper_leaf_sd_spans_the_range_of_y(rng):
    y = rng.exponential(3.0, 100)
    settings, outcome = calibrated(y, n_trees=50, k=3.0, prior="paper")
    in_units_of_y = settings.leaf_sd * outcome.scale.scale
    assert in_units_of_y == pytest.approx(np.ptp(y) / (2 * 3.0 * math.sqrt(50)))
    assert settings.leaf_sd_fixed


def test_default_leaf_sd_is_sampled_around_a_robust_value(rng):
    for y in (rng.exponential(3.0, 100), rng.uniform(size=100)):
        settings, outcome = calibrated(y, n_trees=50, k=3.0)
        spread = min(np.ptp(y) / 4, y.std(ddof=1))
        mode = stats.invgamma(settings.leaf_shape, scale=settings.leaf_rate)
        assert settings.leaf_sd * outcome.scale.scale == pytest.approx(
            2 / 3 * spread / math.sqrt(50)
        )
        assert not settings.leaf_sd_fixed
        at = settings.leaf_sd**2
        assert mode.pdf(at) > max(mode.pdf(0.98 * at), mode.pdf(1.02 * at))
    settings, _ = calibrated(y, leaf_sd=0.3)
    assert settings.leaf_sd_fixed


def test_fixed_scales_are_in_units_of_y(rng):
    y = 100 * rng.standard_normal(50)
    settings, outcome = calibrated(y, sigma=20.0, leaf_sd=3.0, theta=0.25)
    assert settings.sigma * outcome.scale.scale == pytest.approx(20.0)
    assert settings.leaf_sd * outcome.scale.scale == pytest.approx(3.0)
    assert settings.theta == 0.25
    assert settings.sigma_fixed
    assert settings.theta_fixed


@pytest.mark.parametrize("p_cont", [0, 1, 2, 30])
def test_theta_has_prior_mean_one_over_p_cont(p_cont):
    for prior, a in [("paper", 20.0), ("default", {30: 100 / 30}.get(p_cont, 10.0))]:
        settings, _ = calibrated([1.0, 2.0, 4.0], p_cont=p_cont, n_trees=20, prior=prior)
        assert settings.theta == pytest.approx(1 / max(p_cont, 1))
        assert (settings.theta_a, settings.theta_b) == (a, a * max(p_cont - 1, 0))
        assert settings.theta_fixed == (p_cont <= 1)
        assert settings.theta_by_column == (prior == "default")


def test_columns_of_axis_rules_are_weighted_or_uniform():
    weighted, _ = calibrated([1.0, 2.0, 4.0], rules="axis")
    assert weighted.theta_by_column
    assert not weighted.theta_fixed
    uniform, _ = calibrated([1.0, 2.0, 4.0], rules="axis", prior="paper")
    assert uniform.theta_fixed
    assert not uniform.theta_by_column


def test_paper_prior_is_the_paper_in_every_respect():
    hyper = Hyperparameters(prior="paper").validated()
    assert (hyper.min_samples_leaf, hyper.feature_scaling) == (0, "range")
    assert (hyper.p_change, hyper.p_perturb) == (0.0, 0.0)
    changed = Hyperparameters(prior="paper", min_samples_leaf=3, p_perturb=0.4).validated()
    assert (changed.min_samples_leaf, changed.p_change, changed.p_perturb) == (3, 0.0, 0.4)


def test_probit_calibration():
    probit = LIKELIHOODS["probit"]
    outcome = probit.part(probit.encode(np.array([True, False, False, False])), 0)
    settings = calibrate(Hyperparameters(n_trees=100, k=2.0).validated(), outcome, 2)
    assert settings.leaf_sd == pytest.approx(3 / (2 * 10))
    assert settings.offset == pytest.approx(stats.norm.ppf(0.25))
    assert settings.sigma == 1.0
    assert settings.sigma_fixed
    assert settings.likelihood == "probit"


def test_power_of_two_units_give_the_same_bits(rng):
    y = rng.standard_normal(30) + 3
    plain = continuous_outcome(y)
    for power in (-1000, -500, 500, 990):
        scaled = continuous_outcome(np.ldexp(y, power))
        np.testing.assert_array_equal(scaled.values, plain.values)
        assert scaled.scale.scale == math.ldexp(plain.scale.scale, power)


def test_weights_are_relative_and_sigma_takes_their_mean(rng):
    y, w = rng.standard_normal(30), rng.uniform(0.5, 2, 30)
    one, ten = continuous_outcome(y, w), continuous_outcome(y, 1024.0 * w)
    np.testing.assert_array_equal(one.weights, ten.weights)
    np.testing.assert_array_equal(one.values, ten.values)
    assert one.weights.mean() == pytest.approx(1.0)
    assert ten.scale.sigma_unit == pytest.approx(32 * one.scale.sigma_unit)
    assert continuous_outcome(y, np.full(30, 7.0)).weights is None


def test_extreme_weights_stay_finite(rng):
    y = rng.standard_normal(4)
    for w in ([1e308] * 3 + [1e300], [5e-324, 1e-320, 1e-320, 1e-320]):
        outcome = continuous_outcome(y, np.array(w))
        assert np.isfinite(outcome.weights).all()
        assert np.isfinite(outcome.scale.sigma_unit)


def test_settings_survive_the_dictionary():
    settings, _ = calibrated([1.0, 2.0, 4.0], alpha=0.3, beta=1.5, p_change=0.2, rules="axis")
    values = settings_to_dict(settings)
    again = settings_from_dict(values)
    assert settings_to_dict(again) == values
    assert again.n_threads == 1
    assert again.axis_rules


# ---- scales of trees -----------------------------------------------------------------------------


def test_scales_of_trees_make_the_common_one_smaller(rng):
    y = rng.normal(size=50)
    alike, _ = calibrated(y)
    settings, _ = calibrated(y, tree_df=2)
    assert (alike.tree_df, settings.tree_df) == (0.0, 2.0)
    assert settings.leaf_sd == pytest.approx(2 / 3 * alike.leaf_sd)
    assert settings.leaf_rate == pytest.approx((2 / 3) ** 2 * alike.leaf_rate)
    nearly_alike, _ = calibrated(y, tree_df=1e5)
    assert nearly_alike.leaf_sd == pytest.approx(alike.leaf_sd, rel=2e-5)
    given = [calibrated(y, leaf_sd=0.3, tree_df=df)[0].leaf_sd for df in (None, 2.0)]
    assert given[0] == given[1]
    assert "tree_df" not in settings_to_dict(alike)
    assert settings_to_dict(settings)["tree_df"] == 2.0


def test_only_the_trees_of_f_have_scales(rng):
    outcome = LIKELIHOODS["varying_noise"].encode(rng.normal(size=50))
    settings = calibrate(Hyperparameters(noise="varying", tree_df=2.0).validated(), outcome, 3)
    assert [settings.ensemble(e).tree_df for e in range(2)] == [2.0, 0.0]


def test_the_paper_has_no_scales_of_trees():
    with pytest.raises(ValueError, match='prior="paper" has trees of one scale'):
        Hyperparameters(prior="paper", tree_df=2.0).validated()


# ---- soft rules ----------------------------------------------------------------------------------


def test_soft_rules_have_a_prior_of_their_widths(rng):
    y = rng.normal(size=50)
    settings, _ = calibrated(y, soft=True)
    assert settings.soft
    assert settings.width_scale == WIDTH_SCALE
    assert settings.output_correlation == 0.0
    hard, _ = calibrated(y)
    assert not hard.soft
    assert hard.output_correlation == -0.95


def test_only_chains_with_soft_rules_write_their_settings(rng):
    y = rng.normal(size=50)
    names = {"soft", "width_scale"}
    assert not names & set(settings_to_dict(calibrated(y)[0]))
    values = settings_to_dict(calibrated(y, soft=True)[0])
    assert names <= set(values)
    assert settings_to_dict(settings_from_dict(values)) == values


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("varying_noise", [True, False]),
        ("softmax", [True, True, True]),
        ("causal_gaussian", [True, True]),
        ("causal_varying_noise", [True, False, True]),
        ("logit", [True]),
        ("ordinal", [True]),
    ],
)
def test_every_ensemble_of_an_f_is_soft(rng, name, expected):
    y = rng.normal(size=60)
    labels = np.digitize(y, [-0.5, 0.5])
    likelihood = LIKELIHOODS[name]
    if likelihood.has_classes:
        classes = labels if name in ("softmax", "ordinal") else labels > 0
        outcome = likelihood.encode(classes)
        outcome = outcome.likelihood.part(outcome, 0)
    else:
        outcome = likelihood.encode(y)
    settings = calibrate(Hyperparameters(soft=True).validated(), outcome, 3)
    settings.verify()
    soft = [settings.ensemble(e).soft for e in range(settings.n_ensembles)]
    assert soft == expected
    values = settings_to_dict(settings)
    assert [settings_of(values, e)["soft"] for e in range(len(expected))] == expected


@pytest.mark.parametrize("soft", [1, "yes", None, 0.0])
def test_soft_is_true_or_false(soft):
    with pytest.raises(ValueError, match=r"soft=.* must be one of False, True"):
        Hyperparameters(soft=soft).validated()


def test_the_rules_of_the_paper_are_hard():
    with pytest.raises(ValueError, match=r'prior="paper" has hard rules: .* prior="default"'):
        Hyperparameters(soft=True, prior="paper").validated()
    assert not Hyperparameters(prior="paper").validated().soft
