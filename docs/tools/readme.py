"""Write what in the README is measured: the tables of fits and of peers, and the picture.

`readme.py` writes the figures from benchmarks/results, `readme.py --picture` also draws the picture
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
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "images" / "rotated_axes.png"
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)
PEERS = {"stochtree_bart": "stochtree", "bartz_bart": "bartz"}
PEERS_ROWS = 10_000

Rows = list[dict[str, Any]]


def fits() -> str:
    """Return seconds and scores of whole fits, one line per table."""
    rows: Rows = _result("tables")["rows"]
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    lines = [f"| table | {' | '.join(libraries)} |", "|---|" + "---|" * len(libraries)]
    for name in dict.fromkeys(row["table"] for row in rows):
        own = {row["library"]: row for row in rows if row["table"] == name}
        first = own[libraries[0]]
        size = f"{first['rows']:,} × {first['columns']}"
        cells = [f"{own[library]['cpu_s']:.2g} s, {own[library]['score']:.3f}" for library in own]
        lines.append(f"| {name}, {size}, {first['score_is']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def peers() -> str:
    """Return the sentence that compares one update of all trees with other packages."""
    result = _result("sweep")
    versions = result["machine"]["versions"]
    row = {r["library"]: r for r in result["rows"] if r["n"] == PEERS_ROWS}
    others = [
        f"{name} {versions[name]} takes {row[key]['ratio_best']:.0f} times as long"
        for key, name in PEERS.items()
    ]
    ours = float(format(row["obliquebart_core"]["best_ms"], ".2g"))
    return f"{PEERS_ROWS:,} rows: {ours:g} ms; {', '.join(others)}.\n"


PARTS = {"fits": fits, "peers": peers}


def _result(question: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{question}.json").read_text())


def filled(text: str) -> str:
    """Return the README with its figures replaced."""
    return MARKED.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], text)


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
