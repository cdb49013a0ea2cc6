"""How to fix problems with columns and outcomes from the command line."""

from __future__ import annotations

import shlex

from obliquebart.exceptions import ClassOrderWarning, DoubtfulColumnWarning
from obliquebart.table.problems import LATER, REMEDIES, ColumnError
from obliquebart.validation import CountError, LabelError, OutcomeError

_LEAVE_OUT = "--drop NAME leaves the column out."
_CORRECT = "Correct the file: the column had another type in training."

_IN_FIT = {
    **REMEDIES,
    "dates": f"--dates converts dates to numbers (days since 1970-01-01); {_LEAVE_OUT}",
    "times": f"Write times of day as numbers, for example hours since midnight; {_LEAVE_OUT}",
    "durations": f"Write durations as numbers, for example total seconds; {_LEAVE_OUT}",
    "nested": _LEAVE_OUT,
    "bytes": _LEAVE_OUT,
    "complex": _LEAVE_OUT,
    "other": _LEAVE_OUT,
    "infinite": f"Write finite numbers, or leave the cell empty; {_LEAVE_OUT}",
    "too large": f"Write smaller numbers; {_LEAVE_OUT}",
    "text": f"--categorical NAME makes the column categorical; {_LEAVE_OUT}",
    "mixed": f"Write only text or only numbers; {_LEAVE_OUT}",
    "free text": "--drop NAME leaves the column out, and so does --id NAME, for a column that "
    "identifies the rows. --categorical NAME says that it is a category after all.",
    "not dates": f"Write dates as YYYY-MM-DD; {_LEAVE_OUT}",
}
_LATER = {
    **dict.fromkeys(
        [*LATER, "times", "durations", "nested", "complex", "changed", "mixed"], _CORRECT
    ),
    "infinite": "Write finite numbers, or leave the cell empty.",
    "too large": "Write smaller numbers.",
    "not dates": "Write dates as YYYY-MM-DD.",
}
_DOUBTFUL = (
    "--drop NAME leaves such a column out, and so does --id NAME, if it identifies the rows; "
    "--dates converts ISO dates to numbers; --categorical NAME says that it is a category."
)


_OTHER_DATES = (
    "These are not ISO dates: write them as YYYY-MM-DD first. --drop NAME leaves a column out, and "
    "so does --id NAME, if it identifies the rows; --categorical NAME says that it is a category "
    "after all."
)


_OUTCOMES: dict[type[OutcomeError], str] = {
    LabelError: "To predict numbers, write --outcome number; if they are classes, write them as "
    "words in the file.",
    CountError: "For other numbers, write --outcome number; if y is a rate, let --target name the "
    "column with the counts, and --exposure the one with what they are divided by.",
}


def error_in_words(error: ColumnError | OutcomeError) -> str:
    """Return the message of an error about columns or outcomes, with command-line remedies."""
    if isinstance(error, OutcomeError):
        return f"{error.fault} {_OUTCOMES[type(error)]}"
    return error.in_words(_IN_FIT, _LATER)


def order_in_words(warning: ClassOrderWarning) -> str:
    """Return the message of a warning about classes in alphabetical order."""
    facts = str(warning).partition(" If that is not their order")[0]
    return f"{facts} If that is not their order, write it: --set \"ordered=['lo', 'mid', 'hi']\"."


def doubts_in_words(warning: DoubtfulColumnWarning) -> str:
    """Return the message of a warning about columns that should perhaps not be used."""
    numbers = [
        f"Column {name!r} seems to number the rows: --drop {shlex.quote(name)} leaves it out, "
        f"--id {shlex.quote(name)} also lets predict write it."
        for name in warning.row_numbers
    ]
    remedy = _OTHER_DATES if warning.other_dates else _DOUBTFUL
    return " ".join([*numbers, *warning.doubts, *([remedy] if warning.doubts else [])])
