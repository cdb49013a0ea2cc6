"""Directions as users write them: what is refused and how, and what the engine gets."""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from obliquebart.directions import Axis, Groups, Patch, Signs, Sparse
from obliquebart.model.directions import (
    check_directions,
    core_directions,
    from_state,
    grids_of,
    theta_columns,
    to_state,
)
from obliquebart.model.parameters import Hyperparameters

TABLE = SimpleNamespace(
    names=["age", "a", "b", "town", "c", "d"],
    kinds=["continuous", "continuous", "continuous", "categorical", "continuous", "continuous"],
)


def test_columns_are_numbered_among_the_continuous_ones():
    patch, sparse = core_directions(
        [Patch((2, 2), columns=["a", "b", "c", "d"]), Sparse("rest")], TABLE
    )
    assert patch["columns"] == [1, 2, 3, 4]
    assert sparse["columns"] == [0]
    (groups,) = core_directions([Groups([[5, 0], ["b", "a"]])], TABLE)
    assert groups["groups"] == [[0, 4], [1, 2]]
    assert core_directions([Signs(), Axis(["d"])], TABLE)[0]["columns"] == []


def test_sizes_by_default():
    assert Patch((28, 28)).max_size == (5, 5)
    assert Patch((28, 3)).max_size == (5, 3)
    assert Patch(200).min_size == (2,)
    assert Patch(200).max_size == (20,)
    assert Patch((9, 9, 9)).max_size == (3, 3, 3)
    assert Patch((1, 8)).min_size == (1, 2)
    assert Patch((8, 8), 3).min_size == (3, 3)
    assert Patch((8, 8), np.array([7, 2])).max_size == (7, 5)
    assert Patch(np.array([8, 8])) == Patch((8, 8))


def test_sizes_by_default_leave_no_more_columns_than_are_possible():
    assert Patch((9, 9), channels=200).max_size == (4, 4)
    assert Patch((9, 9), (1, 4), channels=400).max_size == (2, 4)
    assert Patch((9, 9), 1, channels=4096).max_size == (1, 1)
    assert Patch(5000, channels=10).max_size == (409,)
    assert Patch(40_960).max_size == Patch(41_000).max_size == Patch(2 * 10**9).max_size == (4096,)
    assert Patch((9, 9), (4, 2), channels=500).max_size == (4, 2)
    for patch in (Patch((9, 9), channels=200), Patch(41_000, channels=2)):
        assert eval(repr(patch)) == patch
        assert from_state(to_state(patch)) == [patch]


def test_sets_do_not_depend_on_the_process():
    """Text in a set has another order in each process, so the order here may be right by chance."""
    names = {f"column{j}" for j in range(40)}
    groups = Groups([names, frozenset(names), {10, 9, 2}])
    assert groups.groups == (tuple(sorted(names)), tuple(sorted(names)), (2, 9, 10))
    assert Groups({("b", "a"), ("a",), (1,)}).groups == (("a",), ("b", "a"), (1,))
    assert Sparse(names).columns == Signs(frozenset(names)).columns == tuple(sorted(names))
    for columns in (names, frozenset(range(40))):
        with pytest.raises(TypeError, match=r"columns is a set, but .* have an order: pass a list"):
            Patch(40, columns=columns)


def test_runs_of_columns_are_short_to_read():
    assert repr(Patch((2, 2), columns=range(4, 8))) == "Patch((2, 2), columns=range(4, 8))"
    assert repr(Sparse([1, 3, 4])) == "Sparse(columns=(1, 3, 4))"


