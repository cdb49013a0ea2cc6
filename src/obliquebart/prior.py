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
from obliquebart.encoding import FEATURE_SCALINGS
from obliquebart.validation import check_choice, check_count, check_number, check_pair

__all__ = [
    "PRESETS",
    "CheckedHyperparameters",
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
class Preset:
    """What a named prior puts where the user said nothing; reasons are in docs/defaults.md."""

    min_samples_leaf: int
    feature_scaling: str
    # Shares of the moves beyond grow and prune.
    p_change: float
    p_perturb: float
    # Of an output's deviation from its conditional mean with the one before; 0 is plain Gibbs.
    output_correlation: float
    # Whether a sampled leaf_sd is also scaled together with all outputs.
    stretch: bool
    # Shape of the inverse-gamma hyperprior of leaf_sd^2, its mode at the calibrated value; None
    # fixes leaf_sd there. Outcomes tell the scale of f, labels do not: so probit has its own.
    leaf_shape: float | None
    probit_leaf_shape: float | None
    # Whether the calibrated leaf scale is bounded by sd(y), which heavy tails do not stretch.
    robust_leaf: bool
    # theta_j ~ Beta(a, a (p - 1)) for each column, a = theta_weight / p but within 1..10 (axis
    # rules: Dirichlet weights of the columns); None: one theta ~ Beta(M, M (p - 1)) for all (axis
    # rules: columns uniform).
    theta_weight: float | None
    axis_theta_a: float | None
    # P(sigma < sd(y)).
    sigma_quantile: float

    def theta_a(self, p_cont: int) -> float | None:
        """Return a of theta_j ~ Beta(a, a (p - 1))."""
        if self.theta_weight is None:
            return None
        return min(max(self.theta_weight / max(p_cont, 1), 1.0), 10.0)


PRESETS = {
    "default": Preset(
        min_samples_leaf=1,
        feature_scaling="blend",
        p_change=0.2,
        p_perturb=0.3,
        output_correlation=-0.95,
        stretch=True,
        leaf_shape=10.0,
        probit_leaf_shape=1.0,
        robust_leaf=True,
        theta_weight=100.0,
        axis_theta_a=1.0,
        # Where little is noise, (3, 0.90) outweighs hundreds of rows and makes intervals too wide.
        sigma_quantile=0.99,
    ),
    # The paper in every respect: empty leaves are legal, grow and prune only.
    "paper": Preset(
        min_samples_leaf=0,
        feature_scaling="range",
        p_change=0.0,
        p_perturb=0.0,
        output_correlation=0.0,
        stretch=False,
        leaf_shape=None,
        probit_leaf_shape=None,
        robust_leaf=False,
        theta_weight=None,
        axis_theta_a=None,
        sigma_quantile=0.9,
    ),
}


@dataclass(frozen=True)
class Hyperparameters:
    """What the user may set of the model and the moves; with `Preset` the place of all defaults.

    Scales are in the units of y. `None` means sampled (`sigma`, `theta`), calibrated (`leaf_sd`),
    or as the preset of `prior` has it.
    """

    # "default" is ours, "paper" that of OB; see `PRESETS`.
    prior: str = "default"
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
    sigma_quantile: float | None = None
    theta_prior: tuple[float, float] | None = None
    sigma: float | None = None
    theta: float | None = None
    leaf_sd: float | None = None
    min_samples_leaf: int | None = None
    # "oblique": rules phi'x < c; "axis": one column a rule, classical BART.
    rules: str = "oblique"
    feature_scaling: str | None = None
    p_change: float | None = None
    p_perturb: float | None = None

    @property
    def preset(self) -> Preset:
        """The named prior."""
        return PRESETS[self.prior]

    def validated(self) -> CheckedHyperparameters:
        """Return plain numbers, the preset's for None, or raise an error that names the culprit."""
        infinity = math.inf
        preset = PRESETS[check_choice("prior", self.prior, tuple(PRESETS))]
        p_change = check_number("p_change", _given(self.p_change, preset.p_change), 0, 1, "left")
        # A share that was not set makes room for one that was.
        p_perturb = (
            min(preset.p_perturb, 0.999 * (1 - p_change))
            if self.p_perturb is None
            else check_number("p_perturb", self.p_perturb, 0, 1 - p_change, "left")
        )
        return CheckedHyperparameters(
            prior=self.prior,
            n_trees=check_count("n_trees", self.n_trees, 1),
            alpha=check_number("alpha", self.alpha, 0, 1),
            beta=check_number("beta", self.beta, 0, 1e6, "left"),
            k=check_number("k", self.k, 0, infinity),
            nu=check_number("nu", self.nu, 0, infinity),
            sigma_quantile=check_number(
                "sigma_quantile", _given(self.sigma_quantile, preset.sigma_quantile), 0, 1
            ),
            theta_prior=(
                None if self.theta_prior is None else check_pair("theta_prior", self.theta_prior)
            ),
            sigma=_none_or_number("sigma", self.sigma, infinity),
            theta=_none_or_number("theta", self.theta, 1, "right"),
            leaf_sd=_none_or_number("leaf_sd", self.leaf_sd, infinity),
            min_samples_leaf=check_count(
                "min_samples_leaf", _given(self.min_samples_leaf, preset.min_samples_leaf), 0
            ),
            rules=check_choice("rules", self.rules, ("oblique", "axis")),
            feature_scaling=check_choice(
                "feature_scaling",
                _given(self.feature_scaling, preset.feature_scaling),
                FEATURE_SCALINGS,
            ),
            p_change=p_change,
            p_perturb=p_perturb,
        )


@dataclass(frozen=True)
class CheckedHyperparameters(Hyperparameters):
    """Validated, and with the preset's values where the user gave none."""

    sigma_quantile: float = 0.9
    min_samples_leaf: int = 1
    feature_scaling: str = "blend"
    p_change: float = 0.0
    p_perturb: float = 0.0


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


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


SETTINGS_FIELDS = (
    *("n_trees", "alpha", "beta", "max_depth", "min_samples_leaf", "axis_rules"),
    *("likelihood", "offset", "leaf_sd", "leaf_sd_fixed", "leaf_shape", "leaf_rate"),
    *("sigma", "sigma_fixed", "nu", "lambda_"),
    *("theta", "theta_fixed", "theta_a", "theta_b", "theta_by_column"),
    *("p_change", "p_perturb", "perturb_angle", "perturb_shift"),
    *("output_correlation", "stretch"),
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
