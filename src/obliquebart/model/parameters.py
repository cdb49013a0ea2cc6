"""Every parameter of the model and the sampler, with its default and the reason for it.

References: Chipman, George and McCulloch (2010), "BART: Bayesian additive regression trees",
Annals of Applied Statistics 4(1), cited as CGM; the obliqueBART paper, section 3.1, cited as OB;
Linero and Yang (2018), "Bayesian regression tree ensembles that adapt to smoothness and sparsity",
JRSS B 80(5), cited as LY.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from obliquebart.model.directions import Axis, Direction, Sparse, check_directions
from obliquebart.table import FEATURE_SCALINGS
from obliquebart.validation import (
    Auto,
    check_choice,
    check_count,
    check_count_or_auto,
    check_number,
    check_pair,
)

# Whether outcomes are numbers, labels, counts, or times until an event.
Task = Literal["regression", "classification", "count regression", "survival"]

# Of the degrees of freedom of the noise. Fewer than four make the variance infinite, and above 30
# the noise is as good as normal.
DF_RANGE = (4, 30)
# How the noise of numbers is modelled.
NOISES = ("constant", "student_t", "varying")
# How many rows an estimate of the noise is worth: a share of them, within limits. Fewer let an
# ensemble explain noise; more would keep the noise from being learned from many rows.
NU_SHARE = 0.1
NU_RANGE = (10.0, 300.0)
# Of sigma's prior where the noise is not estimated; CGM section 2.2.4.
PLAIN_NU = 3.0

# Limits of the standard deviation of log rates that the prior of counts is calibrated to: small
# counts say little about it, and outliers too much.
COUNT_SPREAD = (0.5, 1.5)
# Mean and standard deviation of the log of the dispersion of counts: 95% between 0.007 and 19.
LOG_DISPERSION = (-1.0, 2.0)

# The prior median of the standard deviation of an effect, in standard deviations of y, or of the
# latent outcome of a label, whose f is smaller. Hahn, Murray and Carvalho (2020) have one sd(y).
# An effect that all rows share has no part of its own: its standard deviation in the prior is this.
# docs/decisions/0013-effects.md has what was tried.
EFFECT_SPREAD: Mapping[Task, float] = {"regression": 1.0, "classification": 0.5}
EFFECT_LEVEL_SD = 0.0

# The half-width of a soft rule is WIDTH_SCALE ||phi||_1 (u / (1 - u))^2, u uniform: ||phi||_1 is
# half the range of phi'x over the table, so the scale is the median of widths in units of it. The
# tails are heavy on both sides, so that rules may be nearly hard or nearly linear without a scale
# that is learned.
WIDTH_SCALE = 0.3
# The default for numbers: short fits, which estimate the noise in any case, decide.
SOFT_NUMBERS: bool | Auto = "auto"
SMALLEST_TREE_DF, LARGEST_TREE_DF = 0.1, 1e6
# With more rows, soft="auto" is False: soft rules take four times as long, and as f is known better
# its steps are smaller.
MOST_ROWS_OF_AUTO = 4000

# More latents of a label are not drawn one by one.
MOST_VOTES = 512

# What does not belong to the model: which columns are categories, what becomes of dates, and
# whether a fit shows progress.
CATEGORICAL_FEATURES: Literal["auto"] = "auto"
DATES: Literal["auto"] | None = None
PROGRESS: Literal["auto"] = "auto"


@dataclass(frozen=True)
class Preset:
    """The values of a named prior where the user gave none; docs/defaults.md has the reasons."""

    min_samples_leaf: int
    feature_scaling: str
    # Shares of the moves beyond grow and prune.
    p_change: float
    p_perturb: float
    # Of an output's deviation from its conditional mean with the one before; 0 is plain Gibbs.
    output_correlation: float
    # Whether a sampled leaf_sd is also scaled together with all outputs.
    scale_jointly: bool
    # Shape of the inverse-gamma hyperprior of leaf_sd^2, its mode at the calibrated value; None
    # fixes leaf_sd there. Numbers tell the scale of f, labels do not.
    leaf_shape: Mapping[Task, float] | None
    # Whether the calibrated leaf scale is bounded by sd(y), which heavy tails do not stretch.
    robust_leaf: bool
    # theta_j ~ Beta(a, a (p - 1)) for each column, a = theta_weight / p but within 1..10 (axis
    # rules: Dirichlet weights of the columns); None: one theta ~ Beta(M, M (p - 1)) for all (axis
    # rules: columns uniform).
    theta_weight: float | None
    axis_theta_a: float | None
    # Whether sigma's prior and the tails of the noise are estimated from outcomes that short fits
    # have not seen. Where not, or where there are too few rows, P(sigma < sd(y)) is
    # `sigma_quantile` with `nu` degrees of freedom.
    estimate_noise: bool
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
        scale_jointly=True,
        leaf_shape={
            "regression": 10.0,
            "classification": 1.0,
            "count regression": 3.0,
            "survival": 10.0,
        },
        robust_leaf=True,
        theta_weight=100.0,
        axis_theta_a=1.0,
        estimate_noise=True,
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
        scale_jointly=False,
        leaf_shape=None,
        robust_leaf=False,
        theta_weight=None,
        axis_theta_a=None,
        estimate_noise=False,
        sigma_quantile=0.9,
    ),
}


@dataclass(frozen=True)
class Hyperparameters:
    """The parameters of the model and the moves that the user may set.

    Scales are in the units of y. `None` means sampled (`sigma`, `theta`), calibrated (`leaf_sd`),
    or the value of the preset of `prior`.
    """

    # "default" is ours, "paper" that of OB; see `PRESETS`.
    prior: Literal["default", "paper"] = "default"
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
    # Both None: an estimate of the noise, worth a tenth of the rows.
    nu: float | None = None
    sigma_quantile: float | None = None
    # "student_t" learns the degrees of freedom; "constant" takes `noise_df` or an estimate.
    # "varying" has a second ensemble for the size of the noise, of `n_noise_trees` trees.
    noise: Literal["constant", "student_t", "varying"] = "constant"
    n_noise_trees: int = 40
    # Of Student's t; infinite is normal noise.
    noise_df: float | None = None
    theta_prior: tuple[float, float] | None = None
    sigma: float | None = None
    theta: float | None = None
    leaf_sd: float | None = None
    min_samples_leaf: int | None = None
    # "oblique": rules phi'x < c; "axis": one column per rule, classical BART.
    rules: Literal["oblique", "axis"] = "oblique"
    # In place of `rules`: other priors of phi, for images, curves and groups of columns.
    directions: Direction | Sequence[Direction] | None = None
    # Whether rows near the cut of a continuous rule go both ways, in shares (LY): sums of steps are
    # jagged where f is smooth. Off, because it costs time, and labels gain nothing; numbers have
    # `SOFT_NUMBERS`.
    soft: bool | Auto = False
    # Outputs of a tree are N(0, (leaf_sd s)^2), s^2 ~ Inv-Gamma(df/2, df/2) with these degrees of
    # freedom; None: s is one. Off, because chains agree later, and labels lose by it.
    tree_df: float | None = None
    # How often each label counts. More than one says that labels are certain; `leaf_sd` is then
    # fixed, because a larger f would take back what they say.
    votes: int = 1
    feature_scaling: str | None = None
    p_change: float | None = None
    p_perturb: float | None = None
    # Trees of the effect of a treatment. Hahn, Murray and Carvalho (2020) have 50 trees that split
    # with probability 0.25 (1 + d)^-3: three of four are a root, and effects are much alike.
    n_effect_trees: int = 50
    effect_alpha: float = 0.25
    effect_beta: float = 3.0

    @property
    def preset(self) -> Preset:
        """The named prior."""
        return PRESETS[self.prior]

    def validated(self) -> CheckedHyperparameters:
        """Return plain numbers, the preset's for None; an error names the parameter."""
        infinity = math.inf
        preset = PRESETS[check_choice("prior", self.prior, tuple(PRESETS))]
        rules, directions = _check_rules(self.rules, self.directions)
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
            nu=_none_or_number("nu", self.nu, infinity),
            sigma_quantile=_none_or_number("sigma_quantile", self.sigma_quantile, 1),
            noise=check_choice("noise", self.noise, NOISES),
            n_noise_trees=check_count("n_noise_trees", self.n_noise_trees, 1),
            noise_df=_check_df(self.noise_df, self.noise),
            theta_prior=(
                None if self.theta_prior is None else check_pair("theta_prior", self.theta_prior)
            ),
            sigma=_none_or_number("sigma", self.sigma, infinity),
            theta=_none_or_number("theta", self.theta, 1, "right"),
            leaf_sd=_none_or_number("leaf_sd", self.leaf_sd, infinity),
            min_samples_leaf=check_count(
                "min_samples_leaf", _given(self.min_samples_leaf, preset.min_samples_leaf), 0
            ),
            rules=rules,
            directions=directions,
            soft=_check_soft(self.soft, self.prior),
            tree_df=_check_tree_df(self.tree_df, self.prior),
            votes=_check_votes(self.votes),
            feature_scaling=check_choice(
                "feature_scaling",
                _given(self.feature_scaling, preset.feature_scaling),
                FEATURE_SCALINGS,
            ),
            p_change=p_change,
            p_perturb=p_perturb,
            n_effect_trees=check_count("n_effect_trees", self.n_effect_trees, 1),
            effect_alpha=check_number("effect_alpha", self.effect_alpha, 0, 1),
            effect_beta=check_number("effect_beta", self.effect_beta, 0, 1e6, "left"),
        )


