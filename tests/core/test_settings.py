"""Bounds of the settings: the last value that is allowed, and the first that is not."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart import _core

BELOW_1 = float(np.nextafter(1.0, 0.0))
TINY = 5e-324
# Setting: values that are allowed, values that are not, and the message.
BOUNDS = {
    "n_trees": ([1], [0, -1], "n_trees must be at least 1"),
    "alpha": ([TINY, BELOW_1], [0.0, 1.0, np.nan], "alpha must be in"),
    "beta": ([0.0, 999_999.0], [-TINY, 1e6, np.nan], "beta must be finite"),
    "max_depth": ([0, 250], [-1, 251], "max_depth must be in 0..250"),
    "min_samples_leaf": ([0], [-1], "min_samples_leaf must not be negative"),
    "hidden_columns": ([0], [-1], "hidden_columns must not be negative"),
    "leaf_sd": ([TINY, 1e299], [0.0, 1e300, np.nan], "leaf_sd must be positive"),
    "leaf_shape": ([TINY], [0.0, np.nan], "leaf_shape and leaf_rate must be positive"),
    "leaf_rate": ([TINY], [0.0, np.nan], "leaf_shape and leaf_rate must be positive"),
    "tree_df": ([0.0, 0.1, 999_999.0], [-0.1, 0.09, 1e6, np.nan], "tree_df must be 0 or"),
    "output_correlation": ([-BELOW_1, BELOW_1], [-1.0, 1.0, np.nan], "output_correlation must"),
    "theta": ([0.0, 1.0], [-TINY, 1.0 + 1e-15, np.nan], "theta must be in"),
    "theta_a": ([TINY], [0.0, np.nan], "theta_a, theta_b must be positive"),
    "theta_b": ([0.0, TINY], [-TINY, np.nan], "theta_a, theta_b must be positive"),
    "p_change": ([0.0, 0.99], [-TINY, 1.0], "share of a move|shares of the moves"),
    "p_perturb": ([0.0, 0.99], [-TINY, 1.0], "share of a move|shares of the moves"),
    "perturb_angle": ([TINY], [0.0, np.nan], "perturb steps must be positive"),
    "perturb_shift": ([TINY], [0.0, np.nan], "perturb steps must be positive"),
    "sigma": ([TINY, 1e299], [0.0, 1e300, np.nan], "sigma must be positive and finite"),
    "nu": ([TINY], [0.0, np.nan], "nu and lambda must be positive"),
    "lambda_": ([TINY], [0.0, np.nan], "nu and lambda must be positive"),
}


def make_settings(**values: object) -> _core.Settings:
    settings = _core.Settings()
    plain = {"leaf_sd_fixed": False, "theta_fixed": False, "sigma_fixed": False}
    for name, value in {**plain, "p_change": 0.0, "p_perturb": 0.0, **values}.items():
        setattr(settings, name, value)
    return settings


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name):
    allowed, refused, message = BOUNDS[name]
    for value in allowed:
        make_settings(**{name: value}).verify()
    for value in refused:
        with pytest.raises(ValueError, match=message):
            make_settings(**{name: value}).verify()


def test_soft_rules_need_a_width():
    for width in (TINY, 999_999.0):
        make_settings(soft=True, width_scale=width).verify()
    for width in (0.0, -1.0, 1e6, np.nan):
        make_settings(soft=False, width_scale=width).verify()
        with pytest.raises(ValueError, match="width_scale"):
            make_settings(soft=True, width_scale=width).verify()


def test_scales_of_trees_go_with_normal_leaves():
    make_settings(leaf_model="precision").verify()
    with pytest.raises(ValueError, match="tree_df goes with normal leaves"):
        make_settings(leaf_model="precision", tree_df=2.0).verify()


def test_what_is_fixed_needs_no_prior():
    make_settings(sigma_fixed=True, nu=0.0, lambda_=-1.0).verify()
    make_settings(leaf_sd_fixed=True, leaf_shape=0.0, leaf_rate=-1.0).verify()
    make_settings(theta_fixed=True, theta_a=0.0, theta_b=-1.0).verify()


def test_a_patch_has_at_most_4096_cells():
    def verify(*most: int) -> None:
        settings = make_settings()
        patch = {"kind": "patch", "shape": [65, 64], "least": [1, 1], "most": list(most)}
        settings.directions = [{**patch, "columns": list(range(65 * 64))}]
        settings.verify()

    verify(64, 64)
    with pytest.raises(ValueError, match="a patch has at most 4096 cells"):
        verify(65, 64)


def make_sampler(settings, y, weights=None):
    n = len(y)
    x = np.linspace(-1, 1, n, dtype=np.float32).reshape(1, n)
    data = _core.Data(x, np.empty((0, n), np.uint32), [])
    return _core.Sampler(data, y, weights, settings, 0, 0)


def test_classes_in_order():
    def make(**more: float) -> _core.Sampler:
        given = {"n_classes": 3.0, "concentration": 1.0, **more}
        settings = make_settings(likelihood="ordinal", sigma_fixed=True, more=given)
        return make_sampler(settings, np.arange(30) % 3.0)

    for allowed in (TINY, 1e6):
        make(concentration=allowed)
    for refused in (0.0, 1e6 + 1, np.nan):
        with pytest.raises(ValueError, match="concentration must be positive and at most 1e6"):
            make(concentration=refused)
    make(n_classes=100.0)
    for refused in (2.0, 3.5, 101.0, np.nan):
        with pytest.raises(ValueError, match="n_classes must be a whole number from 3 to 100"):
            make(n_classes=refused)


def test_weights_of_labels():
    y = np.arange(30) % 2.0
    settings = make_settings(likelihood="weighted_probit", sigma_fixed=True)
    for allowed in (1e-6, 2.0**20):
        make_sampler(settings, y, np.full(30, allowed)).sweep(2)
    for refused in (0.0, -1.0, np.nan, 2.0**20 + 1):
        with pytest.raises(ValueError, match="weights of labels must be positive and at most"):
            make_sampler(settings, y, np.full(30, refused))


def test_proposals_that_leave_too_few_rows_are_counted_as_invalid():
    y = np.linspace(-1, 1, 30)
    chain = make_sampler(make_settings(n_trees=5, min_samples_leaf=16), y)
    chain.sweep(20)
    counts = chain.counters
    # No leaf can be split, so that there is nothing to prune either.
    assert counts["proposed_grow"] > 0
    assert counts["invalid_grow"] == counts["proposed_grow"]
    assert counts["accepted_grow"] == 0
    chain = make_sampler(make_settings(n_trees=5, min_samples_leaf=0), y)
    chain.sweep(20)
    counts = chain.counters
    assert counts["accepted_grow"] > 0
    assert counts["invalid_grow"] + counts["accepted_grow"] < counts["proposed_grow"]
    assert counts["invalid_grow"] < counts["proposed_grow"] / 2
