"""Do 90% intervals of f(x) and of outcomes hold 90%, where the truth is known?

Five functions of ten uniform columns, normal noise of 0.05, 0.3 and 1 times the standard deviation
of the function, 300 and 3,000 rows; fits with hard rules, with soft ones, and default ones, for
which short fits choose between both; 1,000 new rows.

    python benchmarks/intervals.py [--rules hard soft] [--sizes 300] [--workers 16] [--out FILE]
    python benchmarks/intervals.py --report
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from obliquebart import ObliqueBARTRegressor

RESULTS = Path(__file__).parent / "results" / "intervals.json"
TABLE = Path(__file__).parents[1] / "docs" / "_generated" / "intervals.md"
N_NEW = 1000


def friedman(x: np.ndarray) -> np.ndarray:
    wave = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return wave + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def linear(x: np.ndarray) -> np.ndarray:
    return x[:, :3] @ np.array([3.0, 2.0, 1.0])


def smooth(x: np.ndarray) -> np.ndarray:
    return np.sin(4 * x[:, 0] + 2 * x[:, 1]) + x[:, 2] ** 2


def steps(x: np.ndarray) -> np.ndarray:
    return 2.0 * (x[:, 0] > 0.5) + (x[:, 1] > 0.3) * (x[:, 2] < 0.6)


def oblique_steps(x: np.ndarray) -> np.ndarray:
    return 2.0 * (x[:, 0] + x[:, 1] > 1) + 1.5 * (x[:, 2] - x[:, 3] > 0.2)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Friedman": friedman,
    "linear": linear,
    "smooth": smooth,
    "steps": steps,
    "oblique steps": oblique_steps,
}
NOISES = (0.05, 0.3, 1.0)
SIZES = (300, 3000)
RULES: dict[str, Any] = {"hard": False, "soft": True, "chosen": "auto"}


def measure(task: tuple[str, float, int, str]) -> dict[str, Any]:
    """Fit one table and return how much the intervals hold."""
    name, noise, n, rules = task
    rng = np.random.default_rng(n)
    x = rng.uniform(size=(n + N_NEW, 10))
    f = FUNCTIONS[name](x)
    sd = f.std()
    y = f + noise * sd * rng.normal(size=len(f))
    model = ObliqueBARTRegressor(soft=RULES[rules], random_state=0, n_jobs=1)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:n], y[:n])
    seconds = time.process_time() - start
    new = x[n:]
    held = {}
    for kind, truth in (("mean", f[n:]), ("outcome", y[n:])):
        low, high = model.predict_interval(new, 0.9, kind=kind).T
        held[kind] = float(np.mean((low <= truth) & (truth <= high)))
    return {
        "function": name,
        "noise": noise,
        "n": n,
        "rules": rules,
        "is_soft": model.soft_,
        "f": held["mean"],
        "outcome": held["outcome"],
        "error": float(np.sqrt(np.mean((model.predict(new) - f[n:]) ** 2)) / sd),
        "sigma": float(model.posterior_.trace["sigma"].mean() / sd),
        "df": model.posterior_.settings["more"].get("df"),
        "n_sweeps": model.posterior_.schedule.n_sweeps,
        "seconds": round(seconds, 1),
    }


def report(lines: list[dict[str, Any]]) -> str:
    rows = [
        "| function | noise / sd of f | rows | rules | of f(x) | of outcomes "
        "| error of f / sd of f | σ / sd of f | noise | sweeps | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    order = ("function", "n", "noise", "rules")
    for line in sorted(lines, key=lambda one: [one[name] for name in order]):
        rules = line["rules"]
        if rules == "chosen":
            rules += ", soft" if line["is_soft"] else ", hard"
        tails = "normal" if line["df"] is None else f"t, {line['df']:.0f}"
        rows.append(
            f"| {line['function']} | {line['noise']} | {line['n']:,} | {rules} "
            f"| {line['f']:.3f} | {line['outcome']:.3f} | {line['error']:.3f} "
            f"| {line['sigma']:.3f} | {tails} | {line['n_sweeps']:,} | {line['seconds']:.0f} |"
        )
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rules", nargs="*", default=RULES, choices=RULES)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, choices=SIZES)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        tasks = list(itertools.product(FUNCTIONS, NOISES, options.sizes, options.rules))
        tasks.sort(key=lambda task: -task[2])
        lines = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else []
        lines = [
            line
            for line in lines
            if line["rules"] not in options.rules or line["n"] not in options.sizes
        ]
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            lines += list(pool.imap_unordered(measure, tasks))
        options.out.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    text = report(json.loads(options.out.read_text(encoding="utf-8")))
    if options.out == RESULTS:
        TABLE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
