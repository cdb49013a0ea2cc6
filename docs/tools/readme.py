"""Write what in the README is measured: the table against peers, and the picture.

`readme.py` writes the table from benchmarks/results/sweep.json, `readme.py --picture` also draws
the picture with examples/oblique_or_axis.py. A test compares the README with the results.
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
SWEEP = ROOT / "benchmarks" / "results" / "sweep.json"
PICTURE = ROOT / "docs" / "images" / "rotated_axes.png"
MARKED = re.compile(r"(<!-- table: peers -->\n).*?(<!-- end -->)", re.S)


def table(result: dict[str, Any]) -> str:
    """Return milliseconds a sweep and ratios, one line a number of rows."""
    by_n: dict[int, dict[str, dict[str, Any]]] = {}
    for row in result["rows"]:
        by_n.setdefault(row["n"], {})[row["library"]] = row
    about = result["machine"]
    versions = about["versions"]
    lines = [
        "| rows | obliquebart (oblique, 1 thread) | "
        f"stochtree {versions['stochtree']} (1 thread) | "
        f"bartz {versions['bartz']} (CPU, all cores) |",
        "|---:|---:|---:|---:|",
    ]
    for n, row in sorted(by_n.items()):
        peers = [row["stochtree_bart"], row["bartz_bart"]]
        cells = [f"{_milliseconds(peer)} ({peer['ratio_best']:.0f} ×)" for peer in peers]
        cells.insert(0, _milliseconds(row["obliquebart_core"]))
        lines.append(f"| {n:,} | {' | '.join(cells)} |")
    where = f"One run on {about['cores']} cores of an {about['cpu']}, {about['date'][:10]}"
    if about["load_before"] > 0.5:
        where += f", on a busy machine (load {about['load_before']:.1f}): best of the repeats"
    lines += ["", f"{where}."]
    return "\n".join(lines) + "\n"


def _milliseconds(row: dict[str, Any]) -> str:
    return f"{float(format(row['best_ms'], '.2g')):g} ms"


def with_table(text: str, result: dict[str, Any]) -> str:
    """Return the README with its table replaced."""
    return MARKED.sub(lambda match: match[1] + table(result) + match[2], text)


def draw() -> None:
    """Run the example and keep its last figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    runpy.run_path(str(ROOT / "examples" / "oblique_or_axis.py"))
    plt.gcf().savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(), json.loads(SWEEP.read_text())))
    if "--picture" in sys.argv:
        draw()
