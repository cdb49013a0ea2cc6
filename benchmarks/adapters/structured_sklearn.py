"""scikit-learn's forests, boosting and linear models for images and curves.

Forests have 500 trees. Linear models have standardised columns (but not PLS, which is used on
spectra as they are), and their penalty or number of components is chosen by cross-validation.
Gradient boosting of many columns looks at a random square root of them per split, or it would take
hours. Defaults otherwise. Each function returns probabilities, or numbers, at the rows to score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from structured_study import Task

N_TREES = 500
N_FOLDS = 5
PENALTIES = np.logspace(-6, 6, 25)
INVERSE_PENALTIES = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
MOST_COMPONENTS = 30
STEPS = 2000


def _fitted(task: Task, model: Any) -> np.ndarray:
    model.fit(task.x_train, task.y_train)
    if task.has_classes:
        return np.asarray(model.predict_proba(task.x_test))
    return np.asarray(model.predict(task.x_test)).ravel()


def random_forest(task: Task) -> np.ndarray:
    kind = RandomForestClassifier if task.has_classes else RandomForestRegressor
    return _fitted(task, kind(N_TREES, random_state=task.seed))


def extra_trees(task: Task) -> np.ndarray:
    kind = ExtraTreesClassifier if task.has_classes else ExtraTreesRegressor
    return _fitted(task, kind(N_TREES, random_state=task.seed))


def hist_boosting(task: Task) -> np.ndarray:
    kind = HistGradientBoostingClassifier if task.has_classes else HistGradientBoostingRegressor
    return _fitted(task, kind(random_state=task.seed))


def boosting(task: Task) -> np.ndarray:
    kind = GradientBoostingClassifier if task.has_classes else GradientBoostingRegressor
    return _fitted(task, kind(max_features="sqrt", random_state=task.seed))


def ridge(task: Task) -> np.ndarray:
    """Ridge or logistic regression with a penalty chosen by cross-validation."""
    if not task.has_classes:
        return _fitted(task, make_pipeline(StandardScaler(), RidgeCV(PENALTIES)))
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=STEPS))
    return _fitted(task, _tuned(task, logistic, {"logisticregression__C": INVERSE_PENALTIES}))


def logistic(task: Task, penalty: float) -> np.ndarray:
    """Logistic regression with a fixed penalty, for many columns and classes."""
    model = LogisticRegression(C=1.0 / penalty, max_iter=STEPS)
    return _fitted(task, make_pipeline(StandardScaler(), model))


def pls(task: Task) -> np.ndarray:
    """Partial least squares; for classes, logistic regression on its scores."""
    most = min(MOST_COMPONENTS, int(len(task.y_train) * (1 - 1 / N_FOLDS)) - 2)
    counts = list(range(1, most + 1, 1 if most < MOST_COMPONENTS or not task.has_classes else 3))
    if not task.has_classes:
        model = PLSRegression(scale=False)
        return _fitted(task, _tuned(task, model, {"n_components": counts}))
    return _fitted(task, _tuned(task, _ScoresOfClasses(), {"n_components": counts}))


def _tuned(task: Task, model: Any, grid: dict[str, Any]) -> Any:
    score = "neg_log_loss" if task.has_classes else "neg_mean_squared_error"
    return GridSearchCV(model, grid, scoring=score, cv=N_FOLDS)


class _ScoresOfClasses(LogisticRegression):
    """Logistic regression on the scores of partial least squares of indicators of the classes."""

    def __init__(self, n_components: int = 1) -> None:
        super().__init__(max_iter=STEPS)
        self.n_components = n_components

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Any:
        indicators = (y[:, None] == np.unique(y)).astype(np.float64)
        self._pls = PLSRegression(self.n_components, scale=False).fit(x, indicators)
        self._spread = self._pls.transform(x).std(axis=0)
        return super().fit(self._pls.transform(x) / self._spread, y, sample_weight)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(super().predict_proba(self._pls.transform(x) / self._spread))
