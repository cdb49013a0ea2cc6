"""A small folder of data sets in the study's layout."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np

# Names of the paper's, so that reports find its numbers.
LIBRARY = {"servo": "regression", "fertility": "classification"}


def write_library(folder: Path) -> Path:
    """Write two data sets of 60 rows."""
    rng = np.random.default_rng(3)
    records = []
    for name, task in LIBRARY.items():
        x = rng.normal(size=(60, 2)) * [1.0, 0.01]
        levels = np.array(["b", "a", "c"])[rng.integers(0, 3, 60)]
        y = x[:, 0] + (levels == "a") + 0.1 * rng.normal(size=60)
        if task == "classification":
            y = (y > 0).astype(int)
        lines = ["u,v,c,target"]
        lines += [f"{a!r},{b!r},{c},{d!r}" for (a, b), c, d in zip(
            x.tolist(), levels, y.tolist(), strict=True)]  # fmt: skip
        table = gzip.compress("\n".join([*lines, ""]).encode(), mtime=0)
        tests = [sorted(rng.permutation(60)[:15].tolist()) for _ in range(20)]
        records.append(
            {
                "name": name,
                "task": task,
                "file": f"{task}/{name}.csv.gz",
                "n": 60,
                "p_cont": 2,
                "p_cat": 1,
                "continuous_columns": ["u", "v"],
                "categorical_columns": ["c"],
                "categorical_levels": {"c": ["b", "a", "c"]},
                "rdata_scaling": "joint" if task == "classification" else "per_column",
                "sha256": hashlib.sha256(table).hexdigest(),
                "paper": {},
                "splits": {"file": f"splits/{name}.json.gz"},
            }
        )
        for path, content in (
            (folder / records[-1]["file"], table),
            (folder / records[-1]["splits"]["file"],
             gzip.compress(json.dumps({"test": tests}).encode(), mtime=0)),
        ):  # fmt: skip
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (folder / "datasets.json").write_text(json.dumps(records))
    return folder
