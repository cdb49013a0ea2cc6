"""What a report is made of: tables, figures and paragraphs, written as Markdown or HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """One of our numbers, with the paper's if there is one."""

    text: str
    bold: bool = False
    paper: str = ""

    def markdown(self) -> str:
        """Return the cell for a Markdown table."""
        text = self.text.replace("*", r"\*")
        text = f"**{text}**" if self.bold else text
        return f"{text} ({self.paper})" if self.paper else text

    def html(self) -> str:
        """Return the cell for an HTML table."""
        text = html.escape(self.text)
        text = f"<b>{text}</b>" if self.bold else text
        paper = f"<small>{html.escape(self.paper)}</small>" if self.paper else ""
        return f"<td>{text}{paper}</td>"


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the row."""

    heading: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: str = ""
    # Rows at the end that summarise the others.
    n_summary: int = 0


@dataclass(frozen=True)
class Figure:
    """A picture, as a file beside the report."""

    file: str
    caption: str


Part = Table | Figure | str


@dataclass
class Section:
    """A heading and what is below it."""

    title: str
    parts: list[Part] = field(default_factory=list)


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {title}"]
    for section in sections:
        blocks.append(f"## {section.title}")
        blocks.extend(_part_markdown(part) for part in section.parts)
    return "\n\n".join(blocks) + "\n"


def _part_markdown(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Figure):
        return f"![{part.caption}]({part.file})\n\n*{part.caption}*"
    lines = [
        "| " + " | ".join(part.heading) + " |",
        "|" + "---|" + "---:|" * (len(part.heading) - 1),
    ]
    for row in part.rows:
        cells = [cell if isinstance(cell, str) else cell.markdown() for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    table = "\n".join(lines)
    return f"{table}\n\n{part.notes}" if part.notes else table


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8886; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }}
.wide {{ overflow-x: auto; }}
th, td {{ padding: .2rem .6rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); }}
th:first-child, td:first-child {{ text-align: left; }}
tr.summary td {{ border-top: 1px solid; font-weight: 500; }}
small {{ display: block; opacity: .7; white-space: nowrap; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; background: #fff; }}
figcaption, .notes {{ font-size: .9rem; opacity: .85; max-width: 48rem; }}
p {{ max-width: 48rem; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def to_html(title: str, sections: Sequence[Section]) -> str:
    """Return the report as one page; pictures stay files beside it."""
    blocks = []
    for section in sections:
        blocks.append(f"<h2>{html.escape(section.title)}</h2>")
        blocks.extend(_part_html(part) for part in section.parts)
    return _PAGE.format(title=html.escape(title), body="\n".join(blocks))


def _part_html(part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{_inline(part)}</p>"
    if isinstance(part, Figure):
        caption = html.escape(part.caption)
        picture = f'<img src="{html.escape(part.file)}" alt="{caption}">'
        return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
    head = "".join(f"<th>{html.escape(text)}</th>" for text in part.heading)
    rows = []
    for number, row in enumerate(part.rows):
        cells = "".join(
            f"<td>{_inline(cell)}</td>" if isinstance(cell, str) else cell.html() for cell in row
        )
        summary = number >= len(part.rows) - part.n_summary
        rows.append(f'<tr class="summary">{cells}</tr>' if summary else f"<tr>{cells}</tr>")
    notes = f'<p class="notes">{_inline(part.notes)}</p>' if part.notes else ""
    body = "\n".join(rows)
    return (
        '<div class="wide" role="region" tabindex="0" aria-label="table">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>{notes}"
    )


def _inline(text: str) -> str:
    """Return HTML of the little Markdown that the report uses: `code`, *italic*, **bold**."""
    escaped = html.escape(text).replace(r"\*", "&#42;")
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    escaped = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", escaped)
    return re.sub(r"\*([^*]+)\*", r"<i>\1</i>", escaped)
