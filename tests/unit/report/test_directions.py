"""Pages of models of images and curves."""

from __future__ import annotations

import re

import numpy as np
import pytest

from obliquebart import ObliqueBARTRegressor
from obliquebart.directions import Patch, Sparse
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


def test_a_page_shows_where_rules_look_in_cubes(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 4, 3, 3))
    y = 3 * x[:, 2:4, 1, 1].mean(axis=1)
    found = titles(x, y, tmp_path / "page.html", directions=Patch((4, 3, 3), 1, 2))
    (where,) = [text for text in found if text.startswith("Where the rules look")]
    assert re.search(r"Most at slice [23], row 1, column 1\.", where)
    (strongest,) = [text for text in found if text.startswith("The strongest patches")]
    assert strongest.count(",") == 4  # four effects, and a comma in the caption


def test_a_page_shows_each_grid(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 15))
    directions = [
        Patch((2, 3), 1, 2, columns=range(1, 7)),
        Patch((2, 3), 1, 1, columns=range(1, 7)),
        Patch(8, 1, 2, columns=range(7, 15)),
        Sparse("rest"),
    ]
    path = tmp_path / "page.html"
    found = titles(x, 3 * x[:, 5] + 2 * x[:, 9], path, directions=directions)
    image, curve = [text for text in found if text.startswith("Where the rules")]
    assert image.startswith("Where the rules of columns x1 to x6 look")
    assert image.endswith("Most at row 1, column 1.")
    assert curve.startswith("Where the rules of columns x7 to x14 look")
    assert curve.endswith("Most at point 2.")
    patches = [text for text in found if text.startswith("The strongest patches")]
    assert [re.search(r"x\d+ to x\d+", text).group() for text in patches] == [
        "x1 to x6",
        "x7 to x14",
    ]
    ids = re.findall(r" id=\"([^\"]*)\"", path.read_text("utf-8"))
    assert len(set(ids)) == len(ids)
    assert "sets of columns are shown" not in path.read_text("utf-8")


def test_a_page_shows_the_first_of_many_grids(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 20))
    directions = [Patch(4, 1, 2, columns=range(j, j + 4)) for j in range(0, 20, 4)]
    path = tmp_path / "page.html"
    found = titles(x, x[:, 5], path, directions=directions)
    assert len([text for text in found if text.startswith("Where the rules of columns")]) == 3
    assert path.read_text("utf-8").count("The first 3 of 5 sets of columns are shown.") == 1


def test_pages_of_tables_do_not(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 4))
    assert not any("rules look" in text for text in titles(x, x[:, 0], tmp_path / "page.html"))


def test_a_page_of_the_prior_of_the_paper(tmp_path):
    # Its rules may have no column at all.
    x = np.random.default_rng(0).normal(size=(150, 6, 7))
    directions = [Patch((6, 7)), Sparse()]
    path = tmp_path / "page.html"
    found = titles(x, x[:, 2, 2], path, directions=directions, prior="paper")
    assert [text for text in found if text.startswith("The strongest patches")]


def test_a_page_shows_the_channels_of_images(tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 4, 5, 2))
    y = 3 * x[:, 1, 2, 0] - 3 * x[:, 1, 2, 1]
    found = titles(x, y, tmp_path / "page.html", directions=Patch((4, 5), channels=2))
    (strongest,) = [text for text in found if text.startswith("The strongest patches")]
    # A patch is a row of channels, so there are as few of them as in a cube.
    assert strongest.count(",") == 4
