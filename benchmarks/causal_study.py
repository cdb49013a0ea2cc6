"""Contestants on outcomes of treatments whose effects are known: each fit is done once and kept.

A question has settings, each of which makes a problem from a replicate's number, and methods. The
figures of a fit are a line of `CACHE/QUESTION.jsonl`, and fits that are there are not done again:
a run that was stopped goes on where it was. Worker processes have one core and one thread each.
All settings and methods of a replicate come before the next replicate, so that an early look is
fair to all of them.

Fits have one of two lengths. "long" is what a careful user of each package would run: ours until
its chains agree, stochtree four chains of 1,000 draws, bartz one of 1,000 + 1,000. "short" is for
many replicates: 500 kept draws per chain of each package, after 500 sweeps of burn-in or
stochtree's greedy start. stochtree and bartz have one such chain and ours has four, which take a
third of the time of stochtree's one; "obliquebart one chain" is ours with one. Short fits have a
cache of their own.

`--together N` does N problems of one shape at once in this process, for methods that can (bartz on
a GPU). The seconds of such a fit are its share.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple, Protocol

import adapters
import machine
import numpy as np
import pandas as pd
import timing
from table import print_table

FOLDER = Path(__file__).parents[1] / "build" / "causal"
COVERAGE = 0.95
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

Line = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """Rows with a binary treatment, and the effect that a method should find at each of them.

    Columns are numbers, or categories of which none comes before another.
    """

    x: pd.DataFrame
    y: np.ndarray
    z: np.ndarray
    effect: np.ndarray
    seed: int = 0

    def numbers(self) -> np.ndarray:
        """Return the columns with one for each level of a category."""
        return pd.get_dummies(self.x).to_numpy(np.float64)


class Effects(NamedTuple):
    """Draws of the effect at each row, of shape (n_draws, n), and how many sweeps it took."""

    draws: np.ndarray
    n_sweeps: int


@dataclass(frozen=True)
class Method:
    """A function of an adapter, and its settings."""

    adapter: str
    function: str
    settings: tuple[tuple[str, Any], ...] = ()
    ours: bool = False

    def __call__(self, problem: Problem) -> Effects:
        function = getattr(adapters.load(self.adapter), self.function)
        result: Effects = function(problem, **dict(self.settings))
        return result

    def together(self, problems: Sequence[Problem]) -> list[Effects]:
        """Fit problems of one shape at once, which not every adapter can."""
        function = getattr(adapters.load(self.adapter), f"{self.function}s")
        result: list[Effects] = function(problems, **dict(self.settings))
        return result


def ours(function: str, **settings: Any) -> Method:
    return Method("causal_obliquebart", function, tuple(settings.items()), ours=True)


def peer(adapter: str, **settings: Any) -> Method:
    return Method(adapter, "forest", tuple(settings.items()))


OURS, ONE_CHAIN, G_FORMULA = "obliquebart", "obliquebart one chain", "obliquebart g-formula"
STOCHTREE, BARTZ = "stochtree", "bartz"
LONG = {
    OURS: ours("forest"),
    "obliquebart axis": ours("forest", rules="axis"),
    # As many sweeps as an automatic run has at least.
    "obliquebart short": ours("forest", n_draws=500),
    G_FORMULA: ours("g_formula"),
    STOCHTREE: peer("causal_stochtree"),
    BARTZ: peer("causal_bartz"),
}
CHAIN = {"n_burn": 500, "n_draws": 500}
CHAINS = {"n_chains": 4, "n_thin": 1, **CHAIN}
SHORT = {
    OURS: ours("forest", **CHAINS),
    "obliquebart axis": ours("forest", rules="axis", **CHAINS),
    ONE_CHAIN: ours("forest", **{**CHAINS, "n_chains": 1}),
    G_FORMULA: ours("g_formula", **CHAINS),
    STOCHTREE: peer("causal_stochtree", n_chains=1, n_draws=CHAIN["n_draws"]),
    BARTZ: peer("causal_bartz", **CHAIN),
}
LENGTHS = {"long": LONG, "short": SHORT}
PEERS = (STOCHTREE, BARTZ)


class Unit(NamedTuple):
    """One fit."""

    setting: str
    replicate: int
    method: str


class Fits(Protocol):
    """What does the fits of a question; worker processes get a copy."""

    def run(self, unit: Unit) -> Line:
        """Fit, and return the figures."""

    def words(self, line: Line) -> str:
        """Return the figures of a fit to print."""


@dataclass(frozen=True)
class Study:
    """A question: problems by the name of their setting, from the number of a replicate."""

    question: str
    settings: Mapping[str, Callable[[int], Problem]]
    methods: Mapping[str, Method] = field(default_factory=lambda: LONG)

    def of_length(self, length: str) -> Study:
        """Return the question for fits of a length; answers to others are not mixed with it."""
        name = self.question if length == "long" else f"{self.question}_{length}"
        return replace(self, question=name, methods=LENGTHS[length])

    def problem(self, unit: Unit) -> Problem:
        return replace(self.settings[unit.setting](unit.replicate), seed=unit.replicate)

    def words(self, line: Line) -> str:
        """Return the figures of a fit to print."""
        return f"CATE RMSE {line['cate_rmse']:.3f}, {line['cpu_s']:.1f} s"

    def run(self, unit: Unit) -> Line:
        """Fit, and return the figures."""
        problem = self.problem(unit)
        method = self.methods[unit.method]
        adapters.load(method.adapter)  # imports are not part of the time
        wall, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains that would need more than their default time
            found = method(problem)
        seconds = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
        return {**measure(problem, found), **{k: round(v, 6) for k, v in seconds.items()}}


def measure(problem: Problem, found: Effects) -> Line:
    """Return errors, coverage and widths; the average effect is that of the problem's rows."""
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(found.draws, [tail, 1 - tail], axis=0)
    averages = found.draws.mean(axis=1)
    ate_low, ate_high = np.quantile(averages, [tail, 1 - tail])
    effect = problem.effect
    return {
        "n": len(effect),
        "ate_true": float(effect.mean()),
        "ate": float(averages.mean()),
        "ate_low": float(ate_low),
        "ate_high": float(ate_high),
        "cate_rmse": float(np.sqrt(np.mean((found.draws.mean(axis=0) - effect) ** 2))),
        "cate_cover": float(np.mean((low <= effect) & (effect <= high))),
        "cate_width": float(np.mean(high - low)),
        "n_draws": len(found.draws),
        "n_sweeps": found.n_sweeps,
    }


