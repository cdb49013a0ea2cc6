"""`obliquebart study`: fetch the data, run the experiments, write the report."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, ParamSpec, TypeVar

import typer
from rich.console import Console

from obliquebart.study.costs import cost_model
from obliquebart.study.datasets import Library, find_folder
from obliquebart.study.display import StudyProgress
from obliquebart.study.fetch import SOURCE, fetch
from obliquebart.study.methods import METHODS
from obliquebart.study.plans import PLANS, some_of
from obliquebart.study.pool import ProcessPool
from obliquebart.study.runner import Limits, Pool, Tally
from obliquebart.study.runner import run as run_units
from obliquebart.study.store import Store, write_table
from obliquebart.study.units import Unit

app = typer.Typer(
    help="The paper's experiments: fetch the data, run here or on a cluster, compare the results.",
    no_args_is_help=True,
)

Data = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the data sets; the default is the environment variable OBLIQUEBART_DATA."
    ),
]
Results = Annotated[
    Path, typer.Option("--results", "-r", help="Folder of the results, one file per unit.")
]

INTERRUPTED = 130
P = ParamSpec("P")
R = TypeVar("R")


def _reported(function: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into messages, as in the rest of the command line."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # Here, because the command line imports this module.
        from obliquebart.cli.screen import command

        return command(function)(*args, **kwargs)

    return wrapped


@app.command("fetch")
@_reported
def fetch_command(
    folder: Annotated[Path, typer.Argument(help="Where to save the data sets.")],
    source: Annotated[str, typer.Option(help="URL of the authors' folder.")] = SOURCE,
    names: Annotated[
        list[str] | None, typer.Option("--set", help="One of the sets; may be repeated.")
    ] = None,
) -> None:
    """Download the data sets from the authors' repository and check them."""
    if find_spec("rdata") is None:
        raise ImportError('Reading the authors\' files needs: pip install "obliquebart[study]"')
    console = Console(stderr=True, highlight=False)
    found = fetch(folder, source, names or None, console.print)
    console.print(f"{len(found)} data sets in {folder}. Use them with --data {folder}.")


@app.command("run")
@_reported
def run_command(
    data: Data = None,
    results: Results = Path("study"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A little of everything: five minutes.")
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="Everything: work for a cluster.")] = False,
    plan: Annotated[
        Literal["real", "paper", "quick", "tiny"],
        typer.Option(help="Which experiments; real: those in the published report."),
    ] = "real",
    table: Annotated[
        int | None, typer.Option(help="Only what this table of the paper needs, 2 to 7.")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--set", help="Only this data set; may be repeated.")
    ] = None,
    backend: Annotated[
        Literal["auto", "dask", "processes"],
        typer.Option(help="auto: Dask if it is installed, otherwise plain processes."),
    ] = "auto",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; by default one starts here.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Processes.", show_default="all cores")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one unit.")] = 3600.0,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the run; the same command does the rest later."),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Repeat units that failed or took too long.")
    ] = False,
    report: Annotated[bool, typer.Option(help="Write the report at the end.")] = True,
) -> None:
    """Do the units of work that have no result yet, and write the report."""
    folder = find_folder(data)
    library = Library(folder)
    name = "quick" if quick else "paper" if paper else plan
    console = Console(stderr=True, highlight=False)
    units = _installed(some_of(PLANS[name](library), library, table, names or ()), console)
    store = Store(results / "units")
    if retry:
        _discard_failures(store, units)
    limits = Limits(seconds=float("inf") if time_limit is None else time_limit)
    n_workers = workers or os.cpu_count() or 1
    seconds = sum(cost_model(library)(unit) for unit in units if not store.has(unit.key))
    console.print(
        f"{len(units)} units of work, about {_duration(seconds)} of one core"
        + (f", done by {n_workers} at a time." if scheduler is None else ".")
    )
    with (
        _pool(backend, scheduler, n_workers, folder, timeout) as pool,
        StudyProgress(console) as progress,
    ):
        try:
            tally = run_units(units, store, pool, limits, cost_model(library), progress.show)
        except KeyboardInterrupt:
            console.print(
                f"Stopped. Results are in {results}; run the same command again to continue."
            )
            raise typer.Exit(INTERRUPTED) from None
    console.print(_in_words(tally))
    if tally.skipped:
        console.print("Run the same command again to do the rest.")
    wanted = {unit.key for unit in units}
    write_table((r for r in store if r["key"] in wanted), results / "results.jsonl.gz")
    if report:
        _write_report(results / "results.jsonl.gz", results / "report", console)
    if tally.failed:
        raise typer.Exit(1)


@app.command("report")
@_reported
def report_command(
    table: Annotated[
        Path, typer.Argument(help="The results.jsonl.gz of a run, or the folder of a run.")
    ] = Path("study"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the report.")
    ] = None,
) -> None:
    """Write the tables and figures, compared with the paper's, as HTML and Markdown."""
    path = table / "results.jsonl.gz" if table.is_dir() else table
    _write_report(path, output or path.parent / "report", Console(stderr=True, highlight=False))


def _write_report(table: Path, output: Path, console: Console) -> None:
    from obliquebart.study.comparison import write_report

    page = write_report(table, output)
    console.print(f"Report: {page}")


def _installed(units: list[Unit], console: Console) -> list[Unit]:
    missing = {unit.method for unit in units if not METHODS[unit.method].is_installed}
    for method in sorted(missing):
        console.print(
            f"{method} is left out: {METHODS[method].needs} is not installed (pip install "
            '"obliquebart[study]").',
            markup=False,
        )
    return [unit for unit in units if unit.method not in missing]


def _discard_failures(store: Store, units: list[Unit]) -> None:
    for unit in units:
        if store.has(unit.key) and store.read(unit.key)["status"] != "done":
            store.discard(unit.key)


@contextmanager
def _pool(
    backend: str, scheduler: str | None, n_workers: int, folder: Path, timeout: float
) -> Iterator[Pool]:
    has_dask = find_spec("distributed") is not None
    if backend == "processes" or (backend == "auto" and not has_dask and scheduler is None):
        pool = ProcessPool(n_workers, folder, timeout)
        try:
            yield pool
        finally:
            pool.close()
        return
    if not has_dask:
        raise ImportError(
            'Dask is not installed: pip install "obliquebart[study]", or use --backend processes.'
        )
    from obliquebart.study.cluster import connected

    with connected(scheduler, n_workers, folder, timeout) as dask_pool:
        yield dask_pool


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _in_words(tally: Tally) -> str:
    parts = [f"{tally.done} units done", f"{tally.present} were there"]
    for number, what in (
        (tally.failed, "failed"),
        (tally.lost, "attempts lost because their worker died"),
        (tally.timeouts, "attempts took too long"),
        (tally.skipped, "left for later"),
    ):
        if number:
            parts.append(f"{number} {what}")
    return ", ".join(parts) + "."
