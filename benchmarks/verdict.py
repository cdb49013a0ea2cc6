"""How wrong are predictions because chains are finite, and does the verdict of a fit tell?

The truth is a reference of sixteen long chains. Fits of several lengths, numbers of chains and
seeds are judged as `fit` judges them, at up to 64 rows between their training rows; then their
predictions at rows that were held out are compared with the reference's:

- the error: the mean squared distance between the two means of f, over the predictive variance
  (posterior variance of f plus noise), less what the reference's own error explains;
- the coverage: the probability, under the reference, of the fit's 90% intervals of f and, for
  numbers, of new outcomes.

Limits were chosen on the first group of tables, and checked on the other two: other synthetic ones
and those that come with scikit-learn; and training rows of the paper's sets, of up to 700 rows.

    python benchmarks/verdict.py [--data FOLDER] [--group GROUP ...] [--report]

All fits of a table and seed are windows of the same chains, so a group takes minutes.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_regression,
)

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.posterior.convergence import Convergence, measure_convergence
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.probes import N_PROBES, rows_between
from obliquebart.study.datasets import Library

HERE = Path(__file__).resolve().parent
LINES = HERE / "results" / "verdict.jsonl"  # every fit; not committed
PAGE = HERE.parent / "docs" / "_generated" / "verdict.md"

MOST_ROWS = 700
COVERAGE = 0.9
SEEDS = (0, 1, 2)
# Sweeps before the first draw, and draws.
WINDOWS = ((10, 20), (25, 25), (50, 50), (100, 100), (250, 250), (500, 500), (1000, 1000))
N_CHAINS = (8, 4, 2, 1)
REFERENCE = {"n_chains": 16, "n_burn": 4000, "n_draws": 600, "n_thin": 10, "random_state": 99}

Chosen, Checked, Paper = "chosen on", "checked on", "paper's sets"
TIERS = {
    "fine": "fine for predictions",
    "more": "more draws would help",
    "apart": "chains disagree",
}


class Table(NamedTuple):
    name: str
    X: Any
    y: Any
    categorical: Any = "auto"

    @property
    def estimator(self) -> Any:
        return ObliqueBARTClassifier if self.y.dtype.kind in "biO" else ObliqueBARTRegressor


class Draws(NamedTuple):
    """What chains say at training rows, between them, and at held-out rows."""

    seen: Any  # (n_chains, n_draws, n_rows)
    between: Any
    new: Any
    scales: dict[str, Any]
    variance: Any  # of the noise: (n_chains, n_draws)

    def window(self, n_chains: int, burn: int, n_draws: int) -> Draws:
        part = (slice(n_chains), slice(burn, burn + n_draws))
        scales = {name: values[part] for name, values in self.scales.items()}
        f = (self.seen[part], self.between[part], self.new[part])
        return Draws(*f, scales, self.variance[part])

    def judged(self, f: Any) -> Convergence:
        return measure_convergence(f, self.variance.mean(), self.scales)


def chosen_on() -> Iterator[Table]:
    yield Table("friedman1, n=100", *make_friedman1(200, noise=1.0, random_state=0))
    yield Table("friedman1, n=500", *make_friedman1(600, noise=1.0, random_state=1))
    yield Table("friedman2", *make_friedman2(300, noise=125.0, random_state=2))
    yield Table("friedman2, little noise", *make_friedman2(300, noise=5.0, random_state=3))
    options = {"n_features": 8, "n_informative": 4, "flip_y": 0.1}
    yield Table("classes", *make_classification(300, **options, random_state=4))
    yield Table("moons", *make_moons(250, noise=0.3, random_state=5))


def checked_on() -> Iterator[Table]:
    yield Table("friedman1, much noise", *make_friedman1(300, noise=5.0, random_state=6))
    yield Table("friedman1, no noise", *make_friedman1(300, noise=0.0, random_state=10))
    yield Table("friedman3", *make_friedman3(300, noise=0.1, random_state=7))
    yield Table("linear", *make_regression(400, 10, n_informative=5, noise=1.0, random_state=8))
    options = {"n_features": 20, "n_informative": 6, "flip_y": 0.02}
    yield Table("classes, p=20", *make_classification(600, **options, random_state=9))
    yield Table("diabetes", *load_diabetes(return_X_y=True))
    X, y = load_breast_cancer(return_X_y=True)
    yield Table("breast cancer", X, y)
    X, y = load_wine(return_X_y=True)
    yield Table("wine, class 1", X, (y == 1).astype(int))


def papers_sets(folder: Path) -> Iterator[Table]:
    library = Library(folder)
    for name in library.names():
        if library.records[name]["n"] <= MOST_ROWS:
            problem = library.load(name).problem(0)
            y = problem.y_train
            y = y.astype(int) if problem.task == "classification" else y
            yield Table(name, problem.train.with_codes(), y, problem.train.categorical)


def sample(table: Table, rows: Any, **options: Any) -> Draws:
    """Fit the rows, and return f at up to 64 of them, of those between them and of the others."""
    model = table.estimator(
        **options, soft=False, categorical_features=table.categorical, n_jobs=1, progress=False
    )
    others = np.setdiff1d(np.arange(len(table.y)), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        posterior = model.fit(table.X[rows], table.y[rows]).posterior_
        training = posterior.encode(table.X[rows])
        held_out = posterior.encode(table.X[others])
    places = [
        training.take(choose_rows(N_PROBES, training.n_rows)),
        rows_between(training),
        held_out.take(choose_rows(N_PROBES, held_out.n_rows)),
    ]
    shape = (posterior.n_chains, posterior.n_draws)
    f = [
        np.hstack([draws for _, draws in posterior.blocks(columns)]).reshape(*shape, -1)
        for columns in places
    ]
    names = [*(scalar.name for scalar in posterior.likelihood.noise), "leaf_sd"]
    # f of labels is on the probit scale, whose noise has variance 1.
    sigma = posterior.trace["sigma"] if "sigma" in names else np.ones(shape)
    return Draws(*f, {name: posterior.trace[name] for name in names}, sigma**2)


def study(table: Table) -> Iterator[dict[str, Any]]:
    # Half of the rows at most, and in no order.
    order = np.random.default_rng(0).permutation(len(table.y))
    rows = np.sort(order[: max(len(order) // 2, len(order) - 200)])
    truth = sample(table, rows, **REFERENCE)
    n_sweeps = sum(WINDOWS[-1])
    for seed in SEEDS:
        options = {"n_chains": max(N_CHAINS), "n_burn": 0, "n_draws": n_sweeps}
        chains = sample(table, rows, **options, random_state=seed)
        for n_chains in N_CHAINS:
            for burn, n_draws in WINDOWS:
                fit = chains.window(n_chains, burn, n_draws)
                settings = {"table": table.name, "seed": seed, "n_chains": n_chains}
                yield {
                    **settings,
                    "n_draws": n_draws,
                    **fit.judged(fit.between)._asdict(),
                    "at_training_rows": fit.judged(fit.seen)._asdict(),
                    "at_new_rows": fit.judged(fit.new)._asdict(),
                    "reference": truth.judged(truth.new)._asdict(),
                    **compare(fit, truth),
                }


def compare(fit: Draws, truth: Draws) -> dict[str, float]:
    """Return the error and the coverages of a fit."""
    f = truth.new.reshape(-1, truth.new.shape[-1])
    noise = truth.variance.reshape(-1, 1)
    variance = f.var(axis=0) + noise.mean()
    distance = (fit.new.mean(axis=(0, 1)) - f.mean(axis=0)) ** 2
    own = truth.new.mean(axis=1).var(axis=0, ddof=1) / len(truth.new)
    tails = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
    draws = fit.new.reshape(-1, f.shape[1])
    low, high = np.quantile(draws, tails, axis=0)
    found = {
        "error": float(((distance - own) / variance).mean()),
        "own_error": float((own / variance).mean()),
        "coverage_f": float(((f >= low) & (f <= high)).mean()),
    }
    if "sigma" in truth.scales:
        some = np.random.default_rng(0)
        sd = np.sqrt(fit.variance.reshape(-1, 1))
        times = max(2000 // len(draws), 1)
        y = [draws + sd * some.standard_normal(draws.shape) for _ in range(times)]
        low, high = np.quantile(np.concatenate(y), tails, axis=0)
        inside = ndtr((high - f) / np.sqrt(noise)) - ndtr((low - f) / np.sqrt(noise))
        found["coverage_y"] = float(inside.mean())
    return found


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []


def run(group: str, tables: Iterator[Table]) -> None:
    done = {line["table"] for line in read()}
    for table in tables:
        if table.name not in done:
            results = [{"group": group, **result} for result in study(table)]
            with LINES.open("a") as file:
                file.writelines(json.dumps(result) + "\n" for result in results)
            print(table.name, flush=True)


def tier_of(line: dict[str, Any]) -> str:
    return Convergence(**{name: line[name] for name in Convergence._fields}).tier


def report(lines: list[dict[str, Any]]) -> str:
    """Return the table of the documentation."""
    heads = ["verdict", "tables", "fits", "error, median", "90% of fits below", "worst"]
    heads += ["coverage of f (90% is right), median", "worst 10%", "of outcomes, worst 10%"]
    rows = [heads, ["---", "---", *["---:"] * (len(heads) - 2)]]
    for tier, words in TIERS.items():
        for group in (Chosen, Checked, Paper):
            fits = [line for line in lines if line["group"] == group and tier_of(line) == tier]
            if fits:
                rows.append([words, group, str(len(fits)), *_numbers(fits)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _numbers(fits: list[dict[str, Any]]) -> list[str]:
    error = [max(line["error"], 0.0) for line in fits]
    of_f = [line["coverage_f"] for line in fits]
    of_y = [line["coverage_y"] for line in fits if "coverage_y" in line]
    return [
        *(f"{value:.1%}" for value in (np.median(error), np.quantile(error, 0.9), max(error))),
        f"{np.median(of_f):.0%}",
        f"{np.quantile(of_f, 0.1):.0%}",
        f"{np.quantile(of_y, 0.1):.1%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the paper's data sets")
    parser.add_argument("--group", nargs="*", default=[Chosen, Checked, Paper])
    parser.add_argument("--report", action="store_true", help="write the table from what is there")
    arguments = parser.parse_args()
    groups: dict[str, Callable[[], Iterator[Table]]] = {Chosen: chosen_on, Checked: checked_on}
    if arguments.data:
        groups[Paper] = lambda: papers_sets(arguments.data)
    if not arguments.report:
        LINES.parent.mkdir(exist_ok=True)
        for group in arguments.group:
            if group in groups:
                run(group, groups[group]())
    PAGE.write_text(report(read()))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
