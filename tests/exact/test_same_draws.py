"""Draws keep their bits: fits of many settings against digests that were recorded.

A change that is meant to leave the sampler alone must leave these alone. One that changes it on
purpose records them anew, and says so in its message:
`PYTHONPATH=tests .venv/bin/python tests/exact/test_same_draws.py`
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.student_t import student_t_regressor
from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
    _core,
)
from obliquebart.directions import Axis, Groups, Patch, Signs, Sparse

RECORD = Path(__file__).with_name("draws.json")
PLAIN_NOISE = {"nu": 3.0, "sigma_quantile": 0.99}
SHORT = {"n_trees": 20, "n_burn": 20, "n_draws": 15, "n_chains": 2, "random_state": 3}


def numbers(n: int = 150, p: int = 4) -> np.ndarray:
    """Return columns of dyadic numbers, which every machine computes alike."""
    i = np.arange(n * p, dtype=np.int64)
    return ((i * 7919 + i * i * 31) % 1024).reshape(n, p) / 1024


def with_missing(x: np.ndarray) -> np.ndarray:
    return np.where(numbers(*x.shape)[::-1] < 0.1, np.nan, x)


def with_levels(x: np.ndarray, *n_levels: int) -> np.ndarray:
    for j, n in enumerate(n_levels):
        x[:, j] = np.floor(x[:, j] * n)
    return x


def outcome(x: np.ndarray) -> np.ndarray:
    return np.round(np.nan_to_num(x) @ np.arange(1, x.shape[1] + 1) + numbers(len(x), 1)[:, 0], 6)


X = numbers()
WEIGHTS = 0.5 + numbers(150, 1)[:, 0]
LEVELS = {"categorical_features": [0, 1]}
# Name -> estimator's parameters, table, weights.
REGRESSIONS: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "default": ({}, X, None),
    "paper": ({"prior": "paper"}, X, None),
    "axis": ({"rules": "axis"}, X, None),
    "paper, axis": ({"prior": "paper", "rules": "axis"}, X, None),
    "weights": ({}, X, WEIGHTS),
    "paper, weights": ({"prior": "paper"}, X, WEIGHTS),
    "missing": ({}, with_missing(X), None),
    "paper, missing": ({"prior": "paper"}, with_missing(X), None),
    "categories": (LEVELS, with_levels(X.copy(), 3, 40), None),
    "paper, categories": ({**LEVELS, "prior": "paper"}, with_levels(X.copy(), 3, 70), None),
    "one column": ({}, numbers(100, 1), None),
    "many columns": ({}, numbers(80, 60), None),
    "grow and prune": ({"p_change": 0.0, "p_perturb": 0.0}, X, None),
    "change": ({"p_change": 0.8, "p_perturb": 0.0}, X, None),
    "perturb": ({"p_change": 0.0, "p_perturb": 0.8}, X, None),
    "fixed scales": ({"sigma": 0.5, "theta": 0.5, "leaf_sd": 0.4}, X, None),
    "theta_prior": ({"theta_prior": (2.0, 3.0)}, X, None),
    "five rows per leaf": ({"min_samples_leaf": 5}, X, None),
    "ranks": ({"feature_scaling": "rank"}, X, None),
    "thinned": ({"n_thin": 3}, X, None),
    "large leaves": ({"n_trees": 1, "alpha": 0.99, "beta": 0.1, "k": 0.2}, numbers(1500), None),
    "large table": ({"n_trees": 5}, numbers(40_000, 3), None),
    "large table, weights": ({"n_trees": 5}, numbers(40_000, 3), 0.5 + numbers(40_000, 1)[:, 0]),
}
MIXTURE = [
    Patch((4, 5), weight=2.0),
    Patch((4, 5), 1, 3, values="smooth", length_scale=1.5),
    Patch((4, 5), values="difference"),
    *(Sparse(), Signs(), Groups([range(10), range(5, 20)]), Axis(range(3))),
]
SOFT = {
    "soft": ({"soft": True}, X, None),
    "soft, missing, weights": (
        {"soft": True, **LEVELS},
        with_levels(with_missing(X), 2, 5),
        WEIGHTS,
    ),
    "soft patches": ({"soft": True, "directions": Patch((4, 5))}, numbers(150, 20), None),
    "soft, large table": ({"soft": True, "n_trees": 5}, numbers(40_000, 3), None),
    "soft, scales of trees": ({"soft": True, "tree_df": 2.0}, X, WEIGHTS),
}
REGRESSIONS |= SOFT
REGRESSIONS |= {
    "scales of trees": ({"tree_df": 2.0, "soft": False}, X, None),
    "scales of trees, weights": (
        {"tree_df": 4.0, "leaf_sd": 0.4, **LEVELS},
        with_levels(with_missing(X), 2, 5),
        WEIGHTS,
    ),
    "scales of trees, large table": ({"tree_df": 2.0, "n_trees": 5}, numbers(40_000, 3), None),
}
REGRESSIONS |= {
    "patches": ({"directions": Patch((4, 5))}, numbers(150, 20), None),
    "patches, paper": ({"prior": "paper", "directions": Patch(20)}, numbers(150, 20), None),
    "mixture": ({"directions": MIXTURE}, with_missing(numbers(150, 20)), WEIGHTS),
    # Without a patch, missing values are not filled.
    "mixture, missing": ({"directions": MIXTURE[3:]}, with_missing(numbers(150, 20)), WEIGHTS),
    "patches, large table": (
        {"n_trees": 5, "directions": Patch((4, 5), 3, 4)},
        numbers(40_000, 20),
        None,
    ),
}
# With noise that is estimated first, and perhaps rules that are chosen.
ESTIMATED: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "estimated noise": ({"soft": False}, X, None),
    "estimated noise, weights": ({"soft": False}, with_missing(X), WEIGHTS),
    "chosen rules": ({}, X, None),
}
# With Student's t noise.
STUDENT_T: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "Student's t": ({}, X, None),
    "Student's t, weights": ({"prior": "paper"}, with_missing(X), WEIGHTS),
    "Student's t, large table": ({"n_trees": 5}, numbers(40_000, 3), None),
}
# With fractional weights of the labels.
WEIGHTED_LABELS: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray]] = {
    "weighted labels": ({}, X, 3 * WEIGHTS),
    "weighted labels, paper": ({"prior": "paper"}, with_missing(X), WEIGHTS),
    "weighted labels, large table": (
        {"n_trees": 5},
        numbers(40_000, 3),
        0.1 + numbers(40_000, 1)[:, 0],
    ),
}
# Counts, with exposures.
COUNTS: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "counts": ({}, X, None),
    "counts, paper": ({"prior": "paper"}, with_missing(X), WEIGHTS),
    "counts, poisson": ({"distribution": "poisson"}, X, WEIGHTS),
    "counts, large table": ({"n_trees": 5}, numbers(40_000, 3), None),
    "counts, large leaves": ({"n_trees": 1, "alpha": 0.99, "beta": 0.1}, numbers(1500), None),
}
# With noise whose tails are learned.
VARYING: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "varying noise": ({"sigma_quantile": 0.9}, X, None),
    "varying noise, weights": ({}, with_missing(X), WEIGHTS),
    "varying noise, large table": ({"sigma_quantile": 0.9, "n_trees": 5}, numbers(40_000, 3), None),
}
LEARNED_TAILS: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray | None]] = {
    "learned tails": ({}, X, None),
    "learned tails, weights": ({"prior": "paper"}, with_missing(X), WEIGHTS),
    "learned tails, large table": ({"n_trees": 5}, numbers(40_000, 3), None),
}
ORDERED: dict[str, tuple[dict[str, Any], np.ndarray, int]] = {
    "ordered classes": ({}, X, 4),
    "ordered classes, paper": ({"prior": "paper"}, with_missing(X), 3),
    "ordered classes, large table": ({"n_trees": 5}, numbers(40_000, 3), 10),
}
CLASSIFICATIONS: dict[str, tuple[dict[str, Any], np.ndarray, int]] = {
    "two classes": ({}, X, 2),
    "two classes, paper": ({"prior": "paper"}, X, 2),
    "two classes, axis": ({"rules": "axis"}, with_missing(X), 2),
    "two classes, categories": (LEVELS, with_levels(X.copy(), 2, 5), 2),
    "three classes": ({"multiclass": "one_vs_rest"}, X, 3),
    "joint classes": ({}, X, 3),
    "soft joint classes": ({"soft": True}, X, 3),
    "two classes, large table": ({"n_trees": 5}, numbers(40_000, 3), 2),
}
SOFT_NAMES = [*SOFT, "soft joint classes", "chosen rules"]
# By the engine alone: number of classes, table, weights, whether leaf_sd is sampled.
CLASSES: dict[str, tuple[int, np.ndarray, np.ndarray | None, bool]] = {
    "logit": (2, X, None, True),
    "logit, weights": (2, with_missing(X), 3 * WEIGHTS, True),
    "softmax": (3, X, None, True),
    "softmax, weights": (4, with_missing(X), WEIGHTS, False),
    "softmax, large table": (3, numbers(40_000, 3), None, True),
}


def class_settings(n_classes: int, sampled: bool, n_threads: int) -> _core.Settings:
    settings = _core.Settings()
    settings.likelihood = "softmax" if n_classes > 2 else "logit"
    settings.offset, settings.n_threads = 0.25, n_threads
    settings.threads_fixed = True
    settings.more = {f"offset.{k}": -0.5 * k for k in range(n_classes)}
    for e in range(n_classes if n_classes > 2 else 1):
        if e > 0:
            settings.add_ensemble()
        one = settings.ensemble(e)
        one.n_trees, one.leaf_sd, one.leaf_sd_fixed = 5, 0.5, not sampled
        one.theta_a, one.theta_b = 2.0, 4.0
        one.p_change, one.p_perturb = 0.2, 0.3
    return settings


def class_digest(name: str, n_threads: int = 1) -> str:
    n_classes, x, weights, sampled = CLASSES[name]
    settings = class_settings(n_classes, sampled, n_threads)
    columns = np.ascontiguousarray(2 * x.T - 1, dtype=np.float32)
    data = _core.Data(columns, np.zeros((0, len(x)), np.uint32), [])
    y = outcome(x)
    labels = np.searchsorted(np.sort(y)[:: len(y) // n_classes][1:n_classes], y)
    chain = _core.Sampler(data, labels.astype(float), weights, settings, 3, 0)
    return chain_digest(chain)


def without_widths(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Leave out the widths of hard rules, of which there are none: digests are older."""
    return {name: array for name, array in arrays.items() if name != "width" or len(array)}


