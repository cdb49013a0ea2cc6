"""Soft rules with outcomes of every kind: prior, outcomes, sweeps, prior again.

The cases are those of each outcome's own file, with rules that are soft. False alarms: some 170
statistics, each below p = 1e-6. Seeds are fixed.
"""

from __future__ import annotations

import pytest

from exact import (
    test_causal,
    test_classes,
    test_learned_t,
    test_ordinal,
    test_survival,
    test_varying_noise,
)
from exact.oracles import outcomes
from exact.test_soft import SCALE

REPLICATES = 1_500


class Soft(outcomes.Case):
    """Another case, with soft rules in all ensembles that may have them."""

    def __init__(self, kind: str, case: outcomes.Case) -> None:
        self.name, self._case = f"{kind}: {case.name}", case
        self.table, self.weights = case.table, case.weights
        self.scales, self.n_sweeps = case.scales, case.n_sweeps

    def settings(self):
        out = self._case.settings()
        for e in range(out.n_ensembles):
            ensemble = out.ensemble(e)
            if ensemble.leaf_model == "normal":
                ensemble.soft, ensemble.width_scale = True, SCALE
                ensemble.output_correlation = 0.0
        return out

    def draw_y(self, fits, scales, rng):
        return self._case.draw_y(fits, scales, rng)

    def statistics(self, y, fits, scales):
        return self._case.statistics(y, fits, scales)


CASES = [
    Soft(kind, case)
    for kind, cases in {
        "learned t": test_learned_t.CASES[2:3],
        "varying noise": test_varying_noise.CASES[:2],
        "classes": test_classes.CASES[:4],
        "ordered classes": test_ordinal.CASES[:1],
        "survival": test_survival.CASES[:2],
        "effects": [test_causal.CASES[k] for k in (0, 2, 6, 7)],
    }.items()
    for case in cases
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior(case, seed):
    assert outcomes.failures(case, REPLICATES, seed) == {}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sweeps_keep_the_prior_long(case, seed):
    assert outcomes.failures(case, outcomes.LONG, seed) == {}
