"""The directions that a continuous rule may have: what users pass as `directions`.

A rule asks whether φ'x < c. Each class here is a prior for φ: which columns are in it, and with
which values. Several of them are a mixture, whose weights are learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, ClassVar, Literal, Protocol

from obliquebart.exceptions import warn_caller
from obliquebart.model.direction_values import (
    as_plain,
    as_range,
    check_cells,
    check_choice_of_columns,
    check_groups,
    check_size_of_patch,
    largest_by_default,
    set_number,
    short_repr,
    sizes_by_axis,
)
from obliquebart.table.grid import MOST_AXES, Grid, numbers_of
from obliquebart.validation import check_choice, check_count

# Names or positions of columns; None is all continuous ones, "rest" those that no patch and no
# group of the mixture has.
ColumnChoice = Sequence[str] | Sequence[int] | Literal["rest"] | None
Sizes = int | Sequence[int] | None

PATCH_VALUES = ("normal", "smooth", "difference")
MOST_COMPONENTS = 16


class TableColumns(Protocol):
    """What the columns of directions are found in."""

    @property
    def names(self) -> list[str]:
        """Names of all columns."""

    @property
    def kinds(self) -> list[str]:
        """``"continuous"`` or ``"categorical"``, column by column."""


@dataclass(frozen=True, repr=False)
class Sparse:
    """Directions of a few columns: each is in φ with probability theta, with a normal value.

    This is the prior of rules by default.

    Parameters
    ----------
    columns : list of names or positions, "rest" or None
        The columns to choose from; None is all continuous columns, "rest" those that no patch and
        no group has.
    weight : float
        Concentration of its weight in a mixture.
    """

    columns: ColumnChoice = None
    weight: float = 1.0
    kind: ClassVar[str] = "sparse"
    has_own_columns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_number(self, "weight", 0, 1e12)
        object.__setattr__(self, "columns", check_choice_of_columns(self.columns))

    def __repr__(self) -> str:
        return short_repr(self, type(self)())

    def to_core(self, table: TableColumns, rest: list[int]) -> dict[str, Any]:
        """Return the settings of the engine."""
        columns = rest if self.columns == "rest" else _find(self.columns, table)
        if not columns and self.columns is not None:
            raise ValueError(
                f"directions: no continuous column is left for {type(self).__name__}: leave it "
                "out, or name its columns."
            )
        return {"kind": self.kind, "concentration": float(self.weight), "columns": columns}


@dataclass(frozen=True, repr=False)
class Axis(Sparse):
    """Directions of one column: the rules of classical BART.

    Each column is as likely as any other. But ``directions=Axis()``, alone and without columns, is
    ``rules="axis"``, where the prior "default" learns how often each column is used. With
    ``columns``, even if these are all columns, it is not.

    Parameters
    ----------
    columns : list of names or positions, "rest" or None
        The columns to choose from; None is all continuous columns, "rest" those that no patch and
        no group has.
    weight : float
        Concentration of its weight in a mixture.
    """

    kind: ClassVar[str] = "axis"


@dataclass(frozen=True, repr=False)
class Signs(Sparse):
    """Directions that add and subtract columns: each is in φ with probability theta, as 1 or -1.

    φ is then scaled to length one, which leaves the rules as they are.

    Parameters
    ----------
    columns : list of names or positions, "rest" or None
        The columns to choose from; None is all continuous columns, "rest" those that no patch and
        no group has.
    weight : float
        Concentration of its weight in a mixture.
    """

    kind: ClassVar[str] = "signs"


@dataclass(frozen=True, repr=False)
class Groups:
    """Directions inside one group of columns: a sensor, a block of questions, a set of indicators.

    A group is as likely as any other. Each of its columns is in φ with probability `inclusion`,
    given that one is, with a normal value.

    Parameters
    ----------
    groups : list or dict of lists of names or positions
        The groups, which may share columns. The keys of a dictionary are only for the reader.
    inclusion : float
        Probability that a column of the group is in φ.
    weight : float
        Concentration of its weight in a mixture.

    Examples
    --------
    >>> Groups({"left": ["x0", "x1"], "right": ["x2", "x3"]}).groups
    (('x0', 'x1'), ('x2', 'x3'))
    """

    groups: Sequence[Sequence[str] | Sequence[int]]
    inclusion: float = 0.5
    weight: float = 1.0
    kind: ClassVar[str] = "groups"
    has_own_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_number(self, "weight", 0, 1e12)
        set_number(self, "inclusion", 0, 1, "right")
        object.__setattr__(self, "groups", check_groups(self.groups))

    def __repr__(self) -> str:
        groups = [as_range(group) for group in self.groups]
        other = short_repr(self, Groups(self.groups), ", ")
        return f"Groups({groups!r}{other[len('Groups(') :]}"

    def to_core(self, table: TableColumns, rest: list[int]) -> dict[str, Any]:  # noqa: ARG002
        """Return the settings of the engine."""
        return {
            "kind": self.kind,
            "concentration": float(self.weight),
            "inclusion": float(self.inclusion),
            "groups": [_find(group, table) for group in self.groups],
        }


@dataclass(frozen=True, repr=False)
class Patch:
    """Directions on a patch: neighbouring cells of a line, a plane or a cube of columns.

    The place and the size of the patch are uniform among all that fit. φ is zero elsewhere.

    Parameters
    ----------
    shape : int or tuple of int
        The grid: (length,) of curves, spectra and series, (height, width) of images, or (depth,
        height, width).
    min_size, max_size : int or tuple of int
        Sizes of a patch along each axis. By default from 2 to 5; along a line to a tenth of its
        length, if that is more than 5, and in a cube to 3. A larger `min_size` raises the default
        of `max_size`. A patch has at most 4096 columns: if it could have more, with many channels
        or on a long line, the default of `max_size` is smaller.
    channels : int
        Columns per cell, such as the three colours of an image. A patch has a run of one or more
        neighbouring channels.
    values : {"normal", "smooth", "difference"}
        The values of φ in the patch. "normal": independent, so any pattern may be found. "smooth":
        neighbours are alike, with correlation exp(-distance / length_scale), so that a rule
        averages over noise; for curves and blurred images. "difference": the mean of one part of
        the patch less the mean of the rest, with a straight edge between them, for images with
        edges and strokes; it needs a `min_size` of 2 along one axis.
    length_scale : float
        Of smooth values, in cells.
    columns : list of names or positions, or None
        The columns of the grid in the order of the table, the last axis (or the channel) fastest.
        None: all continuous columns.
    weight : float
        Concentration of its weight in a mixture.

    Examples
    --------
    >>> Patch((28, 28)).n_columns
    784
    >>> Patch(100, values="smooth").max_size
    (10,)
    """

    shape: int | Sequence[int]
    min_size: Sizes = None
    max_size: Sizes = None
    channels: int = 1
    values: Literal["normal", "smooth", "difference"] = "normal"
    length_scale: float = 2.0
    columns: Sequence[str] | Sequence[int] | None = None
    weight: float = 1.0
    kind: ClassVar[str] = "patch"
    has_own_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_number(self, "weight", 0, 1e12)
        set_number(self, "length_scale", 0, 1e6, "right")
        check_choice("values", self.values, PATCH_VALUES)
        shape = sizes_by_axis("shape", self.shape, None)
        if not 1 <= len(shape) <= MOST_AXES:
            raise ValueError(f"shape={self.shape!r} must have one, two or three lengths.")
        channels = check_count("channels", self.channels, 1)
        least = sizes_by_axis("min_size", self.min_size, tuple(min(2, n) for n in shape))
        default = largest_by_default(shape, least, channels)
        largest = sizes_by_axis("max_size", self.max_size, default)
        smallest = sizes_by_axis("min_size", self.min_size, tuple(min(2, n) for n in largest))
        self._check_sizes(shape, smallest, largest)
        name, sizes = ("min_size", smallest) if self.max_size is None else ("max_size", largest)
        check_size_of_patch(name, sizes, channels)
        columns = None if self.columns is None else check_cells(self.columns, shape, channels)
        for name, value in (
            *(("shape", shape), ("min_size", smallest), ("max_size", largest)),
            *(("channels", channels), ("columns", columns)),
        ):
            object.__setattr__(self, name, value)

    def _check_sizes(
        self, shape: tuple[int, ...], smallest: tuple[int, ...], largest: tuple[int, ...]
    ) -> None:
        for name, sizes in (("min_size", smallest), ("max_size", largest)):
            if len(sizes) != len(shape) or any(a > b for a, b in zip(sizes, shape, strict=True)):
                raise ValueError(
                    f"{name}={sizes} does not fit the shape {shape}: pass one number, or one per "
                    "axis, each at most the length of the axis."
                )
        if any(a > b for a, b in zip(smallest, largest, strict=True)):
            raise ValueError(f"min_size={smallest} must not be larger than max_size={largest}.")
        if self.values == "difference" and max(smallest) < 2:
            raise ValueError('values="difference" needs a min_size of at least 2 along one axis.')

    def __repr__(self) -> str:
        return f"Patch({self.shape}{short_repr(self, Patch(self.shape), ', ')[6:]}"

    @property
    def grid(self) -> Grid:
        """How the columns are laid out."""
        assert isinstance(self.shape, tuple)
        columns: Any = None if self.columns is None else tuple(self.columns)
        return Grid(self.shape, self.channels, columns)

    @property
    def n_columns(self) -> int:
        """How many columns the grid has."""
        return self.grid.n_columns

    def to_core(self, table: TableColumns, rest: list[int]) -> dict[str, Any]:  # noqa: ARG002
        """Return the settings of the engine."""
        columns = _find(self.columns, table, ordered=True)
        columns = columns or list(range(table.kinds.count("continuous")))
        if len(columns) != self.n_columns:
            needs = (
                f"directions: a Patch of shape {self.grid.row_shape} needs {self.n_columns} "
                "continuous columns, but"
            )
            n_categorical = len(table.kinds) - table.kinds.count("continuous")
            others = f", and {n_categorical} categorical" if n_categorical else ""
            raise ValueError(
                f"{needs} X has {len(columns)}{others}: correct the shape, or name the columns of "
                "the image with columns=."
            )
        assert isinstance(self.min_size, tuple)
        assert isinstance(self.max_size, tuple)
        run = self.channels > 1
        return {
            "kind": self.kind,
            "concentration": float(self.weight),
            "columns": columns,
            "shape": list(self.grid.row_shape),
            "least": [*self.min_size, *([1] if run else [])],
            "most": [*self.max_size, *([self.channels] if run else [])],
            "values": self.values,
            "length_scale": float(self.length_scale),
        }


Direction = Sparse | Groups | Patch
DIRECTIONS: dict[str, type[Direction]] = {
    each.kind: each for each in (Sparse, Axis, Signs, Groups, Patch)
}


def check_directions(value: Any) -> tuple[Direction, ...] | None:
    """Return the components of a mixture, or None."""
    if value is None:
        return None
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not given:
        raise ValueError(
            "directions is empty: pass None for the default, or at least one component."
        )
    if not all(isinstance(each, (Sparse, Groups, Patch)) for each in given):
        raise TypeError(
            f"directions={value!r} must be None, one of Sparse(), Axis(), Signs(), Groups(groups), "
            "Patch(shape) of obliquebart.directions, or a list of these."
        )
    if len(given) > MOST_COMPONENTS:
        raise ValueError(
            f"directions has {len(given)} components: at most {MOST_COMPONENTS} are possible."
        )
    return given


def grids_of(directions: Sequence[Direction] | None) -> tuple[Grid, ...]:
    """Return how the columns of patches are laid out."""
    return tuple(each.grid for each in directions or () if isinstance(each, Patch))


def core_directions(
    directions: Sequence[Direction] | None, table: TableColumns
) -> list[dict[str, Any]]:
    """Return the engine's settings of directions; none for None."""
    if directions is None:
        return []
    components = [each.to_core(table, []) for each in directions if each.has_own_columns]
    taken = {j for each in components for j in _columns_of(each)}
    rest = [j for j in range(table.kinds.count("continuous")) if j not in taken]
    return [each.to_core(table, rest) for each in directions]


