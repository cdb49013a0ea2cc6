"""Data files: CSV read by one set of rules wherever it is installed, Parquet by what is there.

The `csv` module splits CSV into cells. No data frame library is needed, and none decides what a
cell means: they differ in that. A column is numbers if every value that is not missing reads as
one, else text; the model decides for the columns that it knows, so that a later file with other
values is read as the first one was.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TextIO

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart.display.numbers import plain
from obliquebart.table import Encoding
from obliquebart.table.levels import LevelTable

__all__ = ["DataFile", "FileError", "frame_backend", "read_data"]

MISSING = frozenset(["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"])
DELIMITERS = ",;\t|"
PARQUET = (".parquet", ".pq")
STDIN = "-"
Backend = Literal["polars", "pyarrow"]


class FileError(ValueError):
    """A data file that cannot be used; the message names the file, the place and the remedy."""


class FileColumn(ABC):
    """A column of a file, before anybody has decided what it is."""

    @abstractmethod
    def values(self, as_text: bool = False) -> NDArray[Any]:
        """Return numbers with NaN for missing, or text with None for missing."""

    def describe(self) -> tuple[str, str]:
        """Return the type and a few words about the values."""
        values = self.values()
        if values.dtype.kind == "O":
            present = [value for value in values.tolist() if value is not None]
            levels = list(dict.fromkeys(map(str, present)))
            shown = ", ".join(levels[:4]) + (", …" if len(levels) > 4 else "")
            n_missing = len(values) - len(present)
            kind, words = "text", f"{len(levels)} different: {shown}"
        else:
            numbers = values.astype(np.float64)
            n_missing = int(np.isnan(numbers).sum())
            kind = "number"
            words = "no value"
            if n_missing < len(numbers):
                words = f"{plain(np.nanmin(numbers), 6)} to {plain(np.nanmax(numbers), 6)}"
                if len(numbers) > 2 and (np.diff(numbers) == 1.0).all():
                    words += ", one by one: a row number?"
        return kind, words + (f"; {n_missing} missing" if n_missing else "")


class TextColumn(FileColumn):
    """A column of a CSV file, as text."""

    def __init__(self, cells: Sequence[str], decimal: str) -> None:
        self._cells = cells
        self._decimal = decimal

    def values(self, as_text: bool = False) -> NDArray[Any]:
        if not as_text:
            numbers = self._numbers()
            if numbers is not None:
                return numbers
        return np.array([None if c in MISSING else c for c in self._cells], dtype=object)

    def _numbers(self) -> NDArray[np.float64] | None:
        nan, point = float("nan"), self._decimal != "."
        cells = (c.replace(self._decimal, ".") for c in self._cells) if point else self._cells
        try:
            values = [nan if cell in MISSING else float(cell) for cell in cells]
        except ValueError:
            return None
        # Python reads 1_000 as a number; a file that has it means something else.
        if any("_" in cell for cell in self._cells):
            return None
        return np.array(values, dtype=np.float64)


class TypedColumn(FileColumn):
    """A column of a Parquet file, which says itself what it is."""

    def __init__(self, series: nw.Series[Any]) -> None:
        self._series = series

    def values(self, as_text: bool = False) -> NDArray[Any]:
        dtype = self._series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            if as_text:
                return np.array(
                    [None if v is None else str(v) for v in self._series.to_list()], dtype=object
                )
            return self._series.cast(nw.Float64).to_numpy().astype(np.float64)
        return np.array(self._series.to_list(), dtype=object)


class DataFile:
    """The columns of a data file by name.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    columns : dict of str to FileColumn
        In the order of the file.
    n_rows : int
        At least one.
    """

    def __init__(self, name: str, columns: Mapping[str, FileColumn], n_rows: int) -> None:
        self.name = name
        self.columns = dict(columns)
        self.n_rows = n_rows
        if not self.columns or n_rows == 0:
            raise FileError(f"{name} holds no data: it has {n_rows} rows below its header.")

    def require(self, names: Sequence[str], what: str) -> None:
        """Raise an error if a column is not there."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            several = all(part.strip() in self.columns for part in missing[0].split(","))
            hint = f" Give {what} once for each column." if several and what[0] == "-" else ""
            raise FileError(
                f"{self.name} has no column {', '.join(map(repr, missing[:5]))}"
                f"{' …' if len(missing) > 5 else ''} ({what}).{hint} "
                f"Its columns are {_listed(list(self.columns))}."
            )

    def table(
        self, names: Sequence[str], rows: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return columns as a table for `fit`, their types inferred."""
        arrays = {name: self.columns[name].values() for name in names}
        return arrays if rows is None else {name: array[rows] for name, array in arrays.items()}

    def table_for(
        self, encoding: Encoding, rows: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of a model as it knows them; others are left out."""
        self.require(encoding.names, "the model was fitted with it")
        arrays = {}
        for name, known in zip(encoding.names, encoding.columns, strict=True):
            as_text = isinstance(known, LevelTable) and known.kind == "text"
            values = self.columns[name].values(as_text)
            arrays[name] = values if rows is None else values[rows]
        return arrays

    def outcome(
        self, name: str, as_text: bool = False
    ) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
        """Return the outcomes, and the rows that have one if not all do."""
        self.require([name], "the target")
        values = self.columns[name].values(as_text)
        present = np.array([value is not None and value == value for value in values.tolist()])
        if not present.any():
            raise FileError(f"{self.name} has no value at all in the target column {name!r}.")
        if present.all():
            return values, None
        rows = np.flatnonzero(present)
        return values[rows], rows


def read_data(path: str, delimiter: str | None = None, decimal: str = ".") -> DataFile:
    """Read a CSV file (also .gz, or "-" for standard input) or a Parquet file.

    Parquet is known by its name or its first bytes, everything else is CSV. Its `delimiter` is the
    most frequent of comma, semicolon, tab and bar in the header unless given.
    """
    if path == STDIN:
        return _parse_csv("standard input", sys.stdin, delimiter, decimal)
    file = Path(path)
    if file.is_dir():
        raise FileError(f"{path} is a folder; give a CSV or Parquet file.")
    if not file.exists():
        raise FileError(f"There is no file {path}.")
    if file.suffix.lower() in PARQUET or _starts_like_parquet(file):
        return _read_parquet(file)
    with _open_text(file) as stream:
        return _parse_csv(path, stream, delimiter, decimal)


def frame_backend() -> Backend | None:
    """Return the first installed library that reads and writes Parquet."""
    backends: tuple[Backend, ...] = ("polars", "pyarrow")
    return next((backend for backend in backends if find_spec(backend)), None)


def _starts_like_parquet(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"PAR1"


def _open_text(file: Path) -> TextIO:
    # A byte order mark, as spreadsheets write it, is no part of the first name.
    if file.suffix.lower() == ".gz":
        return io.TextIOWrapper(gzip.open(file), encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _parse_csv(name: str, stream: TextIO, delimiter: str | None, decimal: str) -> DataFile:
    try:
        first = stream.readline()
        mark = delimiter or _guess_delimiter(first)
        lines = itertools.chain([first], stream)
        reader = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True)
        header = [cell.strip() for cell in next(reader, [])]
        _check_header(name, header)
        rows = _rows(name, reader, len(header))
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name} is not UTF-8 text (byte {error.object[error.start]:#04x}): convert it, for "
            "example with iconv -f latin1 -t utf-8."
        ) from error
    except (csv.Error, gzip.BadGzipFile, EOFError) as error:
        raise FileError(f"{name} is damaged or no CSV file: {error}.") from error
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    columns = {
        column: TextColumn([cell.strip() for cell in values], decimal)
        for column, values in zip(header, cells, strict=True)
    }
    return DataFile(name, columns, len(rows))


def _rows(name: str, reader: Any, n_columns: int) -> list[list[str]]:
    """Return the rows that are not empty; each must have a value for every column."""
    rows = []
    for row in reader:
        if len(row) == n_columns:
            rows.append(row)
        elif row:
            raise FileError(
                f"{name}, line {reader.line_num}: {len(row)} values where the header names "
                f"{n_columns} columns. Quote values that hold the delimiter, or name it with "
                "--delimiter."
            )
    return rows


def _guess_delimiter(header: str) -> str:
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    return max(counts, key=lambda mark: counts[mark])


def _check_header(name: str, header: list[str]) -> None:
    if not any(header):
        raise FileError(f"{name} is empty: the first line must name the columns.")
    if "" in header:
        raise FileError(f"{name}: column {header.index('') + 1} has no name in the first line.")
    twice = [column for column, count in Counter(header).items() if count > 1]
    if twice:
        raise FileError(f"{name} names {_listed(twice)} more than once in its first line.")
    if TextColumn(header, ".").values().dtype.kind == "f":
        raise FileError(
            f"{name} starts with numbers ({_listed(header)}): the first line must name the columns."
        )


def _read_parquet(file: Path) -> DataFile:
    backend = frame_backend()
    if backend is None:
        raise FileError(
            f"Reading {file} needs pyarrow or polars: pip install pyarrow, or convert the file to "
            "CSV."
        )
    try:
        frame: nw.DataFrame[Any] = nw.read_parquet(str(file), backend=backend)
    except Exception as error:
        # Each library has errors of its own for a file that is none.
        raise FileError(f"{file} is damaged or no Parquet file: {error}") from error
    columns = {name: TypedColumn(frame.get_column(name)) for name in frame.columns}
    return DataFile(str(file), columns, len(frame))


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")
