"""Draws from arrays: each check alone, with its own message."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from obliquebart import _core

Arrays = dict[str, np.ndarray]
# Two trees: a rule on two columns above one on a category of three levels; and a single leaf.
TREES = {
    "structure_of": [[0, 1], [0, 1]],
    "node_begin": [0, 5, 6],
    "node_kind": [1, 2, 0, 0, 0, 0],
    "cut": [0.5],
    "width": [],
    "phi_count": [2],
    "phi_column": [0, 1],
    "phi_value": [0.6, 0.8],
    "cat_column": [0],
    "level_words": [0b011],
    "outputs": [1, 2, 3, 4, 5, 6, 7, 8],
}


def arrays() -> Arrays:
    return {name: np.array(TREES[name], dtype) for name, dtype in _core.DRAW_FORMAT.items()}


def read(given: Arrays) -> _core.Draws:
    return _core.Draws.from_arrays(given, 2, [3, 32])


def put(name: str, place: int, value: float) -> Callable[[Arrays], None]:
    return lambda given: given[name].reshape(-1).__setitem__(place, value)


def cut(name: str, n: int = 1) -> Callable[[Arrays], None]:
    return lambda given: given.update({name: given[name][: len(given[name]) - n]})


def longer(name: str, *values: float) -> Callable[[Arrays], None]:
    return lambda given: given.update(
        {name: np.append(given[name], values).astype(given[name].dtype)}
    )


def several(*changes: Callable[[Arrays], None]) -> Callable[[Arrays], None]:
    return lambda given: [change(given) for change in changes] and None


BROKEN = {
    "beginning": (put("node_begin", 0, 1), "node_begin must start at 0"),
    "end": (longer("node_kind", 0), "node_begin must end at the number of nodes"),
    "an empty structure": (put("node_begin", 1, 0), "node_begin must increase"),
    "backwards": (put("node_begin", 1, 7), "node_begin must increase"),
    "cuts": (longer("cut", 1.0), "cut and phi_count must have the same length"),
    "widths": (longer("width", 0.5, 0.5), "width must be empty or as long as cut"),
    "a width of zero": (longer("width", 0.0), "a width is not valid"),
    "a width that is no number": (longer("width", np.nan), "a width is not valid"),
    "an infinite width": (longer("width", np.inf), "a width is not valid"),
    "columns": (longer("phi_value", 1.0), "phi_column and phi_value must have the same length"),
    "half a tree": (
        several(cut("node_kind"), put("node_begin", 1, 4), put("node_begin", 2, 5)),
        "a structure is not a whole tree",
    ),
    "more than a tree": (put("node_kind", 1, 0), "nodes after its last leaf"),
    "kind": (put("node_kind", 0, 3), "unknown node_kind"),
    "too few cuts": (several(cut("cut"), cut("phi_count")), "cut is too short"),
    "infinite cut": (put("cut", 0, np.inf), "a cut is not finite"),
    "more columns than there are": (
        several(put("phi_count", 0, 3), longer("phi_column", 2), longer("phi_value", 1.0)),
        "phi_count is too large",
    ),
    "more columns than given": (
        several(cut("phi_column"), cut("phi_value")),
        "phi_count is too large",
    ),
    "column": (put("phi_column", 1, 2), "phi_column is out of range"),
    "a column twice": (put("phi_column", 1, 0), "phi_column must increase within a rule"),
    "value": (put("phi_value", 1, np.nan), "a phi_value is not finite"),
    "no category": (cut("cat_column"), "cat_column is too short"),
    "category": (put("cat_column", 0, 2), "cat_column is out of range"),
    "no levels": (cut("level_words"), "level_words is too short"),
    "a level too many": (put("level_words", 0, 0b1000), "bits beyond the last level"),
    "unused cut": (
        several(longer("cut", 1.0), longer("phi_count", 0)),
        "arrays hold more rules than the nodes use",
    ),
    "unused columns": (
        several(longer("phi_column", 1), longer("phi_value", 1.0)),
        "arrays hold more rules than the nodes use",
    ),
    "unused category": (longer("cat_column", 0), "arrays hold more rules than the nodes use"),
    "unused levels": (longer("level_words", 0), "arrays hold more rules than the nodes use"),
    "structure": (put("structure_of", 3, 2), "structure_of is out of range"),
    "outputs": (cut("outputs"), "outputs has the wrong length"),
    "output": (put("outputs", 7, np.inf), "an output is not finite"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_array_is_refused(name):
    change, message = BROKEN[name]
    given = arrays()
    change(given)
    with pytest.raises(ValueError, match=message):
        read(given)


def test_whole_arrays_are_read():
    draws = read(arrays())
    assert (draws.n_draws, draws.n_trees) == (2, 2)
    # Left, where phi x <= cut and where the level is in the set.
    x = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], np.float32)
    levels = np.array([[0, 2, 0], [0, 0, 0]], np.uint32)
    found = draws.predict(_core.Data(x, levels, [3, 32]))
    assert found[:, 2].tolist() == [3 + 4, 7 + 8]
    assert sorted(found[0, :2].tolist()) == [1 + 4, 2 + 4]
    given = arrays()
    put("cat_column", 0, 1)(given)
    put("level_words", 0, 2**32 - 2)(given)  # all 32 bits may be set where there are 32 levels
    assert read(given).to_arrays()["level_words"].tolist() == [2**32 - 2]


def test_a_tree_has_at_most_250_leaves():
    def read_chain(n_leaves: int) -> _core.Draws:
        """Read one tree, in which every left child is a leaf."""
        n_rules = n_leaves - 1
        given = {
            "structure_of": [[0]],
            "node_begin": [0, 2 * n_rules + 1],
            "node_kind": [1, 0] * n_rules + [0],
            "cut": np.zeros(n_rules),
            "width": [],
            "phi_count": np.ones(n_rules),
            "phi_column": np.zeros(n_rules),
            "phi_value": np.ones(n_rules),
            "cat_column": [],
            "level_words": [],
            "outputs": np.zeros(n_leaves),
        }
        formats = _core.DRAW_FORMAT.items()
        return read({name: np.array(given[name], dtype) for name, dtype in formats})

    assert read_chain(250).n_draws == 1
    with pytest.raises(ValueError, match="a tree has too many leaves"):
        read_chain(251)


@pytest.mark.parametrize("bit", range(32))
def test_every_level_of_32_goes_its_way(bit):
    given = arrays()
    put("cat_column", 0, 1)(given)
    put("level_words", 0, 1 << bit)(given)
    levels = np.array([np.zeros(32), np.arange(32)], np.uint32)
    data = _core.Data(np.zeros((2, 32), np.float32), levels, [3, 32])
    found = read(given).predict(data)[0]
    assert np.flatnonzero(found != np.median(found)).tolist() == [bit]
