"""What a new user does, timed: the README's lines, then `obliquebart demo`.

Run by the interpreter of an environment with the wheel and pandas, in an empty folder:

    python first_minutes.py README.md
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from wheel_targets import timed


def example(readme: Path) -> str:
    """Give the README's block of Python."""
    blocks = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = blocks
    return str(block)


def write_tables() -> None:
    """Write the tables that the example reads."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    table["shop"] = rng.choice(["north", "south"], 300)
    table.loc[::17, "a"] = np.nan
    table.iloc[200:].to_csv("new.csv", index=False)
    table["y"] = np.where(table["a"].fillna(0) + table["b"] > 0, 2.0, -1.0) + rng.normal(size=300)
    table.iloc[:200].to_csv("train.csv", index=False)


def main() -> None:
    """Time both, with their imports; what they print goes to a file."""
    write_tables()
    with Path("said.txt").open("w") as said:
        with timed("README's lines"), contextlib.redirect_stdout(said):
            exec(compile(example(Path(sys.argv[1])), "README.md", "exec"), {})
        with timed("obliquebart demo"), contextlib.redirect_stdout(said):
            from obliquebart.cli import app

            failed = app(["demo"], standalone_mode=False)
    if failed or not Path("obliquebart-demo", "report.html").stat().st_size:
        sys.exit("obliquebart demo failed")


if __name__ == "__main__":
    main()
