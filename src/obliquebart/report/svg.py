"""A matplotlib figure as SVG inside a page."""

from __future__ import annotations

import html
import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure

from obliquebart.plots.style import styled

# On a phone of 390 pixels a figure of this width has letters of 10 pixels.
WIDTH = 4.8


def new_figure(height: float = 3.4, width: float = WIDTH) -> Figure:
    """Return a figure outside pyplot's memory."""
    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure, key: str, alt: str) -> str:
    """Return a drawn figure as an `svg` element that grows with the page and has a text instead.

    The key is put before every id, so that several pictures fit in one page; `alt` says what the
    picture shows.
    """
    stream = io.StringIO()
    # The salt makes the same figure the same text at every run.
    with styled(), mpl.rc_context({"svg.hashsalt": key, "svg.fonttype": "path"}):
        figure.savefig(stream, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{key}-", text)
    head, _, body = text.partition(">")
    view_box = re.search(r'viewBox="([^"]*)"', head)
    if view_box is None:
        raise RuntimeError("matplotlib wrote an SVG without a view box")
    return (
        f'<svg role="img" aria-labelledby="{key}-title" viewBox="{view_box.group(1)}">'
        f'<title id="{key}-title">{html.escape(alt)}</title>{body}'
    )
