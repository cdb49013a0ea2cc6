"""Are effects found on the columns of a real study, with outcomes that are generated?

The Infant Health and Development Program, as Hill (2011) made a benchmark of it: 985 children, of
whom the treated ones with nonwhite mothers are left out, so that the rest is no experiment. 25
columns, outcomes with noise of standard deviation 1, and two response surfaces:

- A: linear in both arms, with an effect of 4 for all. Coefficients 0, 1, 2, 3, 4 with probabilities
  0.5, 0.2, 0.15, 0.1, 0.05.
- B: exp((x + 0.5) b) without treatment and (x + 0.5) b - w with it, w such that the mean effect on
  the treated is 4. Coefficients 0, 0.1, 0.2, 0.3, 0.4 with probabilities 0.6, 0.1, 0.1, 0.1, 0.1.

The first six columns are standardised and the others are 0 or 1; there is a constant besides. PEHE,
the precision in estimation of heterogeneous effects, is the column "CATE rmse". A few draws of B
have effects a hundred times the noise, so the medians are printed as well.

The columns are in the package `econml`, of which nothing but the file is used
(requirements-data.txt).

    python benchmarks/causal_ihdp.py [--settings A B] [--methods M ...] [--replicates 0:200]
        [--length short] [--jobs 1 | --together N] [--limit-seconds T] [--cache FOLDER]
        [--report] [--save]
"""

from __future__ import annotations

from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import causal_study
import numpy as np
import pandas as pd
from causal_study import Line, Problem, Study
from table import print_table

NUMBERS = ["bw", "b.head", "preterm", "birth.o", "nnhealth", "momage"]
LEFT_OUT = ["treat", "site8", "momwhite", "momblack", "momhisp"]
FILE = Path("data", "ihdp", "sim.csv")


@cache
def columns() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns as Hill has them, and the treatments."""
    package = find_spec("econml")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("install econml --no-deps: benchmarks/requirements-data.txt")
    table = pd.read_csv(Path(package.submodule_search_locations[0]) / FILE)
    table = table[(table["treat"] == 0) | (table["momwhite"] == 1)].reset_index(drop=True)
    x = table.drop(columns=LEFT_OUT).astype(float)
    x[NUMBERS] = (x[NUMBERS] - x[NUMBERS].mean()) / x[NUMBERS].std(ddof=0)
    return x, table["treat"].to_numpy(float)


def _design(x: pd.DataFrame, shift: float) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x.to_numpy() + shift])


def surface_a(replicate: int) -> Problem:
    x, z = columns()
    rng = np.random.default_rng([replicate, 1])
    design = _design(x, 0.0)
    b = rng.choice(np.arange(5.0), size=design.shape[1], p=[0.5, 0.2, 0.15, 0.1, 0.05])
    effect = np.full(len(z), 4.0)
    return Problem(x, design @ b + effect * z + rng.normal(size=len(z)), z, effect)


def surface_b(replicate: int) -> Problem:
    x, z = columns()
    rng = np.random.default_rng([replicate, 2])
    design = _design(x, 0.5)
    b = rng.choice(np.arange(5) / 10, size=design.shape[1], p=[0.6, 0.1, 0.1, 0.1, 0.1])
    control, treated = np.exp(design @ b), design @ b
    treated += 4.0 - (treated - control)[z == 1].mean()
    effect = treated - control
    return Problem(x, control + effect * z + rng.normal(size=len(z)), z, effect)


STUDY = Study("causal_ihdp", {"A": partial(surface_a), "B": partial(surface_b)})


def print_medians(rows: list[Line], lines: dict[str, dict[str, list[Line]]]) -> None:
    """Print medians over replicates, which draws of B with huge effects do not rule."""
    print("\nmedians over replicates")
    print_table(
        [
            {
                "setting": row["setting"],
                "method": row["method"],
                "PEHE": f"{median(line['cate_rmse'] for line in of):.3f}",
                "error of ATE": f"{median(abs(line['ate'] - line['ate_true']) for line in of):.3f}",
                "CATE cover": f"{median(line['cate_cover'] for line in of):.3f}",
            }
            for row in rows
            if (of := lines[row["setting"]][row["method"]])
        ]
    )


def main() -> None:
    options, rows, lines = causal_study.main(STUDY, __doc__)
    print_medians(rows, causal_study.shared_lines(lines, options.methods))


if __name__ == "__main__":
    main()
