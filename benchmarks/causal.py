"""Are effects of treatments found as well as by other Bayesian causal forests?

The simulation of Hahn, Murray and Carvalho (2020), section 6.1: eight settings by the effect
(homogeneous or not), the outcome without treatment (linear or not) and n. Its text says that x4 is
dichotomous and that x5 has three levels, but its formulas are g(x4), of three levels, and x2 x5.
Here x4 has three levels and x5 is 0 or 1, as the formulas need; other names would change nothing.
As in the paper, s is the standard deviation of mu over the sample, and the part u / 10 of a
propensity is not a function of x.

Six further settings have an effect that depends on a difference, a ratio or a sum of columns, for
which axis rules need many steps.

Effects are judged at the rows of the fit. "ATE" is the mean effect of these rows. The RMSE of CATE
is that of a replicate, averaged over replicates. The paper's own table is not copied here.

    python benchmarks/causal.py [--settings S ...] [--methods M ...] [--replicates 0:200]
        [--length short] [--jobs 1 | --together N] [--limit-seconds T] [--cache FOLDER]
        [--report] [--save]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import causal_study
import numpy as np
import pandas as pd
from causal_study import Problem, Study
from scipy.stats import norm

SIZES = (250, 500)
G = np.array([2.0, -1.0, -4.0])  # of the levels 1, 2, 3
NOISE_SD = 1.0

Columns = pd.DataFrame
Function = Callable[[Columns], np.ndarray]


def _level(x: Columns) -> np.ndarray:
    return G[x["x4"].cat.codes.to_numpy()]


def linear(x: Columns) -> np.ndarray:
    return np.asarray(1 + _level(x) + x["x1"] * x["x3"])


def nonlinear(x: Columns) -> np.ndarray:
    return np.asarray(-6 + _level(x) + 6 * np.abs(x["x3"] - 1))


def homogeneous(x: Columns) -> np.ndarray:
    return np.full(len(x), 3.0)


def heterogeneous(x: Columns) -> np.ndarray:
    return np.asarray(1 + 2 * x["x2"] * x["x5"])


def difference(x: Columns) -> np.ndarray:
    return np.where(x["x1"] - x["x2"] > 0, 3.0, 0.0)


def ratio(x: Columns) -> np.ndarray:
    """The ratio of columns that are positive, in `_positive`."""
    return np.where(np.exp(x["x1"]) / np.exp(x["x2"]) > 1.25, 3.0, 0.0)


def sum_of_three(x: Columns) -> np.ndarray:
    return np.where(x["x1"] + x["x2"] + x["x3"] > 0, 3.0, 0.0)


def _columns(n: int, rng: np.random.Generator) -> Columns:
    x = pd.DataFrame(rng.normal(size=(n, 3)), columns=["x1", "x2", "x3"])
    levels = rng.integers(1, len(G) + 1, size=n).astype(str)
    x["x4"] = pd.Categorical(levels, categories=["1", "2", "3"])
    x["x5"] = rng.integers(0, 2, size=n).astype(float)
    return x


def _as_they_are(x: Columns) -> Columns:
    return x


def _positive(x: Columns) -> Columns:
    return x.assign(x1=np.exp(x["x1"]), x2=np.exp(x["x2"]))


def problem(
    replicate: int, n: int, mu: Function, tau: Function, shown: Callable[[Columns], Columns]
) -> Problem:
    """Return a problem; `shown` makes the columns that methods see."""
    rng = np.random.default_rng([replicate, n])
    x = _columns(n, rng)
    base, effect = mu(x), tau(x)
    index = 3 * base / base.std(ddof=1) - 0.5 * x["x1"].to_numpy()
    propensity = 0.8 * norm.cdf(index) + 0.05 + rng.uniform(size=n) / 10
    z = (rng.uniform(size=n) < propensity).astype(float)
    y = base + effect * z + NOISE_SD * rng.normal(size=n)
    return Problem(shown(x), y, z, effect)


def _setting(
    n: int, mu: Function, tau: Function, shown: Callable[[Columns], Columns] = _as_they_are
) -> Callable[[int], Problem]:
    return partial(problem, n=n, mu=mu, tau=tau, shown=shown)


PAPER = {
    f"{tau.__name__} {mu.__name__} {n}": _setting(n, mu, tau)
    for tau in (homogeneous, heterogeneous)
    for mu in (linear, nonlinear)
    for n in SIZES
}
OBLIQUE = {
    f"{name} {n}": _setting(n, linear, tau, shown)
    for name, tau, shown in (
        ("difference", difference, _as_they_are),
        ("ratio", ratio, _positive),
        ("sum", sum_of_three, _as_they_are),
    )
    for n in SIZES
}
STUDY = Study("causal", {**PAPER, **OBLIQUE})


if __name__ == "__main__":
    causal_study.main(STUDY, __doc__)
