"""Numbers that say how good a prediction was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from obliquebart.study.train_test import FloatArray, TrainTest

COVERAGE = 0.9
# A method that wrongly predicts probability 0 or 1 would otherwise score minus infinity.
SMALLEST_PROBABILITY = 1e-3


@dataclass(frozen=True)
class Prediction:
    """What a method says about the n test rows."""

    mean: FloatArray  # (n,): the outcome expected, or the probability of class 1
    # (n, 2): central, of a new outcome, with probability `COVERAGE`.
    interval: FloatArray | None = None
    log_density: Callable[[FloatArray], FloatArray] | None = None  # predictive
    extra: dict[str, float] = field(default_factory=dict)  # other numbers worth keeping


def measure(problem: TrainTest, prediction: Prediction) -> dict[str, float]:
    """Compare a prediction with the test outcomes.

    Returns
    -------
    dict
        ``score`` is what the paper reports: the standardised mean square error, or the accuracy.
        ``log_score`` is the mean log predictive density or probability; ``coverage`` and
        ``width`` (in standard deviations of the training outcomes) are those of 90% intervals.
    """
    if problem.task == "regression":
        return _regression(problem, prediction)
    return _classification(problem, prediction)


def _regression(problem: TrainTest, prediction: Prediction) -> dict[str, float]:
    y, mean = problem.y_test, prediction.mean
    mse = float(np.mean((y - mean) ** 2))
    found = {"score": mse / float(np.mean((y - problem.mean_rows()) ** 2)), "rmse": mse**0.5}
    if problem.f_test is not None:
        found["rmse_f"] = float(np.sqrt(np.mean((problem.f_test - mean) ** 2)))
    if prediction.log_density is not None:
        found["log_score"] = float(np.mean(prediction.log_density(y)))
    if prediction.interval is not None:
        low, high = prediction.interval.T
        found["coverage"] = float(np.mean((low <= y) & (y <= high)))
        found["width"] = float(np.mean(high - low) / problem.y_train.std(ddof=1))
    return found


def _classification(problem: TrainTest, prediction: Prediction) -> dict[str, float]:
    is_one, p = problem.y_test == 1, prediction.mean
    clipped = np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return {
        # Probability one half counts as class 1, as in the authors' scripts.
        "score": float(np.mean((p >= 0.5) == is_one)),
        "log_score": float(np.mean(np.log(np.where(is_one, clipped, 1 - clipped)))),
        "brier": float(np.mean((p - is_one) ** 2)),
    }
