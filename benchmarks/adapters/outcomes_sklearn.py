"""scikit-learn's forests, boosting and generalised linear models for classes and counts.

Forests and gradient boosting get a column for each level, histogram boosting takes categories.
Forests have 500 trees, logistic regression and the Poisson GLM standardised columns; the GLM has
next to no penalty (1e-4), because the default of 1 shrinks it far. Defaults otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from forecasts import COVERAGE, Counts, Probabilities
from outcome_tables import Split
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import KFold

from adapters.outcomes_encoding import one_hot

N_TREES = 500
N_FOLDS = 5
SMALLEST_MEAN = 1e-9

# ---------------------------------------------------------------------------------------- classes


def _probabilities(model: Any, x: Any, y: np.ndarray, x_test: Any) -> Probabilities:
    start = time.process_time()
    model.fit(x, y)
    fitted = time.process_time()
    values = model.predict_proba(x_test)
    return Probabilities(model.classes_, values, fitted - start, time.process_time() - fitted)


def random_forest(split: Split) -> Probabilities:
    x, x_test = one_hot(split)
    model = RandomForestClassifier(N_TREES, n_jobs=1, random_state=split.seed)
    return _probabilities(model, x, split.y_train, x_test)


def random_forest_smoothed(split: Split) -> Probabilities:
    """With one more tree, which votes for all classes alike: no probability is zero."""
    found = random_forest(split)
    values = (N_TREES * found.values + 1 / len(found.classes)) / (N_TREES + 1)
    return Probabilities(found.classes, values, found.fit_s, found.predict_s)


def boosting(split: Split) -> Probabilities:
    x, x_test = one_hot(split)
    model = GradientBoostingClassifier(random_state=split.seed)
    return _probabilities(model, x, split.y_train, x_test)


def hist_boosting(split: Split) -> Probabilities:
    model = HistGradientBoostingClassifier(random_state=split.seed)
    return _probabilities(model, split.x_train, split.y_train, split.x_test)


def logistic(split: Split) -> Probabilities:
    x, x_test = one_hot(split, standardise=True)
    return _probabilities(LogisticRegression(max_iter=2000), x, split.y_train, x_test)


# ----------------------------------------------------------------------------------------- counts


@dataclass(frozen=True)
class Rates:
    """A model of rates, and how to fit it."""

    make: Callable[[], Any]
    x: Any
    x_test: Any

    def fit(self, rows: np.ndarray, y: np.ndarray, exposure: np.ndarray) -> Any:
        return self.make().fit(_rows(self.x, rows), y / exposure, sample_weight=exposure)


def _rows(x: Any, rows: np.ndarray) -> Any:
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def _glm(split: Split) -> Rates:
    return Rates(
        partial(PoissonRegressor, alpha=1e-4, max_iter=1000), *one_hot(split, standardise=True)
    )


def _boosting(split: Split) -> Rates:
    make = partial(HistGradientBoostingRegressor, loss="poisson", random_state=split.seed)
    return Rates(make, split.x_train, split.x_test)


def _dispersion(rates: Rates, y: np.ndarray, exposure: np.ndarray, seed: int) -> float:
    """Return the likeliest one: the variance of a count is mean + dispersion mean²."""
    mean = np.empty(len(y))
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=seed).split(y):
        model = rates.fit(train, y[train], exposure[train])
        mean[test] = exposure[test] * model.predict(_rows(rates.x, test))
    mean = np.maximum(mean, SMALLEST_MEAN)

    def loss(log_dispersion: float) -> float:
        return -float(_distribution(mean, np.exp(log_dispersion)).logpmf(y).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-12, 5), method="bounded").x))


def _counts(split: Split, rates: Rates, *, dispersed: bool) -> Counts:
    y = split.y_train
    exposure, exposure_test = _exposures(split)
    start = time.process_time()
    model = rates.fit(np.arange(len(y)), y, exposure)
    dispersion = _dispersion(rates, y, exposure, split.seed) if dispersed else 0.0
    fit_s = time.process_time() - start
    mean = np.maximum(exposure_test * model.predict(rates.x_test), SMALLEST_MEAN)
    found = _distribution(mean, dispersion)
    ends = [found.ppf(q) for q in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)]
    return Counts(mean, float(found.logpmf(split.y_test).mean()), np.column_stack(ends), fit_s)


def _exposures(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """With a mean of one, so that the penalty of the GLM does not depend on their unit."""
    if split.exposure_train is None or split.exposure_test is None:
        return np.ones(len(split.y_train)), np.ones(len(split.y_test))
    unit = split.exposure_train.mean()
    return split.exposure_train / unit, split.exposure_test / unit


def _distribution(mean: np.ndarray, dispersion: float) -> Any:
    if dispersion == 0:
        return stats.poisson(mean)
    size = 1 / dispersion
    return stats.nbinom(size, size / (size + mean))


def poisson_glm(split: Split) -> Counts:
    return _counts(split, _glm(split), dispersed=False)


def negative_binomial_glm(split: Split) -> Counts:
    return _counts(split, _glm(split), dispersed=True)


def poisson_boosting(split: Split) -> Counts:
    return _counts(split, _boosting(split), dispersed=False)


def negative_binomial_boosting(split: Split) -> Counts:
    return _counts(split, _boosting(split), dispersed=True)
