"""The parameters of the estimators and of their methods, described once."""

from __future__ import annotations

from obliquebart.documentation import EXPLAINING, shared_parameters
from obliquebart.model.parameters import (
    AUTO_CLASS_DRAWS,
    AUTO_DRAWS,
    AUTO_SECONDS,
    DF_RANGE,
    FEWEST_CLASS_DRAWS,
    MOST_ROWS_OF_AUTO,
    NU_RANGE,
    PLAIN_NU,
    PRESETS,
)
from obliquebart.sampling import noise
from obliquebart.sampling.device import FEWEST_ROWS, ROWS_PER_CORE

OURS, PAPER = PRESETS["default"], PRESETS["paper"]

SHARED = f"""\
n_trees : int
    Number of trees in an ensemble.
n_burn : int
    Burn-in sweeps per chain, which are discarded; with ``n_draws="auto"``, those of the first
    round.
n_draws : int or "auto"
    Draws kept per chain. "auto" keeps {AUTO_DRAWS}; with K > 2 classes it keeps
    {AUTO_CLASS_DRAWS} / K (at least {FEWEST_CLASS_DRAWS}), with more thinning. It runs the chains
    in rounds: if they disagree after the first round, all its sweeps become burn-in and the next
    round is twice as long, until they agree or about {AUTO_SECONDS:.0f} CPU seconds are used (the
    last round may be shorter). `posterior_.schedule` records the result.
n_thin : int
    Sweeps per kept draw; with ``n_draws="auto"``, in the first round.
n_chains : int
    Number of independent chains. All their draws are used; comparing the chains shows whether
    they have converged.
prior : {{"default", "paper"}}
    "paper" is exactly the model and sampler of the obliqueBART paper. "default" adds improvements:
    a learned leaf scale, a separate sparsity per column, more moves, no empty leaves, and noise
    estimated beforehand; soft rules need it. The prior also decides what None means for the
    parameters below.
rules : {{"oblique", "axis"}}
    "axis" uses one column per rule; with ``prior="paper"`` this is classical BART.
directions : None, Sparse, Axis, Signs, Groups, Patch, or a list of them
    Which directions φ a rule may have: classes of `obliquebart.directions`. ``Patch`` is for
    images and curves, and then X may also be an array of shape (n, height, width), with channels
    at the end, if any. A list is a mixture, whose weights are learned. None is ``Sparse()``.
soft : bool or "auto"
    True makes rules soft, for smooth f: rows near the cut of a continuous rule go both ways, in
    shares that change smoothly across it. The width of each rule is learned. Fits take longer, and
    run on the processor. "auto" compares soft and hard rules on the held-out rows of the short fits
    that estimate the noise, and takes soft rules unless they are worse. It means False for labels,
    if `sigma` or `sigma_quantile` is given, without continuous columns, with fewer than
    {noise.FEWEST_ROWS} or more than {MOST_ROWS_OF_AUTO:,} rows, with ``prior="paper"``, with
    ``device="cuda"``, for a Dask collection, and if `max_seconds` leaves no time to compare.
    `soft_` says what was used. See ``docs/howto/soft.md``.
alpha, beta : float
    A node at depth d splits with prior probability alpha (1 + d)^-beta.
nu : float or None
    sigma² has an inverse-gamma prior with nu degrees of freedom. By default, its median is an
    estimate of the noise from the held-out rows of short fits, and nu is a tenth of the number of
    rows, limited to the range {NU_RANGE[0]:g} to {NU_RANGE[1]:g}. "paper": {PLAIN_NU:g}, see
    `sigma_quantile`.
sigma_quantile : float or None
    The prior probability that sigma is less than the standard deviation of y. A number replaces
    the noise estimate; nu is then {PLAIN_NU:g} by default. "paper": {PAPER.sigma_quantile}.
noise : {{"constant", "student_t", "varying"}}
    "constant": the same noise at all rows, normal or with heavier tails, see `noise_df`.
    "student_t": Student's t noise whose degrees of freedom are learned, for data with outliers.
    "varying": the same, and a second ensemble of trees for the size of the noise, sigma(x), which
    `predict_noise` returns. If the noise is the same at all rows, it costs next to nothing.
n_noise_trees : int
    Number of trees of the second ensemble.
noise_df : float or None
    Degrees of freedom of Student's t noise: an even number from {DF_RANGE[0]} to
    {DF_RANGE[1]}, or ``math.inf`` for normal noise. By default chosen together with the noise
    estimate; "paper": normal; with other `noise` than "constant", sampled.
theta_prior : pair of float or None
    Beta prior (a, b) of theta, the probability that a column is part of an oblique rule. None:
    (a, a (p - 1)) for each of the p continuous columns, so that a rule has one column on average,
    with a = {OURS.theta_weight:g} / p limited to the range 1 to 10. "paper": one theta for all
    columns, (M, M (p - 1)) for M trees. With axis rules, a is the concentration of the
    Dirichlet prior of the columns' weights, {OURS.axis_theta_a:g} by default.
sigma : float or None
    A number fixes the standard deviation of the noise, in the units of y; None samples it.
theta : float or None
    A number in (0, 1] fixes theta; None samples it.
min_samples_leaf : int or None
    Minimum number of training rows in a leaf. None is {OURS.min_samples_leaf}; "paper":
    {PAPER.min_samples_leaf}, which allows empty leaves.
categorical_features : "auto", None, or array of names, positions or booleans
    Categorical columns. "auto" uses the categorical and text columns of a data frame, and no
    columns of an array. Names or positions add columns to these. A mask, one boolean per column,
    replaces the automatic choice, and None means no categorical columns.
dates : {{"auto", None}}
    "auto" converts dates to numbers, days since 1970-01-01: date columns, and text columns in
    which every value is a date such as 2024-05-02 or 2024-05-02T10:30. With None, date columns
    raise an error and text columns are categorical.
feature_scaling : {{"range", "rank", "blend", "joint"}} or None
    How continuous columns are mapped to [-1, 1]: by their training range, by ranks, by the mean
    of both, or by one range for all columns. None is "{OURS.feature_scaling}"; "paper":
    "{PAPER.feature_scaling}".
p_change, p_perturb : float or None
    Shares of moves that redraw a rule, and of moves that change a rule slightly. None is
    {OURS.p_change} and {OURS.p_perturb}; "paper": 0.
n_jobs : int or None
    Number of chains to run at once, as in joblib. With more jobs than chains, a chain may use
    several threads, and uses as many of them as pay. Predictions use as many threads. The draws do
    not depend on it.
device : {{"cpu", "cuda", "auto"}}
    What chains run on: the processor, or an NVIDIA card, with the same draws, bit for bit, where
    rules are hard. "auto" takes a card, if there is one and the noise is normal, for tables of
    {FEWEST_ROWS:,} rows or more, and of {ROWS_PER_CORE:,} for each core that the chains would use
    instead.
    `device_` says what was used. Predictions run on the processor. See ``docs/howto/gpu.md``.
random_state : int, RandomState or None
    Seed of the chains. An int makes `fit` reproducible: every call gives the same draws.
progress : bool or "auto"
    Whether to show progress; "auto" shows it in a terminal or a notebook.
X : array-like or data frame of shape (n, n_features)
    A Dask array or data frame gives a lazy result.
coverage : float, default=0.9
    Probability of the interval, in (0, 1).
checkpoint_every : int, optional
    Number of sweeps between saves of a chain; by default, about once a minute.
target_name : str, optional
    Name of y in plots, reports and notebooks. By default, the name of y if it is a Series with a
    name."""


with_shared_parameters = shared_parameters(f"{SHARED}\n{EXPLAINING}")
