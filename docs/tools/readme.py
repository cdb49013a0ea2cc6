"""Write what in the README is measured: the table of fits, and the picture.

`readme.py` writes the table from benchmarks/results, `readme.py --picture` also draws the picture
with examples/oblique_or_axis.py. A test compares the README with the results.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "tables.json"
PICTURE = ROOT / "docs" / "images" / "rotated_axes.png"
MARKED = re.compile(r"(<!-- table: fits -->\n).*?(<!-- end -->)", re.S)


def fits() -> str:
    """Return seconds and scores of whole fits, one line per table."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    lines = [f"| table | {' | '.join(libraries)} |", "|---|" + "---|" * len(libraries)]
    for name in dict.fromkeys(row["table"] for row in rows):
        own = {row["library"]: row for row in rows if row["table"] == name}
        first = own[libraries[0]]
        size = f"{first['rows']:,} × {first['columns']}"
        cells = [f"{own[library]['cpu_s']:.2g} s, {own[library]['score']:.3f}" for library in own]
        lines.append(f"| {name}, {size}, {first['score_is']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """Return the README with its table replaced."""
    return MARKED.sub(lambda match: match[1] + fits() + match[2], text)


def draw() -> None:
    """Run the example and keep its last figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    runpy.run_path(str(ROOT / "examples" / "oblique_or_axis.py"))
    plt.gcf().savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    README.write_text(filled(README.read_text("utf-8")), "utf-8")
    if "--picture" in sys.argv:
        draw()
