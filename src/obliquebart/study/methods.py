"""The methods to compare: one small adapter each, all called in the same way.

An adapter takes a problem and a unit and returns a prediction. It uses one thread: the runner
keeps all cores busy with other units.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from obliquebart import UnseenLevelWarning
from obliquebart.estimators import BY_TASK
from obliquebart.study.metrics import COVERAGE, Prediction
from obliquebart.study.train_test import FloatArray, StudyTable, TrainTest

if TYPE_CHECKING:
    from obliquebart.study.units import Unit

N_TREES = 500  # of randomForest and ranger


@dataclass(frozen=True)
class Method:
    """A method of the comparison."""

    label: str  # in tables
    solve: Callable[[TrainTest, Unit], Prediction]  # fits and predicts
    needs: str | None = None  # a package beyond those of obliquebart itself

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None


# --------------------------------------------------------------------------- Bayesian ensembles

# What the paper ran: one chain, its prior, grow and prune only.
PAPER: dict[str, Any] = {"prior": "paper", "n_chains": 1, "n_burn": 1000, "n_draws": 1000}
# Ours for a fixed number of sweeps, so that all sets and splits have the same length.
OURS: dict[str, Any] = {"n_burn": 2000, "n_draws": 500, "n_thin": 4}
# R's BART has no empty leaves.
AXIS: dict[str, Any] = {**PAPER, "rules": "axis", "min_samples_leaf": 1, "feature_scaling": "range"}


def _axis(problem: TrainTest, unit: Unit) -> Prediction:
    # The paper's BART chooses cuts from the range of each column, so no joint scaling here; its
    # categories were integers.
    columns = StudyTable.with_codes if unit.inputs == "paper" else None
    return _bart(problem, unit, AXIS, columns)


def _bart(
    problem: TrainTest,
    unit: Unit,
    parameters: dict[str, Any],
    all_numbers: Callable[[StudyTable], FloatArray] | None = None,
) -> Prediction:
    """Fit with categories as they are, or with all columns as numbers."""
    regression = problem.task == "regression"
    scaling = {"feature_scaling": "joint"} if problem.joint_scaling else {}
    kind: Any = BY_TASK[problem.task]
    model = kind(
        **{**scaling, **parameters, **dict(unit.settings)},
        categorical_features=None if all_numbers else problem.train.categorical,
        n_jobs=1,
        random_state=unit.seed,
        progress=False,
    )
    columns = all_numbers or StudyTable.with_codes
    x_train, x_test = columns(problem.train), columns(problem.test)
    with warnings.catch_warnings():
        # Some of these sets have a level for nearly every row.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        model.fit(x_train, problem.y_train)
        extra = _chain_means(model.posterior_.trace)
        if not regression:
            return Prediction(model.predict_proba(x_test)[:, 1], extra=extra)
        return Prediction(
            mean=model.predict(x_test),
            interval=model.predict_interval(x_test, COVERAGE, kind="outcome"),
            log_density=lambda y: _log_density(model, x_test, y),
            extra=extra,
        )


def _log_density(model: Any, x: Any, y: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        log_density: FloatArray = model.posterior_.log_density(x, y, n_jobs=1)
    return log_density


def _chain_means(trace: dict[str, Any]) -> dict[str, float]:
    wanted = ("sigma", "theta", "leaf_sd", "n_leaves", "depth", "axis_share")
    means = {name: float(np.mean(trace[name])) for name in wanted if name in trace}
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


def _stochtree(problem: TrainTest, unit: Unit) -> Prediction:
    # It is installed only there, and ships no types.
    model = import_module("stochtree").BARTModel()
    probit = problem.task == "classification"
    model.sample(
        X_train=problem.train.with_codes(),
        y_train=problem.y_train,
        X_test=problem.test.with_codes(),
        num_gfr=0,
        num_burnin=1000,
        num_mcmc=1000,
        general_params={"random_seed": unit.seed, "num_threads": 1, "probit_outcome_model": probit},
    )
    draws = np.asarray(model.y_hat_test, np.float64)
    return Prediction((ndtr(draws) if probit else draws).mean(axis=1))


# ------------------------------------------------------------------------------ other ensembles


def _random_forest(problem: TrainTest, unit: Unit) -> Prediction:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kinds = {"regression": RandomForestRegressor, "classification": RandomForestClassifier}
    return _forest(problem, unit, kinds[problem.task])


def _extra_trees(problem: TrainTest, unit: Unit) -> Prediction:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kinds = {"regression": ExtraTreesRegressor, "classification": ExtraTreesClassifier}
    # ranger tries sqrt(p) columns for both tasks, and splits nodes of more than 5 rows.
    return _forest(problem, unit, kinds[problem.task], share=None)


def _forest(problem: TrainTest, unit: Unit, kind: Any, share: float | None = 1 / 3) -> Prediction:
    """Fit with the defaults of the R packages, which differ from scikit-learn's."""
    regression = problem.task == "regression"
    p = problem.train.with_codes().shape[1]
    n_tried = max(int(p * share), 1) if regression and share else max(int(p**0.5), 1)
    model = kind(
        **{
            "n_estimators": N_TREES,
            "max_features": n_tried,
            # R stops at nodes of at most 5 rows in regression, at pure nodes in classification.
            "min_samples_split": 6 if regression else 2,
            **dict(unit.settings),
        },
        n_jobs=1,
        random_state=unit.seed,
    )
    model.fit(problem.train.with_codes(), problem.y_train)
    x_test = problem.test.with_codes()
    extra = {}
    if unit.rotations > 1:
        named = _mean_of(model, _first_rotation(problem.test, unit.rotations).with_codes())
        extra = {"score_names": _score(problem, named)}
    return Prediction(_mean_of(model, x_test), extra=extra)


