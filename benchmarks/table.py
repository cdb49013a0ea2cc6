"""Rows of figures as a table, on the terminal or in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def markdown(rows: Sequence[dict[str, Any]], columns: dict[str, str] | None = None) -> str:
    """`columns` maps keys of the rows to headings; by default all keys of all rows."""
    columns = columns or {key: key for row in rows for key in row}
    lines = [list(columns.values()), ["---"] * len(columns)]
    lines += [[show(row.get(key)) for key in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    columns = list({key: None for row in rows for key in row})
    cells = [columns] + [[show(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(line[j]) for line in cells) for j in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)
