"""What learned tails gain where there are outliers, and what they cost where there are none.

Friedman's function, 500 training rows, five seeds. Outliers: 5% of the rows have noise ten times as
large. Printed are the error of f at new rows, the mean log density of new outcomes without outliers
of their own, how often 90% intervals cover these, the learned degrees of freedom, and seconds.

Run: python benchmarks/outliers.py
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import make_friedman1

from obliquebart import ObliqueBARTRegressor
from obliquebart.likelihood import Given

N_TRAINING, N_NEW = 500, 2000
MODELS: dict[str, dict[str, Any]] = {
    "normal": {"noise_df": math.inf},
    "constant (chosen tails)": {},
    "student_t (learned)": {"noise": "student_t"},
}


def draw_noise(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return noise with scale one: normal, with outliers, or Student's t."""
    if kind == "t4":
        return rng.standard_t(4, n)
    noise = rng.standard_normal(n)
    if kind == "outliers":
        noise[rng.uniform(size=n) < 0.05] *= 10.0
    return noise


def log_score(model: ObliqueBARTRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean log predictive density."""
    posterior = model.posterior_
    f = posterior.predict(X)
    noise = posterior.likelihood.noise_of(posterior.trace)
    density = posterior.likelihood.log_density(y, Given(f, noise))
    return float(np.mean(logsumexp(density, axis=0))) - math.log(len(f))


def run(kind: str, parameters: dict[str, Any], seed: int) -> list[float]:
    """Fit one model, and return the numbers of the table."""
    rng = np.random.default_rng(seed)
    X, f = make_friedman1(N_TRAINING + N_NEW, n_features=10, noise=0.0, random_state=seed)
    y = f + draw_noise(kind, len(f), rng)
    is_new = np.arange(len(f)) >= N_TRAINING
    model = ObliqueBARTRegressor(
        soft=False, random_state=seed, n_draws=300, n_chains=4, **parameters
    )
    start = time.perf_counter()
    model.fit(X[~is_new], y[~is_new])
    seconds = time.perf_counter() - start
    low, high = model.predict_interval(X[is_new]).T
    error = float(np.sqrt(np.mean((model.predict(X[is_new]) - f[is_new]) ** 2)))
    covered = float(np.mean((low <= y[is_new]) & (y[is_new] <= high)))
    df = float(model.posterior_.trace.get("df", np.array(np.inf)).mean())
    return [error, log_score(model, X[is_new], y[is_new]), covered, df, seconds]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    print(f"{'noise':9} {'model':24} error of f  log score  in 90%    df  seconds")
    for kind in ("normal", "outliers", "t4"):
        for name, parameters in MODELS.items():
            mean = np.mean([run(kind, parameters, seed) for seed in seeds], axis=0)
            error, score, covered, df, seconds = mean
            print(
                f"{kind:9} {name:24} {error:10.3f} {score:10.3f} {covered:7.3f} {df:5.1f} "
                f"{seconds:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
