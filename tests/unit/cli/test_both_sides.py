"""A model predicts the same from the command line and from pandas, whoever fitted it.

`tests/long/csv_agreement.py` does the same with real files.
"""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import obliquebart
from helpers.both_sides import Task, command, compare, fit_by_command, fit_by_pandas
from obliquebart import ObliqueBARTRegressor

N = 40
COLUMNS = {
    "booleans": ["True", "False", "False"],
    "booleans with gaps": ["TRUE", "", "FALSE", "NA"],
    "padded text": ["WD ", "WD", " New", "COD"],
    "missing numbers": ["1", "2.5", "n/a", "<NA>", "4"],
    "missing text": ["a", "b", "None", "#N/A"],
    "padded words for missing": ["1", " NA", "2"],
    "integers as text": ["1", "1.0", "x", "2"],
    "integers": ["1", "3", "2", "10"],
    "dates": ["2024-05-02", "2024-06-11", "2023-01-31"],
    "quoted": ['"a, b"', '"say ""no"""', '""'],
}


def write(path, target):
    """Write a file with all columns, whose target depends on some of them."""
    rng = np.random.default_rng(3)
    chosen = {name: rng.integers(len(cells), size=N) for name, cells in COLUMNS.items()}
    header = ",".join(f'"{name}"' for name in [*COLUMNS, "y"])
    lines = [
        ",".join([*(COLUMNS[name][chosen[name][i]] for name in COLUMNS), target(chosen, i)])
        for i in range(N)
    ]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


TARGETS = {
    "regression": lambda chosen, i: str(3 * chosen["booleans"][i] + chosen["padded text"][i]),
    "classification": lambda chosen, i: ["True", "False"][chosen["padded text"][i] % 2],
}


@pytest.mark.parametrize("kind", TARGETS)
def test_both_sides_agree(kind, tmp_path):
    path = write(tmp_path / "d.csv", TARGETS[kind])
    task = Task(path, pd.read_csv(path), "y", kind)
    assert compare(task, tmp_path) == ""


def test_a_column_that_looks_different_later(tmp_path):
    """Text that happens to be boolean in the next file, and booleans that are written otherwise."""
    path = tmp_path / "d.csv"
    cells = [("True", "True"), ("maybe", "False"), ("False", "True"), ("maybe", "False")] * 10
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{i % 7}\n" for i, (a, b) in enumerate(cells)))
    task = Task(path, pd.read_csv(path), "y", "regression")
    fit_by_command(task, tmp_path / "c.obart")
    fit_by_pandas(task, tmp_path / "p.obart")
    new = tmp_path / "new.csv"
    new.write_text("a,b\nTrue,TRUE\nFalse,false\n")
    as_numbers = pd.DataFrame({"a": ["True", "False"], "b": [1, 0]})
    for name in ("c", "p"):
        command("predict", tmp_path / f"{name}.obart", new, "-o", tmp_path / "out.csv", "-q")
        out = pd.read_csv(tmp_path / "out.csv", dtype=str)  # pandas 2 reads some numbers inexactly
        expected = out["prediction"].to_numpy(float)
        model = obliquebart.load(tmp_path / f"{name}.obart")
        for frame in (pd.read_csv(new), pl.read_csv(new), pd.read_csv(new, dtype=str), as_numbers):
            np.testing.assert_array_equal(model.predict(frame), expected)


def test_booleans_are_one_thing():
    """In every library, as objects, as words and as numbers."""
    flags = [True, False, None, True, False] * 4
    words = ["TRUE" if flag else None if flag is None else "FALSE" for flag in flags]
    columns = [
        pd.Series(flags, dtype=object),
        pd.Series(flags, dtype="boolean"),
        pd.Series(words, dtype=object),
        pd.Series(words, dtype="string"),
        pd.Series([1.0 if flag else np.nan if flag is None else 0.0 for flag in flags]),
        pl.Series(flags),
        pl.Series(words),
    ]
    y = np.arange(20.0)
    sizes = {"n_trees": 5, "n_burn": 5, "n_draws": 5, "n_chains": 1, "progress": False}
    for categorical in ("auto", ["a"]):
        model = ObliqueBARTRegressor(**sizes, categorical_features=categorical, random_state=1)
        predictions = []
        for column in columns:
            frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
            model.fit(frame({"a": column}), y)
            kinds = ["continuous"] if categorical == "auto" else ["categorical"]
            assert model.posterior_.encoding.kinds == kinds
            predictions += [
                model.predict(
                    (pl.DataFrame if isinstance(c, pl.Series) else pd.DataFrame)({"a": c})
                )
                for c in columns
            ]
        for prediction in predictions:
            np.testing.assert_array_equal(prediction, predictions[0])


def test_padded_text_is_kept(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(
        "kind,y\n" + "".join(f"{['WD ', 'WD'][i % 2]},{i % 2}{i % 3}\n" for i in range(30))
    )
    task = Task(path, pd.read_csv(path), "y", "regression")
    fit_by_command(task, tmp_path / "m.obart")
    levels = obliquebart.load(tmp_path / "m.obart").posterior_.encoding.levels
    assert levels == {"kind": ["WD", "WD "]}
    assert set(pd.read_csv(io.StringIO(path.read_text()))["kind"]) == {"WD", "WD "}