def warn_of_unused(
    components: list[dict[str, Any]], table: TableColumns, rules: str = "rule"
) -> None:
    """Warn of continuous columns that no component has, so that no rule of some kind uses them."""
    used = {j for each in components for j in _columns_of(each)}
    if not all(_columns_of(each) for each in components) or not components:
        return  # a component without columns of its own has all of them
    names = [n for n, kind in zip(table.names, table.kinds, strict=True) if kind == "continuous"]
    unused = [name for j, name in enumerate(names) if j not in used]
    if unused:
        shown = ", ".join(map(repr, unused[:5])) + (", …" if len(unused) > 5 else "")
        warn_caller(
            f"No component of directions has the columns {shown}, so no {rules} uses them. To "
            'use them too, add Sparse(columns="rest") to a list of directions.'
        )


def theta_columns(components: Sequence[Mapping[str, Any]], p_cont: int) -> int:
    """Return how many columns are in a rule with probability theta."""
    with_theta = [each for each in components if each["kind"] in ("sparse", "signs")]
    return len({j for each in with_theta for j in each["columns"] or range(p_cont)})


def to_state(directions: Any) -> list[dict[str, Any]] | None:
    """Return the parameter `directions` as plain values, for a file."""
    given = check_directions(directions)
    if given is None:
        return None
    return [
        {"kind": each.kind, **{f.name: as_plain(getattr(each, f.name)) for f in fields(each)}}
        for each in given
    ]


