"""Write tables: CSV or Parquet."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.cli.datafile import PARQUET, FileError, frame_backend
from obliquebart.cli.screen import json_value
from obliquebart.files.container import write_file

NamedArrays = dict[str, NDArray[Any]]


def columns_to_json(columns: NamedArrays) -> dict[str, Any]:
    """Return columns as lists; what JSON lacks, such as dates, becomes text."""
    return {name: list(map(json_value, values.tolist())) for name, values in columns.items()}


def write_columns(columns: NamedArrays, path: Path | None) -> None:
    """Write a CSV or Parquet file, or CSV to standard output.

    An existing file is replaced only after the new one is complete.
    """
    if path is None:
        _write_csv(columns, sys.stdout)
        sys.stdout.flush()
        return
    if path.suffix.lower() in PARQUET:
        data = _parquet(columns, path)
    else:
        text = io.StringIO()
        _write_csv(columns, text)
        data = text.getvalue().encode()
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_bytes(data)
    else:
        write_file(path, data)


def _write_csv(columns: NamedArrays, stream: Any) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    # tolist: repr of a Python float is the shortest text that reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _parquet(columns: NamedArrays, path: Path) -> bytes:
    import narwhals.stable.v2 as nw

    backend = frame_backend()
    if backend is None:
        raise FileError(f"Writing {path} needs pyarrow or polars: pip install pyarrow.")
    data = {name: values.tolist() for name, values in columns.items()}
    stream = io.BytesIO()
    nw.from_dict(data, backend=backend).write_parquet(stream)
    return stream.getvalue()


def simulated_table(n_rows: int, seed: int) -> NamedArrays:
    """Simulate the table of the demo."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.uniform(20, 80, n_rows), rng.uniform(17, 33, n_rows)
    site = rng.choice(["north", "south", "east", "west"], n_rows)
    jump = (age - 50) / 30 + (bmi - 25) / 8 > 0
    # With less noise the demo takes many times as long, because chains agree later.
    y = 50 + 10 * jump + 4 * np.isin(site, ["north", "east"]) + 3 * rng.normal(size=n_rows)
    noise = rng.uniform(size=n_rows)
    return {"age": age.round(1), "bmi": bmi.round(1), "site": site, "noise": noise, "y": y.round(2)}