# ------------------------------------------------------------------------------------- running fits


class Cache:
    """Lines of fits; the last of a fit counts, and a fit that failed is done again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.lines = {_unit_of(line): line for line in map(_parse, text.splitlines()) if line}

    def add(self, line: Line) -> None:
        self.lines[_unit_of(line)] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def has(self, unit: Unit) -> bool:
        return "error" not in self.lines.get(unit, {"error": ""})


def _parse(text: str) -> Line | None:
    """Return a line, or None for one that was cut off when a run was stopped."""
    try:
        line: Line = json.loads(text)
    except json.JSONDecodeError:
        return None
    return line


def _unit_of(line: Line) -> Unit:
    return Unit(line["setting"], line["replicate"], line["method"])


def _take_a_core(counter: Any) -> None:
    """Give a worker a core of its own, so that no library has more."""
    with counter.get_lock():
        index = counter.value
        counter.value += 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[index % len(cores)]})


def _run_unit(job: tuple[Fits, Unit]) -> Line:
    study, unit = job
    try:
        figures = study.run(unit)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        figures = {"error": f"{type(error).__name__}: {error} ({where})"[:500]}
    return {**unit._asdict(), **figures}


def run(study: Fits, cache: Cache, units: Sequence[Unit], jobs: int, seconds: float) -> None:
    """Do fits until the time is over; those under way then are lost, and done by the next run."""
    end = time.monotonic() + seconds
    os.environ.update(ONE_THREAD)
    # Processes are spawned: libraries with threads of their own do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(jobs, _take_a_core, (spawn.Value("i", 0),)) as pool:
        found = pool.imap_unordered(_run_unit, ((study, unit) for unit in units))
        for i in range(1, len(units) + 1):
            try:
                line = found.next(max(end - time.monotonic(), 0.0))
            except multiprocessing.TimeoutError:
                print(f"time is over after {i - 1} of {len(units)} fits", flush=True)
                return
            cache.add(line)
            words = line.get("error") or study.words(line)
            name = f"{line['setting']} {line['replicate']} {line['method']}"
            print(f"{i}/{len(units)} {name}: {words}", flush=True)


def batches(study: Study, units: Sequence[Unit], size: int) -> list[list[Unit]]:
    """Return units by method and shape of the problem; shapes take turns."""
    groups: dict[tuple[Any, ...], list[Unit]] = {}
    for unit in units:
        problem = study.problem(unit)
        groups.setdefault((unit.method, *problem.numbers().shape), []).append(unit)
    cut = [[of[i : i + size] for i in range(0, len(of), size)] for of in groups.values()]
    return [batch for turn in zip_longest(*cut) for batch in turn if batch]


def run_together(
    study: Study, cache: Cache, units: Sequence[Unit], size: int, seconds: float
) -> None:
    """Do fits in this process, many at once, until the next batch would end too late.

    The last batch of a shape is filled with problems that it has, since each size is compiled.
    """
    end = time.monotonic() + seconds
    longest = 0.0
    for batch in batches(study, units, size):
        if time.monotonic() + longest > end:
            print("time is over", flush=True)
            return
        problems = [study.problem(unit) for unit in batch]
        filled = [problems[i % len(problems)] for i in range(size)]
        wall, cpu = time.perf_counter(), time.process_time()
        found = study.methods[batch[0].method].together(filled)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        longest = wall if longest == 0.0 else max(wall, min(longest, 2 * wall))
        shares = {"cpu_s": cpu / size, "wall_s": wall / size, "together": size}
        for unit, problem, effects in zip(batch, problems, found, strict=False):
            cache.add({**unit._asdict(), **measure(problem, effects), **shares})
        print(f"{len(batch)} fits of {batch[0].method} at once: {wall:.1f} s", flush=True)


# ---------------------------------------------------------------------------------------- reporting


def shared_lines(lines: Iterable[Line], methods: Sequence[str]) -> dict[str, dict[str, list[Line]]]:
    """Return lines by setting and method, of the replicates that all the methods have finished."""
    found: dict[str, dict[str, dict[int, Line]]] = {}
    for line in lines:
        if "error" not in line and line["method"] in methods:
            of_setting = found.setdefault(line["setting"], {})
            of_setting.setdefault(line["method"], {})[line["replicate"]] = line
    result = {}
    for setting, by_method in found.items():
        shared = sorted(set.intersection(*(set(of) for of in by_method.values())))
        if shared:
            result[setting] = {
                name: [by_method[name][r] for r in shared] for name in methods if name in by_method
            }
    return result


def summary(lines: Sequence[Line]) -> Line:
    """Return the figures of a method in a setting, over its replicates."""
    error = np.array([line["ate"] - line["ate_true"] for line in lines])
    inside = [line["ate_low"] <= line["ate_true"] <= line["ate_high"] for line in lines]
    return {
        "replicates": len(lines),
        "ATE rmse": float(np.sqrt(np.mean(error**2))),
        "ATE bias": float(error.mean()),
        "ATE cover": fmean(inside),
        "ATE width": fmean(line["ate_high"] - line["ate_low"] for line in lines),
        "CATE rmse": fmean(line["cate_rmse"] for line in lines),
        "CATE cover": fmean(line["cate_cover"] for line in lines),
        "CATE width": fmean(line["cate_width"] for line in lines),
        "cpu s": median(line["cpu_s"] for line in lines),
        "ms a sweep": 1e3 * median(line["cpu_s"] / max(line["n_sweeps"], 1) for line in lines),
    }


def report(study: Study, lines: Iterable[Line], methods: Sequence[str]) -> list[Line]:
    """Print figures by setting and on average, who is ahead where, and times; return the rows."""
    found = shared_lines(lines, methods)
    rows = [
        {"setting": setting, "method": name, **summary(of_method)}
        for setting in study.settings
        if setting in found
        for name, of_method in found[setting].items()
    ]
    print_table([_rounded(row) for row in rows])
    print("\nmeans over settings that all methods have")
    whole = {s for s, of in found.items() if set(of) == {row["method"] for row in rows}}
    print_table(_means([row for row in rows if row["setting"] in whole]))
    print_duels(study, found)
    print_times(study, rows)
    return rows


def _rounded(row: Line) -> Line:
    return {k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()}


def _means(rows: Sequence[Line]) -> list[Line]:
    by_method: dict[str, list[Line]] = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    return [
        _rounded(
            {"method": name, "settings": len(of)}
            | {key: fmean(row[key] for row in of) for key in of[0] if isinstance(of[0][key], float)}
        )
        for name, of in by_method.items()
    ]


def print_duels(study: Study, found: Mapping[str, Mapping[str, Sequence[Line]]]) -> None:
    """Compare the errors of effects with the better peer's, replicate by replicate."""
    for name, method in study.methods.items():
        rows = []
        for setting, of_setting in found.items():
            peers = {p: of_setting[p] for p in PEERS if p in of_setting}
            if not method.ours or name not in of_setting or not peers:
                continue
            peer = min(peers, key=lambda p: fmean(line["cate_rmse"] for line in peers[p]))
            rows.append({"setting": setting, **_duel(of_setting[name], peers[peer], peer)})
        if rows:
            ahead = sum(row["ratio"] <= 1 for row in rows)
            print(f"\n{name}: CATE rmse not above the better peer's in {ahead} of {len(rows)}")
            print_table([_rounded(row) for row in rows])


