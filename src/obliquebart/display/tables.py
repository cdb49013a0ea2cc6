"""Tables of text, and their HTML."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

# Longer cells need a minimum width, or a phone wraps them after every word.
LONG_WORD = 12
# Makes tables in notebooks look as in the report, in the notebook's own colours. Notebooks align
# all cells right with more specific rules, hence `!important`.
NOTEBOOK_STYLE = """<style>
.obliquebart table { border-collapse: collapse; margin: 0.25em 0 0.75em; }
.obliquebart caption { text-align: left; font-weight: 600; white-space: nowrap; padding: 0.2em 0; }
.obliquebart th, .obliquebart td {
  text-align: left !important; padding: 0.2em 0.9em 0.2em 0; max-width: 45em;
}
.obliquebart tbody th { font-weight: 400; }
.obliquebart th.number, .obliquebart td.number {
  text-align: right !important; white-space: nowrap; font-variant-numeric: tabular-nums;
}
.obliquebart p { margin: 0.25em 0; max-width: 60em; }
</style>"""


class TextTable(NamedTuple):
    """A table whose cells are text."""

    title: str
    headings: list[str]
    rows: list[list[str]]


def is_numeric(text: str) -> bool:
    """Return whether a cell should be aligned right: a number, an interval, or empty."""
    return text in ("", "fixed") or set(text.replace(" to ", "")) <= set("0123456789.,+-±e%×–∞ ")


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its first column aligned left and the others right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if j == 0 else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def escape(text: str) -> str:
    """Escape text for HTML."""
    return html.escape(text)


def html_table(
    table: TextTable,
    heading: Callable[[str], str] = escape,
    row_heading: Callable[[str], str] = escape,
) -> str:
    """Return a `table` element with numbers aligned right.

    `heading` renders the title and the column headings as HTML, `row_heading` the first cell of
    each row.
    """
    classes = [_class_of(j, [row[j] for row in table.rows]) for j in range(len(table.headings))]
    head = "".join(
        f'<th scope="col"{cls}>{heading(text)}</th>'
        for cls, text in zip(classes, table.headings, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{classes[0]}>{row_heading(row[0])}</th>'
        + "".join(
            f"<td{cls}>{escape(cell)}</td>" for cls, cell in zip(classes[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f"<table><caption>{heading(table.title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def notebook_html(parts: Sequence[TextTable | str]) -> str:
    """Return tables and sentences as HTML for notebooks."""
    body = "".join(
        f"<p>{escape(part)}</p>" if isinstance(part, str) else html_table(part) for part in parts
    )
    return f'<div class="obliquebart">{NOTEBOOK_STYLE}{body}</div>'


class ShowsTables(ABC):
    """A result that prints as sentences and tables, and as HTML in notebooks."""

    @abstractmethod
    def _parts(self) -> Sequence[TextTable | str]:
        """Return the sentences and tables."""

    def __str__(self) -> str:
        return "\n\n".join(
            part
            if isinstance(part, str)
            else "\n".join([part.title, "", *aligned([part.headings, *part.rows])])
            for part in self._parts()
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return notebook_html(self._parts())


def _class_of(j: int, cells_of_column: list[str]) -> str:
    """Return the CSS class of a column: numbers, long text, or none."""
    if j > 0 and all(map(is_numeric, cells_of_column)):
        return ' class="number"'
    return ' class="words"' if max(map(len, cells_of_column), default=0) > LONG_WORD else ""
