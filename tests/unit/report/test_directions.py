"""Pages of models of images and curves."""

from __future__ import annotations

import re

import numpy as np
import pytest

from obliquebart import ObliqueBARTRegressor
from obliquebart.directions import Patch
from obliquebart.report import write_report

SHORT = {"n_trees": 10, "n_burn": 100, "n_draws": 20, "n_chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


def titles(x: np.ndarray, y: np.ndarray, path, **parameters) -> list[str]:
    """Return the alternative texts of the pictures."""
    model = ObliqueBARTRegressor(**SHORT, **parameters).fit(x, y)
    write_report(model, x, y, path)
    return re.findall(r"<title id=\"[^\"]*-title\">([^<]*)</title>", path.read_text("utf-8"))


def test_a_page_shows_where_rules_look_in_images(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 6, 7))
    y = 3 * x[:, 3:5, 1:3].mean(axis=(1, 2))
    found = titles(x, y, tmp_path / "page.html", directions=Patch((6, 7), 2, 2))
    (where,) = [text for text in found if text.startswith("Where the rules look")]
    assert re.search(r"Most at row [34], column [12]\.", where)
    assert [text for text in found if text.startswith("The strongest patches")]


def test_a_page_shows_where_rules_look_in_curves(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 9))
    found = titles(x, 3 * x[:, 4], tmp_path / "page.html", directions=Patch(9, 1, 2))
    assert any("Most at point 4." in text for text in found)


def test_pages_of_tables_do_not(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 4))
    assert not any("rules look" in text for text in titles(x, x[:, 0], tmp_path / "page.html"))