@dataclass(frozen=True, kw_only=True)
class CheckedHyperparameters(Hyperparameters):
    """Validated parameters, with the preset's values where the user gave none."""

    min_samples_leaf: int
    feature_scaling: str
    p_change: float
    p_perturb: float
    directions: tuple[Direction, ...] | None = None
    # Directions with the numbers of their columns, in the engine's form; `fit` knows them.
    core_directions: list[dict[str, Any]] = field(default_factory=list)


DEFAULTS = Hyperparameters()
# What files and pickles mean that are older than a parameter.
BEFORE: Mapping[str, Any] = {"directions": None, "soft": False, "tree_df": None, "votes": 1}


@dataclass(frozen=True)
class Schedule:
    """The sweeps of a chain: `n_burn` of them, then `n_draws` kept ones, `n_thin` sweeps apart."""

    n_chains: int = 8
    n_burn: int = 500
    n_draws: int = 500
    n_thin: int = 1

    @property
    def n_sweeps(self) -> int:
        """Return the number of sweeps per chain."""
        return self.n_burn + self.n_draws * self.n_thin

    def n_kept(self, n_done: int) -> int:
        """Return how many draws there are after a number of sweeps."""
        return max(n_done - self.n_burn, 0) // self.n_thin

    def next_round(self, max_sweeps: int) -> Schedule | None:
        """Return a schedule in which all of this one is burn-in; None if too few sweeps are left.

        It is at least twice as long if there are sweeps for that.
        """
        n_thin = math.ceil(self.n_sweeps / self.n_draws)
        affordable = (max_sweeps - self.n_sweeps) // self.n_draws
        if affordable < WORTHWHILE_SHARE * n_thin:
            return None
        return replace(self, n_burn=self.n_sweeps, n_thin=min(n_thin, affordable))