def chain_digest(chain: _core.Sampler, *scales: str) -> str:
    """Digest some draws of all ensembles, and what was drawn with them."""
    chain.run(20, 15, 1, _core.Control())
    found = hashlib.sha256()
    for e in range(chain.n_ensembles):
        for key, array in sorted(without_widths(chain.draws_of(e).to_arrays()).items()):
            found.update(key.encode() + np.ascontiguousarray(array).tobytes())
    for name in scales:
        found.update(name.encode() + chain.trace[name].tobytes())
    return found.hexdigest()[:32]


# Treatment effects by the engine alone: noise, table, weights, number of arms (one: a dose).
EFFECTS: dict[str, tuple[str, np.ndarray, np.ndarray | None, int]] = {
    "effects": ("gaussian", X, None, 2),
    "effects, weights": ("gaussian", with_missing(X), WEIGHTS, 2),
    "effects, three arms": ("gaussian", X, None, 3),
    "effects, dose": ("gaussian", X, None, 1),
    "effects, Student's t": ("student_t", X, WEIGHTS, 2),
    "effects, learned tails": ("learned_t", X, None, 3),
    "effects, varying noise": ("varying_noise", X, WEIGHTS, 2),
    "effects, labels": ("probit", X, None, 3),
    "effects, weighted labels": ("weighted_probit", with_missing(X), WEIGHTS, 2),
    "effects, large table": ("varying_noise", numbers(40_000, 3), None, 2),
}


