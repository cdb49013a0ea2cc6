"""Treatment effects: prior, outcomes, sweeps, prior again.

False alarms: some 40 statistics, each below p = 1e-6. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from exact.oracles import core, outcomes
from exact.oracles.invariance import make_table
from exact.oracles.prior import Prior

PRIOR = Prior(
    n_trees=2, alpha=0.8, beta=1.0, theta=(3.0, 4.0), sigma=(6.0, 1.0), leaf_sd=(3.0, 1.0)
)
DF = 6.0


class Causal(outcomes.Case):
    """The last continuous column is hidden from the trees of the effects."""

    def __init__(
        self, name, table, noise="gaussian", *, n_arms=1, dose=False, level_sd=0.7, **case
    ):
        self.name, self.table, self._noise, self._level_sd = name, table, noise, level_sd
        self._codes_arms = not dose
        n = table.n_rows
        arm = (5 * np.arange(n) + np.arange(n) // 3) % (n_arms + 1)
        self._dose = np.array([arm == k + 1 for k in range(n_arms)], dtype=float)
        if dose:
            self._dose = np.linspace(-1.5, 1.5, n).reshape(1, n).round(1)
        self.weights = 0.25 + 2.0 * ((7 * np.arange(n)) % n) / n if case.get("weighted") else None
        if noise == "weighted_probit":
            self.weights = np.array([0.5, 1.0, 2.5])[np.arange(n) % 3]
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
        if self._noise == "varying_noise":
            self._add(out, leaf_model="precision", leaf_sd=0.6)
        for _ in self._dose:
            self._add(out, hidden_columns=1, leaf_sd=0.8)
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
            y = self._draw_labels(mean + 0.3, rng)
        elif self._noise == "gaussian":
            y = mean + self._spread(fits, scales) * rng.standard_normal(len(mean))
        else:
            df = scales.get("df", DF)
            y = mean + self._spread(fits, scales) * rng.standard_t(df, len(mean))
        return np.stack([y, *self._dose])

    def _draw_labels(self, mean, rng):
        """With weights w, P(y = 1) is proportional to Phi(mean)^w."""
        from scipy.stats import norm

        w = 1.0 if self.weights is None else self.weights
        one, zero = norm.cdf(mean) ** w, norm.cdf(-mean) ** w
        return (rng.uniform(size=len(mean)) < one / (one + zero)).astype(float)

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
    Causal("varying noise", make_table(12, 2), "varying_noise", weighted=True),
    Causal("labels", make_table(14, 2, (2,)), "probit"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, outcomes.SHORT, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}
