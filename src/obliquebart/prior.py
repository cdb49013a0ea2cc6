"""The prior: every hyperparameter with its default and reason, the scale of y, calibration.

References: Chipman, George and McCulloch (2010), "BART: Bayesian additive regression trees",
Annals of Applied Statistics 4(1), cited as CGM; Albert and Chib (1993), JASA 88(422);
the obliqueBART paper, section 3.1, cited as OB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

from obliquebart import _core
from obliquebart.validation import check_choice, check_count, check_number, check_pair

__all__ = [
    "Hyperparameters",
    "Outcome",
    "OutcomeScale",
    "binary_outcome",
    "calibrate",
    "continuous_outcome",
    "settings_from_dict",
    "settings_to_dict",
]

# sigma and leaf_sd beyond these, in standard deviations of y, leave nothing of a float32 residual.
SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e6


@dataclass(frozen=True)
class Hyperparameters:
    """What the user may set of the model and the moves; the only place with defaults.

    Scales are in the units of y, and `None` means calibrated or sampled.
    """

    # CGM section 2.2.5: prediction improves up to some number and then hardly changes; 200 is
    # their default.
    n_trees: int = 200
    # CGM section 2.2.2: a node at depth d splits with probability alpha (1 + d)^-beta, which puts
    # 5%, 55%, 28%, 9%, 3% on trees with 1, 2, 3, 4, 5 and more leaves.
    alpha: float = 0.95
    beta: float = 2.0
    # CGM section 2.2.3: for k = 2 f lies within the range of y with prior probability 95%; section
    # 4: within (-3, 3) for probit.
    k: float = 2.0
    # CGM section 2.2.4: (3, 0.90) is their default, (10, 0.75) conservative, (3, 0.99) aggressive.
    nu: float = 3.0
    sigma_quantile: float = 0.9
    # OB section 3.1: a = M and prior mean 1 / p_cont, so b = M (p_cont - 1).
    theta_prior: tuple[float, float] | None = None
    # A number fixes the scale; None samples sigma and theta and calibrates leaf_sd.
    sigma: float | None = None
    theta: float | None = None
    leaf_sd: float | None = None
    # 1 forbids empty leaves; 0 is the prior of OB as written.
    min_samples_leaf: int = 1
    # "oblique": rules phi'x < c; "axis": one column a rule, classical BART.
    rules: str = "oblique"
    # Shares of the moves beyond grow and prune; 0 is the sampler of OB.
    p_change: float = 0.0
    p_perturb: float = 0.0

    def validated(self) -> Hyperparameters:
        """Return the same with plain Python numbers, or raise an error that names the culprit."""
        infinity = math.inf
        p_change = check_number("p_change", self.p_change, 0, 1, "left")
        return Hyperparameters(
            n_trees=check_count("n_trees", self.n_trees, 1),
            alpha=check_number("alpha", self.alpha, 0, 1),
            beta=check_number("beta", self.beta, 0, 1e6, "left"),
            k=check_number("k", self.k, 0, infinity),
            nu=check_number("nu", self.nu, 0, infinity),
            sigma_quantile=check_number("sigma_quantile", self.sigma_quantile, 0, 1),
            theta_prior=(
                None if self.theta_prior is None else check_pair("theta_prior", self.theta_prior)
            ),
            sigma=_none_or_number("sigma", self.sigma, infinity),
            theta=_none_or_number("theta", self.theta, 1, "right"),
            leaf_sd=_none_or_number("leaf_sd", self.leaf_sd, infinity),
            min_samples_leaf=check_count("min_samples_leaf", self.min_samples_leaf, 0),
            rules=check_choice("rules", self.rules, ("oblique", "axis")),
            p_change=p_change,
            p_perturb=check_number("p_perturb", self.p_perturb, 0, 1 - p_change, "left"),
        )


def _none_or_number(
    name: str, value: float | None, high: float, closed: str = "neither"
) -> float | None:
    return None if value is None else check_number(name, value, 0, high, closed)


@dataclass(frozen=True)
class OutcomeScale:
    """The way back from the engine's units to the user's.

    A draw f of the ensemble is `location + scale * f` for the user, and the engine's sigma is
    `sigma_unit * sigma` (they differ from `scale` where observation weights have mean other
    than one).
    """

    location: float = 0.0
    scale: float = 1.0
    sigma_unit: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """Outcomes in the engine's units.

    `values` are standardised for a "gaussian" likelihood, and 0 or 1 for a "probit" one;
    `weights` have mean 1, and are None where all are equal.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    scale: OutcomeScale
    likelihood: str

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn: one row, or all outcomes equal."""
        return bool(self.values.min() == self.values.max())


def continuous_outcome(
    y: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Outcome:
    """Standardise y by its (weighted) mean and its standard deviation.

    The first step divides by a power of two, which is exact: outcomes of any magnitude work, and
    outcomes multiplied by a power of two give the same standardised values. Weights multiplied
    by a constant give the same weights, and sigma takes up the constant.
    """
    exponent = math.frexp(float(np.abs(y).max()))[1]
    mantissa = np.ldexp(y, -exponent)
    mean_weight = 1.0
    if weights is not None:
        relative = weights / weights.max()
        mean_weight = float(weights.max() * relative.mean())
        weights = None if (relative == 1.0).all() else relative / relative.mean()
    # A constant y must come out as exactly zero, also where its mean would be rounded.
    constant = bool(mantissa.min() == mantissa.max())
    mean = float(mantissa[0] if constant else np.average(mantissa, weights=weights))
    sd = 0.0 if constant else float(np.std(mantissa, ddof=1))
    scale = math.ldexp(sd, exponent)
    return Outcome(
        values=(mantissa - mean) / sd if sd > 0 else np.zeros_like(y),
        weights=weights,
        scale=OutcomeScale(
            location=math.ldexp(mean, exponent),
            scale=scale,
            sigma_unit=scale * math.sqrt(mean_weight),
        ),
        likelihood="gaussian",
    )


def binary_outcome(labels: NDArray[np.bool_]) -> Outcome:
    """Outcomes of a probit likelihood; the latent scale is the user's."""
    return Outcome(labels.astype(np.float64), None, OutcomeScale(), "probit")


