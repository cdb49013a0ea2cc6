"""The bridge to the core, and the only file here that imports it: oracle's types to the core's."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliquebart import _core

from .prior import Prior, Table

MOVES = {"p_change": 0.2, "p_perturb": 0.3, "output_correlation": -0.95}
# One of them nearly alone, with wide steps: grow and prune do not repair what it breaks.
CHANGE = {"p_change": 0.8}
PERTURB = {"p_perturb": 0.8, "perturb_angle": 1.0, "perturb_shift": 0.6}
NAMES = {"grow and prune": {}, "all moves": MOVES, "change": CHANGE, "perturb": PERTURB}


def data(table: Table) -> _core.Data:
    return _core.Data(
        np.ascontiguousarray(table.x_cont, dtype=np.float32),
        np.ascontiguousarray(table.x_cat, dtype=np.uint32),
        list(table.n_levels),
    )


def settings(prior: Prior, **more: Any) -> _core.Settings:
    out = _core.Settings()
    out.n_trees = prior.n_trees
    out.alpha, out.beta, out.max_depth = prior.alpha, prior.beta, prior.max_depth
    out.min_samples_leaf, out.axis_rules = prior.min_samples_leaf, prior.axis_rules
    if isinstance(prior.theta, tuple):
        out.theta_fixed = False
        out.theta_a, out.theta_b = prior.theta
        out.theta_by_column = prior.theta_by_column
    else:
        out.theta_fixed, out.theta = True, prior.theta
    if isinstance(prior.sigma, tuple):
        out.sigma_fixed = False
        out.nu, out.lambda_ = prior.sigma
    else:
        out.sigma_fixed, out.sigma = True, prior.sigma
    if isinstance(prior.leaf_sd, tuple):
        out.leaf_sd_fixed = False
        out.leaf_shape, out.leaf_rate = prior.leaf_sd
    else:
        out.leaf_sd_fixed, out.leaf_sd = True, prior.leaf_sd
    out.tree_df = prior.tree_df
    out.directions = list(prior.directions)
    if prior.width_scale is not None:
        out.soft, out.width_scale = True, prior.width_scale
    for name, value in more.items():
        setattr(out, name, value)
    return out


def draws(arrays: dict[str, np.ndarray], table: Table) -> _core.Draws:
    return _core.Draws.from_arrays(arrays, table.x_cont.shape[0], list(table.n_levels))
