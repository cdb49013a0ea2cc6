"""The parameters of the estimators and of their methods, described once."""

from __future__ import annotations

from obliquebart.documentation import EXPLAINING, shared_parameters
from obliquebart.model.parameters import (
    AUTO_CLASS_DRAWS,
    AUTO_DRAWS,
    AUTO_SECONDS,
    DF_RANGE,
    FEWEST_CLASS_DRAWS,
    NU_RANGE,
    PLAIN_NU,
    PRESETS,
)

OURS, PAPER = PRESETS["default"], PRESETS["paper"]

SHARED = f"""\
n_trees : int
    Trees of an ensemble.
n_burn : int
    Sweeps of each chain that are thrown away at its start; with ``n_draws="auto"``, in the first
    round.
n_draws : int or "auto"
    Draws that each chain keeps. "auto" keeps {AUTO_DRAWS}, or {AUTO_CLASS_DRAWS} / K with K > 2
    classes, further apart ({FEWEST_CLASS_DRAWS} at least): if the chains do not agree well enough
    after `n_burn` sweeps and these draws, all of it becomes burn-in and they go on for twice as
    long, again and again, for up to about {AUTO_SECONDS:.0f} CPU seconds in all.
    `posterior_.schedule` tells what came of it.
n_thin : int
    Sweeps from one kept draw to the next; with ``n_draws="auto"``, in the first round.
n_chains : int
    Independent chains. All their draws are used; their agreement tells whether they have
    converged.
prior : {{"default", "paper"}}
    "paper" is the model and sampler of the obliqueBART paper in every respect; "default" adds
    what was found to help: a learned leaf scale, a sparsity for each column, more moves, no
    empty leaves. Parameters below that are None follow it.
rules : {{"oblique", "axis"}}
    "axis" uses one column per rule; with ``prior="paper"`` that is classical BART.
alpha, beta : float
    A node at depth d splits with prior probability alpha (1 + d)^-beta.
nu : float or None
    sigma² has an inverse-gamma prior with nu degrees of freedom. By default its median is an
    estimate of the noise, from outcomes that short fits have not seen, and nu is a tenth of the
    rows, but within {NU_RANGE[0]:g} and {NU_RANGE[1]:g}. "paper": {PLAIN_NU:g}, see
    `sigma_quantile`.
sigma_quantile : float or None
    A number makes sigma lie below the standard deviation of y with this prior probability, in
    place of the estimate, and nu is {PLAIN_NU:g} unless given. "paper": {PAPER.sigma_quantile}.
noise_df : float or None
    Degrees of freedom of the noise, Student's t: an even number from {DF_RANGE[0]} to
    {DF_RANGE[1]}, or ``math.inf`` for normal noise. By default the estimate of the noise decides;
    "paper": normal.
theta_prior : pair of float or None
    Beta prior (a, b) of theta, the probability that a column is part of an oblique rule. None:
    (a, a (p - 1)) for each of the p continuous columns, so that a rule has one column on
    average, with a = {OURS.theta_weight:g} / p but within 1 and 10; "paper": one theta for all
    columns, (M, M (p - 1)) for M trees. With axis rules, a is the concentration of the
    Dirichlet prior of the columns' weights, {OURS.axis_theta_a:g} by default.
sigma : float or None
    A number fixes the noise's standard deviation, in the units of y; None samples it.
theta : float or None
    A number in (0, 1] fixes theta; None samples it.
min_samples_leaf : int or None
    Training rows that a leaf must have. None is {OURS.min_samples_leaf}; "paper":
    {PAPER.min_samples_leaf}, with empty leaves.
categorical_features : "auto", None, or array of names, positions or booleans
    Columns that are categories. "auto" takes the categorical and text columns of a data
    frame, and none of an array. Names or positions add columns to these. A mask, one boolean
    per column, decides alone, and None means no column.
dates : {{"auto", None}}
    "auto" turns dates into numbers, days since 1970-01-01: columns of a date type, and columns
    of text in which every value is a date such as 2024-05-02 or 2024-05-02T10:30. By default
    the former are an error and the latter categories.
feature_scaling : {{"range", "rank", "blend", "joint"}} or None
    How a continuous column is mapped to [-1, 1]: by its training range, by ranks, by the mean
    of both, or by one range for all columns. None is "{OURS.feature_scaling}"; "paper":
    "{PAPER.feature_scaling}".
p_change, p_perturb : float or None
    Shares of the moves that redraw a rule, and that move a rule a little. None is
    {OURS.p_change} and {OURS.p_perturb}; "paper": none.
n_jobs : int or None
    Chains at a time, as in joblib; with more jobs than chains, threads within a chain, and
    threads of a prediction. The draws do not depend on it.
random_state : int, RandomState or None
    Seed of the chains. An int makes `fit` reproducible: every call gives the same draws.
progress : bool or "auto"
    Whether to show progress; "auto" does so on a terminal or in a notebook.
X : array-like or data frame of shape (n, n_features)
    A Dask array or data frame gives a lazy result.
coverage : float, default=0.9
    Probability of the interval, in (0, 1)."""


with_shared_parameters = shared_parameters(f"{SHARED}\n{EXPLAINING}")