@dataclass(frozen=True)
class RunLength:
    """How long chains may run: for a number of draws, or until they have arrived (converged)."""

    n_chains: int = Schedule.n_chains
    n_burn: int = Schedule.n_burn
    n_draws: int | Auto = "auto"
    n_thin: int = Schedule.n_thin

    def validated(self) -> RunLength:
        """Return the same with plain integers, or raise an error that names the parameter."""
        return RunLength(
            n_chains=check_count("n_chains", self.n_chains, 1),
            n_burn=check_count("n_burn", self.n_burn, 0),
            n_draws=check_count_or_auto("n_draws", self.n_draws, 1),
            n_thin=check_count("n_thin", self.n_thin, 1),
        )

    def first_round(self, n_posteriors: int = 1) -> Schedule:
        """Return the schedule to begin with; for a number of draws there is no other.

        Many posteriors of a model keep fewer draws each, further apart, of as many sweeps.
        """
        if self.n_draws != "auto":
            return Schedule(self.n_chains, self.n_burn, self.n_draws, self.n_thin)
        n_draws = auto_draws(n_posteriors)
        n_thin = self.n_thin * math.ceil(AUTO_DRAWS / n_draws)
        return Schedule(self.n_chains, self.n_burn, n_draws, n_thin)

    def max_sweeps(self, cost: SweepCost | None) -> int:
        """Return how many sweeps a chain may have after further rounds; 0 if there are none.

        Without a cost only time limits them.
        """
        if self.n_draws != "auto":
            return 0
        return MAX_SWEEPS if cost is None else cost.affordable_sweeps(self.n_chains)


# Draws per chain of an automatic run: enough for quantiles, few enough for small files.
AUTO_DRAWS = Schedule.n_draws
# The same where each of several classes has a posterior: for all of them together, and for one of
# them at least. Files and predictions are as large as all draws together, and draws of a chain that
# are close to each other say little: docs/decisions/0004-model-files.md has the numbers.
AUTO_CLASS_DRAWS = 300
FEWEST_CLASS_DRAWS = 25
# A round is worth running if at least this share of it can be had: its draws then span as many
# sweeps as those of the round before, after more burn-in.
WORTHWHILE_SHARE = 0.5
# Of a chain; the number is never reached.
MAX_SWEEPS = 2**31 - 1
# CPU seconds of an automatic run, all chains and classes together: about as long as a user will
# wait by default. They are counted by `SweepCost` and not measured by a clock, so that a result
# depends on the seed only. A limit by the clock, `max_seconds`, replaces them.
AUTO_SECONDS = 60.0
# Of a sweep on one core of a busy server: per tree, and per row and tree. Good to a factor of two;
# docs/performance.md has figures of a quiet machine.
TREE_SECONDS = 0.4e-6
ROW_SECONDS = 0.3e-9
# The latter with soft rules, which share out each row.
SOFT_ROW_SECONDS = 1.0e-9
# Per latent of a row beyond the first: labels with several votes have one for each, and each class.
LATENT_SECONDS = 1e-8