def from_state(state: Any) -> list[Direction]:
    """Return the directions that `to_state` wrote, or raise ValueError or TypeError."""
    if not isinstance(state, list) or not all(isinstance(each, dict) for each in state):
        raise ValueError("directions must be a list of components")
    out = []
    for each in state:
        values = dict(each)
        name = values.pop("kind", None)
        if name not in DIRECTIONS:
            raise ValueError(f"unknown directions {str(name)[:80]!r}")
        out.append(DIRECTIONS[name](**values))
    return out


# ---- columns -------------------------------------------------------------------------------------


def _columns_of(component: Mapping[str, Any]) -> list[int]:
    return list(chain(component.get("columns", ()), *component.get("groups", ())))


def _find(columns: Any, table: TableColumns, *, ordered: bool = False) -> list[int]:
    """Return positions among the continuous columns, increasing; none for None."""
    if columns is None:
        return []
    numbers = numbers_of(table.names)
    found = [_position(each, numbers) for each in columns]
    if len(set(found)) < len(found):
        raise ValueError("directions: a column is named twice.")
    categorical = [table.names[j] for j in found if table.kinds[j] != "continuous"]
    if categorical:
        raise ValueError(
            f"directions: column {categorical[0]!r} is categorical, and a direction has continuous "
            "columns only: leave it out, or convert it to numbers."
        )
    if ordered and found != sorted(found):
        raise ValueError(
            "directions: the columns of a Patch must be in the order of the table: reorder the "
            "columns of X."
        )
    among = {j: i for i, j in enumerate(_continuous(table))}
    return sorted(among[j] for j in found)


def _continuous(table: TableColumns) -> list[int]:
    return [j for j, kind in enumerate(table.kinds) if kind == "continuous"]


def _position(column: str | int, numbers: Mapping[str, int]) -> int:
    if isinstance(column, str):
        if column not in numbers:
            raise ValueError(f"directions: X has no column {column!r}.")
        return numbers[column]
    n_columns = 1 + max(numbers.values())
    if not 0 <= column < n_columns:
        raise ValueError(f"directions: X has {n_columns} columns, so there is no column {column}.")
    return column
