"""The commands, each a short list of steps."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import obliquebart
from obliquebart.cli import causal, fit_task, results, rows_of, write_table
from obliquebart.cli.datafile import FileError, read_data
from obliquebart.cli.options import (
    AsJson,
    Data,
    Decimal,
    Delimiter,
    Event,
    FitTarget,
    Jobs,
    ModelFile,
    NDraws,
    Quiet,
    Soft,
    Target,
    check_probability,
    only,
)
from obliquebart.cli.screen import (
    INTERRUPTED,
    Screen,
    command,
    interrupted_after,
    interrupted_only_after,
)
from obliquebart.exceptions import ConvergenceWarning
from obliquebart.explain.overview import rows_seen
from obliquebart.model.parameters import DEFAULTS, RUN_LENGTHS
from obliquebart.study.cli import app as study

LENGTH = RUN_LENGTHS["regression"]
NOTHING_WRITTEN = "no draws were kept, so no model was saved."
N_BURN = f"{LENGTH.n_burn}, or {RUN_LENGTHS['classification'].n_burn} for classes"

app = typer.Typer(
    help="Oblique Bayesian additive regression trees: fit a model to a table, predict with "
    "uncertainty, see which columns matter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 invalid data or file, 2 invalid command line, "
    "130 interrupted. Set OBLIQUEBART_DEBUG=1 for a traceback.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"obliquebart {obliquebart.__version__}")
        raise typer.Exit


app.add_typer(study, name="study")


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


@app.command()
@command
def fit(
    data: Data,
    target: FitTarget,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file.", show_default="DATA.obart"),
    ] = None,
    outcome: Annotated[
        Literal["auto", "number", "class", "ordered", "count", "survival"],
        typer.Option(help="What the target is; auto: a class if it is text or has two values."),
    ] = "auto",
    exposure: Annotated[
        str | None,
        typer.Option(help="The column with the exposures of counts, such as years observed."),
    ] = None,
    event: Event = None,
    treatment: Annotated[
        str | None,
        typer.Option(help="The column with the treatment, whose effect is estimated."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(help="The treatment that others are compared with.", show_default="first"),
    ] = None,
    treatment_type: Annotated[
        Literal["auto", "arms", "dose"] | None,
        typer.Option(help="Whether treatments are arms, or numbers of more or less."),
    ] = None,
    propensity: Annotated[
        Literal["fitted", "cross_fitted", "none"] | None,
        typer.Option(
            help="How to estimate propensities; none for randomised experiments.",
            show_default="fitted",
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            "--categorical",
            "-c",
            help="A numeric column to use as categorical (text always is); may be repeated.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", "-d", help="A column to leave out; may be repeated."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="A column that identifies the rows; not used by the model."),
    ] = None,
    dates: Annotated[
        bool,
        typer.Option("--dates", help="Convert dates such as 2024-05-02 to numbers (days)."),
    ] = False,
    n_trees: Annotated[int, typer.Option(help="Number of trees.")] = DEFAULTS.n_trees,
    n_burn: Annotated[
        int | None, typer.Option(help=f"Sweeps before the first draw; {N_BURN}.")
    ] = None,
    n_draws: NDraws = str(LENGTH.n_draws),
    n_chains: Annotated[int, typer.Option(help="Independent chains.")] = LENGTH.n_chains,
    rules: Annotated[
        Literal["oblique", "axis"],
        typer.Option(help="axis: one column per rule, as in classical BART."),
    ] = DEFAULTS.rules,
    directions: Annotated[
        list[str] | None,
        typer.Option(
            help="Which columns rules combine: sparse, axis, signs, or neighbours in images and "
            "curves (patch:28x28, patch:120:smooth); repeat it for a mixture.",
            metavar="KIND",
            show_default="sparse",
        ),
    ] = None,
    soft: Soft = None,
    random_state: Annotated[
        int | None, typer.Option("--random-state", "--seed", help="Seed; makes runs repeatable.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other model parameter, as in --set p_change=0.2."),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Stop after this many seconds and keep the draws so far.", min=0.0),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the chains to this file while they run; continue from it if it exists."
        ),
    ] = None,
    n_jobs: Jobs = -1,
    device: Annotated[
        Literal["cpu", "cuda", "auto"],
        typer.Option(
            help="cuda: an NVIDIA card, with hard rules only; auto: one if it pays. For the same "
            "rules, results are the same."
        ),
    ] = "cpu",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit a model to a table and save it to a file."""
    screen = Screen(as_json, quiet)
    path = output or _default_output(data, ".obart")
    _require_folder(path)
    file = read_data(data, delimiter, decimal)
    choices = fit_task.ColumnChoices(
        categorical or [],
        drop or [],
        id_column,
        "auto" if dates else None,
        exposure,
        event,
        causal.TreatmentOptions(treatment, control, treatment_type, propensity),
    )
    problem = fit_task.read_task(file, target[0], outcome, choices)
    screen.show_words(problem.table_of_types())
    screen.say(problem.in_words())
    others = fit_task.parse_settings(settings or [])
    parameters = {
        "n_trees": n_trees,
        **({} if n_burn is None else {"n_burn": n_burn}),
        "n_draws": fit_task.parse_draws(n_draws),
        "n_chains": n_chains,
        "rules": rules,
        **problem.directions(directions or [], others.get("rules", rules)),
        **problem.softness(soft),
        "random_state": random_state,
        "n_jobs": n_jobs,
        "device": device,
        "progress": False if quiet else "auto",
    }
    model = problem.new_model(parameters | others)
    start = time.perf_counter()
    options = {"max_seconds": max_seconds, "checkpoint": checkpoint, **problem.fit_options}
    is_interrupted = _fit(model, problem, **options, target_name=problem.target)
    seconds = time.perf_counter() - start
    written = f"the model was saved to {path}, but its summary is not shown."
    with interrupted_only_after(written):
        # Threads and cards are properties of this machine, not of the model.
        model.set_params(n_jobs=None, device="cpu", progress="auto").save(path)
    with interrupted_after(written):
        size = path.stat().st_size / 1e6
        where = "" if model.device_ == "cpu" else f" on {model.device_}"
        screen.say(f"Fitted in {seconds:.1f} s{where}. Saved {path} ({size:.1f} MB).")
        judged = model.summary(problem.X)._for("command line")
        effects = causal.effects_of(model, problem.X) if causal.is_causal(model) else None
        if effects is not None:
            screen.show(*map(str, effects.averages.values()))
        screen.show(*results.summary_parts(judged))
        screen.finish(
            {
                "model": str(path),
                "seconds": round(seconds, 3),
                "device": model.device_,
                "soft": getattr(model, "soft_", False),
                "interrupted": is_interrupted,
                **problem.to_dict(),
                **({} if effects is None else effects.to_dict()),
                **judged.to_dict(),
            }
        )
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _fit(model: Any, problem: fit_task.FitTask, **options: Any) -> bool:
    """Fit, show the warnings, and return whether the user interrupted a usable fit."""
    interrupted = ""
    with warnings.catch_warnings():
        # The verdict is shown after the fit.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(problem.X, problem.y, **options)
        except KeyboardInterrupt as interrupt:
            if not model.__sklearn_is_fitted__():
                raise KeyboardInterrupt(NOTHING_WRITTEN) from None
            interrupted = str(interrupt)
    if interrupted:
        warnings.warn(interrupted, stacklevel=2)
    return bool(interrupted)


