"""What a model stores about its training table, and how it encodes later tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obliquebart.exceptions import DoubtfulColumnWarning, warn_caller
from obliquebart.table.columns import Column
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.frames import Table, check_columns, read_table, without_column
from obliquebart.table.grid import Grid, column_names
from obliquebart.table.levels import LevelTable, Unseen, UnseenLevelWarning, unseen_message
from obliquebart.table.problems import ProblemCollector, value_error
from obliquebart.table.scaling import FEATURE_SCALINGS, ColumnScale, limits_of
from obliquebart.table.selection import Dates, Role, column_roles, is_category

CategoricalFeatures = Literal["auto"] | Sequence[str] | Sequence[int] | ArrayLike | None

# A text column with more distinct values than this, and more than one per two rows, is considered
# free text unless the user declares it categorical.
MAX_FREE_LEVELS = 1000
# With at most this many distinct values, even dates or names are plausible categories.
MIN_DOUBTFUL_LEVELS = 30
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?")
# Whole numbers that differ in all of at least so many rows are row numbers, if their name says so.
MIN_NUMBERED_ROWS = 20
ROW_NUMBERS = re.compile(
    r"id|index|unnamed: 0|row(s|[ _.]?(id|index|names?|num(ber)?s?))?", re.IGNORECASE
)

STATE_VERSION = 1


@dataclass(frozen=True, eq=False)
class Encoding:
    """The columns of a training table: names, kinds, scales, levels.

    Made by `fit`. Continuous columns are mapped to [-1, 1] based on the training rows; the levels
    of categorical columns are numbered in sorted order. All containers give the same arrays.

    Attributes
    ----------
    names : list of str
        Column names for messages; ``x0``, ``x1``, … if the container had none.
    is_named : bool
        Whether the container had column names, all of them strings.
    columns : list of ColumnScale or LevelTable
        One per column of the table, in order.
    feature_scaling : str
    owner : str
        Name of the estimator, for messages.
    left_out : str or None
        A column that is not part of the model and may be in later tables, such as an exposure.
    grids : tuple of Grid
        Which columns are laid out as images or curves, with positions in the table. Missing cells
        are filled from their neighbours.

    Examples
    --------
    >>> encoding = Encoding.fit([[1.0, "a"], [2.0, "b"], [5.0, "b"]], categorical_features=[1])
    >>> encoding.kinds, encoding.n_levels
    (['continuous', 'categorical'], [2])
    >>> encoding.transform([[3.0, "a"]]).x_cont
    array([[0.]], dtype=float32)
    """

    names: list[str]
    is_named: bool
    columns: list[ColumnScale | LevelTable]
    feature_scaling: str
    owner: str
    left_out: str | None = None
    grids: tuple[Grid, ...] = ()

    @classmethod
    def fit(cls, X: Any, **options: Any) -> Encoding:
        """Learn the encoding of a training table; the options are those of `fit_transform`."""
        return cls.fit_transform(X, **options)[0]

    @classmethod
    def fit_transform(
        cls,
        X: Any,
        *,
        categorical_features: CategoricalFeatures = "auto",
        dates: Dates = None,
        feature_scaling: str = "range",
        grids: Sequence[Grid] = (),
        rows: NDArray[np.int64] | None = None,
        owner: str = "Encoding",
    ) -> tuple[Encoding, EncodedTable]:
        """Learn the encoding of a training table and encode it, reading it once.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            NumPy array, nested list, or a pandas, polars, PyArrow or other data frame supported
            by narwhals.
        categorical_features : "auto", None, or list of names, positions or booleans
            Which columns are categorical. ``"auto"``: in a data frame, columns of categorical,
            enum or text type, and object columns that contain text; in an array, none. Names or
            positions add columns to these. A list of booleans, one per column, or None replaces
            the automatic choice. Booleans, also as text ("True", "FALSE"), become 0 and 1.
        dates : {"auto", None}
            ``"auto"`` converts date columns, and text columns in which all values are ISO 8601
            dates, to days since 1970-01-01. With None, date columns raise an error and text is
            categorical.
        feature_scaling : {"range", "rank", "blend", "joint"}
            The map of a continuous column to [-1, 1]. ``"range"``: by the training minimum and
            maximum, linear beyond them. ``"rank"``: by mid-rank among the training values, linear
            between them and constant beyond them. ``"blend"``: the mean of the two. ``"joint"``:
            by one minimum and maximum for all continuous columns together, only useful to
            reproduce published results.
        grids : sequence of Grid
            Which columns are laid out as images or curves.
        rows : int array, optional
            Rows to use; all others are ignored.
        owner : str
            Name of the estimator, for messages.

        Returns
        -------
        encoding : Encoding
        encoded : EncodedTable
        """
        table = read_table(X, owner, rows, grids)
        roles = column_roles(table, categorical_features, dates)
        limits = _joint_limits(table, roles) if feature_scaling == "joint" else None

        columns: list[ReadColumn] = []
        problems = ProblemCollector()
        writer = _Writer(table.n_rows, [is_category(role) for role in roles])
        for j, role in enumerate(roles):
            with problems.of_column():
                column, values = fit_column(table.column(j), role, feature_scaling, limits)
                columns.append(column)
                writer.add(values)
        problems.raise_all()
        encoding = cls.of_columns(table, columns, feature_scaling, owner, grids)
        return encoding, writer.encoded(encoding)

    @classmethod
    def of_columns(
        cls,
        table: Table,
        columns: Sequence[ReadColumn],
        feature_scaling: str,
        owner: str,
        grids: Sequence[Grid] = (),
    ) -> Encoding:
        """Return the encoding of columns that have been read, and warn about doubtful ones."""
        doubts = [column.doubt for column in columns if column.doubt is not None]
        row_numbers = [
            name
            for name, column in zip(table.names, columns, strict=True)
            if column.numbers_the_rows
        ]
        if doubts or row_numbers:
            others = any(column.has_other_dates for column in columns)
            warn_caller(DoubtfulColumnWarning(doubts, row_numbers, other_dates=others))
        scales = [column.scale for column in columns]
        _warn_empty(table.names, scales)
        encoding = cls(table.names, table.is_named, scales, feature_scaling, owner)
        placed = dict.fromkeys(grid.placed(encoding.names, encoding.kinds) for grid in grids)
        # Which columns of an array are cells is known only now that categories are.
        names = table.names if table.is_frame else column_names(grids, encoding.kinds)
        return replace(encoding, names=names, grids=tuple(filter(None, placed)))

    def transform(self, X: Any) -> EncodedTable:
        """Encode a table with the same columns.

        Columns that were all missing in training are not read. Levels unseen in training get the
        code 4294967295 and are reported in one `UnseenLevelWarning`. Missing values of a
        categorical column count as unseen if training had none.
        """
        if self.left_out is not None:
            X = without_column(X, self.left_out)
        table = read_table(X, self.owner, grids=self.grids, names=self.names)
        check_columns(table, self.names, self.is_named, self.owner)
        reports: list[Unseen] = []
        problems = ProblemCollector(later=True)
        writer = _Writer(table.n_rows, [kind == "categorical" for kind in self.kinds])
        for j, known in enumerate(self.columns):
            with problems.of_column():
                if isinstance(known, LevelTable):
                    codes, unseen = known.codes(table.column(j).factor(), self.names[j])
                    writer.add(codes)
                    reports += [] if unseen is None else [unseen]
                elif known.is_empty:
                    writer.add(np.zeros(table.n_rows, dtype=np.float32))
                else:
                    values = _values(table.column(j), is_date=known.is_date)
                    writer.add(known.apply(values))
        problems.raise_all()
        if reports:
            warn_caller(unseen_message(reports), UnseenLevelWarning)
        return writer.encoded(self)

    def with_columns(self, names: list[str], values: NDArray[np.float64]) -> Encoding:
        """Return the encoding of a table with further continuous columns, given as rows."""
        scales = [ColumnScale.fit(column, self._own_scaling) for column in values]
        return replace(self, names=[*self.names, *names], columns=[*self.columns, *scales])

    def without_last(self, n_columns: int) -> Encoding:
        """Return the encoding without its last columns, undoing `with_columns`."""
        n_kept = len(self.columns) - n_columns
        return replace(self, names=self.names[:n_kept], columns=self.columns[:n_kept])

    @property
    def _own_scaling(self) -> str:
        """The scaling of a column that was not in the table: joint limits are not its own."""
        return "range" if self.feature_scaling == "joint" else self.feature_scaling

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Column names; the attribute does not exist if the table had none."""
        if not self.is_named:
            raise AttributeError("the training table had no column names")
        return np.array(self.names, dtype=object)

    @property
    def kinds(self) -> list[str]:
        """``"continuous"`` or ``"categorical"``, column by column."""
        return [
            "categorical" if isinstance(column, LevelTable) else "continuous"
            for column in self.columns
        ]

    @property
    def taken_as(self) -> list[str]:
        """The kinds in the words of `fit`: a continuous column may be a ``"date"``."""
        return [
            "date" if isinstance(column, ColumnScale) and column.is_date else kind
            for column, kind in zip(self.columns, self.kinds, strict=True)
        ]

    @property
    def levels(self) -> dict[str, list[str | int | float | None]]:
        """Levels of each categorical column by code; None stands for missing values."""
        return {
            name: column.levels
            for name, column in zip(self.names, self.columns, strict=True)
            if isinstance(column, LevelTable)
        }

    @property
    def n_levels(self) -> list[int]:
        """Number of levels of each categorical column, counting missing values as a level."""
        return [c.n_levels for c in self.columns if isinstance(c, LevelTable)]

    @property
    def p_cont(self) -> int:
        """Number of continuous columns."""
        return len(self.columns) - self.p_cat

    @property
    def p_cat(self) -> int:
        """Number of categorical columns."""
        return len(self.n_levels)

    def to_state(self) -> dict[str, Any]:
        """JSON-able state, for a model file."""
        return {
            "version": STATE_VERSION,
            "names": self.names,
            "is_named": self.is_named,
            "kinds": self.kinds,
            "columns": [column.to_state() for column in self.columns],
            "feature_scaling": self.feature_scaling,
            "owner": self.owner,
            **({} if self.left_out is None else {"left_out": self.left_out}),
            **({"grids": [grid.to_state() for grid in self.grids]} if self.grids else {}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Encoding:
        """Rebuild from `to_state`'s dictionary, or raise ValueError: a file may be damaged."""
        readers: dict[str, Callable[[dict[str, Any]], ColumnScale | LevelTable]] = {
            "continuous": ColumnScale.from_state,
            "categorical": LevelTable.from_state,
        }
        try:
            if state["version"] != STATE_VERSION:
                raise ValueError(f"unknown version {state['version']!r}")
            columns: list[ColumnScale | LevelTable] = [
                readers[kind](column)
                for kind, column in zip(state["kinds"], state["columns"], strict=True)
            ]
            names = [str(name) for name in state["names"]]
            if len(names) != len(columns) or not names:
                raise ValueError("the number of names and columns must be equal")
            if state["feature_scaling"] not in FEATURE_SCALINGS:
                raise ValueError(f"unknown feature_scaling {state['feature_scaling']!r}")
            is_named, scaling = bool(state["is_named"]), state["feature_scaling"]
            left_out = state.get("left_out")
            if left_out is not None and (not isinstance(left_out, str) or left_out in names):
                raise ValueError("the column that was left out is one of the others")
            kinds = state["kinds"]
            grids = tuple(Grid.from_state(each, names, kinds) for each in state.get("grids", ()))
            return cls(names, is_named, columns, scaling, str(state["owner"]), left_out, grids)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"The stored encoding is damaged: {error!r}") from error


class ReadColumn(NamedTuple):
    """What was learned from a column of a training table."""

    scale: ColumnScale | LevelTable
    doubt: str | None = None
    """Why it may be no category."""
    has_other_dates: bool = False
    numbers_the_rows: bool = False


# Values of a continuous column, or codes of a categorical one.
EncodedColumn = NDArray[np.float32] | NDArray[np.uint32]


def fit_column(
    column: Column,
    role: Role,
    feature_scaling: str,
    limits: tuple[float, float] | None = None,
) -> tuple[ReadColumn, EncodedColumn]:
    """Learn the encoding of one column, and encode it.

    `limits` are those of all columns together, if the scaling is joint.
    """
    if is_category(role):
        factor = column.factor()
        n_rows = len(factor.codes)
        doubt = None
        if role == "found" and column.kind == "text":
            _check_not_free_text(column, len(factor.values), n_rows)
            doubt = _doubt_about_text(column.name, factor.values, n_rows)
        levels = LevelTable.fit(factor)
        has_other_dates = doubt is not None and _are_other_dates(column)
        read = ReadColumn(levels, doubt, has_other_dates)
        return read, levels.codes(factor, column.name)[0]
    values = _values(column, is_date=role == "date")
    scale = ColumnScale.fit(values, feature_scaling, limits, is_date=role == "date")
    numbered = _are_row_numbers(column.name, values)
    return ReadColumn(scale, numbers_the_rows=numbered), scale.apply(values)


class _Writer:
    """Fills the two arrays column by column."""

    def __init__(self, n_rows: int, is_categorical: Sequence[bool]) -> None:
        p_cat = sum(is_categorical)
        self._x_cont = np.empty((len(is_categorical) - p_cat, n_rows), dtype=np.float32)
        self._x_cat = np.empty((p_cat, n_rows), dtype=np.uint32)
        self._cont, self._cat = iter(self._x_cont), iter(self._x_cat)

    def add(self, values: EncodedColumn) -> None:
        """Add the values of a continuous column or the codes of a categorical one."""
        next(self._cont if values.dtype == np.float32 else self._cat)[:] = values

    def encoded(self, encoding: Encoding) -> EncodedTable:
        """Return the table, with missing cells of grids filled."""
        continuous = [j for j, kind in enumerate(encoding.kinds) if kind == "continuous"]
        for grid in encoding.grids:
            own = np.searchsorted(continuous, grid.positions)
            if any(np.isnan(self._x_cont[j]).any() for j in own):
                scales = [encoding.columns[j] for j in grid.positions]
                is_constant = [isinstance(c, ColumnScale) and c.is_constant for c in scales]
                self._x_cont[own] = grid.fill(self._x_cont[own], np.array(is_constant))
        return EncodedTable(self._x_cont, self._x_cat, encoding.n_levels)


def _values(column: Column, *, is_date: bool) -> NDArray[np.float64]:
    return column.days() if is_date else column.numbers()


def _joint_limits(table: Table, roles: Sequence[Role]) -> tuple[float, float]:
    limits: list[tuple[float, float]] = []
    problems = ProblemCollector()
    for j, role in enumerate(roles):
        if not is_category(role):
            with problems.of_column():
                limits.append(limits_of(_values(table.column(j), is_date=role == "date")))
    problems.raise_all()
    return limits_of(np.array(limits, dtype=np.float64).reshape(-1))


def _check_not_free_text(column: Column, n_distinct: int, n_rows: int) -> None:
    """Raise an error if a text column has too many distinct values to be categorical."""
    if n_distinct <= max(MAX_FREE_LEVELS, n_rows // 2):
        return
    counted = f"{n_distinct} distinct values in {n_rows} rows"
    if column.holds_dates:
        raise value_error(column.name, f"contains dates written as text: {counted}", "dates")
    if _are_other_dates(column):
        fault = f"contains dates written as text, but not ISO dates: {counted}"
        raise value_error(column.name, fault, "not dates")
    raise value_error(column.name, f"looks like free text: {counted}", "free text")


def _are_other_dates(column: Column) -> bool:
    """Say whether a text column looks like dates, but not those of ISO 8601."""
    return not column.holds_dates and all(
        DATE.fullmatch(str(value)) for value in column.factor().values
    )


def _doubt_about_text(name: str, values: Iterable[Any], n_rows: int) -> str | None:
    """Return a sentence if a text column is unlikely to be categorical."""
    levels = [str(value) for value in values]
    if len(levels) <= MIN_DOUBTFUL_LEVELS:
        return None
    if all(map(DATE.fullmatch, levels)):
        return (
            f"Column {name!r} looks like dates written as text. As {len(levels)} levels they "
            "have no order, and every new date is an unseen level."
        )
    if len(levels) > n_rows // 2:
        return (
            f"Column {name!r} has {len(levels)} distinct values in {n_rows} rows. That is more "
            "than one for every two rows, so the model can learn little from them."
        )
    return None


def _are_row_numbers(name: str, values: NDArray[np.float64]) -> bool:
    """Say whether a column has a name for row numbers and a different whole number in each row."""
    return (
        ROW_NUMBERS.fullmatch(name.strip()) is not None
        and len(values) >= MIN_NUMBERED_ROWS
        and bool((values == np.round(values)).all())
        and len(np.unique(values)) == len(values)
    )


def _warn_empty(names: list[str], columns: list[ColumnScale | LevelTable]) -> None:
    empty = [
        repr(name)
        for name, column in zip(names, columns, strict=True)
        if isinstance(column, ColumnScale) and column.is_empty
    ]
    if empty:
        more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
        warn_caller(f"Ignoring columns without any value: {', '.join(empty[:5])}{more}.")
