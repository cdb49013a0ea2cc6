"""Diagnostics: against ArviZ, on chains with a known fault, and at the edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning

from helpers import small_models
from obliquebart import ObliqueBARTRegressor
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.posterior.diagnostics import Diagnostics, choose_rows, diagnose, measure


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
    # R-hat of 4 x 1000 independent draws has mean 1.000 and sd 0.0005 or so: no false alarms.
    result = judged(rng.normal(size=(4, 1000)))
    assert result.converged
    assert abs(result["sigma"].ess_bulk - 4000) < 800
    np.testing.assert_allclose(result["sigma"].mcse_mean, 1 / math.sqrt(4000), rtol=0.15)


def test_chains_in_different_places_are_found(rng):
    chains = rng.normal(size=(4, 1000))
    chains[2] += 1.0
    advice = judged(chains).advice
    assert len(advice) == 2
    assert "do not agree" in advice[0]
    assert "p_change=0.2" in advice[0]
    assert "About n_draws" not in advice[1]
    assert "p_change" not in judged(chains, p_change=0.2, p_perturb=0.3).advice[0]


def test_chains_of_different_width_are_found(rng):
    # Equal means: only the folded, rank-normalised R-hat sees it.
    chains = rng.normal(size=(4, 1000))
    chains[0] *= 3.0
    assert judged(chains)["sigma"].rhat > 1.01


def test_slow_chains_are_found(rng):
    # 800 draws with autocorrelation 0.99 are worth about 4 * 800 / 199 = 16 independent ones.
    result = judged(slow_chains(rng, 40_000, 0.999))
    assert result["sigma"].rhat < 1.2
    assert "ESS is" in " ".join(result.advice)


def test_advice_names_a_sufficient_number_of_draws(rng):
    chains = slow_chains(rng, 1000, 0.9)
    result = judged(chains)
    if result.advice:
        assert result["sigma"].rhat > 1.01
    quantity = result["sigma"]._replace(rhat=1.0, ess_bulk=200.0, ess_tail=300.0)
    advice = Diagnostics(FakePosterior(chains, {}), [quantity]).advice
    assert advice == [
        "The bulk ESS is 200 for sigma, below 400 (100 per chain): means and intervals are "
        "uncertain. About n_draws=2000 would be enough: sample_more(1000) goes on from here."
    ]


def test_slow_parameters_alone_leave_predictions_fine(rng):
    chains = rng.normal(size=(4, 1000))
    good = measure("f[0]", chains)
    bad = good._replace(name="theta", rhat=1.3, ess_bulk=20.0)
    posterior = FakePosterior(chains, {})
    for sentence in Diagnostics(posterior, [bad, good]).advice:
        assert "for theta" in sentence
        assert "is fine at all rows" in sentence
    rhat, size = Diagnostics(posterior, [bad, good._replace(rhat=1.02, ess_bulk=300.0)]).advice
    assert "1.020 for f[0] and 1 more" in rhat
    assert "do not agree" in rhat
    assert "300 for f[0] and 1 more" in size
    assert "up to 2% of its posterior" in size


def test_large_numbers_are_short(rng):
    text = str(judged(1260.4 + rng.normal(size=(4, 100))))
    assert "1260" in text
    assert "e+03" not in text


def test_a_stuck_chain_is_found(rng):
    chains = rng.normal(size=(4, 100))
    chains[1] = 0.3
    assert not judged(chains).converged


def test_one_chain_is_split_and_named(rng):
    chain = rng.normal(size=(1, 1000))
    result = judged(chain)
    assert result["sigma"].rhat < 1.01
    assert len(result.advice) == 1
    assert "n_chains=8" in result.advice[0]
    assert judged(chain + np.linspace(0, 5, 1000))["sigma"].rhat > 1.1


@pytest.mark.parametrize("n_draws", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("n_chains", [1, 2])
def test_very_short_chains_do_not_fail(rng, n_chains, n_draws):
    result = judged(rng.normal(size=(n_chains, n_draws)))
    assert math.isnan(result["sigma"].ess_bulk) == (n_draws < 4)
    assert not result.converged
    str(result)


def test_summary_of_a_regression():
    X, _ = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    with pytest.warns(ConvergenceWarning, match="R-hat|ESS"):
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
    with pytest.raises(KeyError):
        result["f[8]"]


def test_summary_is_json(rng):
    plain = judged(rng.normal(size=(2, 3))).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False))["quantities"][0]["rhat"] is None


def test_classification_has_no_sigma():
    X, _ = small_models.mixed_table()
    result = diagnose(small_models.classifier().posterior_, X, rows=2)
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
    assert result.converged
    assert result.acceptance == {}


def test_rows_are_chosen():
    np.testing.assert_array_equal(choose_rows(3, 101), [0, 50, 100])
    np.testing.assert_array_equal(choose_rows(10, 3), [0, 1, 2])
    np.testing.assert_array_equal(choose_rows([5, 2], 6), [5, 2])
    assert choose_rows(0, 5).size == 0
    for rows, message in (([7], "numbered 0 to 6"), (["a"], "row numbers"), (-1, "rows=-1")):
        with pytest.raises(ValueError, match=message):
            choose_rows(rows, 7)