def _duel(mine: Sequence[Line], theirs: Sequence[Line], peer: str) -> Line:
    a, b = (np.array([line["cate_rmse"] for line in of]) for of in (mine, theirs))
    error = float((a - b).std(ddof=1) / np.sqrt(len(a))) if len(a) > 1 else float("nan")
    return {
        "better peer": peer,
        "ratio": float(a.mean() / b.mean()),
        "difference": float((a - b).mean()),
        "its standard error": error,
    }


def print_times(study: Study, rows: Sequence[Line]) -> None:
    """Print how many times as long a fit and a sweep of a peer take as ours."""
    seconds: dict[str, dict[str, Line]] = {}
    for row in rows:
        seconds.setdefault(row["method"], {})[row["setting"]] = row
    ratios = []
    for name, method in study.methods.items():
        for peer in PEERS:
            shared = seconds.get(name, {}).keys() & seconds.get(peer, {}).keys()
            if method.ours and shared:
                cells: Line = {"method": name, "peer": peer}
                for key in ("cpu s", "ms a sweep"):
                    values = [seconds[peer][s][key] / seconds[name][s][key] for s in shared]
                    cells[f"peer / ours, {key}"] = median(values)
                    cells[f"least, {key}"] = min(values)
                ratios.append(_rounded(cells))
    if ratios:
        print("\ntimes as long, medians over settings and the least")
        print_table(ratios)


