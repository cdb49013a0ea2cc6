"""Arguments and options that several commands have."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Annotated

import typer

# Marks that are no part of a number.
DECIMAL_MARKS = set(string.punctuation) - set("+-_")


def check_decimal(value: str) -> str:
    """Refuse what cannot separate decimals."""
    if value not in DECIMAL_MARKS:
        raise typer.BadParameter(f"{value!r} is not a decimal mark: write . or , for example.")
    return value


def check_target(values: list[str] | None) -> list[str] | None:
    """Refuse several targets, of which only the last would be used."""
    if values and len(values) > 1:
        raise typer.BadParameter(
            f"{len(values)} targets ({', '.join(values)}), but a model has one. Name one of them; "
            "--drop NAME leaves a column out."
        )
    return values


def only(values: list[str] | None) -> str | None:
    """Return the one value of an option that was checked, if it has one."""
    return values[0] if values else None


Data = Annotated[
    str, typer.Argument(help="CSV (.csv, .csv.gz, or - for stdin) or Parquet file.", metavar="DATA")
]
ModelFile = Annotated[
    Path, typer.Argument(help="A model file saved by `fit`.", metavar="MODEL", exists=False)
]
# A list only in order to notice several of them.
FitTarget = Annotated[
    list[str],
    typer.Option(
        "--target", "-t", help="The column to predict.", metavar="<str>", callback=check_target
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        help="The column with the outcome.",
        metavar="<str>",
        show_default=False,
        callback=check_target,
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        help="The column that is 1 where the time is that of an event, 0 where it is censored.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="CSV delimiter; by default guessed from the header. Use ', ' for comma and space."
    ),
]
Decimal = Annotated[str, typer.Option(help="Decimal mark of the CSV file.", callback=check_decimal)]
AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors.")
]
NDraws = Annotated[
    str,
    typer.Option(
        help="Kept draws per chain; auto: until the chains agree, or about a minute of CPU time.",
        metavar="INTEGER|auto",
    ),
]
Soft = Annotated[
    bool | None,
    typer.Option(
        "--soft/--no-soft",
        help="Soft rules, for smooth functions; not for counts. By default short fits decide for "
        "numbers, and other outcomes have hard rules.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--n-jobs", "-j", help="Threads; -1 for all cores. Never changes results.")
]


def check_probability(value: float) -> float:
    """Refuse what is not a probability; percentages get a hint."""
    if 1.0 < value < 100.0:
        raise typer.BadParameter(f"{value:g} is not a probability: write {value / 100.0:g}.")
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1.")
    return value
