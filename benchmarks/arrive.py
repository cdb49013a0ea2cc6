"""Do default fits arrive, and is where they arrive worth it?

A quarter of the training rows of the first split of each of the paper's sets is held out (its test
rows are not used), and three fits predict it. If that leaves few rows to judge by, each of the four
quarters is held out in turn.

- default: what a user gets who says nothing;
- long: the same model, 10,000 + 10,000 sweeps of eight chains;
- before: the prior and the run length that were the default of the version before (normal noise, a
  loose prior of sigma, 500 + 500 sweeps, 1000 + 500 for classes).

    python benchmarks/arrive.py --data FOLDER [--sets mpg servo] [--workers 16] [--seconds 600]
    python benchmarks/arrive.py --report

The first writes a line per fit to results/arrive.jsonl (fits that are there are not repeated), the
second writes the tables of docs/arrival.md.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.likelihood import Given
from obliquebart.posterior.convergence import measure_convergence
from obliquebart.posterior.verdict import examine, sampled_scales
from obliquebart.study.datasets import Library

RESULTS = Path(__file__).parent / "results" / "arrive.jsonl"
TABLES = Path(__file__).parents[1] / "docs" / "_generated" / "arrive.md"
LONG = {"n_burn": 10_000, "n_draws": 500, "n_thin": 20}
BEFORE = {
    "regression": {"nu": 3.0, "sigma_quantile": 0.99, "n_burn": 500, "n_draws": 500, "soft": False},
    "classification": {"n_burn": 1000, "n_draws": 500},
}
FITS = ("default", "long", "before")
MET_RHAT = 1.05
N_PARTS = 4
# Sets with fewer held-out rows are judged by all quarters: a single outcome can be 2% of the error.
FEW_HELD_OUT = 120
# Sets of more rows are left out of the promise about run lengths.
MAX_ROWS = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--fits", nargs="*", default=FITS, choices=FITS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no fit after these")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if options.report:
        TABLES.write_text(report(read(options.out)), encoding="utf-8")
        print(TABLES.read_text(encoding="utf-8"))
        return
    library = Library(options.data)
    done = {(line["set"], line["part"], line["fit"]) for line in read(options.out)}
    sizes = {name: library.records[name]["n"] for name in options.sets or library.names()}
    end = time.time() + options.seconds
    tasks = [
        (options.data, name, part, fit, end)
        for fit in options.fits
        for name in sorted(sizes, key=lambda name: -sizes[name])
        for part in range(N_PARTS if held_out_rows(sizes[name]) < FEW_HELD_OUT else 1)
        if (name, part, fit) not in done
    ]
    # The longest first, so that the last worker does not work alone.
    tasks.sort(key=lambda task: -sizes[task[1]] * (20 if task[3] == "long" else 1))
    with (
        multiprocessing.get_context("fork").Pool(options.workers) as pool,
        options.out.open("a", encoding="utf-8") as file,
    ):
        for line in pool.imap_unordered(measure, tasks):
            if line is not None:
                file.write(json.dumps(line) + "\n")
                file.flush()


def read(path: Path) -> list[dict[str, Any]]:
    """Return what was measured before."""
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []


def held_out_rows(n: int) -> int:
    """Return the rows of a quarter: three quarters of all rows are for training."""
    return 3 * n // (4 * N_PARTS)


def measure(task: tuple[Path, str, int, str, float]) -> dict[str, Any] | None:
    """Fit a set and return its scores; None if it is too late."""
    data, name, part, fit, end = task
    if time.time() > end:
        return None
    dataset = Library(data).load(name)
    problem = dataset.problem(0)
    held_out = np.random.default_rng(0).permutation(len(problem.y_train)) % N_PARTS == part
    more = {
        "default": {},
        "long": LONG,
        "before": BEFORE[dataset.task],
        "soft": {"soft": True},
        "hard": {"soft": False},
    }
    found = fitted(dataset.task, problem, held_out, more[fit])
    return {"set": name, "part": part, "fit": fit, **found}


def fitted(
    task: str, problem: Any, held_out: np.ndarray, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Fit the training rows that are not held out; return how it ended, and its scores."""
    X, y = problem.train.with_codes(), problem.y_train
    estimator: Any = ObliqueBARTRegressor if task == "regression" else ObliqueBARTClassifier
    categorical = problem.train.categorical or None
    model = estimator(random_state=0, n_jobs=1, categorical_features=categorical, **parameters)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[~held_out], y[~held_out])
    seconds = time.process_time() - start
    sizes = {"n": int((~held_out).sum()), "seconds": round(seconds, 2)}
    return sizes | scores(model, X, y, held_out)


