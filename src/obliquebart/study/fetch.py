"""Fetch the authors' data files, check them, and save them in the layout that `Library` reads.

The files contain what the authors' programs used: continuous columns scaled (jointly in half of the
sets) and levels as numbers. The units of the source are lost, which changes nothing: scaling a
column by its own range or ranks undoes any linear map of it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.files.container import write_file
from obliquebart.study.datasets import Dataset, check_sum
from obliquebart.study.train_test import FloatArray

COMMIT = "fc4958c4bcb858c4642392360f24f97e2a600aa7"
SOURCE = (
    f"https://raw.githubusercontent.com/paulhnguyen/obliqueBART/{COMMIT}"
    "/examples/benchmark_datasets/"
)
TIMEOUT_SECONDS = 60
# Scaled values are compared after rounding: R and Python differ in the last bit of some.
DIGITS = 7


class _Content(NamedTuple):
    """A data file, decoded."""

    scaled: FloatArray
    codes: NDArray[np.int64]
    y: FloatArray
    tests: list[list[int]]


def packaged(name: str) -> Any:
    """Return a JSON file that comes with the package."""
    return json.loads((files("obliquebart.study") / "data" / name).read_text(encoding="utf-8"))


def fetch(
    folder: Path,
    source: str = SOURCE,
    names: Iterable[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Fetch all or some data sets into a folder that `Library` reads, and return their names.

    Existing ones are not fetched again. The source is the URL of the authors' folder, with a slash
    at its end; `tell` is called with a line for each set. A file that is not the expected one
    raises ValueError and is not saved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "datasets.json"
    records = {r["name"]: r for r in json.loads(listed.read_text())} if listed.exists() else {}
    catalogue = {entry["name"]: entry for entry in packaged("catalogue.json")}
    for name in catalogue if names is None else names:
        if name in records:
            tell(f"{name}: there")
            continue
        if name not in catalogue:
            raise ValueError(f"There is no data set {name!r}; there are {', '.join(catalogue)}.")
        entry = catalogue[name]
        packed = _download(source + entry["rdata_file"])
        content = _decode(packed)
        _check(entry, packed, content)
        records[name] = _keep(folder, entry, content)
        _write(listed, json.dumps(list(records.values()), indent=1).encode())
        tell(f"{name}: fetched, {len(packed) / 1e3:.0f} kB")
    _write(folder / "paper_results.json", json.dumps(packaged("paper_results.json")).encode())
    _add_echocardiogram(folder)
    return list(records)


def _download(address: str) -> bytes:
    if not address.startswith(("https://", "http://127.0.0.1")):
        raise ValueError(f"{address}: only https, or http on this machine, is allowed.")
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read()
    except urllib.error.URLError as error:
        raise OSError(f"{address} cannot be reached: {error.reason}.") from error
    return content


def _decode(packed: bytes) -> _Content:
    import rdata

    objects: dict[str, Any] = rdata.conversion.convert(rdata.parser.parse_data(packed))
    scaled = np.asarray(objects["X_cont"], np.float64)
    y = np.asarray(objects["Y"], np.float64)
    codes = np.asarray(objects["X_cat"], np.float64)
    if codes.shape[0] != len(y):
        # The authors write a single 0 where a set has no categories.
        codes = np.empty((len(y), 0))
    tests = [sorted(int(row) - 1 for row in rows) for rows in objects["test_split_list"]]
    return _Content(scaled, codes.astype(np.int64), y, tests)


def content_digest(content: _Content) -> str:
    """Return a hash of a decoded file that does not depend on last bits or numbers of levels."""
    digest = hashlib.sha256()
    rounded = np.round(content.scaled, DIGITS) + 0.0  # no negative zero
    digest.update(np.ascontiguousarray(rounded).tobytes())
    for column in content.codes.T:
        _, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        digest.update(np.argsort(np.argsort(first))[inverse].astype(np.int64).tobytes())
    digest.update(" ".join(f"{value:.9g}" for value in content.y).encode())
    digest.update(json.dumps(content.tests).encode())
    return digest.hexdigest()


def content_of(dataset: Dataset) -> _Content:
    """Return what the authors' file of a data set must contain."""
    tests = [sorted(rows.tolist()) for rows in dataset.tests]
    columns = dataset.as_in_paper()
    return _Content(columns.numbers, columns.codes, dataset.y, tests)


def _check(entry: dict[str, Any], packed: bytes, content: _Content) -> None:
    path = Path(entry["rdata_file"])
    if entry["rdata_sha256"] is not None:
        check_sum(path, packed, entry["rdata_sha256"])
    found = content_digest(content)
    if found != entry["content_sha256"]:
        raise ValueError(
            f"{path} does not contain the expected data of {entry['name']} (sha256 of its "
            f"content {found[:12]}…, expected {entry['content_sha256'][:12]}…)."
        )


def _keep(folder: Path, entry: dict[str, Any], content: _Content) -> dict[str, Any]:
    """Write a set as table and splits; return its record."""
    numbers = [f"x{j + 1}" for j in range(content.scaled.shape[1])]
    categories = [f"c{j + 1}" for j in range(content.codes.shape[1])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*numbers, *categories, "target"])
    for row in zip(
        content.scaled.tolist(), content.codes.tolist(), content.y.tolist(), strict=True
    ):
        writer.writerow([*row[0], *row[1], row[2]])
    table = gzip.compress(text.getvalue().encode(), mtime=0)
    file, splits = f"{entry['task']}/{entry['name']}.csv.gz", f"splits/{entry['name']}.json.gz"
    _write(folder / file, table)
    _write(folder / splits, gzip.compress(json.dumps({"test": content.tests}).encode(), mtime=0))
    levels = [sorted({int(code) for code in column}) for column in content.codes.T]
    return entry | {
        "file": file,
        "continuous_columns": numbers,
        "categorical_columns": categories,
        "categorical_levels": {
            name: [str(level) for level in found]
            for name, found in zip(categories, levels, strict=True)
        },
        "units": "scaled by the authors",
        "sha256": hashlib.sha256(table).hexdigest(),
        "splits": {"file": splits, "count": len(content.tests)},
    }


def _add_echocardiogram(folder: Path) -> None:
    """Add the set that the paper names but replaced by a copy of ilpd; it is in the package."""
    here = files("obliquebart.study") / "data"
    record = packaged("datasets_extra.json")[0]
    for name in (record["file"], record["splits"]["file"]):
        _write(folder / name, (here / Path(name).name).read_bytes())
    _write(folder / "datasets_extra.json", json.dumps([record], indent=1).encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
