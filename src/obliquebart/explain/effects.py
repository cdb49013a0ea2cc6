"""The effect of a column: the average prediction if all rows had the same value in it.

This is partial dependence, computed for each draw, so that it has intervals. It describes what the
model predicts if one column changes alone. If columns are correlated, it averages over rows that
do not occur in the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.display.numbers import plain, plain_alike
from obliquebart.display.tables import TextTable, aligned, notebook_html
from obliquebart.display.words import probability_of
from obliquebart.explain.replaced import FloatArray, Probabilities, Replaced, Sampled, engine_order
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable
from obliquebart.table.scaling import ColumnScale
from obliquebart.validation import check_count, check_number

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

# Maximum numbers of rows and draws; more are thinned evenly.
MAX_ROWS, MAX_DRAWS = 500, 200
# Values of a continuous column, or levels of a categorical one.
N_POINTS = 30
# The quantiles of the rows that a curve spans, so that outliers do not compress the rest.
MIDDLE = (0.01, 0.99)
# Intervals of more classes than this leave no room in a table.
FEW_CLASSES = 3
DIFFERENCE = ", difference from the average"


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of one column on the predictions; prints as a table.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : {"continuous", "categorical"}
        Kind of the column.
    points : ndarray of shape (n_points,)
        Increasing values of a continuous column, with NaN at the end for missing values; or levels
        of a categorical column, with None for missing values.
    mean, low, high : ndarray of shape (n_points,) or (n_points, n_classes)
        Posterior mean and interval of the average prediction if all rows had this value: in the
        units of y, or the probability of the second of two classes, or of each class if there are
        more.
    draws : ndarray of shape (n_draws, n_points) or (n_draws, n_points, n_classes)
        Draws of the average prediction.
    n_rows : ndarray of shape (n_points,)
        Number of rows that have the level, or a missing value; 0 for values of a continuous column.
    classes : tuple
        Labels of the probabilities, in their order if they have one; empty for a regression or a
        posterior.
    is_probability : bool
        Whether the predictions are probabilities.
    centered : bool
        Whether these are differences from the average prediction of the rows.
    coverage : float
        Coverage of the intervals.
    target : str or None
        What the outcome is called.
    n_left_out : int
        Levels of a category that are not among the points, because others have more rows.
    averaged : str or None
        What is averaged, if that is not a prediction of the outcome.
    """

    column: str
    kind: str
    points: NDArray[Any]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    draws: FloatArray
    n_rows: NDArray[np.int64]
    classes: tuple[Any, ...]
    is_probability: bool
    centered: bool
    coverage: float
    target: str | None = None
    n_left_out: int = 0
    averaged: str | None = None

    @property
    def labels(self) -> list[str]:
        """The points as texts."""
        points = self.points.tolist()
        texts = plain_alike(points, 4) if self.kind == "continuous" else list(map(str, points))
        return [
            "missing" if missing else text
            for missing, text in zip(self.is_missing, texts, strict=True)
        ]

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each point stands for missing values."""
        return np.array([point is None or point != point for point in self.points.tolist()])

    def quantity(self, target: str | None = None) -> str:
        """Describe the predicted quantity, for an axis label.

        Parameters
        ----------
        target : str, optional
            Name of the outcome, with its unit; by default, the name stored in the model.

        Returns
        -------
        str
        """
        target = target or self.target
        if self.averaged is not None:
            name = self.averaged
        elif self.is_probability:
            several = "probability" if target is None else f"probability of each {target}"
            name = probability_of(self.classes[0], target) if len(self.classes) == 1 else several
        else:
            name = "prediction" if target is None else f"predicted {target}"
        return f"{name}{DIFFERENCE}" if self.centered else f"average {name}"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        title, headings, rows = self._table()
        notes = [line for note in self._notes() for line in ("", note)]
        return "\n".join([title, "", *aligned([headings, *rows]), *notes])

    def _repr_html_(self) -> str:
        return notebook_html([self._table(), *self._notes()])

    @property
    def left_out(self) -> str:
        """How many levels are not among the points, in words; empty if there are none."""
        levels = "level" if self.n_left_out == 1 else "levels"
        return f"{self.n_left_out} more {levels}" if self.n_left_out else ""

    @property
    def _has_intervals(self) -> bool:
        """Whether the table has room for intervals."""
        return self.mean.ndim == 1 or self.mean.shape[1] <= FEW_CLASSES

    def _notes(self) -> list[str]:
        notes = []
        if self.n_left_out:
            n_levels = len(self.points) + self.n_left_out
            notes.append(f"{self.left_out} with fewer rows: n_points={n_levels} shows all.")
        if not self._has_intervals:
            notes.append("records() and plots.effects have the intervals.")
        return notes

    def _table(self) -> TextTable:
        digits = 4 if self.mean.ndim == 1 else 3
        n_points = len(self.points)
        curves = [each.reshape(n_points, -1).T for each in (self.mean, self.low, self.high)]
        names = ["mean"] if self.mean.ndim == 1 else list(map(str, self.classes))
        headings, columns = [self.column], [self.labels]
        for name, mean, low, high in zip(names, *curves, strict=True):
            headings.append(name)
            columns.append([plain(value, digits) for value in mean])
            if self._has_intervals:
                headings.append(f"{self.coverage:.0%} interval")
                ends = zip(low, high, strict=True)
                columns.append([f"{plain(a, digits)} to {plain(b, digits)}" for a, b in ends])
        rows = [list(row) for row in zip(*columns, strict=True)]
        difference = DIFFERENCE if self.centered else ""
        title = f"{self.quantity().removesuffix(difference)} by {self.column}{difference}"
        return TextTable(title, headings, rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per point, or per point and class, for a data frame.

        Returns
        -------
        list of dict
            With the keys `column`, `value` (None for missing), `class` (only where there are
            classes), `mean`, `low`, `high` and `n_rows`.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from obliquebart import ObliqueBARTRegressor
        >>> X = np.random.default_rng(0).uniform(size=(100, 3))
        >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=50, random_state=0)
        >>> effect = model.fit(X, 5 * X[:, 1]).effects(X, "x1", n_points=4)
        >>> pd.DataFrame(effect.records()).columns.tolist()
        ['column', 'value', 'mean', 'low', 'high', 'n_rows']
        """
        shape = (len(self.points), -1)
        numbers = np.stack([each.reshape(shape) for each in (self.mean, self.low, self.high)], -1)
        return [
            {
                "column": self.column,
                "value": None if missing else point,
                **({"class": self.classes[k]} if self.classes else {}),
                **dict(zip(("mean", "low", "high"), values, strict=True)),
                "n_rows": n_rows,
            }
            for point, missing, n_rows, classes in zip(
                self.points.tolist(),
                self.is_missing.tolist(),
                self.n_rows.tolist(),
                numbers.tolist(),
                strict=True,
            )
            for k, values in enumerate(classes)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values, without the draws.

        For a data frame, use `records`.

        Returns
        -------
        dict
            With the attributes' names as keys.
        """
        return {
            "column": self.column,
            "kind": self.kind,
            "points": [
                None if missing else point
                for point, missing in zip(self.points.tolist(), self.is_missing, strict=True)
            ],
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "classes": [str(label) for label in self.classes],
            "centered": self.centered,
            "coverage": self.coverage,
            "n_left_out": self.n_left_out,
        }


class _Grid(NamedTuple):
    """Points of a column in the user's units and encoded, and the number of rows at each."""

    points: NDArray[Any]
    encoded: NDArray[Any]
    n_rows: NDArray[np.int64]


def column_effect(
    posteriors: Sequence[Posterior],
    encoding: Encoding,
    table: EncodedTable,
    column: str | int,
    *,
    classes: Sequence[Any] = (),
    centered: bool = False,
    n_points: int = N_POINTS,
    coverage: float = 0.9,
    max_rows: int = MAX_ROWS,
    max_draws: int = MAX_DRAWS,
    n_jobs: int | None = None,
    probabilities: Probabilities | None = None,
) -> Effect:
    """Return the effect of a column on the predictions of a model, from all its posteriors."""
    tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
    if not posteriors:
        raise ValueError("A model with a single class has no effects: its prediction is constant.")
    j = column_position(encoding, column)
    number = int(engine_order(encoding)[j])
    grid = _grid(encoding, j, table, number, check_count("n_points", n_points, 2))
    sampled = Sampled(posteriors, table, (max_rows, max_draws), n_jobs, probabilities)
    replaced = sampled.fixed(_grid_table(table, number, grid), number)
    draws = _curves(replaced, centered)
    order = _reading_order(encoding.columns[j], grid, draws.mean(axis=0))
    draws = draws[:, order]
    if draws.shape[-1] == 1:
        draws = draws[..., 0]
    low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0)
    return Effect(
        column=encoding.names[j],
        kind=encoding.kinds[j],
        points=grid.points[order],
        mean=draws.mean(axis=0),
        low=low,
        high=high,
        draws=draws,
        n_rows=grid.n_rows[order],
        classes=tuple(classes) or _numbers_of_classes(draws),
        is_probability=_are_probabilities(posteriors),
        centered=centered,
        coverage=1.0 - 2.0 * tail,
        n_left_out=_n_left_out(encoding.columns[j], grid),
    )


