"""Treatment effects: prior, outcomes, sweeps, prior again; and what the trees of effects see.

Exact posteriors are in test_causal_posterior.py. False alarms: some 200 statistics, each below
p = 1e-6. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table, twice
from exact.oracles.prior import Prior
from obliquebart import _core
from obliquebart.model.added_columns import with_added_columns

PRIOR = Prior(
    n_trees=2, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=(6.0, 1.0), leaf_sd=(3.0, 1.0)
)
DF = 6.0
LINE = {
    "kind": "patch",
    "concentration": 1.0,
    "columns": [0, 1, 2],
    "shape": [3],
    "least": [1],
    "most": [2],
}
PAIR = {**LINE, "columns": [0, 1], "shape": [2]}
SPARSE = {"kind": "sparse", "concentration": 2.0, "columns": []}
REST = {**SPARSE, "columns": [2]}
SHORT = outcomes.SHORT // 2  # enough for the planted bugs


class Causal(outcomes.Case):
    """The last continuous column is hidden from the trees of the effects."""

    def __init__(
        self, name, table, noise="gaussian", *, n_arms=1, dose=False, level_sd=0.7, **case
    ):
        self.name, self.table, self._noise, self._level_sd = name, table, noise, level_sd
        self._codes_arms = not dose
        self._spreads = case.get("spreads", (0.6, 0.8))  # of the noise's factors, and of effects
        self._directions = case.get("directions", [])
        n = table.n_rows
        arm = (5 * np.arange(n) + np.arange(n) // 3) % (n_arms + 1)
        self._dose = np.array([arm == k + 1 for k in range(n_arms)], dtype=float)
        if dose:
            self._dose = np.linspace(-1.5, 1.5, n).reshape(1, n).round(1)
        self.weights = 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if case.get("weighted") else None
        if noise == "weighted_probit":
            # A row is there twice, with weights that add up to one: together they are one label.
            first = (1 + (7 * np.arange(n)) % 11) / 13
            self.weights = np.concatenate([first, 1.0 - first])
            self.table, self._dose = twice(table), np.tile(self._dose, 2)
        names = ("low", "high", "level") if not dose else ("high", "level")
        self.scales = tuple(
            f"{name}.{k}" for k in range(n_arms) for name in names if name != "level" or level_sd
        )
        if "probit" not in noise:
            self.scales += ("sigma",)
        if noise == "learned_t":
            self.scales += ("df",)

    def settings(self):
        more = {
            "n_treatments": len(self._dose),
            "codes_arms": float(self._codes_arms),
            "level_sd": self._level_sd,
        }
        if self._noise in ("student_t", "varying_noise"):
            more["df"] = DF
        if self._noise == "learned_t":
            more["df_rate"] = 0.1
        out = core.settings(PRIOR, likelihood=f"causal_{self._noise}", more=more, **core.MOVES)
        if "probit" in self._noise:
            out.sigma, out.sigma_fixed, out.offset = 1.0, True, 0.3
        # As the estimator does.
        hidden = [len(self.table.x_cont) - 1]
        out.directions = with_added_columns(self._directions, hidden)
        if self._noise == "varying_noise":
            self._add(out, leaf_model="precision", leaf_sd=self._spreads[0])
        for _ in self._dose:
            of_effects = {"leaf_sd": self._spreads[1], "directions": self._directions}
            self._add(out, hidden_columns=1, **of_effects)
        return out

    def _add(self, settings, **values):
        settings.add_ensemble()
        ensemble = settings.ensemble(settings.n_ensembles - 1)
        shared = {"n_trees": 2, "alpha": 0.6, "beta": 1.0, "theta_a": 4.0, "theta_b": 6.0}
        for name, value in (shared | {"p_change": 0.2, "p_perturb": 0.3} | values).items():
            setattr(ensemble, name, value)

    def _mean(self, fits, scales):
        mean = fits[0].copy()
        taus = fits[len(fits) - len(self._dose) :]
        for k, (d, tau) in enumerate(zip(self._dose, taus, strict=True)):
            low, high, level = (scales.get(f"{name}.{k}", 0.0) for name in ("low", "high", "level"))
            mean += d * level + (low * (1 - d) + high * d) * tau
        return mean

    def _spread(self, fits, scales):
        w = 1.0 if self.weights is None else self.weights
        log_h = fits[1] if self._noise == "varying_noise" else 0.0
        return scales["sigma"] * np.exp(-log_h / 2) / np.sqrt(w)

    def draw_y(self, fits, scales, rng):
        mean = self._mean(fits, scales)
        if "probit" in self._noise:
            y = (mean + 0.3 + rng.standard_normal(len(mean)) > 0).astype(float)
            if self._noise == "weighted_probit":
                y = np.tile(y[: len(y) // 2], 2)
        elif self._noise == "gaussian":
            y = mean + self._spread(fits, scales) * rng.standard_normal(len(mean))
        else:
            df = scales.get("df", DF)
            y = mean + self._spread(fits, scales) * rng.standard_t(df, len(mean))
        return np.stack([y, *self._dose])

    def statistics(self, y, fits, scales):
        mean = self._mean(fits, scales)
        out = {
            "y'mean": (y[0] * mean).sum(),
            "y'd": (y[0] * self._dose[0]).sum(),
            "y'effect": (y[0] * (mean - fits[0])).sum(),
            "effect": (mean - fits[0])[-1],
            "y' mu": (y[0] * fits[0]).sum(),
        }
        if "probit" not in self._noise:
            z = (y[0] - mean) / self._spread(fits, scales)
            out["squares"] = (z**2).sum()
            out["squares of one arm"] = (z**2 * self._dose[0]).sum()
        return out


CASES = [
    Causal("two arms", make_table(12, 3, (3,))),
    Causal("weights", make_table(14, 2), weighted=True),
    Causal("three arms", make_table(15, 2), n_arms=2),
    Causal("a dose, no level", make_table(12, 2), dose=True, level_sd=0.0),
    Causal("Student's t", make_table(12, 2, missing=0.2), "student_t", weighted=True),
    Causal("learned tails", make_table(12, 2), "learned_t"),
    Causal("varying noise", make_table(12, 2), "varying_noise", weighted=True, spreads=(1.5, 6.0)),
    Causal("labels", make_table(14, 2, (2,)), "probit"),
    Causal("labels, weights", make_table(8, 2), "weighted_probit"),
    Causal("a line", make_table(14, 4), directions=[LINE]),
    Causal("a line and sparse rules", make_table(14, 4), "probit", directions=[LINE, SPARSE]),
    Causal("a line and other columns", make_table(14, 4), directions=[PAIR, REST]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}


@pytest.mark.parametrize("dose", [False, True], ids=["arms", "dose"])
def test_the_prior_of_the_coefficients(dose, seed):
    """The difference of the codes of two arms is standard normal, and so is what a dose has."""
    case = Causal("", make_table(6, 1), dose=dose)
    data, settings = core.data(case.table), case.settings()
    drawn = [_core.draw_prior(data, settings, seed, i)[1] for i in range(SHORT)]
    values = {name: np.array([one[f"{name}.0"] for one in drawn]) for name in ("low", "high")}
    level = np.array([one["level.0"] for one in drawn])
    assert not dose or not values["low"].any()
    standard = {"level": level / 0.7, "difference": values["high"] - values["low"]}
    if not dose:
        standard |= {name: np.sqrt(2.0) * value for name, value in values.items()}
    for name, value in standard.items():
        assert stats.kstest(value, "norm").pvalue > outcomes.LEVEL, name


@pytest.mark.parametrize("n_arms", [1, 2], ids=["two arms", "three arms"])
@pytest.mark.parametrize("directions", [[], [PAIR], [PAIR, SPARSE]], ids=len)
def test_rules_of_effects_do_not_see_the_last_column(n_arms, directions):
    """It holds the propensity, which explains the outcome here and all of the effect."""
    case = Causal("", make_table(200, 3), n_arms=n_arms, directions=directions)
    last, settings = case.table.x_cont[-1], case.settings()
    data = core.data(case.table)
    y = np.stack([3.0 * last * (1.0 + case._dose[0]), *case._dose])
    chain = _core.Sampler(data, y, None, settings, 1, 0)
    chain.run(50, 100, 1, _core.Control())
    assert chain.check() == []
    prior = [_core.draw_prior(data, settings, 1, i) for i in range(200)]
    for e in range(1 + n_arms):
        wanted = {0, 1, 2} if e == 0 else {0, 1}
        found = columns_of(chain.draws_of(e))
        assert found <= wanted
        assert (2 in found) == (e == 0)
        trees = [first if e == 0 else more[f"ensemble.{e}.trees"] for first, more in prior]
        assert set().union(*map(columns_of, trees)) == wanted


def columns_of(draws):
    return set(draws.to_arrays()["phi_column"].tolist())


@pytest.mark.parametrize("low", [0.03, 1e-3, 2e-4, 1e-5])
def test_effects_do_not_drift_where_an_arm_hardly_shows_them(low):
    """Residuals are divided by the code of an arm: rounding would grow as that becomes small."""
    rng = np.random.default_rng(4)
    n = 5_000
    x = rng.uniform(-1, 1, (3, n)).astype(np.float32)
    dose = np.arange(n) % 2.0
    y = x[0] + dose * x[1] + 0.5 * rng.standard_normal(n)
    case = Causal("", make_table(6, 3))
    data = _core.Data(x, np.zeros((0, n), np.uint32), [])
    settings = case.settings()
    settings.ensemble(1).n_trees, settings.ensemble(1).leaf_sd = 20, 0.2
    chain = _core.Sampler(data, np.stack([y, dose]), None, settings, 1, 0)
    for _ in range(40):
        chain.set_value("low.0", low)
        chain.sweep()
        state = chain.state()
        tracked = state["ensemble.1.target"] - state["ensemble.1.residual"]
        assert np.abs(tracked - chain.fit(1)).max() < 3e-4
    assert chain.check() == []
    chain.sweep(500)
    assert chain.check() == []
    state = chain.state()
    mean = chain.fit(0) + state["level.0"] * dose
    mean += (state["low.0"] * (1 - dose) + state["high.0"] * dose) * chain.fit(1)
    assert np.abs(y - mean - chain.residual(0)).max() < 1e-4
