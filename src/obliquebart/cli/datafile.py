"""Data files: CSV, read as pandas does by default, and Parquet, read by an installed library.

The `csv` module splits CSV into cells, so no data frame library is needed. `cells.py` infers the
types of columns. A fitted model decides the types of its own columns, so that later files are
read like the training file, whatever their values are.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import itertools
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TextIO

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from obliquebart.cli.cells import FileColumn, TextColumn, TypedColumn
from obliquebart.table import Encoding
from obliquebart.table.levels import LevelTable
from obliquebart.table.scaling import ColumnScale

__all__ = ["DataFile", "FileError", "frame_backend", "read_data"]

DELIMITERS = ",;\t|"
PARQUET = (".parquet", ".pq")
STDIN = "-"
Backend = Literal["polars", "pyarrow"]


class FileError(ValueError):
    """A data file cannot be used; the message names the file, the place and the remedy."""


class DataFile:
    """The columns of a data file by name.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
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
            raise FileError(f"{name} contains no data: it needs a header and at least one row.")

    def require(self, names: Sequence[str], what: str) -> None:
        """Raise an error if a column is missing from the file."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise FileError(
                f"{self.name} has no column {', '.join(map(repr, missing[:5]))}"
                f"{' …' if len(missing) > 5 else ''} ({what}).{self._hint(missing[0], what)} "
                f"Its columns are {_listed(list(self.columns))}."
            )

    def _hint(self, missing: str, what: str) -> str:
        if what[0] == "-" and all(part.strip() in self.columns for part in missing.split(",")):
            return f" Repeat {what} for each column."
        if any(name.strip() == missing.strip() for name in self.columns):
            return (
                " Spaces are part of a column name; use --delimiter ', ' if a space follows each "
                "comma."
            )
        near = _nearest(missing, list(self.columns))
        return f" Did you mean {near!r}?" if near else ""

    def require_numbers(self, name: str, what: str) -> None:
        """Raise an error that names the first cell of a column that is text."""
        for row, value in enumerate(self.columns[name].numbers().tolist()):
            if isinstance(value, str):
                raise FileError(
                    f"{what} {name!r} contains text ({value[:40]!r} in row {row}) instead of "
                    f"numbers: correct {self.name}."
                )

    def table(
        self, names: Sequence[str], rows: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return columns as a table for `fit`, with inferred types."""
        arrays = {name: self.columns[name].values() for name in names}
        return arrays if rows is None else {name: array[rows] for name, array in arrays.items()}

    def table_for(
        self, encoding: Encoding, rows: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return only the columns of a model, with the types they had in training."""
        self.require(encoding.names, "the model was fitted with it")
        arrays = {}
        known_as: dict[str, Any] = dict(zip(encoding.names, encoding.columns, strict=True))
        if encoding.left_out in self.columns:
            known_as[str(encoding.left_out)] = None
        for name, known in known_as.items():
            column = self.columns[name]
            if isinstance(known, LevelTable) and known.kind == "text":
                values = column.text(known.levels)
            elif _is_numeric(known):
                values = column.numbers()
            else:
                values = column.values()
            arrays[name] = values if rows is None else values[rows]
        return arrays

    def outcome(
        self, name: str, as_text: bool = False, what: str = "the target"
    ) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
        """Return the outcomes, and the rows that have one (None if all do).

        `what` is the role of the column, or the option that names it.
        """
        self.require([name], what)
        column = self.columns[name]
        values = column.text() if as_text else column.values()
        present = np.array([value is not None and value == value for value in values.tolist()])
        if not present.any():
            role = what.removeprefix("the ")
            raise FileError(f"All values of the {role} column {name!r} of {self.name} are missing.")
        rows = None if present.all() else np.flatnonzero(present)
        known = values if rows is None else values[rows]
        # Booleans with missing values are objects; without these they are booleans again.
        plain = np.array(known.tolist()) if known.dtype.kind == "O" else known
        return plain if plain.dtype.kind in "biuf" else known, rows


def read_data(path: str, delimiter: str | None = None, decimal: str = ".") -> DataFile:
    """Read a CSV file (also .gz, or "-" for standard input) or a Parquet file.

    Parquet is recognized by the file's name or its first bytes; everything else is read as CSV.
    By default, `delimiter` is the most frequent of comma, semicolon, tab and bar in the header. If
    it ends with a space, spaces after delimiters are ignored.
    """
    if path == STDIN:
        if isinstance(sys.stdin, io.TextIOWrapper):
            # Read it like a file, whatever the locale says.
            sys.stdin.reconfigure(encoding="utf-8", errors="strict", newline="")
        return _parse_csv("standard input", sys.stdin, delimiter, decimal)
    file = Path(path)
    if file.is_dir():
        raise FileError(f"{path} is a folder, not a CSV or Parquet file.")
    if not file.exists():
        raise FileError(f"No such file: {path}.")
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
    if file.suffix.lower() == ".gz":
        return io.TextIOWrapper(gzip.open(file), encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")


def _parse_csv(name: str, stream: TextIO, delimiter: str | None, decimal: str) -> DataFile:
    try:
        first, n_blank = _first_line(stream)
        mark = delimiter or _guess_delimiter(first)
        spaced = len(mark) == 2 and mark[1] == " "
        lines = itertools.chain([first], stream)
        reader = csv.reader(
            lines, delimiter=mark[0] if spaced else mark, skipinitialspace=spaced, strict=True
        )
        header = _names(name, next(reader, []))
        rows = _rows(name, reader, len(header), n_blank)
    except UnicodeDecodeError as error:
        if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise FileError(
                f"{name} is UTF-16 text: convert it, for example with iconv -f utf-16 -t utf-8."
            ) from error
        raise FileError(
            f"{name} is not UTF-8 text (byte {error.object[error.start]:#04x}): convert it, for "
            "example with iconv -f latin1 -t utf-8."
        ) from error
    except (csv.Error, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FileError(f"{name} is damaged or not a CSV file: {error}.") from error
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    columns = {
        column: TextColumn(values, decimal) for column, values in zip(header, cells, strict=True)
    }
    return DataFile(name, columns, len(rows))


def _first_line(stream: TextIO) -> tuple[str, int]:
    """Return the first line that is not blank, and the number of lines before it."""
    # The byte order mark that spreadsheets write is not part of the first name.
    line = stream.readline().removeprefix("\ufeff")
    n_blank = 0
    # Tabs may be delimiters.
    while line and not line.strip(" \r\n"):
        line = stream.readline()
        n_blank += 1
    return line, n_blank


def _rows(name: str, reader: Any, n_columns: int, n_blank: int) -> list[list[str]]:
    """Return the non-blank rows; each must have one value per column."""
    rows = []
    for row in reader:
        if len(row) == n_columns:
            rows.append(row)
        elif "".join(row).strip():
            raise FileError(
                f"{name}, line {n_blank + reader.line_num}: {len(row)} values, but the header "
                f"has {n_columns} columns. Quote values that contain the delimiter, or set it with "
                "--delimiter (', ' if a space follows each comma)."
            )
    return rows


def _guess_delimiter(header: str) -> str:
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    return max(counts, key=lambda mark: counts[mark])


def _names(name: str, header: list[str]) -> list[str]:
    """Return the names of the columns; unnamed columns are numbered, as in pandas."""
    if not any(header):
        raise FileError(f"{name} is empty: the first line must contain the column names.")
    if TextColumn(header, ".").values().dtype.kind in "iuf":
        raise FileError(
            f"{name} starts with numbers ({_listed(header)}): the first line must contain the "
            "column names."
        )
    names = [column or f"Unnamed: {j}" for j, column in enumerate(header)]
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise FileError(f"{name} has duplicate column names: {_listed(twice)}.")
    return names


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
        # Each library raises its own errors for files that are not Parquet.
        raise FileError(f"{file} is damaged or not a Parquet file: {error}") from error
    columns = {name: TypedColumn(frame.get_column(name)) for name in frame.columns}
    return DataFile(str(file), columns, len(frame))


def _is_numeric(known: ColumnScale | LevelTable | None) -> bool:
    """Return whether a column of a model must have numbers (or booleans)."""
    if isinstance(known, LevelTable):
        return known.kind == "number"
    return known is not None and not known.is_date


def _nearest(name: str, names: list[str]) -> str | None:
    """Return the name that is most like another one, if any is; capitals hardly matter."""
    by_lower = {known.lower(): known for known in names}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")
