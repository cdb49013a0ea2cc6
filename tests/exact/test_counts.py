"""Counts, Poisson and negative binomial: prior invariance, and one factor with a known density.

A likelihood to the power of a weight is no distribution of counts. For the prior invariance of
weighted rows, y is z / w instead, where z is Poisson with mean w mu, or negative binomial with the
w-fold size: these give the same likelihood of mu. That of the dispersion is then another one,
so it is all but fixed there; the densities below have both.

False alarms: some 60 statistics, each below p = 1e-6, and 30 means, each off by more than five of
its standard errors. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from scipy.stats import kstest

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior, Table
from obliquebart import _core

LEVEL = 1e-6
OFFSET = 0.7
FIXED = 1e-9  # a standard deviation of the logarithm


class Counts(outcomes.Case):
    def __init__(
        self,
        name,
        table,
        likelihood,
        *,
        prior=(0.0, 0.0),
        leaf_sd=(4.0, 0.8),
        weighted=False,
        n_trees=2,
        n_sweeps=10,
        exposure=1.0,
    ):
        self.name, self.table = name, table
        self._likelihood, self._prior, self._leaf_sd = likelihood, prior, leaf_sd
        self._n_trees, self.n_sweeps = n_trees, n_sweeps
        self._is_negative_binomial = likelihood == "negative_binomial"
        self.scales = ("dispersion",) if self._is_negative_binomial else ()
        n = table.n_rows
        self.weights = 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if weighted else None
        self._exposure = exposure * (0.2 + 3.0 * ((5 * np.arange(n)) % n) / n)

    def settings(self):
        prior = Prior(
            n_trees=self._n_trees, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=1.0, leaf_sd=0.6
        )
        more = {}
        if self._is_negative_binomial:
            names = ("log_dispersion_mean", "log_dispersion_sd")
            more = dict(zip(names, self._prior, strict=True))
        out = core.settings(
            prior, likelihood=self._likelihood, offset=OFFSET, more=more, **core.MOVES
        )
        out.leaf_model = "rate"
        if isinstance(self._leaf_sd, tuple):
            out.leaf_sd_fixed = False
            out.leaf_shape, out.leaf_rate = self._leaf_sd
        else:
            out.leaf_sd = self._leaf_sd
        return out

    def draw_y(self, fits, scales, rng):
        w = np.ones(len(fits[0])) if self.weights is None else self.weights
        mean = w * self._exposure * np.exp(OFFSET + fits[0])
        if self._is_negative_binomial:
            size = w / scales["dispersion"]
            mean = mean * rng.gamma(size) / size
        return np.stack([rng.poisson(mean) / w, self._exposure])

    def statistics(self, y, fits, scales):
        count, f = y[0], fits[0]
        excess = count - self._exposure * np.exp(OFFSET + f)
        size = np.log1p(excess**2).sum()
        return {
            "y'f": (count * f).sum(),
            "excess": np.arctan(excess).sum(),
            "size of excess": size,
            "excess by scale": size * np.log(scales.get("dispersion", scales["leaf_sd"])),
        }


# A sweep each, which ends with a joint scaling in every fourth replicate. Counts are large, so that
# they say much about f.
SCALING = {"leaf_sd": (2.5, 0.3), "n_trees": 6, "n_sweeps": 1, "exposure": 20.0}
CASES = [
    Counts("poisson, scaling", make_table(10, 1), "poisson", **SCALING),
    Counts(
        "negative binomial, scaling",
        make_table(10, 1),
        "negative_binomial",
        prior=(-2.0, 0.5),
        **SCALING,
    ),
    Counts("poisson", make_table(12, 2, (3,)), "poisson"),
    Counts("poisson, weights", make_table(15, 2), "poisson", leaf_sd=0.6, weighted=True),
    Counts("negative binomial", make_table(12, 2, (3,)), "negative_binomial", prior=(-0.7, 0.8)),
    Counts(
        "negative binomial, weights",
        make_table(15, 2, (), missing=0.2),
        "negative_binomial",
        prior=(-0.5, FIXED),
        leaf_sd=0.6,
        weighted=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


# ---- one factor, and the dispersion ----------------------------------------------------------

# counts, exposures, weights, leaf_sd, prior of log dispersion
DENSITIES = {
    "zero": ([0], [1.0], [1.0], 0.8, (0.0, 1.0)),
    "weights and exposures": ([3, 0, 7], [0.5, 2.0, 3.0], [0.5, 2.3, 1.0], 1.0, (-1.0, 1.0)),
    "large counts": ([900, 1200, 400, 2000], [5e2] * 4, [1.0, 0.7, 1.0, 2.0], 1.0, (-1.0, 1.5)),
    "nearly Poisson": ([4, 5, 3], [2.0] * 3, [1.0] * 3, 0.5, (-9.0, 0.5)),
    "many zeros": ([0, 0, 0, 0, 12], [1.0] * 5, [1.0] * 5, 1.5, (1.0, 1.0)),
}
N_DRAWS, N_THIN, N_BATCHES = 40_000, 4, 100


def density(counts, exposures, weights, leaf_sd, prior):
    """Return log h and log a on a grid, and their joint posterior probabilities."""
    shape = leaf_sd**-2
    log_h = np.linspace(-14.0, 10.0, 2401)[:, None]
    log_a = prior[0] + prior[1] * np.linspace(-9.0, 9.0, 601)
    r = np.exp(-log_a)
    log_p = shape * log_h - shape * np.exp(log_h) - 0.5 * ((log_a - prior[0]) / prior[1]) ** 2
    for y, exposure, w in zip(counts, exposures, weights, strict=True):
        mean = exposure * np.exp(OFFSET + log_h)
        log_p = log_p + w * (
            special.gammaln(r + y)
            - special.gammaln(r)
            + y * np.log(mean)
            - y * np.log(r + mean)
            - r * np.log1p(mean / r)
        )
    p = np.exp(log_p - log_p.max())
    return log_h[:, 0], log_a, p / p.sum()


def chain_of_one_leaf(likelihood, counts, exposures, weights, leaf_sd, prior, seed):
    n = len(counts)
    settings = core.settings(
        Prior(1, 1e-9, 0.0, sigma=1.0, leaf_sd=leaf_sd),
        likelihood=likelihood,
        offset=OFFSET,
        more={"log_dispersion_mean": prior[0], "log_dispersion_sd": prior[1]},
    )
    settings.leaf_model = "rate"
    data = core.data(Table(np.zeros((1, n)), np.zeros((0, n), dtype=int), ()))
    y = np.array([counts, exposures], float)
    return _core.Sampler(data, y, np.array(weights), settings, seed, 0)


def sampled(likelihood, case, seed):
    """Return draws of the output of a tree that has one leaf, and of the dispersion."""
    chain = chain_of_one_leaf(likelihood, *case, seed)
    out = np.empty((2, N_DRAWS))
    for i in range(N_DRAWS):
        chain.sweep(N_THIN)
        (out[0, i],) = chain.ensemble().to_arrays()["outputs"]
        if likelihood == "negative_binomial":
            out[1, i] = chain.state()["dispersion"]
    return out


def require_density(grid, p, draws):
    """Compare draws with probabilities on a grid."""
    below = np.interp(draws, grid, np.cumsum(p))
    scores = {"mean": draws - (grid * p).sum()}
    scores |= {f"below {u}": (below < u) - u for u in (0.05, 0.2, 0.5, 0.9)}
    for what, score in scores.items():
        batches = score.reshape(N_BATCHES, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / np.sqrt(N_BATCHES))
        print(f"{what}: {z:.2f}")
        assert abs(z) < 5, what


@pytest.mark.parametrize("name", DENSITIES)
def test_the_posterior_of_one_factor_and_of_the_dispersion(name, seed):
    log_h, log_a, p = density(*DENSITIES[name])
    h, a = sampled("negative_binomial", DENSITIES[name], seed)
    require_density(log_h, p.sum(axis=1), np.log(h))
    require_density(log_a, p.sum(axis=0), np.log(a))


def test_the_posterior_of_one_factor_of_poisson_rates(seed):
    case = counts, exposures, weights, leaf_sd, _ = DENSITIES["weights and exposures"]
    h, _ = sampled("poisson", case, seed)
    shape = leaf_sd**-2 + np.dot(weights, counts)
    rate = leaf_sd**-2 + np.dot(weights, exposures) * np.exp(OFFSET)
    log_h = np.linspace(-6.0, 4.0, 200_001)
    log_p = shape * log_h - rate * np.exp(log_h)
    p = np.exp(log_p - log_p.max())
    require_density(log_h, p / p.sum(), np.log(h))


@pytest.mark.parametrize("name", ["weights and exposures", "large counts"])
def test_latents_have_their_distribution(name, seed):
    """That of a gamma, given the factor and the dispersion before the sweep."""
    counts, exposures, weights = (np.array(part) for part in DENSITIES[name][:3])
    chain = chain_of_one_leaf("negative_binomial", *DENSITIES[name], seed)
    base = exposures * np.exp(OFFSET)
    u = []
    for _ in range(5_000):
        before = chain.state()
        (h,) = chain.ensemble().to_arrays()["outputs"]
        chain.sweep(1)
        latent = chain.state()["target"] * (weights * counts + 1.0) / base
        r = 1.0 / before["dispersion"]
        u.append(special.gammainc(weights * (r + counts), (r + base * h) * latent))
    for of_row in np.array(u).T:
        assert kstest(of_row, "uniform").pvalue > LEVEL
