"""obliquebart's estimators with their defaults, on one core, tables as they are."""

from __future__ import annotations

import time
from typing import Any

import forecasts
import numpy as np
from contest import AbsentError
from forecasts import COVERAGE
from outcome_tables import Split

import obliquebart

N_SAMPLES = 1000
# What an estimator did before it had the parameter.
BEFORE = {"noise": "constant", "multiclass": "one_vs_rest", "link": "probit"}


def _model(name: str, split: Split, settings: dict[str, Any]) -> Any:
    """Return an estimator; one that this version does not have is an error that says so."""
    kind = getattr(obliquebart, name, None)
    if kind is None:
        raise AbsentError(f"obliquebart {obliquebart.__version__} has no {name}")
    known = kind().get_params()
    for key, value in settings.items():
        if key not in known and BEFORE.get(key) != value:
            raise AbsentError(f"obliquebart {obliquebart.__version__}: no {name}({key}={value!r})")
    chosen = {key: value for key, value in settings.items() if key in known}
    return kind(n_jobs=1, random_state=split.seed, progress=False, **chosen)


def _fit(model: Any, *arguments: Any, **more: Any) -> float:
    start = time.process_time()
    model.fit(*arguments, **more)
    return time.process_time() - start


def _log_score(model: Any, split: Split) -> float:
    if hasattr(model, "log_score"):
        return float(model.log_score(split.x_test, split.y_test))
    from obliquebart.study.methods import _log_density

    return float(_log_density(model.posterior_, split.x_test, split.y_test).mean())


def regression(split: Split, **settings: Any) -> forecasts.Outcomes:
    model = _model("ObliqueBARTRegressor", split, {"soft": False, **settings})
    fit_s = _fit(model, split.x_train, split.y_train)
    varies = settings.get("noise") == "varying"
    return forecasts.Outcomes(
        mean=model.predict(split.x_test),
        log_density=_log_score(model, split),
        interval=model.predict_interval(split.x_test, COVERAGE, kind="outcome"),
        samples=model.sample_y(split.x_test, N_SAMPLES, random_state=split.seed).T,
        noise=np.asarray(model.predict_noise(split.x_test)) if varies else None,
        fit_s=fit_s,
    )


def classes(split: Split, **settings: Any) -> forecasts.Probabilities:
    model = _model("ObliqueBARTClassifier", split, settings)
    fit_s = _fit(model, split.x_train, split.y_train)
    start = time.process_time()
    values = model.predict_proba(split.x_test)
    predict_s = time.process_time() - start
    return forecasts.Probabilities(model.classes_, values, fit_s, predict_s)


def counts(split: Split, **settings: Any) -> forecasts.Counts:
    model = _model("ObliqueBARTCountRegressor", split, settings)
    exposed = split.table.exposure is not None
    train = {"exposure": split.exposure_train} if exposed else {}
    test = {"exposure": split.exposure_test} if exposed else {}
    fit_s = _fit(model, split.x_train, split.y_train, **train)
    return forecasts.Counts(
        mean=model.predict(split.x_test, **test),
        log_probability=float(model.log_score(split.x_test, split.y_test, **test)),
        interval=_count_interval(model, split, test),
        fit_s=fit_s,
    )


def _count_interval(model: Any, split: Split, test: dict[str, Any]) -> np.ndarray | None:
    if not hasattr(model, "predict_interval"):
        return None
    return np.asarray(model.predict_interval(split.x_test, COVERAGE, kind="outcome", **test))


def survival(split: Split, times: np.ndarray, **settings: Any) -> forecasts.Survival:
    model = _model("ObliqueBARTSurvival", split, settings)
    fit_s = _fit(model, split.x_train, split.y_train)
    increasing, position = np.unique(times, return_inverse=True)
    curves = model.predict_survival_function(split.x_test, increasing, return_array=True)
    curves = curves[:, position]
    return forecasts.Survival(np.asarray(model.predict(split.x_test)), curves, fit_s)