def calibrate(hyper: Hyperparameters, outcome: Outcome, p_cont: int) -> _core.Settings:
    """Turn hyperparameters in the user's units into settings in the engine's.

    Parameters
    ----------
    hyper : Hyperparameters
        Validated.
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
            "likelihood": outcome.likelihood,
            "offset": float(ndtri(outcome.values.mean())) if probit else 0.0,
            "leaf_sd": _calibrated_leaf_sd(hyper, outcome),
            "leaf_sd_fixed": True,
            **({"sigma": 1.0, "sigma_fixed": True} if probit else _sigma_prior(hyper, outcome)),
            **_theta_prior(hyper, p_cont),
        }
    )


def _calibrated_leaf_sd(hyper: Hyperparameters, outcome: Outcome) -> float:
    if hyper.leaf_sd is not None:
        leaf_sd = hyper.leaf_sd / outcome.scale.scale
    elif outcome.likelihood == "probit":
        leaf_sd = 3.0 / (hyper.k * math.sqrt(hyper.n_trees))
    else:
        leaf_sd = float(np.ptp(outcome.values)) / (2.0 * hyper.k * math.sqrt(hyper.n_trees))
    source = f"k={hyper.k:g}" if hyper.leaf_sd is None else f"leaf_sd={hyper.leaf_sd:g}"
    return _require_scale(source, "leaf outputs", leaf_sd, outcome)


def _sigma_prior(hyper: Hyperparameters, outcome: Outcome) -> dict[str, Any]:
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


def _theta_prior(hyper: Hyperparameters, p_cont: int) -> dict[str, Any]:
    a, b = hyper.theta_prior or (float(hyper.n_trees), float(hyper.n_trees) * max(p_cont - 1, 0))
    if p_cont <= 1:
        # One column: every continuous rule uses it, and theta says nothing.
        return {"theta": 1.0, "theta_fixed": True, "theta_a": a, "theta_b": b}
    theta = a / (a + b) if hyper.theta is None else hyper.theta
    return {"theta": theta, "theta_fixed": hyper.theta is not None, "theta_a": a, "theta_b": b}


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


SETTINGS_FIELDS = (
    *("n_trees", "alpha", "beta", "max_depth", "min_samples_leaf", "axis_rules"),
    *("likelihood", "offset", "leaf_sd", "leaf_sd_fixed", "leaf_shape", "leaf_rate"),
    *("sigma", "sigma_fixed", "nu", "lambda_"),
    *("theta", "theta_fixed", "theta_a", "theta_b"),
    *("p_change", "p_perturb", "perturb_angle", "perturb_shift"),
)


def settings_to_dict(settings: _core.Settings) -> dict[str, Any]:
    """Return settings as plain values that pickle; the number of threads is no part of them."""
    return {name: getattr(settings, name) for name in SETTINGS_FIELDS}


def settings_from_dict(values: dict[str, Any], n_threads: int = 1) -> _core.Settings:
    """Return the settings that `settings_to_dict` wrote."""
    settings = _core.Settings()
    for name, value in values.items():
        setattr(settings, name, value)
    settings.n_threads = n_threads
    return settings
