"""scikit-survival's random survival forest, and a proportional hazards model.

The forest has 200 trees and its defaults otherwise; Cox's model a ridge penalty of 1 on
standardised columns. Both get a column for each level.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from forecasts import Survival
from outcome_tables import Split
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

from adapters.outcomes_encoding import one_hot

N_TREES = 200


def survival_forest(split: Split, times: np.ndarray) -> Survival:
    model = RandomSurvivalForest(N_TREES, n_jobs=1, random_state=split.seed)
    return _forecast(model, split, times, *one_hot(split))


def cox(split: Split, times: np.ndarray) -> Survival:
    model = CoxPHSurvivalAnalysis(alpha=1.0)
    return _forecast(model, split, times, *one_hot(split, standardise=True))


def _forecast(
    model: Any, split: Split, times: np.ndarray, x: np.ndarray, x_test: np.ndarray
) -> Survival:
    start = time.process_time()
    model.fit(x, split.y_train)
    fit_s = time.process_time() - start
    steps = model.predict_survival_function(x_test, return_array=True)
    padded = np.column_stack([np.ones(len(steps)), steps])  # one before the first time
    curves = padded[:, np.searchsorted(model.unique_times_, times, side="right")]
    return Survival(model.predict(x_test), curves, fit_s)