def test_channels_are_another_axis():
    patch = Patch((2, 2), channels=3)
    assert patch.grid.row_shape == (2, 2, 3)
    table = SimpleNamespace(names=[str(j) for j in range(12)], kinds=["continuous"] * 12)
    (core,) = core_directions([patch], table)
    assert core["shape"] == [2, 2, 3]
    assert core["least"] == [2, 2, 1]
    assert core["most"] == [2, 2, 3]
    assert [grid.row_shape for grid in grids_of([patch, Sparse()])] == [(2, 2, 3)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Patch((4, 4), max_size=5), "does not fit the shape"),
        (lambda: Patch((4, 4), min_size=4, max_size=3), "must not be larger than max_size"),
        (lambda: Patch((4, 4), min_size=(2, 2, 2)), "one per axis"),
        (lambda: Patch((2, 2, 2, 2)), "one, two or three lengths"),
        (
            lambda: Patch((100, 100), max_size=99),
            r"max_size=\(99, 99\) makes patches of 9801 columns: at most 4096 .* smaller max_size",
        ),
        (
            lambda: Patch((9, 9), max_size=5, channels=200),
            r"max_size=\(5, 5\) with channels=200 makes patches of 5000 columns.* smaller max_size",
        ),
        (lambda: Patch((9, 9), 5, channels=200), r"min_size=\(5, 5\) with .* smaller min_size"),
        (lambda: Patch((9, 9), channels=2000), r"min_size=\(2, 2\) with .* smaller min_size"),
        (lambda: Patch((9, 9), channels=5000), "channels=5000 is out of range.* axis of the shape"),
        (lambda: Patch(10**20), "out of range: it must be an integer <= 2147483647"),
        (lambda: Patch((4, 4), min_size=1, values="difference"), "min_size of at least 2"),
        (lambda: Patch((4, 4), values="wavy"), "values='wavy' must be one of"),
        (lambda: Patch((4, 4), length_scale=0), "length_scale=0 is out of range"),
        (lambda: Patch((4, 4), columns=[]), "columns is empty"),
        (
            lambda: Patch((8, 8), columns=range(63)),
            r"columns= has 63, but shape \(8, 8\) has 64 cells",
        ),
        (
            lambda: Patch(3, columns=["a", "b"], channels=2),
            r"columns= has 2, but shape \(3,\) with channels=2 has 6 columns",
        ),
        (lambda: Patch(0), "shape=0 is out of range"),
        (lambda: Groups([]), "at least one group"),
        (lambda: Groups([[1], []]), "each group a column"),
        (lambda: Groups([[1]], inclusion=0), "inclusion=0 is out of range"),
        (lambda: Sparse(weight=-1), "weight=-1 is out of range"),
        (lambda: core_directions([Sparse(["height"])], TABLE), "X has no column 'height'"),
        (lambda: core_directions([Sparse(["town"])], TABLE), "'town' is categorical"),
        (lambda: core_directions([Sparse([6])], TABLE), "there is no column 6"),
        (lambda: core_directions([Axis(["a", "a"])], TABLE), "named twice"),
        (lambda: core_directions([Patch(3)], TABLE), "needs 3 continuous columns, but X has 5"),
        (
            lambda: core_directions([Patch(2, columns=["b", "a"])], TABLE),
            "in the order of the table",
        ),
        (lambda: core_directions([Patch(5), Signs("rest")], TABLE), "no continuous column is left"),
        (lambda: check_directions([Sparse()] * 17), "at most 16"),
        (lambda: check_directions([]), "directions is empty: pass None"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("value", [3, "patch", [Sparse(), None], {"kind": "sparse"}, Patch])
def test_other_types_are_refused(value):
    known = r"Sparse\(\), Axis\(\), Signs\(\), Groups\(groups\), Patch\(shape\) of"
    with pytest.raises(TypeError, match=rf"directions=.* must be None, one of {known}"):
        Hyperparameters(directions=value).validated()


def test_plain_directions_are_the_rules_that_they_name():
    assert Hyperparameters(directions=Sparse(weight=3)).validated().directions is None
    axis = Hyperparameters(directions=[Axis()]).validated()
    assert (axis.rules, axis.directions) == ("axis", None)
    mixed = Hyperparameters(directions=[Sparse(), Axis()]).validated()
    assert mixed.directions == (Sparse(), Axis())
    with pytest.raises(ValueError, match=r"use directions=Axis\(\)"):
        Hyperparameters(rules="axis", directions=Patch(4)).validated()


def test_columns_that_theta_decides_about():
    components = core_directions([Sparse(["a", "b"]), Signs(["b", "c"]), Axis()], TABLE)
    assert theta_columns(components, 5) == 3
    assert theta_columns(core_directions([Sparse(), Axis()], TABLE), 5) == 5
    assert theta_columns(core_directions([Axis(["a"])], TABLE), 5) == 0


def test_a_file_gives_the_same_directions():
    given = [
        *(Sparse("rest", weight=2.0), Axis(["a"]), Signs(), Groups([["a", "b"], ["c"]], 0.3)),
        Patch((2, 2), 1, 2, values="smooth", length_scale=1.5, columns=[0, 1, 2, 4]),
    ]
    assert from_state(to_state(given)) == given
    assert to_state(None) is None
    for wrong in ([{"kind": "waves"}], [{"kind": "axis", "size": 3}], "patch", [3]):
        with pytest.raises((ValueError, TypeError)):
            from_state(wrong)


def test_directions_are_shown_by_what_was_given():
    assert repr(Patch((8, 8))) == "Patch((8, 8))"
    assert repr(Patch((8, 8), 3, values="smooth")) == (
        "Patch((8, 8), min_size=(3, 3), values='smooth')"
    )
    assert repr(Sparse("rest")) == "Sparse(columns='rest')"
    assert repr(Axis()) == "Axis()"


def test_numbers_are_those_of_files():
    """Files and checkpoints have JSON, which knows no numbers of NumPy."""
    patch = Patch((4, 4), weight=np.int64(2), values="smooth", length_scale=np.float32(1.5))
    groups = Groups([[0]], inclusion=Fraction(1, 4))
    found = [patch.weight, patch.length_scale, groups.inclusion]
    assert found == [2.0, 1.5, 0.25]
    assert {type(each) for each in found} == {float}
    json.dumps(to_state([patch, groups]))


def test_columns_may_be_arrays():
    assert Sparse(columns=np.array([0, 1])) == Sparse(columns=[0, 1])
    assert Signs(columns=pd.Index(["a", "b"])).columns == ("a", "b")


def test_groups_show_what_can_be_evaluated():
    for groups in ([[0]], [range(3), range(3, 9)], [["a", "b"], ["c"]]):
        made = Groups(groups, weight=2)
        assert eval(repr(made)) == made