def _first_rotation(test: StudyTable, n_rotations: int) -> StudyTable:
    """Return test rows in which every rotation is the first.

    The authors' rotated columns have the same names in every rotation, and randomForest's
    `predict` finds columns by name: it takes the first of each name, n_rotations times.
    """
    first = test.numbers[:, : test.numbers.shape[1] // n_rotations]
    return StudyTable(np.tile(first, n_rotations), test.codes, test.n_levels)


def _mean_of(model: Any, x: FloatArray) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x)[:, 1], np.float64)
    return np.asarray(model.predict(x), np.float64)


def _score(problem: TrainTest, mean: FloatArray) -> float:
    from obliquebart.study.metrics import measure

    return measure(problem, Prediction(mean))["score"]


def _xgboost(problem: TrainTest, unit: Unit) -> Prediction:
    xgboost: Any = import_module("xgboost")
    regression = problem.task == "regression"
    parameters: dict[str, Any] = {
        "objective": "reg:squarederror" if regression else "binary:logistic",
        "nthread": 1,
        "seed": unit.seed,
        "verbosity": 0,
    }
    if unit.method != "XGB-defaults":
        # The authors' scripts: 100 rounds, depth 3 or 1; the rest is as in R's xgboost 1.
        parameters |= {
            "max_depth": 3 if regression else 1,
            "eta": 0.3,
            "tree_method": "exact",
            "base_score": 0.5,
        }
    settings = dict(unit.settings)
    n_rounds = int(settings.pop("n_rounds", 100))
    train = xgboost.DMatrix(problem.train.with_indicators(), problem.y_train, nthread=1)
    test = xgboost.DMatrix(problem.test.with_indicators(), nthread=1)
    model = xgboost.train({**parameters, **settings}, train, n_rounds)
    return Prediction(np.asarray(model.predict(test), np.float64))


METHODS = {
    "obliqueBART": Method("obliqueBART (ours)", partial(_bart, parameters=OURS)),
    "obliqueBART-paper": Method("obliqueBART (paper's prior)", partial(_bart, parameters=PAPER)),
    "BART": Method("BART", _axis),
    "BART-indicators": Method(
        "BART (indicators)", partial(_bart, parameters=AXIS, all_numbers=StudyTable.with_indicators)
    ),
    "BART-ours": Method(
        "BART (our defaults)", partial(_bart, parameters={**OURS, "rules": "axis"})
    ),
    "RF": Method("RF", _random_forest),
    "ERT": Method("ERT", _extra_trees),
    "XGB": Method("XGB", _xgboost, "xgboost"),
    "XGB-defaults": Method("XGB (package defaults)", _xgboost, "xgboost"),
    "rotBART": Method("rotBART", _axis),
    "rotRF": Method("rotRF", _random_forest),
    "rotERT": Method("rotERT", _extra_trees),
    "rotXGB": Method("rotXGB", _xgboost, "xgboost"),
    "stochtree": Method("BART (stochtree)", _stochtree, "stochtree"),
}
