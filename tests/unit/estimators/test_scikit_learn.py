"""What a scikit-learn user expects: conformity, composition, processes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.estimators import classifier, regressor
from helpers.processes import run_python
from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
)

EXPECTED_FAILURES = {
    "ObliqueBARTRegressor": {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight is a precision here (variance sigma^2 / w), not a number of repetitions"
        )
    },
    "ObliqueBARTClassifier": {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight is a number of repetitions, but rows in another order give other draws of "
            "the same posterior"
        )
    },
    "WholeCounts": {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight is a number of repetitions, but rows in another order give other draws of "
            "the same posterior"
        )
    },
}


class WholeCounts(ObliqueBARTCountRegressor):
    """Takes the checks' outcomes, which are not whole numbers even if they are positive."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, self._whole(y), sample_weight)

    def score(self, X, y):
        return super().score(X, self._whole(y))

    @staticmethod
    def _whole(y):
        values = None if y is None else np.asarray(y)
        if values is None or values.dtype.kind != "f" or not np.isfinite(values).all():
            return y
        is_count = (values >= 0).all() and (values == np.round(values)).all()
        return values if is_count else np.round(10 * (values - values.min()))


SHORT = {"n_trees": 20, "n_burn": 60, "n_draws": 40, "n_chains": 1, "progress": False}
CHECKS = parametrize_with_checks(
    [
        ObliqueBARTRegressor(**SHORT),
        ObliqueBARTRegressor(**SHORT, noise="student_t"),
        ObliqueBARTClassifier(**SHORT),
        ObliqueBARTClassifier(**SHORT, ordered=True),
        WholeCounts(**SHORT),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator).__name__],
)


# Older releases of scikit-learn hand over a generator, which pytest 9 warns of.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::obliquebart.ConstantOutcomeWarning")
@pytest.mark.filterwarnings("ignore::obliquebart.ClassOrderWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_failed_fit_leaves_nothing_behind(friedman):
    x, _, y = friedman
    model = regressor(k=-1)
    with pytest.raises(ValueError, match="k=-1"):
        model.fit(x, y)
    with pytest.raises(NotFittedError):
        model.predict(x)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_failed_refit_leaves_the_old_fit(friedman):
    x, _, y = friedman
    model = regressor().fit(x, y)
    before = model.predict(x)
    for bad in (np.full_like(y, np.nan), y[:5]):
        with pytest.raises(ValueError, match="y"):
            model.fit(x[:, :2], bad)
    np.testing.assert_array_equal(model.predict(x), before)


def test_clone_and_params():
    model = regressor(k=3.5, theta_prior=(1.0, 2.0))
    assert clone(model).get_params() == model.get_params()
    assert "k=3.5" in repr(model)


def test_random_state_instance_moves_on(friedman):
    x, _, y = friedman
    state = np.random.RandomState(0)
    one, two = (regressor(random_state=state).fit(x, y).predict(x) for _ in range(2))
    assert not np.array_equal(one, two)


def test_works_inside_scikit_learn(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    pipeline = make_pipeline(StandardScaler(), regressor())
    assert cross_val_score(pipeline, numbers, y, cv=2).min() > 0
    columns = make_column_transformer(
        (StandardScaler(), ["size", "count"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    assert make_pipeline(columns, regressor()).fit(frame, y).score(frame, y) > 0.5
    search = GridSearchCV(regressor(), {"k": [1.0, 5.0]}, cv=2).fit(frame, y)
    assert search.best_params_["k"] in (1.0, 5.0)
    assert cross_val_predict(regressor(), frame, y, cv=2).shape == (200,)
    voting = VotingRegressor([("bart", regressor()), ("line", LinearRegression())])
    assert voting.fit(numbers, y).predict(numbers).shape == (200,)


def test_inspection(mixed):
    frame, y = mixed
    numbers = frame[["size", "count"]]
    model = regressor().fit(numbers, y)
    importance = permutation_importance(model, numbers, y, n_repeats=2, random_state=0)
    assert importance.importances_mean[0] > importance.importances_mean[1]
    display = PartialDependenceDisplay.from_estimator(model, numbers, ["size"], grid_resolution=5)
    assert display.axes_.size == 1


def test_classifiers_compose(iris):
    x, y = iris
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(x, y == 1)
    assert calibrated.predict_proba(x).shape == (150, 2)
    voting = VotingClassifier([("a", classifier()), ("b", classifier(rules="axis"))], voting="soft")
    assert voting.fit(x, y).score(x, y) > 0.9


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_give_the_same(friedman, n_jobs):
    x, _, y = friedman
    scores = cross_val_score(regressor(n_jobs=2), x, y, cv=3, n_jobs=n_jobs)
    np.testing.assert_array_equal(scores, cross_val_score(regressor(), x, y, cv=3))


def test_fork_after_a_fit():
    """A forked child can fit too: no thread pool of the parent is needed."""
    script = """
import os, numpy as np
from obliquebart import ObliqueBARTRegressor
x = np.random.default_rng(0).uniform(size=(100, 2))
model = ObliqueBARTRegressor(n_trees=10, n_burn=10, n_draws=10, n_jobs=2, random_state=0)
expected = model.fit(x, x[:, 0]).predict(x)
child = os.fork()
if child == 0:
    same = np.array_equal(model.fit(x, x[:, 0]).predict(x), expected)
    os._exit(0 if same else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run_python(script)
