"""Directions for columns that a table has besides the user's: propensities, or doses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Components = list[dict[str, Any]]

# The share of rules on added columns where the user's directions have no place for them.
SHARE = 0.05
# A sum of concentrations beside which no number of rules counts: weights stay as they are. If they
# were learned, that of the added columns would go to nearly one: rules on a propensity are taken
# more easily than patches, and the fewer patches there are, the fewer are proposed. Effects were
# too small then by a quarter.
FIXED = 1e9


def with_added_columns(components: Components, added: Sequence[int]) -> Components:
    """Return directions of which one has columns that the user's directions do not know.

    A component of all columns has these too, and one that chooses from a list gets a longer list.
    Patches and groups get a component beside them, rules on one added column at a time; then the
    weights of all components are fixed at their prior means.

    Examples
    --------
    >>> with_added_columns([{"kind": "sparse", "columns": [0, 1]}], [2])
    [{'kind': 'sparse', 'columns': [0, 1, 2]}]
    >>> image = {"kind": "groups", "groups": [[0, 1], [2]], "concentration": 1.0}
    >>> [each["kind"] for each in with_added_columns([image], [3])]
    ['groups', 'axis']
    >>> len(with_added_columns([image, {"kind": "sparse", "columns": []}], [3]))
    2
    """
    if not components or not added or any(each.get("columns") == [] for each in components):
        return components
    for c, component in enumerate(components):
        if component["kind"] not in ("patch", "groups"):
            longer = {**component, "columns": [*component["columns"], *added]}
            return [*components[:c], longer, *components[c + 1 :]]
    total = sum(each["concentration"] for each in components) / (1.0 - SHARE)
    shares = [each["concentration"] / total for each in components]
    beside = {"kind": "axis", "columns": list(added)}
    return [
        {**component, "concentration": share * FIXED}
        for component, share in zip([*components, beside], [*shares, SHARE], strict=True)
    ]