def _numbers_of_classes(draws: FloatArray) -> tuple[int, ...]:
    """Return what distinguishes the curves of a posterior that does not know its labels."""
    return tuple(range(draws.shape[2])) if draws.ndim == 3 else ()


def _are_probabilities(posteriors: Sequence[Posterior]) -> bool:
    """Say whether predictions are probabilities: of labels, but not the score of one class."""
    likelihood = posteriors[0].likelihood
    return likelihood.has_classes and not (likelihood.is_score and len(posteriors) == 1)


def _curves(replaced: Replaced, centered: bool) -> FloatArray:
    """Return draws of the average prediction at each point, shape (draws, points, classes)."""
    return replaced.change if centered else replaced.mean[:, None] + replaced.change


def column_position(encoding: Encoding, column: str | int) -> int:
    """Return the position of a column, given its name or position."""
    names = encoding.names
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"The model has no column {column!r}.")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
        raise TypeError(f"column={column!r} must be a name or a position.")
    if not 0 <= column < len(names):
        raise ValueError(
            f"column={column} is out of range: columns are numbered 0 to {len(names) - 1}."
        )
    return int(column)


def _grid(encoding: Encoding, j: int, table: EncodedTable, number: int, n_points: int) -> _Grid:
    known = encoding.columns[j]
    if isinstance(known, LevelTable):
        return _levels(known, table.x_cat[number - table.p_cont], n_points)
    if not known.low < known.high:
        raise ValueError(
            f"Column {encoding.names[j]!r} had a single value in training, so it has no effect."
        )
    return _values(known, table.x_cont[number], n_points)


