"""What directions are made of: checks of their numbers and columns, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from obliquebart.validation import check_count, check_number

# The largest size of a patch by default, by the number of axes; a line has a share of its length.
MAX_SIZES = {1: 5, 2: 5, 3: 3}
LINE_SHARE = 0.1
MOST_CELLS = 4096


def check_choice_of_columns(columns: Any) -> Any:
    """Return names, positions, "rest" or None."""
    is_word = columns is None or (isinstance(columns, str) and columns == "rest")
    return columns if is_word else check_column_list(columns)


def set_number(direction: Any, name: str, *limits: Any) -> None:
    """Check a number, and make it a float of Python, which files can have."""
    number = check_number(name, getattr(direction, name), *limits)
    object.__setattr__(direction, name, number)


def check_column_list(columns: Any) -> tuple[str, ...] | tuple[int, ...]:
    """Return names or positions; those of a set are sorted, as its order differs by process."""
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise TypeError(f"{columns!r} must be a list of names or positions of columns.")
    given = tuple(columns)
    if not all(isinstance(each, str) for each in given):
        given = tuple(check_count("a position of a column", _python(each), 0) for each in given)
    return tuple(sorted(given)) if is_set(columns) else given


def is_set(values: Any) -> bool:
    """Say whether values have no order."""
    return isinstance(values, (set, frozenset))


def check_groups(groups: Any) -> tuple[tuple[str, ...] | tuple[int, ...], ...]:
    """Return the columns of each group."""
    given = groups.values() if isinstance(groups, Mapping) else groups
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"groups={groups!r} must be a list of lists of columns.")
    checked = tuple(check_column_list(group) for group in given)
    if not checked or not all(checked):
        raise ValueError("groups must have at least one group, and each group a column.")
    return tuple(sorted(checked, key=repr)) if is_set(given) else checked


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def sizes_by_axis(name: str, value: Any, default: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return one number per axis; a single one is for all of them."""
    if value is None and default is not None:
        return default
    if isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) > 0:
        return tuple(check_count(name, _python(each), 1) for each in value)
    number = check_count(name, _python(value), 1)
    return (number,) * (1 if default is None else len(default))


def largest_by_default(
    shape: tuple[int, ...], least: tuple[int, ...], channels: int
) -> tuple[int, ...]:
    """Return the largest sizes of a patch, whose columns should not be more than are possible.

    Examples
    --------
    >>> largest_by_default((9, 9), (2, 2), 1), largest_by_default((9, 9), (2, 2), 200)
    ((5, 5), (4, 4))
    """
    most = MAX_SIZES[len(shape)]
    if len(shape) == 1:
        most = max(most, math.ceil(LINE_SHARE * shape[0]))
    for size in range(min(most, MOST_CELLS), 0, -1):
        largest = tuple(min(max(size, a), n) for a, n in zip(least, shape, strict=False))
        if math.prod(largest) * channels <= MOST_CELLS:
            break
    return largest


def check_size_of_patch(name: str, sizes: tuple[int, ...], channels: int) -> None:
    """Refuse sizes of patches with too many columns; `name` is that of the parameter."""
    if channels > MOST_CELLS:
        raise ValueError(
            f"channels={channels} is out of range: a patch has at most {MOST_CELLS} columns, and "
            "may have all channels. Make the channels an axis of the shape instead."
        )
    n_columns = math.prod(sizes) * channels
    if n_columns > MOST_CELLS:
        also = f" with channels={channels}" if channels > 1 else ""
        raise ValueError(
            f"{name}={sizes}{also} makes patches of {n_columns} columns: at most {MOST_CELLS} are "
            f"possible. Pass a smaller {name}."
        )


def check_cells(
    columns: Any, shape: tuple[int, ...], channels: int
) -> tuple[str, ...] | tuple[int, ...]:
    """Return names or positions, as many as a grid has."""
    if is_set(columns):
        raise TypeError(
            "columns is a set, but the columns of a Patch have an order: pass a list, with the "
            "last axis (or the channel) fastest."
        )
    checked = check_column_list(columns)
    if not checked:
        raise ValueError("columns is empty: name the columns of the image, or pass None.")
    n_columns = math.prod(shape) * channels
    if len(checked) != n_columns:
        has = f"with channels={channels} has {n_columns} columns"
        raise ValueError(
            f"columns= has {len(checked)}, but shape {shape} "
            f"{has if channels > 1 else f'has {n_columns} cells'}: correct one of them."
        )
    return checked


def short_repr(direction: Any, default: Any, before: str = "") -> str:
    """Return a call with what differs from the default."""
    given = [
        f"{each.name}={as_range(getattr(direction, each.name))!r}"
        for each in fields(direction)
        if getattr(direction, each.name) != getattr(default, each.name)
    ]
    shown = before * bool(given) + ", ".join(given)
    return f"{type(direction).__name__}({shown})"


def as_range(columns: Any) -> Any:
    """Return a range for three and more numbers in a row, and anything else as it is."""
    if isinstance(columns, tuple) and len(columns) > 2 and isinstance(columns[0], int):
        run = range(columns[0], columns[0] + len(columns))
        return run if columns == tuple(run) else columns
    return columns


def as_plain(value: Any) -> Any:
    """Return a value as a file has it: tuples are lists."""
    return [as_plain(each) for each in value] if isinstance(value, tuple) else value
