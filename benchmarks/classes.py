"""Are several classes better fitted jointly, on real tables of 3 to 26 classes?

Against our own one-against-the-rest fits, random forests, gradient boosting and logistic
regression. Every method's probabilities are raised to at least 1e-6 and scaled to sum to one before
the log loss is taken, the mean of -log p of the true class; lower is better.

    python benchmarks/classes.py [--tables T ...] [--methods M ...] [--splits 3] [--jobs 1]
"""

from __future__ import annotations

import contest
import numpy as np
from contest import Contest, Line, Method, ours
from forecasts import Probabilities
from outcome_tables import Split

SMALLEST = 1e-6


def measure(split: Split, forecast: Probabilities) -> Line:
    order = np.argsort(forecast.classes.astype(str))
    p = np.maximum(np.asarray(forecast.values, float)[:, order], SMALLEST)
    p /= p.sum(axis=1, keepdims=True)
    truth = np.searchsorted(forecast.classes.astype(str)[order], split.y_test)
    hit = p.argmax(axis=1) == truth
    return {
        "log_loss": float(-np.log(p[np.arange(len(p)), truth]).mean()),
        "accuracy": float(hit.mean()),
        "brier": float(((p - np.eye(p.shape[1])[truth]) ** 2).sum(axis=1).mean()),
        "calibration_error": _calibration_error(p.max(axis=1), hit),
        "fit_s": forecast.fit_s,
        "predict_s": forecast.predict_s,
        "n_classes": p.shape[1],
    }


def _calibration_error(confidence: np.ndarray, hit: np.ndarray, n_parts: int = 10) -> float:
    """Return the expected calibration error of the chosen class, over tenths of the confidence."""
    parts = np.array_split(np.argsort(confidence, kind="stable"), n_parts)
    gaps = [len(part) * abs(confidence[part].mean() - hit[part].mean()) for part in parts]
    return float(sum(gaps) / len(hit))


PEERS = ("random_forest", "random_forest_smoothed", "boosting", "hist_boosting", "logistic")

CONTEST = Contest(
    question="classes",
    kind="classes",
    methods={
        "joint": ours("classes", multiclass="joint"),
        "one_vs_rest": ours("classes", multiclass="one_vs_rest"),
        **{name: Method("outcomes_sklearn", name) for name in PEERS},
    },
    measure=measure,
    columns={
        "log_loss": False,
        "accuracy": True,
        "brier": False,
        "calibration_error": False,
        "fit_s": False,
        "predict_s": False,
    },
)

if __name__ == "__main__":
    contest.main(CONTEST, __doc__)
