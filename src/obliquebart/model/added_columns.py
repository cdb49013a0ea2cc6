"""Directions that reach all columns, also those that a table has besides the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Components = list[dict[str, Any]]
SPARSE = {"kind": "sparse", "concentration": 1.0, "columns": []}


def beside_patches(components: Components) -> Components:
    """Return directions with sparse rules beside patches and groups that would be alone.

    Propensities need them: from patches alone they fit their own rows too well, and then the
    average effect is too small by a quarter.

    Examples
    --------
    >>> [each["kind"] for each in beside_patches([{"kind": "groups", "groups": [[0, 1], [2]]}])]
    ['groups', 'sparse']
    """
    are_alone = all(each["kind"] in ("patch", "groups") for each in components)
    return [*components, SPARSE] if components and are_alone else components


def with_added_columns(components: Components, added: Sequence[int]) -> Components:
    """Return directions of which one has columns that the user's directions do not know.

    A component of all columns has these too; otherwise one that has a list of columns gets a longer
    list. Patches and groups alone get a component of all columns beside them.

    Examples
    --------
    >>> with_added_columns([{"kind": "axis", "columns": [0, 1]}], [2])
    [{'kind': 'axis', 'columns': [0, 1, 2]}]
    """
    if not components or not added:
        return components
    components = beside_patches(components)
    lists = [c for c, each in enumerate(components) if each["kind"] not in ("patch", "groups")]
    if any(components[c]["columns"] == [] for c in lists):
        return components
    c = lists[0]
    longer = {**components[c], "columns": [*components[c]["columns"], *added]}
    return [*components[:c], longer, *components[c + 1 :]]
