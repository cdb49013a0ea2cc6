"""Does noise that varies with x pay, on real regression tables?

Against our own constant noise and Student's t, stochtree with a variance forest, and NGBoost. The
log score is the mean log density of the test outcomes, in units of the standard deviation of the
training outcomes; higher is better. Coverage is that of 90% intervals, on average and by fifths of
the predicted noise and of the interval's width; CRPS and width are in the same units.

    python benchmarks/noise.py [--tables T ...] [--methods M ...] [--splits 3] [--jobs 1]
"""

from __future__ import annotations

import contest
import numpy as np
from contest import Contest, Line, Method, ours
from forecasts import Outcomes
from outcome_tables import Split
from table import print_table

N_PARTS = 5


def crps(samples: np.ndarray, y: np.ndarray) -> float:
    """Return the mean continuous ranked probability score of samples."""
    ordered = np.sort(samples, axis=0)
    n = len(ordered)
    weights = (2 * np.arange(1, n + 1) - n - 1) / n**2
    spread = np.einsum("s,sn->n", weights, ordered)  # half the mean distance of two samples
    return float(np.mean(np.abs(samples - y).mean(axis=0) - spread))


def measure(split: Split, forecast: Outcomes) -> Line:
    y, unit = split.y_test, split.y_train.std()
    low, high = forecast.interval.T
    held = (low <= y) & (y <= high)
    figures = {
        "log_score": forecast.log_density + float(np.log(unit)),
        "crps": crps(forecast.samples, y) / unit,
        "coverage": float(held.mean()),
        "width": float(np.mean(high - low) / unit),
        "rmse": float(np.sqrt(np.mean((forecast.mean - y) ** 2)) / unit),
        "fit_s": forecast.fit_s,
        "by_width": _by_fifths(high - low, held),
    }
    if forecast.noise is not None:
        figures["by_noise"] = _by_fifths(forecast.noise, held)
        figures["noise_ratio"] = float(np.divide(*np.quantile(forecast.noise, [0.9, 0.1])))
    return figures


def _by_fifths(values: np.ndarray, held: np.ndarray) -> list[list[int]]:
    """Return how many of how many rows are held in each fifth, from the smallest value up."""
    parts = np.array_split(np.argsort(values, kind="stable"), N_PARTS)
    return [[int(held[part].sum()), len(part)] for part in parts]


CONTEST = Contest(
    question="noise",
    kind="regression",
    methods={
        "varying": ours("regression", noise="varying"),
        "constant": ours("regression", noise="constant"),
        "student_t": ours("regression", noise="student_t"),
        "stochtree": Method("outcomes_stochtree", "regression"),
        "ngboost": Method("outcomes_ngboost", "regression"),
        "ngboost_stopped": Method("outcomes_ngboost", "regression", (("early_stopping", True),)),
    },
    measure=measure,
    columns={
        "log_score": True,
        "crps": False,
        "coverage": None,
        "width": None,
        "rmse": False,
        "noise_ratio": None,
        "fit_s": False,
    },
)


def fifths(lines: list[Line], key: str) -> list[Line]:
    """Return the coverage by fifths, over all rows and as a mean over tables."""
    rows = []
    for method in CONTEST.methods:
        found = [line for line in lines if line["method"] == method and key in line]
        if not found:
            continue
        counts = np.array([line[key] for line in found])
        pooled = counts[..., 0].sum(axis=0) / counts[..., 1].sum(axis=0)
        by_table = (counts[..., 0] / counts[..., 1]).mean(axis=0)
        for name, values in (("all rows", pooled), ("mean of tables", by_table)):
            cells = {f"fifth {i + 1}": f"{v:.3f}" for i, v in enumerate(values)}
            rows.append({"method": method, "over": name, **cells})
    return rows


if __name__ == "__main__":
    lines = contest.main(CONTEST, __doc__)
    for key, words in (("by_noise", "the predicted noise"), ("by_width", "the interval's width")):
        print(f"\n90% coverage by fifths of {words}")
        print_table(fifths(lines, key))