# ----------------------------------------------------------------------------------- command line


def _range(text: str) -> range:
    first, _, last = text.rpartition(":")
    return range(int(first or 0), int(last))


def parser(study: Study, description: str) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=description.split("\n")[0])
    settings, methods = list(study.settings), list(dict.fromkeys([*LONG, *SHORT]))
    result.add_argument("--settings", nargs="+", default=settings, choices=settings)
    result.add_argument("--length", choices=LENGTHS, default="long", help="of the fits")
    result.add_argument("--methods", nargs="+", choices=methods, help="all by default")
    result.add_argument("--replicates", type=_range, default=range(200), metavar="[A:]B")
    result.add_argument("--jobs", type=int, default=1)
    result.add_argument("--together", type=int, metavar="N", help="do N fits at once, not in jobs")
    result.add_argument("--limit-seconds", type=float, default=float(10**7))
    result.add_argument("--cache", type=Path, default=FOLDER, help="folder of the lines of fits")
    result.add_argument("--again", action="store_true", help="do fits that are in the cache, too")
    result.add_argument("--report", action="store_true", help="fit nothing, print the cache")
    result.add_argument("--save", action="store_true", help="write results/QUESTION.json")
    return result


def main(study: Study, description: str) -> tuple[argparse.Namespace, list[Line], list[Line]]:
    """Do the fits that the cache lacks, print the tables, and return options, rows and fits."""
    options = parser(study, description).parse_args()
    study = study.of_length(options.length)
    options.methods = options.methods or list(study.methods)
    cache = Cache(options.cache / f"{study.question}.jsonl")
    wanted = [
        Unit(setting, replicate, method)
        for replicate in options.replicates
        for setting in options.settings
        for method in options.methods
        if method in study.methods
    ]
    todo = [unit for unit in wanted if options.again or not cache.has(unit)]
    if todo and options.together and not options.report:
        run_together(study, cache, todo, options.together, options.limit_seconds)
    elif todo and not options.report:
        run(study, cache, todo, options.jobs, options.limit_seconds)
    lines = [cache.lines[unit] for unit in wanted if unit in cache.lines]
    rows = report(study, lines, options.methods)
    for line in lines:
        if "error" in line:
            print(f"failed: {tuple(_unit_of(line))}: {line['error']}")
    if options.save:
        timing.save(study.question, rows, machine.describe())
    return options, rows, lines