@app.command()
@command
def predict(
    model_file: ModelFile,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV or Parquet file.", show_default="CSV to standard output"
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option(
            help="Probability of the intervals (regression), between 0 and 1.",
            callback=check_probability,
        ),
    ] = 0.9,
    kind: Annotated[
        Literal["outcome", "mean"],
        typer.Option(help="Intervals for a new outcome, or for its mean (regression)."),
    ] = "outcome",
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="A column of DATA to copy in front of the predictions."),
    ] = None,
    n_jobs: Jobs = -1,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table, with intervals or class probabilities; or their effects."""
    screen = Screen(as_json, quiet)
    if output is not None:
        _require_folder(output)
    model = results.load_model(model_file, n_jobs)
    file = read_data(data, delimiter, decimal)
    if id_column is not None:
        file.require([id_column], "--id")
    predictions = results.predictions(model, rows_of.columns_of(model, file), interval, kind)
    if id_column is not None:
        predictions = results.with_id(file, id_column, predictions)
    if output is not None or not as_json:
        write_table.write_columns(predictions, output)
    if as_json:
        screen.finish(write_table.columns_to_json(predictions))
    if output is not None:
        screen.say(f"Saved {file.n_rows} predictions to {output}.")


@app.command()
@command
def summary(
    model_file: ModelFile,
    data: Annotated[
        str | None,
        typer.Argument(help="A table to compute importance and errors on.", metavar="[DATA]"),
    ] = None,
    target: Target = None,
    event: Event = None,
    rows: Annotated[int, typer.Option(help="Rows of DATA to check convergence of f at.")] = 10,
    top: Annotated[int, typer.Option(help="Columns and pairs to list.", min=1)] = 10,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also show which columns the rules of the trees use.")
    ] = False,
    n_jobs: Jobs = -1,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    as_json: AsJson = False,
) -> None:
    """Show which columns matter, how large the errors are, and whether the chains agree."""
    screen = Screen(as_json)
    model = results.load_model(model_file, n_jobs)
    if causal.is_causal(model):
        X = None
        if data is not None:
            X = rows_of.columns_of(model, read_data(data, delimiter, decimal))
        _summarise_effects(screen, model, X, rows, top, rules)
        return
    X = y = None
    if data is not None:
        file = read_data(data, delimiter, decimal)
        X, y = rows_of.rows_for(model, file, only(target), event, required=False)
        if y is None and model.target_name_ is not None:
            screen.say(f"No errors: {rows_of.what_is_missing(file, model, only(target))}")
    judged = model.summary(X, rows=rows)._for("command line")
    importance = results.importance(model, X)
    findings = results.findings(model, top)
    scores = None if y is None else results.scores(model, X, y)
    seen = None if y is None else rows_seen(model, X, y)
    screen.show(*results.model_parts(model), *results.importance_parts(importance, top))
    screen.show(*results.scores_parts(scores, seen), *results.summary_parts(judged))
    if rules:
        screen.show(*results.findings_parts(findings))
    screen.finish(
        {
            **results.model_to_dict(model),
            "importance": None if importance is None else importance.to_dict(),
            **judged.to_dict(),
            "rules": {label: finding.to_dict() for label, finding in findings.items()},
            "scores": scores,
            "rows_in_training": None if seen is None else seen.n_seen,
        }
    )


def _summarise_effects(
    screen: Screen, model: Any, X: Any, rows: int, top: int, rules: bool
) -> None:
    """Show the effects of a causal model."""
    judged = model.summary(X, rows=rows)._for("command line")
    effects = causal.effects_of(model, X)
    findings = results.findings(model, top)
    screen.show(*results.model_parts(model), *effects.parts(top), *results.summary_parts(judged))
    if rules:
        screen.show(*results.findings_parts(findings))
    screen.finish(
        {
            **results.model_to_dict(model),
            **effects.to_dict(),
            **judged.to_dict(),
            "rules": {label: finding.to_dict() for label, finding in findings.items()},
        }
    )


@app.command()
@command
def report(
    model_file: ModelFile,
    data: Data,
    target: Target = None,
    event: Event = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HTML file.", show_default="MODEL.html")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    n_jobs: Jobs = -1,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Save a self-contained HTML page with tables and plots of a model."""
    from obliquebart.report import write_report

    screen = Screen(as_json, quiet)
    path = output or (model_file if model_file.name else Path("model")).with_suffix(".html")
    _require_folder(path)
    model = results.load_model(model_file, n_jobs)
    file = read_data(data, delimiter, decimal)
    if causal.is_causal(model):
        X, y = rows_of.treated_rows(model, file), None
    else:
        X, y = rows_of.rows_for(model, file, only(target), event, required=True)
    write_report(model, X, y, path, title=title, source=Path(file.name).name)
    screen.say(f"Saved {path} ({path.stat().st_size / 1e6:.1f} MB).")
    screen.finish({"report": str(path), "bytes": path.stat().st_size})


