"""Do scales of trees pay on the paper's data sets?

Quarters of training rows (see quarters.py) are predicted by the default model and by one whose
trees have scales of their own, `tree_df=2`.

    python benchmarks/tree_scales.py --data FOLDER [--sets mpg servo] [--workers 2] [--seconds 600]
    python benchmarks/tree_scales.py --report

The first writes a line per fit to results/tree_scales.jsonl, the second writes the table of
docs/howto/sharp-signals.md.
"""

from __future__ import annotations

import math

import arrive
import numpy as np
import quarters

TABLE = arrive.TABLES.with_name("tree_scales.md")
QUESTION = quarters.Question(
    "regression",
    {"alike": {}, "scales": {"tree_df": 2.0}},
    arrive.RESULTS.with_name("tree_scales.jsonl"),
)
FORMS = {"error": ".4f", "log_density": ".3f", "coverage": ".3f", "rhat": ".3f", "seconds": ".0f"}
HEADS = {"error": "error", "log_density": "log density", "coverage": "90% holds"} | {
    "rhat": "R-hat of f",
    "seconds": "CPU s",
}


def write(by_set: dict[str, quarters.Fits]) -> None:
    """Write a table of means over quarters, and what they come to."""
    heads = ["set", "rows", *(f"{head}: alike | scales" for head in HEADS.values()), "fine"]
    rows = [f"| {' | '.join(heads)} |", "|---" * (2 + 2 * len(HEADS) + 1) + "|"]
    means = {name: quarters.means(fits, FORMS) for name, fits in by_set.items()}
    for name, fits in by_set.items():
        cells = quarters.cells(means[name], FORMS)
        fine = [sum(line["tier"] == "fine" for line in lines) for lines in fits.values()]
        rows.append(
            f"| {name} | {fits['alike'][0]['n']} | {' | '.join(cells)} "
            f"| {fine[0]} and {fine[1]} of {len(fits['alike'])} |"
        )
    TABLE.write_text("\n".join([*rows, "", _summary(means), ""]), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))


def _summary(means: dict[str, dict[str, dict[str, float]]]) -> str:
    ratio = [math.log(of["scales"]["error"] / of["alike"]["error"]) for of in means.values()]
    gain = [of["scales"]["log_density"] - of["alike"]["log_density"] for of in means.values()]
    return (
        f"With scales of trees the error is lower on {sum(r < 0 for r in ratio)} of {len(ratio)} "
        f"sets (the geometric mean of the quotients is {math.exp(np.mean(ratio)):.2f}), and the "
        f"log density is higher on {sum(g > 0 for g in gain)}, by {np.median(gain):.3f} in the "
        "median."
    )


if __name__ == "__main__":
    QUESTION.main(str(__doc__), write)
