"""Do labels with several votes pay on the paper's data sets?

Quarters of training rows (see quarters.py) of the sets with labels are predicted by the default
model and by models whose labels count four and sixteen times.

    python benchmarks/votes.py --data FOLDER [--sets ionosphere] [--parts 0 1] [--workers 2]
    python benchmarks/votes.py --report

The first writes a line per fit to results/votes.jsonl, the second writes the table of
docs/howto/certain-labels.md.
"""

from __future__ import annotations

import arrive
import numpy as np
import quarters

TABLE = arrive.TABLES.with_name("votes.md")
QUESTION = quarters.Question(
    "classification",
    {"1": {}, "4": {"votes": 4}, "16": {"votes": 16}},
    arrive.RESULTS.with_name("votes.jsonl"),
)
FORMS = {"log_density": ".3f", "error": ".3f", "rhat": ".3f", "seconds": ".0f"}
HEADS = ("log density", "wrong labels", "R-hat of f", "CPU s")


def write(by_set: dict[str, quarters.Fits]) -> None:
    """Write a table of means over quarters, fewest wrong labels first."""
    votes = list(QUESTION.fits)
    heads = ["set", "rows", *(f"{head}: {' | '.join(votes)}" for head in HEADS)]
    rows = [f"| {' | '.join(heads)} |", "|---" * (2 + len(HEADS) * len(votes)) + "|"]
    means = {name: quarters.means(fits, FORMS) for name, fits in by_set.items()}
    for name in sorted(means, key=lambda name: means[name]["1"]["error"]):
        cells = quarters.cells(means[name], FORMS)
        rows.append(f"| {name} | {by_set[name]['1'][0]['n']} | {' | '.join(cells)} |")
    words = [_summary(means, each) for each in votes[1:]]
    TABLE.write_text("\n".join([*rows, "", *words, ""]), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))


def _summary(means: dict[str, dict[str, dict[str, float]]], votes: str) -> str:
    gains = [of[votes]["log_density"] - of["1"]["log_density"] for of in means.values()]
    return (
        f"- With {votes} votes the log density is higher on {sum(g > 0 for g in gains)} of "
        f"{len(gains)} sets, by {np.mean(gains):.3f} on average."
    )


if __name__ == "__main__":
    QUESTION.main(str(__doc__), write)
