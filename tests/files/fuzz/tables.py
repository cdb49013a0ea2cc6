"""Fuzz target: mutated CSV files, given to the commands that read them."""

from __future__ import annotations

import csv
import gzip
import io
import os
import traceback
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from obliquebart.cli import app
from obliquebart.cli.screen import DEBUG, MISTAKES

SHORT = ["--n-trees", "3", "--n-burn", "4", "--n-draws", "3", "--n-chains", "2", "--seed", "1"]
SHORT += ["--n-jobs", "1", "--quiet"]
N_ROWS = 14
NAMES = ("size", "rate", "street", "when", "sold", "n", "y")
CELLS = [
    *("", "NA", "nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "9" * 30, "9" * 5000),
    *("0", "-0.0", "1_000", "1,5", "1.5.2", "0x10", "١٢", "True", "FALSE", "yes", "2024-02-30"),
    *("2024-05-02", "0000-00-00", "9999-12-31T25:00", "12:30", "3 days", " ", "\t", "\n", "\r"),
    *('"', '""', "'", "\\", "\0", "\ufeff", "\ud7ff", "🜂", "é" * 300, "a" * 140_000, "y", "n,y"),
    *("=1+1", "{}", "[1]", "<b>", "%s", "1", "2", "3", "1e3", "1+2j", "١", "−1", "½", "#N/A"),
]
MARKS = (b'"', b"\0", b"\r", b"\n", b",", b"\xef\xbb\xbf")
# What scikit-learn checks for us, and Python's own reading of numbers and files.
CHECKS = ("check_", "_check_", "column_or_1d", "type_of_target")


def good_rows(rng: np.random.Generator) -> list[list[str]]:
    """Return a table with columns of all kinds, as text."""
    rows = [list(NAMES)]
    for i in range(N_ROWS):
        size, rate = rng.uniform(20, 200), rng.normal()
        street = ["north", "south", "east, far", 'the "old" one'][i % 4]
        day, sold = f"2024-05-{i + 1:02d}", str(i % 3 == 0)
        y = str(int(rng.integers(0, 5)) + i)
        rows.append([f"{size:.1f}", "" if i % 5 == 0 else f"{rate:.3f}", street, day, sold, "3", y])
    return rows


class TableTarget:
    """Fits, predicts and summarises from a strange CSV file."""

    name = "CSV"

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self._rng = rng
        self._folder = folder
        self._model = folder / "good.obart"
        good = folder / "good.csv"
        good.write_bytes(self._written(good_rows(np.random.default_rng(0)), ","))
        words = ["fit", str(good), "-t", "y", "-o", str(self._model), "--outcome", "number"]
        outcome = self._run([*words, *SHORT])
        if outcome != "harmless":
            raise AssertionError(f"a good table was {outcome}")

    # ---- inputs ----------------------------------------------------------------------------------

    def next_input(self) -> bytes:
        """Return the bytes of a file."""
        rng = self._rng
        rows = good_rows(rng)
        for _ in range(rng.integers(0, 4)):
            self._change_rows(rows)
        data = self._written(rows, str(rng.choice([",", ";", "\t", "|"])))
        if rng.random() < 0.3:
            data = self._change_bytes(data)
        return data

    def _change_rows(self, rows: list[list[str]]) -> None:
        rng = self._rng
        row = rows[rng.integers(len(rows))] if rows else []
        place = int(rng.integers(len(row))) if row else 0
        kind = rng.integers(12)
        if kind > 6 and row:
            row[place] = CELLS[rng.integers(len(CELLS))]
        elif kind < 3 and row:  # a whole column
            cell = CELLS[rng.integers(len(CELLS))]
            for other in rows[1 if rng.random() < 0.8 else 0 :]:
                other[place : place + 1] = [cell]
        elif kind == 3:
            del rows[rng.integers(len(rows) + 1) :]
        elif kind == 4 and row:
            del row[place]
        elif kind == 5:
            row.insert(place, CELLS[rng.integers(len(CELLS))])
        elif rows:
            rows.insert(int(rng.integers(len(rows))), list(row))

    @staticmethod
    def _written(rows: list[list[str]], delimiter: str) -> bytes:
        text = io.StringIO()
        # Python 3.10 refuses to write a NUL, which another character can stand for meanwhile.
        safe = [[cell.replace("\0", "\ue000") for cell in row] for row in rows]
        csv.writer(text, delimiter=delimiter).writerows(safe)
        return text.getvalue().replace("\ue000", "\0").encode()

    def _change_bytes(self, data: bytes) -> bytes:
        rng, changed = self._rng, bytearray(data)
        for _ in range(rng.integers(1, 6)):
            place = int(rng.integers(len(changed) + 1))
            kind = rng.integers(5)
            if kind == 0 and place < len(changed):
                changed[place] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                n_values = 128 if rng.random() < 0.8 else 256  # mostly text
                changed[place:place] = bytes(rng.integers(n_values, size=4).tolist())
            elif kind == 2:
                del changed[place : place + int(rng.integers(1, 30))]
            elif kind == 3:
                changed[place:place] = MARKS[rng.integers(len(MARKS))]
            else:
                del changed[place:]
        return bytes(changed)

    # ---- commands --------------------------------------------------------------------------------

    def attempt(self, data: bytes) -> str:
        """Say what became of an input, with a command and options chosen at random."""
        rng = self._rng
        is_packed = rng.random() < 0.15
        path = self._folder / ("data.csv.gz" if is_packed else "data.csv")
        packed = gzip.compress(data) if is_packed else data
        path.write_bytes(self._change_bytes(packed) if is_packed and rng.random() < 0.5 else packed)
        how = ["--decimal", ","] if rng.random() < 0.1 else []
        how += ["--delimiter", str(rng.choice([",", ";", ", "]))] if rng.random() < 0.1 else []
        kind = rng.random()
        if kind < 0.6:
            return self._run(["fit", str(path), *self._fit_options(), *SHORT, *how])
        if kind < 0.85:
            output = ["-o", str(self._folder / "predicted.csv")] if kind < 0.7 else []
            output += ["--id", "when"] if rng.random() < 0.2 else []
            return self._run(["predict", str(self._model), str(path), *output, *how])
        return self._run(["summary", str(self._model), str(path), "-t", "y", "--json", *how])

    def _fit_options(self) -> list[str]:
        rng = self._rng
        some = [str(name) for name in rng.permutation(NAMES)]
        target = "y" if rng.random() < 0.7 else some[0]
        options = ["-t", target, "-o", str(self._folder / "fitted.obart")]
        outcome = str(rng.choice(["auto", "number", "class", "ordered", "count", "survival"]))
        options += ["--outcome", outcome]
        if outcome == "survival":
            options += ["--event", "sold"]
        elif outcome == "count" and rng.random() < 0.5:
            options += ["--exposure", "n"]
        elif rng.random() < 0.2:
            options += ["--treatment", "sold"]
        for option, chance in (("--categorical", 0.3), ("--drop", 0.3), ("--id", 0.2)):
            options += [option, some.pop()] if rng.random() < chance else []
        return [*options, *(["--dates"] if rng.random() < 0.5 else [])]

    @staticmethod
    def _run(words: list[str]) -> str:
        os.environ[DEBUG] = "1"  # lets errors through
        try:
            result = CliRunner().invoke(app, words)
        finally:
            del os.environ[DEBUG]
        error = result.exception
        if error is None or result.exit_code == 0:
            return "harmless"
        if isinstance(error, SystemExit) and error.code == 2:
            return "refused"
        if isinstance(error, MISTAKES) and raised_by_a_check(error):
            return "refused"
        raise AssertionError(f"obliquebart {' '.join(words)}") from error


def raised_by_a_check(error: BaseException) -> bool:
    """Say whether this package, or a check of scikit-learn for it, has raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "obliquebart" in Path(last.filename).parts or last.name.startswith(CHECKS)
