"""What directions are made of: checks of their numbers and columns, and how they are shown."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from obliquebart.validation import check_count, check_number


def check_choice_of_columns(columns: Any) -> Any:
    """Return names, positions, "rest" or None."""
    is_word = columns is None or (isinstance(columns, str) and columns == "rest")
    return columns if is_word else check_column_list(columns)


def set_number(direction: Any, name: str, *limits: Any) -> None:
    """Check a number, and make it a float of Python, which files can have."""
    number = check_number(name, getattr(direction, name), *limits)
    object.__setattr__(direction, name, number)


def check_column_list(columns: Any) -> tuple[str, ...] | tuple[int, ...]:
    """Return names or positions."""
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise TypeError(f"{columns!r} must be a list of names or positions of columns.")
    given = tuple(columns)
    if all(isinstance(each, str) for each in given):
        return given
    return tuple(check_count("a position of a column", _python(each), 0) for each in given)


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
