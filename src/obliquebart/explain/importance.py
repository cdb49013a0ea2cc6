"""Which columns matter: how much predictions change when a column is shuffled among the rows.

For a draw g of the predictions, the share of column j is

    mean (g(x) - g(x with column j of another row))² / (2 var g(x)),

Sobol's total effect where columns are independent. 0: the column does not matter; 1: the
predictions depend on it entirely. A joint effect counts for each column involved, so that shares
may sum to more than 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from obliquebart.display.numbers import about
from obliquebart.display.tables import TextTable, aligned, notebook_html
from obliquebart.explain.replaced import FloatArray, Sampled, engine_order
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_number, check_seed

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

# Maximum numbers of rows and draws; more are thinned evenly. This takes about a second for a model
# with ten columns.
MAX_ROWS, MAX_DRAWS = 2000, 100
# In small tables each row gets several partners, to reach this many pairs of rows.
MIN_PAIRS = 4000


class Importance(NamedTuple):
    """How much a column matters for the predictions.

    `share` is the share of their variance that is lost when the column is shuffled: its mean over
    the draws, with the interval (`low`, `high`). `change` is the root mean square change of a
    prediction, in the units of y or as a probability.
    """

    column: str
    kind: str
    share: float
    low: float
    high: float
    change: float


@dataclass(frozen=True, eq=False)
class ImportanceTable(Sequence[Importance]):
    """The importance of each column, most important first; prints as a table.

    A sequence of `Importance`, which can also be accessed by column name, as in
    ``table["age"].share``, and converted to a data frame, as in ``pandas.DataFrame(table)``.

    Attributes
    ----------
    columns : list of Importance
        One per column.
    draws : ndarray of shape (n_draws, n_columns)
        Draws of the shares, in the order of `columns`.
    coverage : float
        Coverage of the intervals.
    n_rows : int
        Number of rows used.
    """

    columns: list[Importance]
    draws: FloatArray
    coverage: float
    n_rows: int

    @overload
    def __getitem__(self, key: int | str) -> Importance: ...
    @overload
    def __getitem__(self, key: slice) -> list[Importance]: ...
    def __getitem__(self, key: int | str | slice) -> Importance | list[Importance]:
        if not isinstance(key, str):
            return self.columns[key]
        for row in self.columns:
            if row.column == key:
                return row
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Importance]:
        return iter(self.columns)

    def in_order(self, names: Sequence[str]) -> FloatArray:
        """Return the shares in the order of these columns.

        Parameters
        ----------
        names : sequence of str
            Names of columns.

        Returns
        -------
        ndarray of shape (len(names),)
        """
        share = {row.column: row.share for row in self.columns}
        return np.array([share[name] for name in names])

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        _, headings, rows = self._table()
        return "\n".join([*aligned([headings, *rows]), "", *EXPLANATION])

    def _repr_html_(self) -> str:
        return notebook_html([self._table(), " ".join(EXPLANATION)])

    def _table(self) -> TextTable:
        headings = ["column", "share", f"{self.coverage:.0%} interval", "change"]
        rows = [[row.column, *cells(row)] for row in self.columns]
        return TextTable("Columns by importance", headings, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values, without the draws.

        Returns
        -------
        dict
            With the attributes' names as keys.
        """
        return {
            "columns": [row._asdict() for row in self.columns],
            "coverage": self.coverage,
            "n_rows": self.n_rows,
            "n_draws": len(self.draws),
        }


EXPLANATION = (
    "share: the part of the variance of the predictions that is lost when the column is",
    "shuffled; a joint effect counts for each column involved.",
    "change: typical change of a prediction (root mean square).",
)


def cells(row: Importance) -> list[str]:
    """Format the numbers of a row."""
    return [f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}", about(row.change, 3)]


def in_words(table: Sequence[Importance], top: int = 3) -> str:
    """List the most important columns with their shares."""
    some = [f"{row.column} ({row.share:.0%})" for row in table[:top] if row.share > 0]
    return ", ".join(some) or "none"


def column_importance(
    posteriors: Sequence[Posterior],
    encoding: Encoding,
    table: EncodedTable,
    *,
    coverage: float = 0.9,
    max_rows: int = MAX_ROWS,
    max_draws: int = MAX_DRAWS,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
) -> ImportanceTable:
    """Return the importance of each column, from all posteriors of a model.

    With more than two classes, the squared changes of all probabilities are added, and so are
    their variances. A model with a single class has no posterior, and no column matters.
    """
    tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
    shares = changes = np.zeros((1, len(encoding.names)))
    n_rows = table.n_rows
    if posteriors:
        sampled = Sampled(posteriors, table, (max_rows, max_draws), n_jobs)
        n_rows = sampled.n_rows
        shares, changes = _shares(sampled, check_seed(random_state))
        number = engine_order(encoding)
        shares, changes = shares[:, number], changes[:, number]
    mean = shares.mean(axis=0)
    low, high = np.quantile(shares, (tail, 1.0 - tail), axis=0)
    order = np.argsort(-mean, kind="stable")
    rows = [
        Importance(encoding.names[j], encoding.taken_as[j], *map(float, numbers))
        for j, *numbers in zip(
            order, mean[order], low[order], high[order], changes.mean(axis=0)[order], strict=True
        )
    ]
    return ImportanceTable(rows, shares[:, order], 1.0 - 2.0 * tail, n_rows)


def _shares(sampled: Sampled, rng: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
    """Return draws of the shares and of the changes, by column in the engine's order."""
    first, *others = partner_rows(sampled.n_rows, rng)
    replaced = sampled.swapped(first)
    square = replaced.square
    for partner in others:
        square += sampled.swapped(partner).square
    square /= 1 + len(others)
    variance = 2.0 * replaced.variance.sum(axis=-1)[:, None]
    total = square.sum(axis=-1)
    shares = np.divide(total, variance, out=np.zeros_like(total), where=variance > 0)
    return shares, replaced.unit * np.sqrt(square.mean(axis=-1))


def partner_rows(n_rows: int, rng: np.random.RandomState) -> list[NDArray[np.int64]]:
    """Return permutations of the rows that give each row other partners, never the same twice.

    They are shifts along one shuffled circle of all rows. A single row is its own partner.
    """
    circle = rng.permutation(n_rows).astype(np.int64)
    position = np.argsort(circle)
    count = max(min(-(-MIN_PAIRS // n_rows), n_rows - 1), 1)
    return [circle[(position + shift) % n_rows] for shift in range(1, count + 1)]
