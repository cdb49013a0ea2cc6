"""Warnings point at the line that their reader can change."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from inspect import currentframe

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.estimators import OPTIONS
from obliquebart import ObliqueBARTRegressor
from obliquebart.exceptions import ConstantOutcomeWarning, warn_caller

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


def test_a_script_whose_name_begins_like_the_package(tmp_path):
    script = tmp_path / "obliquebart_experiment.py"
    script.write_text(
        "from obliquebart.exceptions import warn_caller\n\n\nwarn_caller('point at line 4')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:4: UserWarning: point at line 4" in done.stderr
