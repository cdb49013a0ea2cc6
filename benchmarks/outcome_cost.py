"""What do a sweep and the memory of each outcome cost, against Gaussian noise?

Friedman's function of ten columns. The time of a sweep is that of a long fit minus that of a short
one, in processor seconds of one core, the best of some repeats; each case has a process of its own,
whose peak of memory is given less that of the Gaussian one. Outcomes that the installed version
does not have are left out.

    python benchmarks/outcome_cost.py [--sizes 1000 10000] [--cases CASE ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
from bench_memory import _peak
from machine import describe
from table import print_table

import obliquebart

SHORT, LONG = 500, 2500  # sweeps
REPEATS = 3
GAUSSIAN, BINARY = "constant", "probit"


class Case(NamedTuple):
    """An estimator, its settings, and an outcome made from f and noise."""

    estimator: str
    settings: dict[str, Any]
    outcome: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    n_classes: int = 0


def _number(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return f + 0.2 * rng.normal(size=len(f))


def _classes(k: int) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    def outcome(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = _number(f, rng)
        return np.searchsorted(np.quantile(z, np.arange(1, k) / k), z)

    return outcome


def _count(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(np.exp(1 + 0.7 * f))


def _time(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = np.empty(len(f), dtype=[("event", bool), ("time", float)])
    y["time"], y["event"] = np.exp(_number(f, rng)), rng.uniform(size=len(f)) < 0.7
    return y


def _several(k: int, **settings: Any) -> Case:
    return Case("ObliqueBARTClassifier", settings, _classes(k), k)


CASES = {
    GAUSSIAN: Case("ObliqueBARTRegressor", {"noise": "constant", "soft": False}, _number),
    "varying": Case("ObliqueBARTRegressor", {"noise": "varying", "soft": False}, _number),
    "student_t": Case("ObliqueBARTRegressor", {"noise": "student_t", "soft": False}, _number),
    BINARY: _several(2, link="probit"),
    "logit": _several(2, link="logit"),
    "joint of 3": _several(3, multiclass="joint"),
    "joint of 5": _several(5, multiclass="joint"),
    "joint of 10": _several(10, multiclass="joint"),
    "one against the rest of 5": _several(5, multiclass="one_vs_rest"),
    "ordered of 5": _several(5, ordered=True),
    "poisson": Case("ObliqueBARTCountRegressor", {"distribution": "poisson"}, _count),
    "negative_binomial": Case(
        "ObliqueBARTCountRegressor", {"distribution": "negative_binomial"}, _count
    ),
    "log_normal": Case("ObliqueBARTSurvival", {"distribution": "log_normal"}, _time),
    "log_logistic": Case("ObliqueBARTSurvival", {"distribution": "log_logistic"}, _time),
}
# What an estimator did before it had the parameter.
BEFORE = {"noise": "constant", "link": "probit", "multiclass": "one_vs_rest"}


def _model(case: Case, n_burn: int) -> Any:
    kind = getattr(obliquebart, case.estimator)
    known = kind().get_params()
    absent = {k: v for k, v in case.settings.items() if k not in known and BEFORE.get(k) != v}
    if absent:
        raise AttributeError(f"{case.estimator} has no {absent}")
    settings = {key: value for key, value in case.settings.items() if key in known}
    return kind(
        n_burn=n_burn,
        n_draws=2,
        n_thin=1,
        n_chains=1,
        n_jobs=1,
        random_state=0,
        progress=False,
        **settings,
    )


def _measure(name: str, n: int) -> dict[str, float]:
    case = CASES[name]
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, 10))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    f += 10 * x[:, 3] + 5 * x[:, 4]
    y = case.outcome((f - f.mean()) / f.std(), rng)
    seconds: dict[int, list[float]] = {SHORT: [], LONG: []}
    for _ in range(REPEATS):
        for n_burn, found in seconds.items():
            model = _model(case, n_burn)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(x, y)
            found.append(time.process_time() - start)
    sweep = (min(seconds[LONG]) - min(seconds[SHORT])) / (LONG - SHORT)
    return {"sweep_ms": 1e3 * sweep, "peak_mb": _peak() / 1e6}


def _in_a_process(name: str, n: int) -> dict[str, float] | None:
    command = [sys.executable, str(Path(__file__).resolve()), "--case", name, str(n)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        return json.loads(found.stdout)
    print(f"{name}, n = {n}: {found.stderr.strip().splitlines()[-1]}")
    return None


def rows(sizes: list[int], names: list[str]) -> list[dict[str, Any]]:
    result = []
    for n in sizes:
        figures = {name: found for name in names if (found := _in_a_process(name, n))}
        gaussian, binary = figures.get(GAUSSIAN), figures.get(BINARY)
        for name, found in figures.items():
            row: dict[str, Any] = {"outcome": name, "n": n, "sweep_ms": found["sweep_ms"]}
            if gaussian:
                row["of Gaussian"] = found["sweep_ms"] / gaussian["sweep_ms"]
                row["more MB"] = found["peak_mb"] - gaussian["peak_mb"]
            k = CASES[name].n_classes
            if binary and k > 2:
                row["of K binary"] = found["sweep_ms"] / binary["sweep_ms"] / k
            result.append(row | {"peak_mb": found["peak_mb"]})
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, default=timing.RESULTS)
    options = parser.parse_args()
    about = describe()
    found = rows(options.sizes, options.cases)
    print_table(found)
    timing.save("outcome_cost", found, about, options.out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(_measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
