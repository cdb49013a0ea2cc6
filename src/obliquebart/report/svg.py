"""A matplotlib figure as SVG inside a page."""

from __future__ import annotations

import html
import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure

from obliquebart.plots.style import styled

# On a 390-pixel phone screen, a figure of this width has 10-pixel text.
WIDTH = 4.8


def new_figure(height: float = 3.4, width: float = WIDTH) -> Figure:
    """Return a figure that pyplot does not keep track of."""
    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure, key: str, alt: str) -> str:
    """Return a figure as an `svg` element that scales with the page and has alternative text.

    `key` is a prefix of all ids, so that several figures can be on one page.
    """
    stream = io.StringIO()
    # A fixed salt makes the output reproducible.
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
