"""Contestants on real tables: every (table, split, method) is run once and kept.

The figures are lines of JSON in `build/contests/QUESTION.jsonl`; the last line of a unit counts, so
that peers run once and a method that changed is run again with `--again`. Each unit has a process
of its own: one that fails, dies or takes too long is a line with an error, and the rest goes on.
All methods have one core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import adapters
import machine
import outcome_tables
import timing
from outcome_tables import N_SPLITS, Split
from table import print_table
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parents[1] / "build" / "contests"
FORK = multiprocessing.get_context("fork")

Line = dict[str, Any]


class AbsentError(Exception):
    """The installed version does not have a method; nothing to keep in the cache."""


class Unit(NamedTuple):
    """One fit and its scores."""

    table: str
    split: int
    method: str


@dataclass(frozen=True)
class Method:
    """A function of an adapter, and its settings."""

    adapter: str
    function: str
    settings: tuple[tuple[str, Any], ...] = ()
    ours: bool = False

    def __call__(self, split: Split) -> Any:
        return getattr(adapters.load(self.adapter), self.function)(split, **dict(self.settings))


def ours(function: str, **settings: Any) -> Method:
    return Method("outcomes_obliquebart", function, tuple(settings.items()), ours=True)


@dataclass(frozen=True)
class Contest:
    """The tables, methods and scores of a question.

    `measure` turns what a method returned into figures, and `columns` are those to print, with
    whether larger is better (None: neither). The first of them decides who wins.
    """

    question: str
    kind: str
    methods: dict[str, Method]
    measure: Callable[[Split, Any], Line]
    columns: dict[str, bool | None]

    @property
    def main(self) -> str:
        return next(iter(self.columns))

    def run(self, unit: Unit) -> Line:
        table = outcome_tables.load(self.kind, unit.table)
        split = outcome_tables.split(table, unit.split)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # chains that would need more than their default time
            return self.measure(split, self.methods[unit.method](split))


class Cache:
    """Figures of units, in a file of which the last line of a unit counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.lines = {_unit_of(line): line for line in map(json.loads, text.splitlines())}

    def add(self, line: Line) -> None:
        self.lines[_unit_of(line)] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _unit_of(line: Line) -> Unit:
    return Unit(line["table"], line["split"], line["method"])


# ------------------------------------------------------------------------------------ running units


def _child(contest: Contest, unit: Unit, pipe: Connection) -> None:
    try:
        figures = contest.run(unit)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        figures = {"error": f"{type(error).__name__}: {error} ({where})"[:500]}
        figures |= {"absent": True} if isinstance(error, AbsentError) else {}
    pipe.send(figures)


