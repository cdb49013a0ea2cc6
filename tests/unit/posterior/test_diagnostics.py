"""Diagnostics: against ArviZ, on chains with a known fault, and at the edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.signal import lfilter

from helpers import small_models
from obliquebart import ObliqueBARTRegressor
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.posterior.diagnostics import Diagnostics, choose_rows, diagnose, measure
from obliquebart.posterior.verdict import NO_ROWS


def judged(chains, **settings):
    """The diagnostics of one made-up scalar, as if it were sigma."""
    posterior = FakePosterior(np.asarray(chains, dtype=np.float64), settings)
    return Diagnostics(posterior, [measure("sigma", posterior.trace["sigma"])])


class FakePosterior:
    n_trees = 10
    likelihood = LIKELIHOODS["gaussian"]

    def __init__(self, chains, settings):
        nan = np.full_like(chains, np.nan)
        self.trace = {"sigma": chains, "n_leaves": nan, "depth": nan, "axis_share": nan}
        self.trace |= {f"accept_{move}": nan for move in ("grow", "prune", "change", "perturb")}
        self.settings = settings
        self.n_chains, self.n_draws = chains.shape

    def in_words(self):
        return f"{self.n_chains} chains"


def slow_chains(rng, n_draws, memory):
    steps = rng.normal(size=(4, n_draws + 500))
    return lfilter([1.0], [1.0, -memory], steps)[:, 500:]


@pytest.mark.filterwarnings("ignore")
def test_numbers_are_those_of_arviz(rng):
    az = pytest.importorskip("arviz")
    draws = slow_chains(rng, 400, 0.9)
    quantity = measure("x", draws)
    data = az.convert_to_dataset({"x": draws})
    for name, expected in (
        ("rhat", az.rhat(data)),
        ("ess_bulk", az.ess(data, method="bulk")),
        ("ess_tail", az.ess(data, method="tail", prob=(0.05, 0.95))),
        ("mcse_mean", az.mcse(data, method="mean")),
    ):
        np.testing.assert_allclose(getattr(quantity, name), float(expected["x"]), rtol=1e-10)
    np.testing.assert_allclose(
        quantity[1:5], [draws.mean(), draws.std(ddof=1), quantity.q5, quantity.q95]
    )
    np.testing.assert_allclose([quantity.q5, quantity.q95], np.quantile(draws, [0.05, 0.95]))


def test_independent_draws_pass(rng):
    # R-hat of 4 x 1000 independent draws has mean 1.000 and sd 0.0005 or so.
    result = judged(rng.normal(size=(4, 1000)))
    assert result["sigma"].rhat < 1.01
    assert abs(result["sigma"].ess_bulk - 4000) < 800
    np.testing.assert_allclose(result["sigma"].mcse_mean, 1 / math.sqrt(4000), rtol=0.15)


def test_chains_of_different_width_are_found(rng):
    # Equal means: only the folded, rank-normalised R-hat sees it.
    chains = rng.normal(size=(4, 1000))
    chains[0] *= 3.0
    assert judged(chains)["sigma"].rhat > 1.01


def test_slow_chains_are_found(rng):
    # 4 * 40,000 draws with autocorrelation 0.999 are worth about 80 independent ones.
    quantity = judged(slow_chains(rng, 40_000, 0.999))["sigma"]
    assert quantity.rhat < 1.2
    assert 30 < quantity.ess_bulk < 200


def test_large_numbers_are_short(rng):
    text = str(judged(1260.4 + rng.normal(size=(4, 100))))
    assert "1260" in text
    assert "e+03" not in text


def test_a_stuck_chain_is_found(rng):
    chains = rng.normal(size=(4, 100))
    chains[1] = 0.3
    assert judged(chains)["sigma"].rhat > 1.1


def test_one_chain_is_split(rng):
    chain = rng.normal(size=(1, 1000))
    assert judged(chain)["sigma"].rhat < 1.01
    assert judged(chain + np.linspace(0, 5, 1000))["sigma"].rhat > 1.1


@pytest.mark.parametrize("n_draws", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("n_chains", [1, 2])
def test_very_short_chains_do_not_fail(rng, n_chains, n_draws):
    result = judged(rng.normal(size=(n_chains, n_draws)))
    assert math.isnan(result["sigma"].ess_bulk) == (n_draws < 4)
    assert NO_ROWS in str(result)


def test_summary_of_a_regression():
    X, _ = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    result = posterior.summary(X, rows=[3, 7])
    assert [quantity.name for quantity in result] == [
        *("sigma", "theta", "leaf_sd", "f[3]", "f[7]")
    ]
    f = posterior.predict(X)
    np.testing.assert_allclose(result["f[7]"].mean, f[:, 7].mean())
    np.testing.assert_allclose(
        result["f[7]"].rhat, measure("f", f[:, 7].reshape(2, 100)).rhat, rtol=1e-12
    )
    assert set(result.acceptance) == {"grow", "prune", "change", "perturb"}
    assert 0 < result.acceptance["grow"] < 1
    assert result.trees["n_leaves"] > 1
    text = str(result)
    assert "2 chains of 100 draws of 20 trees" in text
    assert "f[7]" in text
    assert "accepted: grow" in text
    assert text.startswith(str(result.verdict))
    with pytest.raises(KeyError):
        result["f[8]"]


def test_summary_is_json(rng):
    plain = judged(rng.normal(size=(2, 3))).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False))["quantities"][0]["rhat"] is None


def test_classification_has_no_sigma():
    X, _ = small_models.mixed_table()
    result = small_models.classifier().posterior_.summary(X, rows=2)
    assert [quantity.name for quantity in result] == ["theta", "leaf_sd", "f[0]", "f[149]"]


def test_fixed_parameters_need_no_diagnosis():
    X, y = small_models.mixed_table()
    options = {**small_models.OPTIONS, "n_burn": 5, "n_draws": 8}
    fixed = {"sigma": 2.0, "theta": 0.5, "leaf_sd": 1.0}
    model = ObliqueBARTRegressor(**options, **fixed, random_state=0).fit(X, y)
    result = model.posterior_.summary()
    assert result["sigma"].fixed
    assert math.isnan(result["sigma"].rhat)
    assert "fixed" in str(result)
    axis = ObliqueBARTRegressor(**options, prior="paper", rules="axis", random_state=0).fit(X, y)
    assert set(diagnose(axis.posterior_).acceptance) == {"grow", "prune"}
    assert [quantity.name for quantity in diagnose(axis.posterior_)] == ["sigma"]


@pytest.mark.filterwarnings("ignore:All 20 outcomes")
def test_a_constant_outcome():
    X = np.linspace(0, 1, 20).reshape(-1, 1)
    posterior = ObliqueBARTRegressor(**small_models.OPTIONS).fit(X, np.ones(20)).posterior_
    result = posterior.summary(X)
    assert result.verdict.tier == "fine"
    assert result.verdict.error == 0.0
    assert result.acceptance == {}


def test_rows_are_chosen():
    np.testing.assert_array_equal(choose_rows(3, 101), [0, 50, 100])
    np.testing.assert_array_equal(choose_rows(10, 3), [0, 1, 2])
    np.testing.assert_array_equal(choose_rows([5, 2], 6), [5, 2])
    assert choose_rows(0, 5).size == 0
    for rows, message in (([7], "numbered 0 to 6"), (["a"], "row numbers"), (-1, "rows=-1")):
        with pytest.raises(ValueError, match=message):
            choose_rows(rows, 7)
