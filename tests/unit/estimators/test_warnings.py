"""Warnings point at the line that their reader can change."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from inspect import currentframe

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.estimators import OPTIONS
from obliquebart import ObliqueBARTRegressor, UnseenLevelWarning
from obliquebart.exceptions import ConstantOutcomeWarning, warn_caller
from obliquebart.report import report_html

X = np.random.default_rng(0).uniform(size=(40, 2))
CONSTANT = np.full(40, 2.0)
MODEL = ObliqueBARTRegressor(**OPTIONS, n_jobs=1)


def line():
    return currentframe().f_back.f_lineno


def lines_of(caught):
    assert {warning.category for warning in caught} == {ConstantOutcomeWarning}
    assert {warning.filename for warning in caught} == {__file__}
    return {warning.lineno for warning in caught}


def test_a_fit():
    here = line() + 2
    with pytest.warns(ConstantOutcomeWarning) as caught:
        MODEL.fit(X, CONSTANT)
    assert lines_of(caught) == {here}


def test_a_pipeline():
    here = line() + 2
    with pytest.warns(ConstantOutcomeWarning) as caught:
        make_pipeline(StandardScaler(), MODEL).fit(X, CONSTANT)
    assert lines_of(caught) == {here}


def test_a_cross_validation():
    here = line() + 2
    with pytest.warns(ConstantOutcomeWarning) as caught:
        cross_val_score(MODEL, X, CONSTANT, scoring="neg_mean_squared_error", cv=2)
    assert lines_of(caught) == {here}


def test_a_grid_search():
    search = GridSearchCV(MODEL, {"k": [1, 2]}, scoring="neg_mean_squared_error", cv=2)
    here = line() + 2
    with pytest.warns(ConstantOutcomeWarning) as caught:
        search.fit(X, CONSTANT)
    assert lines_of(caught) == {here}


def test_without_a_line_of_the_user_it_is_the_innermost_outside():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=warn_caller, args=("message",))
        thread.start()
        thread.join()
    assert caught[0].filename == threading.__file__


LOOP = """
import numpy as np, pandas as pd, warnings
from obliquebart import ObliqueBARTRegressor
X = pd.DataFrame({"a": np.arange(40.0), "b": ["u", "v"] * 20})
model = ObliqueBARTRegressor(n_trees=5, n_burn=5, n_draws=5, n_jobs=1)
y = np.full(40, 2.0)
for _ in range(3):
    model.fit(X, y)
    model.fit(X.to_numpy()[:, :1].astype(float), y)
"""


def warned_lines(tmp_path, code):
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return [
        int(text.split(":")[1])
        for text in done.stderr.splitlines()
        if text.startswith(str(script)) and "ConstantOutcomeWarning" in text
    ]


def test_a_line_shows_a_warning_once(tmp_path):
    assert warned_lines(tmp_path, LOOP) == [8, 9]


def test_other_filters_are_obeyed(tmp_path):
    always = LOOP.replace("for _", "warnings.simplefilter('always')\nfor _")
    assert warned_lines(tmp_path, always) == [9, 10] * 3
    ignore = LOOP.replace("for _", "warnings.simplefilter('ignore')\nfor _")
    assert warned_lines(tmp_path, ignore) == []


def test_a_report_warns_of_an_unseen_level_once():
    table = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 20})
    model = ObliqueBARTRegressor(**OPTIONS, n_jobs=1).fit(table, X[:, 1])
    other = table.assign(b=["new", "v"] * 20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        report_html(model, other, X[:, 1])
    assert [warning.category for warning in caught] == [UnseenLevelWarning]


def test_a_block_of_its_own_shows_it_again():
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(2):
                MODEL.fit(X, CONSTANT)
        assert len(caught) == 1


def test_a_notebook_shows_it_in_every_run_of_a_cell():
    cell = compile("warn_caller('message')", "cell.py", "exec")
    names = {"warn_caller": warn_caller, "__name__": "__main__"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            exec(cell, names)
            exec(cell, names)
            # As IPython does.
            del names["__warningregistry__"]
    assert len(caught) == 2


def test_a_script_whose_name_begins_like_the_package(tmp_path):
    script = tmp_path / "obliquebart_experiment.py"
    script.write_text(
        "from obliquebart.exceptions import warn_caller\n\n\nwarn_caller('point at line 4')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:4: UserWarning: point at line 4" in done.stderr