def _levels(known: LevelTable, codes: NDArray[np.uint32], n_points: int) -> _Grid:
    """Return all levels, or those with the most rows."""
    count = np.bincount(codes[codes < known.n_levels], minlength=known.n_levels)
    shown = np.sort(np.argsort(-count, kind="stable")[:n_points])
    levels = np.empty(known.n_levels, dtype=object)
    levels[:] = known.levels
    return _Grid(levels[shown], shown.astype(np.uint32), count[shown].astype(np.int64))


def _n_left_out(known: ColumnScale | LevelTable, grid: _Grid) -> int:
    """Return how many levels are not among the points."""
    return known.n_levels - len(grid.points) if isinstance(known, LevelTable) else 0


def _values(scale: ColumnScale, scaled: NDArray[np.float32], n_points: int) -> _Grid:
    """Return all distinct values or quantiles of them, then a missing value if there are any."""
    present = scaled[~np.isnan(scaled)]
    distinct = np.unique(present)
    if len(distinct) > n_points:
        levels = np.linspace(*MIDDLE, n_points)
        distinct = np.unique(np.quantile(present, levels, method="inverted_cdf"))
    points = _rounded(scale.undo(distinct), scale)
    n_missing = len(scaled) - len(present)
    if n_missing:
        points, distinct = np.append(points, np.nan), np.append(distinct, np.float32(np.nan))
    n_rows = np.zeros(len(points), dtype=np.int64)
    n_rows[np.isnan(points)] = n_missing
    return _Grid(points, distinct, n_rows)


def _rounded(values: FloatArray, scale: ColumnScale) -> FloatArray:
    """Return rising values without the spurious digits of float32, if they still rise then."""
    half_width = scale.high / 2.0 - scale.low / 2.0
    exponent = int(np.floor(np.log10(half_width) + np.log10(2.0)))
    rounded = np.round(values, 6 - exponent) if -300 < exponent < 300 else values
    return rounded if (np.diff(rounded) > 0).all() else values


def _grid_table(table: EncodedTable, number: int, grid: _Grid) -> EncodedTable:
    """Return a table with the points of one column and placeholders in the others."""
    n_points = len(grid.points)
    x_cont = np.zeros((table.p_cont, n_points), dtype=np.float32)
    x_cat = np.zeros((len(table.n_levels), n_points), dtype=np.uint32)
    if number < table.p_cont:
        x_cont[number] = grid.encoded
    else:
        x_cat[number - table.p_cont] = grid.encoded
    return EncodedTable(x_cont, x_cat, table.n_levels)


def _reading_order(
    known: ColumnScale | LevelTable, grid: _Grid, mean: FloatArray
) -> NDArray[np.intp]:
    """Return the order of the points: text levels by their effect, all others by value.

    With more than two classes, effects define no single order. Missing values come last.
    """
    if isinstance(known, LevelTable) and known.kind == "text" and mean.shape[1] == 1:
        is_missing = np.array([level is None for level in grid.points])
        return np.lexsort((-mean[:, 0], is_missing))
    return np.arange(len(grid.points))
