"""Are counts better predicted than by a Poisson GLM and by boosting with Poisson loss?

The log score is the mean log probability of the test counts; higher is better. The peers predict a
mean, which is scored as a Poisson distribution and, as a stronger variant, as a negative binomial
one with the likeliest dispersion, given five-fold predictions of the training rows. Exposures
enter the peers as rates with weights, which has the same likelihood.

    python benchmarks/counts.py [--tables T ...] [--methods M ...] [--splits 3] [--jobs 1]
    python benchmarks/counts_coverage.py      # where the truth is known
"""

from __future__ import annotations

import contest
import numpy as np
from contest import Contest, Line, Method, ours
from forecasts import Counts
from outcome_tables import Split


def measure(split: Split, forecast: Counts) -> Line:
    y = split.y_test
    figures = {
        "log_score": forecast.log_probability,
        "rmse": float(np.sqrt(np.mean((forecast.mean - y) ** 2)) / split.y_train.std()),
        "fit_s": forecast.fit_s,
    }
    if forecast.interval is not None:
        low, high = forecast.interval.T
        figures["coverage"] = float(np.mean((low <= y) & (y <= high)))
        figures["width"] = float(np.mean(high - low) / split.y_train.std())
    return figures


PEERS = ("poisson_glm", "negative_binomial_glm", "poisson_boosting", "negative_binomial_boosting")

CONTEST = Contest(
    question="counts",
    kind="counts",
    methods={
        "negative_binomial": ours("counts", distribution="negative_binomial"),
        "poisson": ours("counts", distribution="poisson"),
        **{name: Method("outcomes_sklearn", name) for name in PEERS},
    },
    measure=measure,
    columns={"log_score": True, "rmse": False, "coverage": None, "width": None, "fit_s": False},
)

if __name__ == "__main__":
    contest.main(CONTEST, __doc__)
