"""From parameters in the user's units to the prior in the engine's."""

from __future__ import annotations

from typing import Any

from obliquebart import _core
from obliquebart.model.added_columns import with_added_columns
from obliquebart.model.directions import theta_columns
from obliquebart.model.outcome import NoiseEstimate, Outcome, require_scale
from obliquebart.model.parameters import WIDTH_SCALE, CheckedHyperparameters
from obliquebart.model.settings import MORE_ENSEMBLES, settings_from_dict


def calibrate(
    parameters: CheckedHyperparameters,
    outcome: Outcome,
    p_cont: int,
    noise: NoiseEstimate | None = None,
) -> _core.Settings:
    """Turn parameters in the user's units into settings in those of the likelihood.

    The outcome is that of one posterior, and not constant.
    """
    likelihood = outcome.likelihood
    hidden = range(p_cont - likelihood.n_hidden, p_cont)
    directions = with_added_columns(parameters.core_directions, hidden)
    first = {
        "n_trees": parameters.n_trees,
        "alpha": parameters.alpha,
        "beta": parameters.beta,
        "min_samples_leaf": parameters.min_samples_leaf,
        "axis_rules": parameters.rules == "axis",
        "directions": directions,
        "p_change": parameters.p_change,
        "p_perturb": parameters.p_perturb,
        "output_correlation": parameters.preset.output_correlation,
        "scale_jointly": parameters.preset.scale_jointly,
        "likelihood": likelihood.name,
        **_leaf_prior(parameters, outcome),
        **likelihood.noise_prior(parameters, outcome, noise),
        **_theta_prior(parameters, directions, p_cont),
        **_width_prior(parameters),
    }
    return settings_from_dict(
        {**first, MORE_ENSEMBLES: likelihood.more_ensembles(parameters, outcome, first)}
    )


def share_of_trees(tree_df: float) -> float:
    """Return the prior mode of leaf_sd in units of that of trees that are alike.

    The fewer the degrees of freedom, the more trees are far larger than the scale that they share.
    docs/decisions/0021-scales-of-trees.md has what was tried.
    """
    return tree_df / (tree_df + 1.0)


def _leaf_prior(parameters: CheckedHyperparameters, outcome: Outcome) -> dict[str, Any]:
    likelihood, fixed = outcome.likelihood, parameters.leaf_sd
    tree_df = parameters.tree_df
    scales = {} if tree_df is None else {"tree_df": tree_df}
    if fixed is None:
        leaf_sd, source = likelihood.leaf_sd(parameters, outcome), f"k={parameters.k:g}"
        leaf_sd *= 1.0 if tree_df is None else share_of_trees(tree_df)
    else:
        leaf_sd, source = fixed / outcome.scale.scale, f"leaf_sd={fixed:g}"
    require_scale(source, "leaf outputs", leaf_sd, outcome)
    shapes = parameters.preset.leaf_shape
    if fixed is not None or shapes is None or parameters.votes > 1:
        return {"leaf_sd": leaf_sd, "leaf_sd_fixed": True, **scales}
    # Inv-Gamma(shape, rate) has its mode at rate / (shape + 1).
    shape = shapes[likelihood.task]
    rate = (shape + 1.0) * leaf_sd**2
    sampled = {"leaf_sd_fixed": False, "leaf_shape": shape, "leaf_rate": rate}
    return {"leaf_sd": leaf_sd, **sampled, **scales}


def _theta_prior(
    parameters: CheckedHyperparameters, directions: list[dict[str, Any]], p_cont: int
) -> dict[str, Any]:
    """Return the prior of theta; a mixture of directions may have it for some columns only."""
    if directions:
        p_cont = theta_columns(directions, p_cont)
    axis = parameters.rules == "axis"
    by_column = parameters.preset.axis_theta_a if axis else parameters.preset.theta_a(p_cont)
    a = float(parameters.n_trees) if by_column is None else by_column
    a, b = parameters.theta_prior or (a, a * max(p_cont - 1, 0))
    values: dict[str, Any] = {"theta_a": a, "theta_b": b, "theta_by_column": by_column is not None}
    if p_cont <= 1:
        # One column: every continuous rule uses it, and theta says nothing.
        return {**values, "theta": 1.0, "theta_fixed": True}
    if axis:
        return {**values, "theta": 1.0 / p_cont, "theta_fixed": by_column is None}
    theta = a / (a + b) if parameters.theta is None else parameters.theta
    return {**values, "theta": theta, "theta_fixed": parameters.theta is not None}


def _width_prior(parameters: CheckedHyperparameters) -> dict[str, Any]:
    """Return the prior of the widths of soft rules; nothing for hard ones."""
    if parameters.soft is not True:
        return {}
    return {
        "soft": True,
        "width_scale": WIDTH_SCALE,
        # Leaves share rows, so that outputs are drawn jointly, and by plain Gibbs.
        "output_correlation": 0.0,
    }
