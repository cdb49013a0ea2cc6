"""The parts of the page as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from obliquebart.display.tables import TextTable, escape, html_table
from obliquebart.report.headlines import Headline
from obliquebart.report.pictures import Picture
from obliquebart.report.words import explained


class Part(NamedTuple):
    """A section of the page."""

    key: str
    short: str
    """Title in the table of contents."""
    title: str
    body: str


def section(part: Part, level: int = 2) -> str:
    """Return a section with its heading, which is of this level."""
    return (
        f'<section aria-labelledby="{part.key}"><h{level} id="{part.key}">{escape(part.title)}'
        f"</h{level}>\n{part.body}</section>"
    )


def folded_section(part: Part) -> str:
    """Return a section that a reader opens at its heading."""
    return (
        f'<section aria-labelledby="{part.key}"><details class="part"><summary>'
        f'<h2 id="{part.key}">{escape(part.title)}</h2></summary>\n{part.body}</details></section>'
    )


def heading(text: str) -> str:
    """Return a heading inside a section that is folded with others."""
    return f"<h4>{escape(text)}</h4>"


def paragraph(text: str) -> str:
    """Return a paragraph with links to the glossary."""
    return f"<p>{explained(text)}</p>"


def box(headline: str, sentences: Sequence[str], *, good: bool) -> str:
    """Return a highlighted box of sentences."""
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    kind = "good" if good else "warn"
    return f'<div class="verdict {kind}"><p><strong>{escape(headline)}</strong></p>{lines}</div>'


def cards(shown: Sequence[Headline]) -> str:
    """Return numbers in large type."""
    entries = "".join(
        f"<div><dt>{escape(each.name)}</dt><dd><strong>{escape(each.value)}</strong> "
        f"{explained(each.note)}</dd></div>"
        for each in shown
    )
    return f'<dl class="cards">{entries}</dl>'


def gallery(drawn: Sequence[Picture], *, small: bool = False) -> str:
    """Return pictures side by side, as many as fit."""
    figures = "".join(
        f"<figure{' class=wide tabindex=0' if picture.wide else ''}>{picture.svg}"
        f"<figcaption>{explained(picture.caption)}</figcaption></figure>\n"
        for picture in drawn
    )
    return f'<div class="pictures{" small" if small else ""}">{figures}</div>'


def tables(shown: Sequence[TextTable], *, of_terms: bool = False, of: str = "") -> str:
    """Return tables, each in a frame that scrolls by itself.

    Rows `of_terms` begin with words of ours, which are explained, and not with names of the user's.
    Where there are several tables with one title, `of` tells a screen reader what they are of.
    """
    row_heading = explained if of_terms else escape
    frames = "".join(
        '<div class="scroll" role="region" tabindex="0" '
        f'aria-label="{escape(_named(table.title, of))}">'
        f"{html_table(table, explained, row_heading)}</div>\n"
        for table in shown
        if table.rows
    )
    return f'<div class="tables">{frames}</div>'


def _named(title: str, of: str) -> str:
    return f"{title} ({of})" if of else title


def folded(title: str, body: str) -> str:
    """Return content that the reader can expand; without a title it is always open."""
    if not title:
        return body
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def preformatted(text: str, name: str, *, of: str = "") -> str:
    """Return text whose lines stay as they are."""
    label = escape(_named(name, of))
    return f'<pre role="region" aria-label="{label}" tabindex="0">{escape(text)}</pre>'