class SweepCost(NamedTuple):
    """What the cost of a sweep depends on."""

    n_rows: int
    n_trees: int
    n_posteriors: int
    """Of the model: one for numbers and for two classes."""
    is_soft: bool = False
    n_more_latents: int = 0
    """Of a row and a posterior, beyond one for each class."""

    @property
    def seconds(self) -> float:
        """Return the CPU seconds of one sweep of one chain of one posterior."""
        row_seconds = SOFT_ROW_SECONDS if self.is_soft else ROW_SECONDS
        latents = self.n_rows * self.n_more_latents * LATENT_SECONDS
        return self.n_trees * (TREE_SECONDS + self.n_rows * row_seconds) + latents

    def affordable_sweeps(self, n_chains: int) -> int:
        """Return how many sweeps each chain of an automatic run may take."""
        return int(AUTO_SECONDS / (self.seconds * n_chains * self.n_posteriors))


# Chains of labels take longer to forget where they started; docs/defaults.md has the numbers.
RUN_LENGTHS: dict[Task, RunLength] = {
    "regression": RunLength(),
    "classification": RunLength(n_burn=1000),
    "count regression": RunLength(),
    "survival": RunLength(),
}


def auto_draws(n_posteriors: int) -> int:
    """Return the draws per chain of an automatic run, for each of a model's posteriors."""
    if n_posteriors == 1:
        return AUTO_DRAWS
    return max(AUTO_CLASS_DRAWS // n_posteriors, FEWEST_CLASS_DRAWS)


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _check_rules(
    rules: Any, directions: Any
) -> tuple[Literal["oblique", "axis"], tuple[Direction, ...] | None]:
    """Return both; directions that are oblique or axis rules in other words become these."""
    rules = check_choice("rules", rules, ("oblique", "axis"))
    components = check_directions(directions)
    if components is None:
        return rules, None
    if rules == "axis":
        raise ValueError('rules="axis" and directions exclude each other: use directions=Axis().')
    plain: dict[Direction, Literal["oblique", "axis"]] = {Sparse(): "oblique", Axis(): "axis"}
    only = replace(components[0], weight=1.0)
    if len(components) == 1 and isinstance(only, Sparse) and only in plain:
        return plain[only], None
    return rules, components


def _check_soft(soft: Any, prior: str) -> bool | Auto:
    given = bool(soft) if isinstance(soft, np.bool_) else soft
    chosen: bool | Auto = check_choice("soft", given, (False, True, "auto"))
    if prior != "paper":
        return chosen
    if chosen is True:
        raise ValueError(
            'prior="paper" has hard rules: leave soft=True out, or use prior="default".'
        )
    return False


def _check_tree_df(tree_df: Any, prior: str) -> float | None:
    if tree_df is not None and prior == "paper":
        raise ValueError(
            'prior="paper" has trees of one scale: leave tree_df out, or use prior="default".'
        )
    if tree_df is None:
        return None
    return check_number("tree_df", tree_df, SMALLEST_TREE_DF, LARGEST_TREE_DF, "left")


def _check_votes(votes: Any) -> int:
    is_whole = isinstance(votes, numbers.Integral) and not isinstance(votes, bool)
    if is_whole and not 1 <= int(votes) <= MOST_VOTES:
        raise ValueError(
            f"votes={votes!r} is out of range: it must be an integer from 1 to {MOST_VOTES}."
        )
    return check_count("votes", votes, 1)


def _check_df(value: object, noise: str) -> float | None:
    """Return degrees of freedom whose distribution function is a short sum."""
    if value is None:
        return None
    if isinstance(value, numbers.Real) and value == math.inf:
        if noise != "constant":
            raise ValueError(
                f'noise_df=math.inf is normal noise, which noise="{noise}" is not: leave noise_df '
                'out to learn it, or use noise="constant".'
            )
        return math.inf
    df = check_number("noise_df", value, 0, math.inf)
    low, high = DF_RANGE
    if not low <= df <= high or df % 2 != 0:
        raise ValueError(
            f"noise_df={value!r} must be an even number from {low} to {high}, or math.inf for "
            "normal noise."
        )
    return df


def _none_or_number(
    name: str, value: float | None, high: float, closed: str = "neither"
) -> float | None:
    return None if value is None else check_number(name, value, 0, high, closed)
