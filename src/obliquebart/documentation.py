"""Docstrings with shared descriptions of parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

# Parameters of `importance` and `effects`, methods of both posteriors and estimators.
EXPLAINING = """\
column : str or int
    Name or position of the column.
centered : bool, default=False
    Return differences from the average prediction of the rows. The intervals then exclude the
    uncertainty of that average.
n_points : int, default=30
    Maximum number of points. A continuous column with more distinct values is evaluated at
    quantiles of the rows, without the outer 1% on each side; a categorical column with more
    levels, at the levels with the most rows.
max_rows, max_draws : int
    Of a larger table and of a longer run so many are used, evenly spread."""


def shared_parameters(shared: str) -> Callable[[T], T]:
    """Complete the Parameters section of a docstring.

    Shared parameters of the signature are added to those in the docstring, in the order of the
    signature. The docstring of a class also gets the constructor's defaults.
    """

    def complete(thing: T) -> T:
        if thing.__doc__ is None:  # python -OO
            return thing
        doc = inspect.cleandoc(thing.__doc__)
        if "Parameters\n---" not in doc:
            doc = re.sub(r"\n\n(?=\w+\n---)|\Z", "\n\nParameters\n----------\n\n\n", doc, count=1)
        before, heading, rest = re.split(r"(Parameters\n-+\n)", doc, maxsplit=1)
        own, after = rest.split("\n\n", 1)
        described = _entries(shared) | _entries(own)
        parameters = inspect.signature(thing).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
        entries = [described[name] for name in defaults if name in described]
        if inspect.isclass(thing):
            entries = [_with_default(*entry, defaults) for entry in entries]
        lines = "\n".join("\n".join(entry) for entry in entries)
        thing.__doc__ = f"{before}{heading}{lines}\n\n{after}"
        return thing

    return complete


def _entries(text: str) -> dict[str, tuple[str, str]]:
    """Return the first line and description of each parameter, by its (first) name."""
    pairs = [entry.split("\n", 1) for entry in re.split(r"\n(?=\S)", text) if entry]
    entries = {re.split(r"\W", line, maxsplit=1)[0]: (line, rest) for line, rest in pairs}
    if len(entries) < len(pairs):
        names = [line.partition(" ")[0] for line, _ in pairs]
        raise ValueError(f"A parameter is described twice, among {', '.join(names)}.")
    return entries


def _with_default(line: str, description: str, defaults: dict[str, Any]) -> tuple[str, str]:
    names = line.partition(" : ")[0].split(", ")
    # Show a default once if several parameters share it.
    shown = dict.fromkeys(repr(defaults[name]).replace("'", '"') for name in names)
    return f"{line}, default={' and '.join(shown)}", description