@app.command()
@command
def demo(
    folder: Annotated[Path, typer.Argument(help="Output folder.")] = Path("obliquebart-demo"),
    n_burn: Annotated[int, typer.Option(help="Burn-in sweeps per chain.")] = LENGTH.n_burn,
    n_draws: NDraws = str(LENGTH.n_draws),
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Simulate a table, then fit, predict and report with the other commands."""
    screen = Screen(quiet=quiet)
    folder.mkdir(parents=True, exist_ok=True)
    train, test = folder / "train.csv", folder / "test.csv"
    for path, seed in ((train, 1), (test, 2)):
        write_table.write_columns(write_table.simulated_table(300, seed), path)
    model, page = folder / "model.obart", folder / "report.html"
    sizes = ["--n-burn", str(n_burn), "--n-draws", n_draws]
    jobs = [] if n_jobs == -1 else ["--n-jobs", str(n_jobs)]
    screen.say(
        "A simulated table: y jumps when age / 30 + bmi / 8 exceeds a threshold, which no rule on "
        "a single column can express. It also depends on the site. The noise column is irrelevant."
    )
    start = time.perf_counter()
    for words in (
        ["fit", str(train), "-t", "y", "-o", str(model), "--seed", "1", *sizes, *jobs],
        ["predict", str(model), str(test), "-o", str(folder / "predictions.csv")],
        ["summary", str(model), str(test)],
        ["report", str(model), str(test), "-o", str(page)],
    ):
        screen.say(f"\n$ obliquebart {' '.join(words)}")
        if quiet and words[0] != "summary":
            words.append("--quiet")
        code = app(words, standalone_mode=False)
        if code:
            raise typer.Exit(code)
    screen.say(f"\nThat took {time.perf_counter() - start:.0f} s. Open {page} in a browser.")


def _default_output(data: str, suffix: str) -> Path:
    name = "" if data == "-" else Path(data).name.lstrip(".").partition(".")[0]
    return Path(name or "model").with_suffix(suffix)


def _require_folder(path: Path) -> None:
    """Check before a long run that its result can be saved."""
    if path.is_dir():
        raise FileError(f"{path} is a folder; give the name of a file.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"Cannot save {path.name}: no folder {path.absolute().parent}.")
