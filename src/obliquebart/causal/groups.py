"""Groups of rows by the values of a column: levels, or bins of a number."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.answers import Groups
from obliquebart.display.numbers import plain_alike
from obliquebart.explain.effects import column_position
from obliquebart.explain.replaced import engine_order
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable
from obliquebart.table.words import as_date
from obliquebart.validation import check_count

MISSING = "missing"


def groups_of(
    encoding: Encoding,
    table: EncodedTable,
    column: str | int,
    bins: int | Sequence[float] = 4,
    levels: Sequence[Any] | None = None,
) -> Groups:
    """Group rows by the levels of a category, or by bins of a number.

    `bins` is a number of quantile bins, or their limits. A number with at most so many different
    values has a group for each. Missing values are a group of their own.
    """
    j = column_position(encoding, column)
    number = int(engine_order(encoding)[j])
    name, known = encoding.names[j], encoding.columns[j]
    if isinstance(known, LevelTable):
        codes = table.x_cat[number - table.p_cont].astype(np.intp)
        return _chosen(Groups(name, _level_names(known), _known(codes, known.n_levels)), levels)
    values = known.undo(table.x_cont[number])
    groups = _bins(name, np.round(values, _decimals(values)), bins, known.is_date)
    return _chosen(groups, levels)


def _level_names(known: LevelTable) -> list[str]:
    return [MISSING if level is None else str(level) for level in known.levels]


def _known(codes: NDArray[np.intp], n_levels: int) -> NDArray[np.intp]:
    """Leave out levels that training did not have."""
    return np.where(codes < n_levels, codes, -1)


def _decimals(values: NDArray[np.float64]) -> int:
    """Return how many decimals are not spurious digits of float32."""
    present = values[~np.isnan(values)]
    width = float(np.ptp(present)) if len(present) else 1.0
    return 6 - int(np.floor(np.log10(width))) if 1e-200 < width < 1e200 else 6


def _bins(
    name: str, values: NDArray[np.float64], bins: int | Sequence[float], is_date: bool
) -> Groups:
    missing = np.isnan(values)
    present = values[~missing]
    distinct = np.unique(present)
    if isinstance(bins, (int, np.integer)):
        n_bins = check_count("bins", int(bins), 1)
        if len(distinct) <= n_bins:
            codes = np.searchsorted(distinct, values)
            return _with_missing(Groups(name, _texts(distinct, is_date), codes), missing)
        limits = np.quantile(present, np.linspace(0, 1, n_bins + 1)[1:-1], method="inverted_cdf")
        limits = np.unique(limits[limits < distinct[-1]])
    else:
        wrong = f"bins={bins!r} must be a number of bins, or numbers between them."
        try:
            limits = np.unique(np.asarray(bins, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(wrong) from error
        if limits.ndim != 1 or not len(limits) or not np.isfinite(limits).all():
            raise ValueError(wrong)
    texts = _texts(limits, is_date)
    ranges = [f"{low} to {high}" for low, high in pairwise(texts)]
    names = [f"up to {texts[0]}", *ranges, f"above {texts[-1]}"] if texts else ["all"]
    return _with_missing(Groups(name, names, np.searchsorted(limits, values)), missing)


def _texts(values: NDArray[np.float64], is_date: bool) -> list[str]:
    return [as_date(value) for value in values] if is_date else plain_alike(values.tolist(), 3)


def _with_missing(groups: Groups, missing: NDArray[np.bool_]) -> Groups:
    if not missing.any():
        return groups
    codes = np.where(missing, len(groups.names), groups.codes)
    return Groups(groups.column, [*groups.names, MISSING], codes)


def _name_of(level: Any, names: Sequence[str]) -> str:
    """Return a level as text; a whole number may be written 1 or 1.0."""
    text = str(level)
    is_whole = isinstance(level, numbers.Real) and float(level).is_integer()
    return str(int(level)) if is_whole and text not in names else text


def _chosen(groups: Groups, levels: Sequence[Any] | None) -> Groups:
    """Keep the named groups, in their order."""
    if levels is None:
        return groups
    names = [MISSING if level is None else _name_of(level, groups.names) for level in levels]
    unknown = [name for name in names if name not in groups.names]
    if unknown or not names:
        shown = ", ".join(map(repr, groups.names[:10]))
        raise ValueError(
            f"levels={list(levels)!r} must name groups of {groups.column!r}, which has {shown}."
        )
    position = np.full(len(groups.names) + 1, -1)
    for new, name in enumerate(names):
        position[groups.names.index(name)] = new
    return Groups(groups.column, names, position[groups.codes])