def scores(model: Any, X: np.ndarray, y: np.ndarray, held_out: np.ndarray) -> dict[str, Any]:
    """Return how a fit ended, and how well it predicts the rows that were held out."""
    posterior = model._fitted.posteriors[0]
    f = posterior.predict(X[held_out])
    found = judge(posterior, f)
    ending = {
        "n_held_out": int(held_out.sum()),
        "n_sweeps": posterior.schedule.n_sweeps,
        "is_soft": model.soft_,
        "tier": examine(posterior, model._fitted.training.table).convergence.tier,
        "share": found.mc_share,
        "rhat": found.rhat_f,
        "scale_rhat": found.worst_scale_rhat,
        "ess": effective_size(f.reshape(posterior.n_chains, posterior.n_draws, -1)),
        "df": float(posterior.settings.get("more", {}).get("df", math.inf)),
    }
    if isinstance(model, ObliqueBARTRegressor):
        return ending | regression_scores(model, X[held_out], y[held_out], f, y[~held_out])
    return ending | classification_scores(model, X[held_out], y[held_out])


def judge(posterior: Any, f: np.ndarray) -> Any:
    """Measure convergence at rows that were held out."""
    likelihood = posterior.likelihood
    scale = posterior.scale.scale
    noise = {
        name: values / scale if name == "sigma" else values
        for name, values in likelihood.noise_of(posterior.trace).items()
    }
    variance = likelihood.noise_on_f(Given(f / scale, noise)).mean(axis=0)
    draws = (f / scale).reshape(posterior.n_chains, posterior.n_draws, -1)
    return measure_convergence(draws, variance, sampled_scales(posterior))


def effective_size(f: np.ndarray) -> float:
    """Return the effective draws of the mean of f, median over rows.

    They are the variance of f over the squared Monte Carlo error of its mean, which the means of
    half chains tell: autocorrelation within chains says nothing about where they have not been.
    """
    half = f.shape[1] // 2
    halves = np.concatenate([f[:, :half], f[:, -half:]])
    error = halves.mean(axis=1).var(axis=0, ddof=1) / len(halves)
    return float(np.median(f.var(axis=(0, 1)) / error))


def regression_scores(model, X, y, f, y_train) -> dict[str, float]:
    posterior, sd = model.posterior_, y_train.std()
    noise = posterior.likelihood.noise_of(posterior.trace)
    densities = posterior.likelihood.log_density(y, Given(f, noise))
    log_density = logsumexp(densities, axis=0) - math.log(len(f)) + math.log(sd)
    low, high = model.predict_interval(X, 0.9, kind="outcome").T
    squares = np.sum((y - y_train.mean()) ** 2)
    return {
        "error": float(np.sum((f.mean(axis=0) - y) ** 2) / squares),
        "squares": float(squares),
        "log_density": float(log_density.mean()),
        "coverage": float(np.mean((low <= y) & (y <= high))),
        "sigma": float(posterior.trace["sigma"].mean() / sd),
    }


