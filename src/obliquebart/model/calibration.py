"""From hyperparameters in the user's units to the prior in the engine's.

References: Chipman, George and McCulloch (2010), "BART: Bayesian additive regression trees",
Annals of Applied Statistics 4(1), cited as CGM; Albert and Chib (1993), JASA 88(422);
the obliqueBART paper, section 3.1, cited as OB.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from obliquebart import _core
from obliquebart.model.outcome import Outcome
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.settings import settings_from_dict

__all__ = ["calibrate"]

# sigma and leaf_sd beyond these, in standard deviations of y, leave nothing of a float32 residual.
SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e6


def calibrate(hyper: CheckedHyperparameters, outcome: Outcome, p_cont: int) -> _core.Settings:
    """Turn hyperparameters in the user's units into settings in the engine's.

    Parameters
    ----------
    hyper : CheckedHyperparameters
    outcome : Outcome
        Not constant.
    p_cont : int
        The number of continuous columns.

    Returns
    -------
    _core.Settings
        All scales in standard deviations of y (regression) or of the latent noise (probit).
    """
    probit = outcome.likelihood == "probit"
    return settings_from_dict(
        {
            "n_trees": hyper.n_trees,
            "alpha": hyper.alpha,
            "beta": hyper.beta,
            "min_samples_leaf": hyper.min_samples_leaf,
            "axis_rules": hyper.rules == "axis",
            "p_change": hyper.p_change,
            "p_perturb": hyper.p_perturb,
            "output_correlation": hyper.preset.output_correlation,
            "stretch": hyper.preset.stretch,
            "likelihood": outcome.likelihood,
            "offset": float(ndtri(outcome.values.mean())) if probit else 0.0,
            **_leaf_prior(hyper, outcome),
            **({"sigma": 1.0, "sigma_fixed": True} if probit else _sigma_prior(hyper, outcome)),
            **_theta_prior(hyper, p_cont),
        }
    )


def _leaf_prior(hyper: CheckedHyperparameters, outcome: Outcome) -> dict[str, Any]:
    root = math.sqrt(hyper.n_trees)
    probit = outcome.likelihood == "probit"
    if hyper.leaf_sd is not None:
        leaf_sd = hyper.leaf_sd / outcome.scale.scale
    elif probit:
        leaf_sd = 3.0 / (hyper.k * root)
    else:
        spread = float(np.ptp(outcome.values)) / 4.0
        if hyper.preset.robust_leaf:
            spread = min(spread, 1.0)
        leaf_sd = 2.0 * spread / (hyper.k * root)
    source = f"k={hyper.k:g}" if hyper.leaf_sd is None else f"leaf_sd={hyper.leaf_sd:g}"
    _require_scale(source, "leaf outputs", leaf_sd, outcome)
    shape = hyper.preset.probit_leaf_shape if probit else hyper.preset.leaf_shape
    if hyper.leaf_sd is not None or shape is None:
        return {"leaf_sd": leaf_sd, "leaf_sd_fixed": True}
    # Inv-Gamma(shape, rate) has its mode at rate / (shape + 1).
    rate = (shape + 1.0) * leaf_sd**2
    return {"leaf_sd": leaf_sd, "leaf_sd_fixed": False, "leaf_shape": shape, "leaf_rate": rate}


def _sigma_prior(hyper: CheckedHyperparameters, outcome: Outcome) -> dict[str, Any]:
    if hyper.sigma is not None:
        sigma = hyper.sigma / outcome.scale.sigma_unit
        _require_scale(f"sigma={hyper.sigma:g}", "noise", sigma, outcome)
        return {"sigma": sigma, "sigma_fixed": True}
    # sigma^2 = nu lambda / chi2_nu, so P(sigma < sd(y) = 1) = P(chi2_nu > nu lambda).
    lambda_ = float(chi2.ppf(1.0 - hyper.sigma_quantile, hyper.nu)) / hyper.nu
    if not (math.isfinite(lambda_) and lambda_ > 1e-100):
        raise ValueError(
            f"nu={hyper.nu:g} with sigma_quantile={hyper.sigma_quantile:g} gives no usable prior "
            "of sigma: take nu nearer to its default 3."
        )
    return {"sigma": 1.0, "sigma_fixed": False, "nu": hyper.nu, "lambda_": lambda_}


def _theta_prior(hyper: CheckedHyperparameters, p_cont: int) -> dict[str, Any]:
    axis = hyper.rules == "axis"
    by_column = hyper.preset.axis_theta_a if axis else hyper.preset.theta_a(p_cont)
    a = float(hyper.n_trees) if by_column is None else by_column
    a, b = hyper.theta_prior or (a, a * max(p_cont - 1, 0))
    values: dict[str, Any] = {"theta_a": a, "theta_b": b, "theta_by_column": by_column is not None}
    if p_cont <= 1:
        # One column: every continuous rule uses it, and theta says nothing.
        return {**values, "theta": 1.0, "theta_fixed": True}
    if axis:
        return {**values, "theta": 1.0 / p_cont, "theta_fixed": by_column is None}
    theta = a / (a + b) if hyper.theta is None else hyper.theta
    return {**values, "theta": theta, "theta_fixed": hyper.theta is not None}


def _require_scale(source: str, what: str, ratio: float, outcome: Outcome) -> float:
    if SMALLEST_SCALE <= ratio <= LARGEST_SCALE:
        return ratio
    unit = (
        f"{outcome.scale.scale:g}, the standard deviation of y"
        if outcome.likelihood == "gaussian"
        else "1, the standard deviation of the latent noise"
    )
    raise ValueError(
        f"{source} is out of range for this y: the {what} would have a standard deviation of "
        f"{ratio:g} times {unit}; allowed is {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}."
    )