def effect_settings(noise: str, n_arms: int, n_threads: int) -> _core.Settings:
    settings = class_settings(2, True, n_threads)
    settings.likelihood, n_treatments = f"causal_{noise}", max(n_arms - 1, 1)
    more = {"n_treatments": n_treatments, "codes_arms": float(n_arms > 1), "level_sd": 0.5}
    needs = {"student_t": {"df": 6.0}, "varying_noise": {"df": 6.0}, "learned_t": {"df_rate": 0.1}}
    settings.more = more | needs.get(noise, {})
    varies = noise == "varying_noise"
    for e in range(1, 1 + varies + n_treatments):
        settings.add_ensemble()
        one = settings.ensemble(e)
        one.n_trees, one.leaf_sd, one.alpha, one.beta = 5, 0.4, 0.5, 2.0
        one.theta_a, one.theta_b, one.p_change, one.p_perturb = 2.0, 4.0, 0.2, 0.3
        if varies and e == 1:
            one.leaf_model = "precision"
        else:
            one.hidden_columns = 1
    return settings


def effect_digest(name: str, n_threads: int = 1) -> str:
    noise, x, weights, n_arms = EFFECTS[name]
    columns = np.ascontiguousarray(2 * x.T - 1, dtype=np.float32)
    data = _core.Data(columns, np.zeros((0, len(x)), np.uint32), [])
    y = outcome(x)
    y = (y > np.sort(y)[len(y) // 2]).astype(float) if "probit" in noise else y - 4.0
    arm = (np.arange(len(y)) * 7 % 10) % max(n_arms, 2)
    doses = [arm == k for k in range(1, n_arms)] if n_arms > 1 else [numbers(len(y), 1)[:, 0] - 0.5]
    settings = effect_settings(noise, n_arms, n_threads)
    chain = _core.Sampler(data, np.stack([y, *doses]), weights, settings, 3, 0)
    return chain_digest(chain, "sigma", "low.0", "high.0", "level.0")


class ExposedCounts(ObliqueBARTCountRegressor):
    def fit(self, X, y, sample_weight=None, **options):
        return super().fit(X, y, sample_weight, exposure="exposure", **options)


# With times of which some are observed and others censored in each of three ways.
SURVIVAL: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "log-normal times": ({**PLAIN_NOISE, "distribution": "log_normal"}, X),
    "log-logistic times": ({**PLAIN_NOISE, "distribution": "log_logistic"}, with_missing(X)),
    "times, estimated noise": ({}, X),
    "log-normal times, large table": (
        {**PLAIN_NOISE, "distribution": "log_normal", "n_trees": 5},
        numbers(40_000, 3),
    ),
    "log-logistic times, large table": (
        {**PLAIN_NOISE, "distribution": "log_logistic", "n_trees": 5},
        numbers(40_000, 3),
    ),
}


def limits(x: np.ndarray) -> np.ndarray:
    """Return the lower and upper limits of times."""
    time, kind = 1.0 + outcome(x), np.arange(len(x)) % 4
    y = np.empty(len(x), dtype=[("lower", float), ("upper", float)])
    y["lower"] = np.choose(kind, [time, time, 0.0 * time, 0.75 * time])
    y["upper"] = np.choose(kind, [time, np.inf * time, time, 1.25 * time])
    return y


def make_model(name: str, n_jobs: int | None = None) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    if name in REGRESSIONS:
        parameters, x, weights = REGRESSIONS[name]
        # A prior of sigma that needs no estimate of the noise.
        plain = {} if parameters.get("prior") == "paper" else PLAIN_NOISE
        model = ObliqueBARTRegressor(**SHORT | plain | parameters, n_jobs=n_jobs)
        return model, x, outcome(x), weights
    if name in STUDENT_T:
        parameters, x, weights = STUDENT_T[name]
        plain = {} if parameters.get("prior") == "paper" else PLAIN_NOISE
        model = student_t_regressor(**SHORT | plain | parameters, n_jobs=n_jobs)
        return model, x, outcome(x), weights
    if name in VARYING:
        parameters, x, weights = VARYING[name]
        parameters = {**SHORT, **parameters, "noise": "varying", "soft": False}
        return ObliqueBARTRegressor(**parameters, n_jobs=n_jobs), x, outcome(x), weights
    if name in LEARNED_TAILS:
        parameters, x, weights = LEARNED_TAILS[name]
        plain = {} if parameters.get("prior") == "paper" else PLAIN_NOISE
        options = {**SHORT, **plain, **parameters, "noise": "student_t"}
        return ObliqueBARTRegressor(**options, n_jobs=n_jobs), x, outcome(x), weights
    if name in ESTIMATED:
        parameters, x, weights = ESTIMATED[name]
        return ObliqueBARTRegressor(**SHORT | parameters, n_jobs=n_jobs), x, outcome(x), weights
    if name in COUNTS:
        parameters, x, weights = COUNTS[name]
        table = {f"x{j}": column for j, column in enumerate(x.T)}
        table["exposure"] = 0.5 + 4 * numbers(len(x), 1)[:, 0]
        y = np.floor(outcome(x) ** 2 * table["exposure"] / 4)
        return ExposedCounts(**SHORT | parameters, n_jobs=n_jobs), table, y, weights
    if name in SURVIVAL:
        parameters, x = SURVIVAL[name]
        return ObliqueBARTSurvival(**SHORT | parameters, n_jobs=n_jobs), x, limits(x), None
    weights = None
    if name in WEIGHTED_LABELS:
        parameters, x, weights = WEIGHTED_LABELS[name]
        n_classes = 2
    elif name in ORDERED:
        parameters, x, n_classes = ORDERED[name]
        parameters = {**parameters, "ordered": True}
    else:
        parameters, x, n_classes = CLASSIFICATIONS[name]
    y = outcome(x)
    labels = np.searchsorted(np.sort(y)[:: len(y) // n_classes][1:n_classes], y)
    return ObliqueBARTClassifier(**SHORT | parameters, n_jobs=n_jobs), x, labels, weights


def digest(model: Any) -> str:
    """Digest the draws and what was drawn with them."""
    found = hashlib.sha256()
    for posterior in model._fitted.posteriors:
        drawn = {"sigma", *(scalar.name for scalar in posterior.likelihood.noise if scalar.sampled)}
        kept = without_widths(posterior.draws.to_arrays())
        arrays = {**kept, **{n: posterior.trace[n] for n in drawn}}
        for e, draws in enumerate(posterior.ensembles[1:], 1):
            kept = without_widths(draws.to_arrays())
            arrays |= {f"ensemble.{e}.{n}": array for n, array in kept.items()}
        for name in sorted(arrays):
            found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:32]


def found(name: str, n_jobs: int | None = None) -> str:
    if name in CLASSES:
        return class_digest(name, n_jobs or 1)
    return effect_digest(name, n_jobs or 1) if name in EFFECTS else digest(fitted(name, n_jobs))


def fitted(name: str, n_jobs: int | None = None) -> Any:
    model, x, y, weights = make_model(name, n_jobs)
    return model.fit(x, y, weights)


NAMES = [
    *(*REGRESSIONS, *ESTIMATED, *STUDENT_T, *CLASSIFICATIONS, *WEIGHTED_LABELS),
    *(*COUNTS, *CLASSES, *LEARNED_TAILS, *VARYING, *ORDERED, *SURVIVAL, *EFFECTS),
]


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_those_recorded(name):
    assert found(name) == json.loads(RECORD.read_text())[name]


@pytest.mark.parametrize(
    "name",
    [
        *("default", "large table", "two classes", "estimated noise", "chosen rules"),
        "Student's t, large table",
        *("mixture", "patches, large table", "soft", "soft, large table"),
        *("scales of trees, large table", "soft, scales of trees"),
        *("counts", "counts, large table", "softmax, large table"),
        *("learned tails, large table", "ordered classes, large table"),
        "varying noise, large table",
        *("times, estimated noise", "log-logistic times, large table", "effects, large table"),
    ],
)
def test_threads_make_no_difference(name):
    assert found(name, n_jobs=5) == json.loads(RECORD.read_text())[name]


@pytest.mark.parametrize(
    "name",
    [
        *("weights", "two classes", "large table", "Student's t, weights", "weighted labels"),
        *("patches", "mixture", "soft, missing, weights", "soft joint classes"),
        *("scales of trees, weights", "soft, scales of trees"),
        *("counts", "counts, poisson"),
        *("learned tails", "learned tails, weights", "ordered classes"),
        *("varying noise", "varying noise, weights", "joint classes"),
        *("log-normal times", "log-logistic times"),
    ],
)
def test_going_on_makes_no_difference(name, tmp_path):
    """Fewer draws and then more; and a checkpoint of a fit that was interrupted."""
    wanted = json.loads(RECORD.read_text())[name]
    model, x, y, weights = make_model(name)
    model.set_params(n_draws=10).fit(x, y, weights)
    assert digest(model.sample_more(5)) == wanted
    path = tmp_path / "checkpoint"
    model, *_ = make_model(name)
    assert digest(model.fit(x, y, weights, checkpoint=path, checkpoint_every=7)) == wanted
    assert digest(model.fit(x, y, weights, checkpoint=path)) == wanted


@pytest.mark.parametrize("simd", ["baseline", "avx2", "avx512"])
def test_instruction_sets_make_no_difference(simd):
    names = ["missing", "paper, categories", "large table, weights", "two classes, axis"]
    names += ["Student's t, large table", "weighted labels, large table"]
    names += ["counts, large table", "counts, large leaves", "counts, poisson"]
    names += ["patches", "mixture", "mixture, missing", "patches, large table"]
    names += ["logit, weights", "softmax", "softmax, large table"]
    names += ["learned tails, large table", "ordered classes, large table"]
    names += ["log-normal times, large table", "log-logistic times"]
    names += ["varying noise, weights", "varying noise, large table", "joint classes"]
    names += ["scales of trees, weights", "scales of trees, large table"]
    names += [*EFFECTS, *SOFT_NAMES]
    script = f"import test_same_draws as t\nprint(*(t.found(n) for n in {names}))"
    folders = [Path(__file__).parent, Path(__file__).parents[1]]
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OBLIQUEBART_SIMD": simd, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    if "is not available here" in done.stderr:
        pytest.skip(f"this machine has no {simd}")
    record = json.loads(RECORD.read_text())
    assert done.stdout.split() == [record[name] for name in names], done.stderr


def test_every_move_and_estimator_is_recorded():
    assert set(json.loads(RECORD.read_text())) == set(NAMES)
    proposed = {move for move in _core.MOVES if np.isfinite(move_rate("default", move))}
    assert proposed == set(_core.MOVES)


def move_rate(name: str, move: str) -> float:
    return float(np.nanmean(fitted(name).posterior_.trace[f"accept_{move}"]))


if __name__ == "__main__":
    RECORD.write_text(json.dumps({name: found(name) for name in NAMES}, indent=1) + "\n")