def classification_scores(model, X, y) -> dict[str, float]:
    probabilities = model.predict_proba(X)
    own = probabilities[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {
        "error": float(np.mean(model.predict(X) != y)),
        "log_density": float(np.log(np.maximum(own, 1e-12)).mean()),
    }


def report(lines: list[dict[str, Any]]) -> str:
    """Return the tables."""
    by_set: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_set.setdefault(line["set"], []).append(line)
    first = {
        name: {line["fit"]: line for line in of_set if line["part"] == 0}
        for name, of_set in sorted(by_set.items())
    }
    return "\n".join([*_arrival(first), "", *_length(by_set), ""])


def _arrival(sets: dict[str, dict[str, Any]]) -> list[str]:
    rows = [
        "| set | rows | sweeps | CPU s | verdict | share | R-hat of f | of scales | rules "
        "| noise df | effective draws of f per CPU s, against before |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, fits in sorted(sets.items()):
        fit = fits["default"]
        gain = "–"
        if "before" in fits:
            pace = [one["ess"] / one["seconds"] for one in (fit, fits["before"])]
            rhat = fits["before"]["rhat"]
            # Eight chains that have not met have some ten effective draws, whatever their length.
            times = f", {pace[0] / pace[1]:.1f} times" if rhat <= MET_RHAT else ""
            gain = f"{pace[0]:.0f}{times} ({rhat:.2f})"
        df = (
            "–" if "sigma" not in fit else "normal" if math.isinf(fit["df"]) else f"{fit['df']:.0f}"
        )
        rows.append(
            f"| {name} | {fit['n']} | {fit['n_sweeps']:,} | {fit['seconds']:.1f} | {fit['tier']} "
            f"| {fit['share']:.2%} | {fit['rhat']:.3f} | {fit['scale_rhat']:.2f} "
            f"| {'soft' if fit['is_soft'] else 'hard'} | {df} | {gain} |"
        )
    small = [fits["default"] for fits in sets.values() if fits["default"]["n"] <= 0.5625 * MAX_ROWS]
    rows += [
        "",
        f"Of {len(small)} sets of up to {MAX_ROWS:,} rows in all "
        f"(up to {int(0.5625 * MAX_ROWS):,} in the column *rows*, without test and held-out rows): "
        f"{sum(fit['tier'] == 'fine' for fit in small)} fine for predictions, "
        f"{sum(fit['rhat'] <= 1.02 for fit in small)} with a median R-hat of f up to 1.02, "
        f"{sum(fit['scale_rhat'] <= 1.1 for fit in small)} with scales up to 1.1; CPU seconds "
        f"{np.median([fit['seconds'] for fit in small]):.1f} in the median, "
        f"{max(fit['seconds'] for fit in small):.0f} at most.",
    ]
    return rows


def _length(by_set: dict[str, list[dict[str, Any]]]) -> list[str]:
    rows = [
        "| set | rows held out | error: default | long | before | log density: default | long "
        "| before | 90% holds: default | long | before |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    held = []
    for name, lines in sorted(by_set.items()):
        fits = {fit: _pooled([line for line in lines if line["fit"] == fit]) for fit in FITS}
        cells = [
            cell(fits[fit].get(key), form)
            for key, form in (("error", ".4f"), ("log_density", ".3f"), ("coverage", ".3f"))
            for fit in FITS
        ]
        rows.append(f"| {name} | {fits['default']['n_held_out']:,} | {' | '.join(cells)} |")
        shorter, longer = _by_length(lines)
        denser = longer["log_density"] >= shorter["log_density"] - 0.02
        # One row more or less is a share of the errors of labels that says nothing.
        as_good = "sigma" not in longer or longer["error"] <= 1.02 * shorter["error"]
        held.append("" if denser and as_good else name)
    worse = ", ".join(filter(None, held)) or "none"
    return [
        *rows,
        "",
        "Whichever fit has more sweeps is no worse (2% of the squared error of numbers, 0.02 of "
        f"the log density) on {held.count('')} of {len(held)} sets; the others: {worse}.",
    ]


def _by_length(lines: list[dict[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the shorter and the longer one of default and long fits.

    A default fit that uses all of its time may have more sweeps than the long one.
    """
    by_part: dict[int, list[dict[str, Any]]] = {}
    for line in lines:
        if line["fit"] in ("default", "long"):
            by_part.setdefault(line["part"], []).append(line)
    pairs = [sorted(pair, key=lambda line: int(line["n_sweeps"])) for pair in by_part.values()]
    return _pooled([pair[0] for pair in pairs]), _pooled([pair[-1] for pair in pairs])


def _pooled(lines: list[dict[str, Any]]) -> dict[str, float]:
    """Return scores of all held-out rows of several fits."""
    weights = [line["n_held_out"] for line in lines]
    keys = [key for key in ("error", "log_density", "coverage", "sigma") if key in lines[0]]
    pooled = {
        key: float(np.average([line[key] for line in lines], weights=weights)) for key in keys
    }
    if "squares" in lines[0]:
        # The squared error of all rows, over the squares around the means of the training rows.
        squares = [line["squares"] for line in lines]
        pooled["error"] = float(np.average([line["error"] for line in lines], weights=squares))
    return pooled | {"n_held_out": sum(weights)}


def cell(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    main()
