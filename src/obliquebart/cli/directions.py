"""Directions of rules on the command line: what `--directions` says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from obliquebart.cli.datafile import FileError
from obliquebart.model.directions import PATCH_VALUES, Axis, Direction, Patch, Signs, Sparse

PLAIN = {each.kind: each for each in (Sparse, Axis, Signs)}
SHAPE = re.compile(r"[0-9]+(x[0-9]+){0,2}")
KNOWN = (
    f"{', '.join(PLAIN)}, or patch with the shape of an image or the length of a curve, as in "
    "patch:28x28, and what is in a patch, as in patch:28x28:difference"
)
REST = "images with other columns beside them need Python (see the how-to on images and curves)"


def parse_directions(texts: Sequence[str], n_continuous: int) -> list[Direction]:
    """Return the components that the options name, for a table with so many numeric columns.

    Examples
    --------
    >>> parse_directions(["patch:4x5:smooth", "sparse"], 20)
    [Patch((4, 5), values='smooth'), Sparse()]
    """
    return [_component(text, n_continuous) for text in texts]


def _component(text: str, n_continuous: int) -> Direction:
    name, *more = text.strip().lower().split(":")
    if name in PLAIN and not more:
        return PLAIN[name]()
    if name != Patch.kind:
        raise FileError(f"--directions {text} is unknown: write {KNOWN}.")
    if not 1 <= len(more) <= 2 or not SHAPE.fullmatch(more[0]):
        raise FileError(
            f"--directions {text} needs a shape of one, two or three lengths, as in patch:100 for "
            "curves or patch:28x28 for images."
        )
    settings: dict[str, Any] = dict(zip(("shape", "values"), more, strict=False))
    if settings.get("values", PATCH_VALUES[0]) not in PATCH_VALUES:
        known = ", ".join(PATCH_VALUES)
        raise FileError(f"--directions {text}: {more[1]!r} is none of {known}.")
    settings["shape"] = tuple(int(n) for n in more[0].split("x"))
    patch = Patch(**settings)
    if patch.n_columns != n_continuous:
        raise FileError(
            f"--directions {text} needs {patch.n_columns} numeric columns, but the table has "
            f"{n_continuous}: correct the shape, or leave columns out with --drop; {REST}."
        )
    return patch
