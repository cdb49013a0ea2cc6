"""Write docs/_generated/when.md: oblique against axis-aligned rules, from the study's results.

python docs/tools/when.py
"""

from __future__ import annotations

from pathlib import Path

from obliquebart.study.comparison.results import Results, Variant
from obliquebart.study.comparison.statistics import is_better
from obliquebart.study.comparison.tables import COPY, OURS, PAPER_PRIOR
from obliquebart.study.store import read_table

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "_generated" / "when.md"
# Oblique rules, axis-aligned rules of the same engine with the same prior.
PAIRS = (
    ("our defaults", OURS, Variant("BART-ours")),
    ("paper's prior", PAPER_PRIOR, Variant("BART")),
)


def text() -> str:
    """Return the page's part."""
    results = Results(read_table(DOCS / "study" / "results.jsonl.gz"))
    lines = [
        "| prior | task | sets | oblique better | neither | axis-aligned better |",
        "|---|---|---|---|---|---|",
    ]
    for label, oblique, axis in PAIRS:
        for task in ("regression", "classification"):
            lower = task == "regression"
            better: list[str] = []
            worse: list[str] = []
            names = [name for name in results.sets(task) if name != COPY]
            for name in names:
                one, other = results.pairs(name, oblique, axis)
                means = f"{name} ({one.mean():.3f}, axis {other.mean():.3f})"
                if is_better(one, other, lower_is_better=lower):
                    better.append(means)
                elif is_better(other, one, lower_is_better=lower):
                    worse.append(means)
            neither = len(names) - len(better) - len(worse)
            cells = [label, task, str(len(names)), _listed(better), str(neither), _listed(worse)]
            lines.append("| " + " | ".join(cells) + " |")
    lines.append(
        "\nSMSE or accuracy over the splits that both have (our defaults 5, the paper's prior 20); "
        "paired t-tests, one-sided at 5% each way, so that of 20 sets without any difference one "
        "or two would be listed by chance on either side."
    )
    return "\n".join(lines) + "\n"


def _listed(names: list[str]) -> str:
    return f"{len(names)}: {', '.join(names)}" if names else "0"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE)
