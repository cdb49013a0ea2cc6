"""Are survival times predicted as well as by a random survival forest, on SurvSet's tables?

All static tables of 100 to 3,000 rows and at most 200 columns. Concordance (higher is better) and
the integrated Brier score (lower is better) between the 10% and 90% quantiles of the test times,
within the range of the training times. Calibration: rows in fifths of the predicted survival at the
median training time, with the mean prediction and the Kaplan-Meier estimate of each.

    python benchmarks/survival.py [--tables T ...] [--methods M ...] [--splits 3] [--jobs 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import contest
import numpy as np
from contest import Contest, Line, Method, ours
from forecasts import Survival
from outcome_tables import Split
from table import print_table

N_TIMES = 50
N_PARTS = 5
BEFORE_THE_END = 1 - 1e-6


def grid(split: Split) -> np.ndarray:
    """Return times to predict at: those of the Brier score, and last the median."""
    train, test = split.y_train["time"], split.y_test["time"]
    low, high = np.quantile(test, [0.1, 0.9])
    # Many are censored when a study ends; the score ends just before.
    high = min(high, BEFORE_THE_END * min(train.max(), test.max()))
    return np.append(np.linspace(max(low, train.min()), high, N_TIMES), np.median(train))


def _last(times: np.ndarray) -> float:
    """Return a time just before the last one."""
    return float(times.max() * (1 - 1e-9))


def measure(split: Split, forecast: Survival) -> Line:
    from sksurv.metrics import concordance_index_censored, integrated_brier_score

    y, times = split.y_test, grid(split)
    # Later outcomes are past all times of the score, but the weights are not defined there.
    within = y.copy()
    late = y["time"] > _last(split.y_train["time"])
    within["time"][late], within["event"][late] = _last(split.y_train["time"]), False
    curves = np.clip(forecast.survival, 0, 1)
    return {
        "concordance": float(concordance_index_censored(y["event"], y["time"], forecast.risk)[0]),
        "brier": float(integrated_brier_score(split.y_train, within, curves[:, :-1], times[:-1])),
        "fit_s": forecast.fit_s,
        "calibration": _calibration(y, curves[:, -1], times[-1]),
    }


def _calibration(y: np.ndarray, predicted: np.ndarray, time: float) -> list[list[float]]:
    """Return the mean prediction, the Kaplan-Meier estimate and the rows of each fifth."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), N_PARTS)
    return [[float(predicted[p].mean()), _kaplan_meier(y[p], time), len(p)] for p in parts]


def _kaplan_meier(y: np.ndarray, time: float) -> float:
    survival = 1.0
    for t in np.unique(y["time"][y["event"] & (y["time"] <= time)]):
        survival *= 1 - np.sum(y["event"] & (y["time"] == t)) / np.sum(y["time"] >= t)
    return float(survival)


@dataclass(frozen=True)
class AtTimes(Method):
    """A method that is told which times to predict at."""

    def __call__(self, split: Split) -> Any:
        told = (*self.settings, ("times", grid(split)))
        return Method(self.adapter, self.function, told)(split)


def _ours(distribution: str) -> AtTimes:
    method = ours("survival", distribution=distribution)
    return AtTimes(method.adapter, method.function, method.settings, ours=True)


CONTEST = Contest(
    question="survival",
    kind="survival",
    methods={
        "log_normal": _ours("log_normal"),
        "log_logistic": _ours("log_logistic"),
        "survival_forest": AtTimes("outcomes_sksurv", "survival_forest"),
        "cox": AtTimes("outcomes_sksurv", "cox"),
    },
    measure=measure,
    columns={"brier": False, "concordance": True, "fit_s": False},
)


def print_at_least(lines: list[Line], peer: str = "survival_forest") -> None:
    """Print the share of tables on which a method is at least as good as the peer."""
    found = contest.means(CONTEST, lines)
    rows = []
    for method in CONTEST.methods:
        pairs = [(t[method], t[peer]) for t in found.values() if method in t and peer in t]
        if method == peer or not pairs:
            continue
        brier = np.array([one["brier"] <= other["brier"] for one, other in pairs])
        order = np.array([one["concordance"] >= other["concordance"] for one, other in pairs])
        shares = {"brier": brier, "concordance": order, "both": brier & order}
        rounded = {name: f"{held.mean():.2f}" for name, held in shares.items()}
        rows.append({"method": method, "tables": len(pairs), **rounded})
    print(f"\nshare of tables on which a method is at least as good as {peer}")
    print_table(rows)


def calibration(lines: list[Line], methods: Sequence[str]) -> list[Line]:
    """Return the means over tables and splits by fifths, and the mean absolute difference."""
    rows = []
    for method in methods:
        done = [line for line in lines if line["method"] == method and "error" not in line]
        if not done:
            continue
        fifths = np.array([line["calibration"] for line in done])
        predicted, observed = fifths[..., 0], fifths[..., 1]
        row = {"method": method, "mean gap": f"{np.abs(predicted - observed).mean():.3f}"}
        for i, (p, o) in enumerate(zip(predicted.mean(0), observed.mean(0), strict=True), 1):
            row[f"fifth {i}"] = f"{p:.3f} / {o:.3f}"
        rows.append(row)
    return rows


def plot(lines: list[Line], methods: Sequence[str], path: Path) -> None:
    """Draw predicted against observed survival: a dot for each fifth, over tables and splits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    for method in methods:
        done = [line for line in lines if line["method"] == method and "error" not in line]
        if done:
            fifths = np.array([line["calibration"] for line in done]).mean(axis=0)
            axes.plot(fifths[:, 0], fifths[:, 1], marker="o", label=method)
    axes.set(xlabel="mean prediction", ylabel="Kaplan-Meier estimate", xlim=(0, 1), ylim=(0, 1))
    axes.set_title("Survival at the median time")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"\n{path}")


if __name__ == "__main__":
    lines = contest.main(CONTEST, __doc__)
    print_at_least(lines)
    print("\npredicted / observed survival at the median time, by fifths of the prediction")
    print_table(calibration(lines, list(CONTEST.methods)))
    plot(lines, list(CONTEST.methods), contest.FOLDER / "survival_calibration.svg")
