"""The benchmark data sets: a folder of tables with checksums, and the paper's splits."""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.model.parameters import Task
from obliquebart.study.train_test import FloatArray, StudyTable, TrainTest

DATA_VARIABLE = "OBLIQUEBART_DATA"
INPUTS = ("correct", "paper")
# The authors' preparation maps to this interval, not to [-1, 1].
PAPER_LIMIT = 0.99


@dataclass(frozen=True)
class Dataset:
    """One data set."""

    name: str
    task: Task
    columns: StudyTable  # numbers in the units of the source
    y: FloatArray
    tests: tuple[NDArray[np.int64], ...]  # the test rows of each of the paper's splits
    scaled_jointly: bool  # whether the authors scaled all columns by one minimum and maximum
    record: dict[str, Any]  # the entry of datasets.json

    def problem(self, split: int, inputs: str = "correct") -> TrainTest:
        """Return the training and test part of a split, counted from 0.

        Inputs are "correct" (numbers in the units of the source, to be scaled column by column) or
        "paper" (as the authors gave them to their program).
        """
        if inputs not in INPUTS:
            raise ValueError(f"inputs={inputs!r} must be one of {INPUTS}.")
        test = np.zeros(len(self.y), bool)
        test[self.tests[split]] = True
        columns = self.columns if inputs == "correct" else self.as_in_paper()
        return TrainTest(
            task=self.task,
            train=columns.take(~test),
            test=columns.take(test),
            y_train=self.y[~test],
            y_test=self.y[test],
            joint_scaling=inputs == "paper",
        )

    def as_in_paper(self) -> StudyTable:
        """Return the columns as the authors scaled them."""
        numbers = self.columns.numbers
        axis = None if self.scaled_jointly else 0
        # Over all rows, test rows included, as the authors did.
        low, high = numbers.min(axis=axis), numbers.max(axis=axis)
        width = np.where(high > low, high - low, 1.0)
        scaled = PAPER_LIMIT * (2.0 * (numbers - low) / width - 1.0)
        return StudyTable(scaled, self.columns.codes, self.columns.n_levels)


class Library:
    """A folder with datasets.json, the tables and splits/, and perhaps datasets_extra.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        listed = self.folder / "datasets.json"
        if not listed.exists():
            raise FileNotFoundError(
                f"{listed} does not exist: name the folder of the data sets with --data or "
                f"{DATA_VARIABLE}, or fetch them with `obliquebart study fetch`."
            )
        records = json.loads(listed.read_text(encoding="utf-8"))
        extra = self.folder / "datasets_extra.json"
        if extra.exists():
            records += json.loads(extra.read_text(encoding="utf-8"))
        self.records: dict[str, dict[str, Any]] = {record["name"]: record for record in records}

    def names(self, task: str | None = None, *, extra: bool = False) -> list[str]:
        """Return the names of the paper's sets, of one task or of both."""
        return [
            name
            for name, record in self.records.items()
            if (task is None or record["task"] == task) and (extra or "paper" in record)
        ]

    def load(self, name: str) -> Dataset:
        """Read and check one data set."""
        if name not in self.records:
            raise KeyError(f"There is no data set {name!r} in {self.folder}.")
        record = self.records[name]
        path = self.folder / record["file"]
        packed = path.read_bytes()
        check_sum(path, packed, record["sha256"])
        columns, y = read_table(gzip.decompress(packed).decode("utf-8"), record)
        splits = gzip.decompress((self.folder / record["splits"]["file"]).read_bytes())
        tests = tuple(np.array(rows, np.int64) for rows in json.loads(splits)["test"])
        joint = record.get("rdata_scaling") == "joint"
        return Dataset(name, record["task"], columns, y, tests, joint, record)


@functools.lru_cache(maxsize=8)
def load_cached(folder: Path, name: str) -> Dataset:
    """Return a data set; the last few stay in memory for their other splits."""
    return Library(folder).load(name)


def find_folder(folder: Path | None) -> Path:
    """Return the folder given, or the one that the environment names."""
    if folder is not None:
        return folder.resolve()
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        raise FileNotFoundError(
            f"Where are the data sets? Give --data FOLDER or set {DATA_VARIABLE}; "
            "`obliquebart study fetch FOLDER` downloads them."
        )
    return Path(named).resolve()


def check_sum(path: Path, content: bytes, wanted: str) -> None:
    """Raise an error if the content is not what was recorded."""
    found = hashlib.sha256(content).hexdigest()
    if found != wanted:
        raise ValueError(
            f"{path} is not the expected file: its sha256 is {found[:12]}…, "
            f"expected {wanted[:12]}…. Fetch it again."
        )


def read_table(text: str, record: dict[str, Any]) -> tuple[StudyTable, FloatArray]:
    """Parse a csv file: continuous columns, categorical columns, target."""
    rows = list(csv.reader(io.StringIO(text)))
    header, body = rows[0], rows[1:]
    by_name = dict(zip(header, zip(*body, strict=True), strict=True))
    if len(body) != record["n"]:
        raise ValueError(f"{record['name']} has {len(body)} rows, expected {record['n']}.")
    n_rows = len(body)
    numbers = np.empty((n_rows, record["p_cont"]))
    for j, name in enumerate(record["continuous_columns"]):
        numbers[:, j] = np.array(by_name[name], dtype=np.float64)
    codes = np.empty((n_rows, record["p_cat"]), np.int64)
    n_levels = []
    for j, name in enumerate(record["categorical_columns"]):
        # In the order of the paper's codes where it is recorded, else by name.
        levels = record["categorical_levels"].get(name) or sorted(set(by_name[name]))
        number = {level: code for code, level in enumerate(levels)}
        codes[:, j] = [number[level] for level in by_name[name]]
        n_levels.append(len(levels))
    return StudyTable(numbers, codes, tuple(n_levels)), np.array(
        by_name["target"], dtype=np.float64
    )