def run_unit(contest: Contest, unit: Unit, seconds: float) -> Line:
    """Run a unit in a process of its own."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_child, args=(contest, unit, sender))
    start = time.perf_counter()
    process.start()
    sender.close()
    try:
        in_time = receiver.poll(seconds)
        figures = receiver.recv() if in_time else {"error": f"more than {seconds:.0f} s"}
    except EOFError:
        process.join()
        figures = {"error": f"the process died ({process.exitcode})"}
    if process.is_alive() and "error" in figures:
        process.kill()
    process.join()
    elapsed = time.perf_counter() - start
    return {**unit._asdict(), **figures, "unit_s": round(elapsed, 2)}


def _preload(methods: Iterable[Method]) -> None:
    """Import libraries once, before processes are forked."""
    for name in {method.adapter for method in methods}:
        # A library that is missing is the error of its units.
        with contextlib.suppress(ImportError):
            adapters.load(name)


def run(contest: Contest, cache: Cache, units: Sequence[Unit], jobs: int, seconds: float) -> None:
    _preload(contest.methods[unit.method] for unit in units)
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda unit: run_unit(contest, unit, seconds), units)
        for i, line in enumerate(found, 1):
            if not line.get("absent"):
                cache.add(line)
            result = line.get("error") or f"{contest.main} {line[contest.main]:.4f}"
            words = f"{line['table']} {line['split']} {line['method']}"
            print(f"{i}/{len(units)} {words}: {result} ({line['unit_s']:.1f} s)", flush=True)


# ---------------------------------------------------------------------------------------- reporting


def means(contest: Contest, lines: Iterable[Line]) -> dict[str, dict[str, Line]]:
    """Return the mean over splits of every printed figure, by table and method.

    Only splits that all methods of a table have finished are used, so that all face the same rows.
    """
    by_table: dict[str, dict[str, dict[int, Line]]] = {}
    for line in lines:
        if "error" not in line:
            found = by_table.setdefault(line["table"], {}).setdefault(line["method"], {})
            found[line["split"]] = line
    result: dict[str, dict[str, Line]] = {}
    for name, methods in by_table.items():
        shared = set.intersection(*(set(splits) for splits in methods.values()))
        if not shared:
            continue
        result[name] = {
            method: {
                column: fmean(values)
                for column in contest.columns
                if (values := [v for s in shared if (v := splits[s].get(column)) is not None])
            }
            | {"splits": len(shared)}
            for method, splits in methods.items()
        }
    return result


def report(contest: Contest, lines: list[Line], methods: Sequence[str]) -> list[Line]:
    """Print the tables, who wins where, and what failed; return the rows."""
    chosen = [line for line in lines if line["method"] in methods]
    figures = means(contest, chosen)
    present = [m for m in methods if any(m in found for found in figures.values())]
    for column in contest.columns:
        print(f"\n{column}")
        print_table([_row(name, found, present, column) for name, found in figures.items()])
    complete = {name: found for name, found in figures.items() if set(present) <= set(found)}
    print(f"\nmeans over the {len(complete)} tables that all of these methods finished")
    print_table(_averages(contest, complete, present))
    print(f"\ntables on which the row beats the column, by {contest.main}")
    print_table(_duels(contest, complete, present))
    _print_losses(contest, complete, present)
    for line in chosen:
        if "error" in line:
            print(f"failed: {line['table']} {line['split']} {line['method']}: {line['error']}")
    return [
        {"table": name, "method": method, **found[method]}
        for name, found in figures.items()
        for method in found
    ]


def _row(name: str, found: dict[str, Line], methods: Sequence[str], column: str) -> Line:
    cells = {method: _digits(found.get(method, {}).get(column)) for method in methods}
    return {"table": name, "splits": next(iter(found.values()))["splits"], **cells}


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _averages(
    contest: Contest, complete: dict[str, dict[str, Line]], methods: Sequence[str]
) -> list[Line]:
    winners = [_best(contest, found, methods) for found in complete.values()]
    rows = []
    for method in methods:
        row: Line = {"method": method}
        for column in contest.columns:
            values = [found[method].get(column) for found in complete.values()]
            known = [value for value in values if value is not None]
            row[column] = _digits(fmean(known)) if known else None
        rows.append(row | {"best on": winners.count(method)})
    return rows


def _best(contest: Contest, found: dict[str, Line], methods: Sequence[str]) -> str:
    return max(methods, key=lambda method: _merit(contest, found[method]))


def _merit(contest: Contest, figures: Line) -> float:
    """Return the main figure with a sign by which larger is better."""
    return float(figures[contest.main]) * (1 if contest.columns[contest.main] else -1)


def _duels(
    contest: Contest, complete: dict[str, dict[str, Line]], methods: Sequence[str]
) -> list[Line]:
    def wins(one: str, other: str) -> int | None:
        if one == other:
            return None
        return sum(_merit(contest, t[one]) > _merit(contest, t[other]) for t in complete.values())

    return [{"method": one, **{other: wins(one, other) for other in methods}} for one in methods]


def _print_losses(
    contest: Contest, complete: dict[str, dict[str, Line]], methods: Sequence[str]
) -> None:
    """Say for each of our methods on which tables a peer is better, the worst first."""
    peers = [method for method in methods if not contest.methods[method].ours]
    for method in methods:
        if not contest.methods[method].ours or not peers:
            continue
        behind = []
        for name, found in complete.items():
            peer = _best(contest, found, peers)
            gap = _merit(contest, found[peer]) - _merit(contest, found[method])
            if gap > 0:
                behind.append((gap, f"{name} ({gap:.3f} behind {peer})"))
        listed = ", ".join(words for _, words in sorted(behind, reverse=True)) or "nowhere"
        print(f"\n{method} loses on {len(behind)} of {len(complete)} tables: {listed}")


# ----------------------------------------------------------------------------------- command line


def parser(contest: Contest, description: str) -> argparse.ArgumentParser:
    known = outcome_tables.names(contest.kind)
    result = argparse.ArgumentParser(description=description.split("\n")[0])
    result.add_argument("--tables", nargs="+", default=known, choices=known, metavar="TABLE")
    result.add_argument("--methods", nargs="+", default=list(contest.methods))
    result.add_argument("--splits", type=int, default=N_SPLITS)
    result.add_argument("--jobs", type=int, default=1)
    result.add_argument("--seconds", type=float, default=1200, help="limit for one unit")
    result.add_argument("--cache", type=Path, default=FOLDER / f"{contest.question}.jsonl")
    result.add_argument("--again", action="store_true", help="run units that are in the cache, too")
    result.add_argument("--retry", action="store_true", help="run units that failed, too")
    result.add_argument("--report", action="store_true", help="run nothing, print the cache")
    result.add_argument("--save", action="store_true", help="write results/QUESTION.json")
    return result


def main(contest: Contest, description: str) -> list[Line]:
    """Run what the cache lacks, print the tables, and return the lines of the cache."""
    options = parser(contest, description).parse_args()
    if unknown := set(options.methods) - set(contest.methods):
        raise SystemExit(f"no such method: {unknown}; there are {list(contest.methods)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cache = Cache(options.cache)
    # All tables of the first split come first: an early look is then fair to all of them.
    wanted = [
        Unit(table, split, method)
        for split in range(options.splits)
        for table in options.tables
        for method in options.methods
    ]
    todo = [unit for unit in wanted if options.again or _is_missing(cache, unit, options.retry)]
    if not options.report and todo:
        run(contest, cache, todo, options.jobs, options.seconds)
    lines = [cache.lines[unit] for unit in wanted if unit in cache.lines]
    rows = report(contest, lines, options.methods)
    if options.save:
        timing.save(contest.question, rows, machine.describe())
    return lines


def _is_missing(cache: Cache, unit: Unit, retry: bool) -> bool:
    line = cache.lines.get(unit)
    return line is None or (retry and "error" in line)
