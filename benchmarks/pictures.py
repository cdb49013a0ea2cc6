"""The pictures of docs/performance.md, each from the rows of a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

PICTURES = Path(__file__).parent.parent / "docs" / "images"
# Lines that differ without colour.
STYLES = ("o-", "s--", "^:", "D-.")

Rows = list[dict[str, Any]]


def draw_sweeps(rows: Rows, libraries: dict[str, str]) -> None:
    labels = {"xlabel": "rows", "ylabel": "milliseconds per sweep of 200 trees"}
    with picture("sweep.svg", 3.4, **labels) as axes:
        for style, (name, label) in zip(STYLES, libraries.items(), strict=False):
            own = [row for row in rows if row["library"] == name]
            _line(axes, style, own, "best_ms", label)


def draw_rows(rows: Rows) -> None:
    with picture("rows.svg", 3, xlabel="rows", ylabel="ns per row and tree") as axes:
        _line(axes, STYLES[0], rows, "ns_per_row_tree", "as burned in")
        _line(axes, STYLES[1], rows, "same_trees_ns", "the same trees")
        axes.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")


def draw_small_n(rows: Rows) -> None:
    kinds = {"oblique": "oblique", "axis": "axis-aligned", "default": "oblique, default prior"}
    with picture("small_n.svg", 3, xlabel="rows", ylabel="µs per tree update") as axes:
        for style, (name, label) in zip(STYLES, kinds.items(), strict=False):
            _line(axes, style, rows, f"{name}_us", label)
        axes.set(xscale="linear", yscale="linear")
        axes.set_ylim(bottom=0)


def _line(axes: Any, style: str, rows: Rows, key: str, label: str) -> None:
    x, y = [row["n"] for row in rows], [row[key] for row in rows]
    axes.loglog(x, y, style, color="black", markerfacecolor="white", label=label)


@contextmanager
def picture(name: str, height: float, **labels: str) -> Iterator[Any]:
    figure, axes = plt.subplots(figsize=(5, height), layout="constrained")
    yield axes
    axes.set(**labels)
    axes.legend(frameon=False)
    PICTURES.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "obliquebart"}):
        figure.savefig(PICTURES / name, metadata={"Date": None})
    plt.close(figure)
