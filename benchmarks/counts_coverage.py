"""Do 90% intervals of mean counts and of counts hold 90%, where the truth is known?

Three functions of ten uniform columns on the log scale, counts of a mean of about 1, 5 and 30,
Poisson and negative binomial (dispersion 0.5), with exposures between 0.2 and 5; default fits of
500 rows, 1,000 new rows. An interval of counts holds whole counts, so at least 90% is right.

    python benchmarks/counts_coverage.py [--repeats 3] [--jobs 1] [--out FILE]
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import timing
from intervals import FUNCTIONS
from machine import describe
from table import print_table

from obliquebart import ObliqueBARTCountRegressor

N, N_NEW = 500, 1000
MEANS = (1.0, 5.0, 30.0)
DISPERSION = 0.5
SHAPES = ("Friedman", "smooth", "oblique steps")


def simulate(
    shape: str, mean: float, dispersion: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return columns, exposures, means and counts; the log rate has a standard deviation of 0.7."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(N + N_NEW, 10))
    f = FUNCTIONS[shape](x)
    exposure = np.exp(rng.uniform(np.log(0.2), np.log(5), len(x)))
    truth = mean * exposure * np.exp(0.7 * (f - f.mean()) / f.std())
    each = truth * rng.gamma(1 / dispersion, dispersion, len(x)) if dispersion else truth
    return x, exposure, truth, rng.poisson(each)


def measure(shape: str, mean: float, distribution: str, seed: int) -> dict[str, Any]:
    dispersion = DISPERSION if distribution == "negative_binomial" else 0.0
    x, exposure, truth, y = simulate(shape, mean, dispersion, seed)
    model = ObliqueBARTCountRegressor(
        distribution=distribution, random_state=seed, n_jobs=1, progress=False
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:N], y[:N], exposure=exposure[:N])
    seconds = time.process_time() - start
    held = {}
    for kind, values in (("mean", truth[N:]), ("outcome", y[N:])):
        ends = model.predict_interval(x[N:], 0.9, kind=kind, exposure=exposure[N:])
        low, high = np.asarray(ends).T
        held[kind] = float(np.mean((low <= values) & (values <= high)))
    predicted = model.predict(x[N:], exposure=exposure[N:])
    return {
        "function": shape,
        "distribution": distribution,
        "mean": mean,
        "seed": seed,
        "of the mean": held["mean"],
        "of counts": held["outcome"],
        "log ratio": float(np.sqrt(np.mean(np.log(predicted / truth[N:]) ** 2))),
        "cpu_s": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--out", type=Path, default=timing.RESULTS)
    options = parser.parse_args()
    about = describe()
    cases = itertools.product(SHAPES, MEANS, ("poisson", "negative_binomial"))
    # A fit of its own process each, so that several can run at a time.
    rows = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(measure)(*case, seed) for case in cases for seed in range(options.repeats)
    )
    print_table(rows)
    for key in ("of the mean", "of counts"):
        print(f"90% intervals {key} hold {np.mean([row[key] for row in rows]):.3f} on average")
    timing.save("counts_coverage", rows, about, options.out)


if __name__ == "__main__":
    main()
