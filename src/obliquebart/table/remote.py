"""Tables on the workers of a Dask cluster: encoded there, one column at a time.

A column is scaled by its ranks and its levels are sorted, so a worker needs a whole column at a
time, and no process ever needs the whole table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.table.dask import not_two_axes
from obliquebart.table.encoded import EncodedTable, digest_header
from obliquebart.table.encoding import (
    CategoricalFeatures,
    EncodedColumn,
    Encoding,
    ReadColumn,
    fit_column,
)
from obliquebart.table.frames import open_column, table_of_names
from obliquebart.table.problems import ProblemCollector
from obliquebart.table.selection import ColumnChoice, Dates

# A future of Dask: its classes are known only where Dask is installed.
Future = Any


class RemoteTable:
    """Encoded columns on the workers of a Dask cluster; see `EncodedTable`.

    Attributes
    ----------
    client : distributed.Client
    columns : list of Future
        Continuous columns, then categorical ones.
    n_levels : list of int
        Number of levels of each categorical column.
    n_rows : int
    has_missing : list of bool
        Whether a continuous column has missing values.
    """

    def __init__(
        self,
        client: Any,
        columns: Sequence[Future],
        n_levels: list[int],
        n_rows: int,
        has_missing: list[bool],
    ) -> None:
        self.client = client
        self.columns = list(columns)
        self.n_levels = n_levels
        self.n_rows = n_rows
        self.has_missing = has_missing
        self._digest: str | None = None

    @property
    def p_cont(self) -> int:
        """Return the number of continuous columns."""
        return len(self.columns) - len(self.n_levels)

    @property
    def n_rows_here(self) -> int:
        """Return the number of rows that are in this process."""
        return 0

    def take(self, rows: NDArray[Any]) -> EncodedTable:
        """Bring some rows to this process."""
        chosen = self.send(np.asarray(rows))
        columns = self.client.gather([self.submit(rows_of, c, chosen) for c in self.columns])
        return as_table(columns, self.p_cont, self.n_levels, len(rows))

    def digest(self) -> str:
        """Return the digest that the table would have in one place."""
        if self._digest is None:
            digest = hashlib.sha256()
            for columns, dtype in (
                (self.columns[: self.p_cont], np.float32),
                (self.columns[self.p_cont :], np.uint32),
            ):
                digest.update(digest_header(np.dtype(dtype), (len(columns), self.n_rows)))
                for column in columns:
                    digest.update(np.ascontiguousarray(column.result()).data)
            n_levels = np.array(self.n_levels, np.int64)
            digest.update(digest_header(n_levels.dtype, n_levels.shape))
            digest.update(n_levels.data)
            self._digest = digest.hexdigest()
        return self._digest

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Call a function on a worker, on the values of futures."""
        return self.client.submit(function, *arguments, pure=False, **options)

    def send(self, values: NDArray[Any]) -> Future:
        """Send an array to a worker."""
        return self.client.scatter(values, hash=False)


def rows_of(column: NDArray[Any], rows: NDArray[Any] | slice) -> NDArray[Any]:
    """Return some rows of a column, as a copy."""
    return np.ascontiguousarray(column[rows])


def as_table(
    columns: Sequence[NDArray[Any]], p_cont: int, n_levels: list[int], n_rows: int
) -> EncodedTable:
    """Return a table of encoded columns, the continuous ones first."""
    x_cont = np.empty((p_cont, n_rows), dtype=np.float32)
    x_cat = np.empty((len(columns) - p_cont, n_rows), dtype=np.uint32)
    for to, column in zip([*x_cont, *x_cat], columns, strict=True):
        to[:] = column
    return EncodedTable(x_cont, x_cat, n_levels)


def active_client(owner: str) -> Any:
    """Return the user's connection to a Dask cluster; raise an error if there is none."""
    try:
        return import_module("distributed").get_client()
    except ImportError:
        raise ImportError(
            f"{owner}.fit on a Dask collection needs Dask's scheduler: "
            "pip install 'obliquebart[dask]'."
        ) from None
    except ValueError:
        raise ValueError(
            f"{owner}.fit on a Dask collection needs a cluster: connect to one with "
            "dask.distributed.Client(...) first. If the table fits in memory, pass X.compute()."
        ) from None


def with_known_rows(X: Any) -> tuple[Any, int]:
    """Return a Dask collection whose number of rows is known, and this number."""
    if not hasattr(X, "chunks"):
        return X, len(X)
    if X.ndim != 2:
        raise ValueError(not_two_axes(X))
    if not all(isinstance(n, int) for n in X.shape):
        X = X.compute_chunk_sizes()
    return X, int(X.shape[0])


def encode_remotely(
    X: Any,
    *,
    n_rows: int,
    categorical_features: CategoricalFeatures,
    dates: Dates,
    feature_scaling: str,
    rows: NDArray[np.int64] | None,
    owner: str,
) -> tuple[Encoding, RemoteTable]:
    """Learn the encoding of a Dask array or data frame, and leave the encoded columns there.

    The arguments are those of `Encoding.fit_transform`, and so are the results, bit for bit.
    """
    from obliquebart.table.selection import column_choices

    if feature_scaling == "joint":
        raise ValueError(
            "feature_scaling='joint' needs the whole table in memory. Choose another scaling, or "
            "pass X.compute()."
        )
    client, dask = active_client(owner), import_module("dask")
    is_array = hasattr(X, "chunks")
    table = table_of_names(int(X.shape[1]) if is_array else list(X.columns), n_rows)
    choices = column_choices(table, categorical_features, dates)
    encode = dask.delayed(_encode, nout=3)
    kept = None if rows is None else client.scatter(rows, hash=False, broadcast=True)
    results = []
    for j, (name, choice) in enumerate(zip(table.names, choices, strict=True)):
        column = X[:, j] if is_array else X[X.columns[j]]
        pieces = list(np.ravel(column.to_delayed()))
        results.append(encode(pieces, name, choice, feature_scaling, kept))
    learned = client.compute([result[0] for result in results])
    values = client.compute([result[1] for result in results])
    missing = client.compute([result[2] for result in results])
    problems = ProblemCollector()
    columns: list[ReadColumn] = []
    for future in learned:
        with problems.of_column():
            columns.append(future.result())
    problems.raise_all()
    encoding = Encoding.of_columns(table, columns, feature_scaling, owner)
    kinds = encoding.kinds
    order = sorted(range(len(kinds)), key=lambda j: kinds[j] == "categorical")
    has_missing = [
        found
        for found, kind in zip(client.gather(missing), kinds, strict=True)
        if kind == "continuous"
    ]
    n_used = n_rows if rows is None else len(rows)
    remote = RemoteTable(client, [values[j] for j in order], encoding.n_levels, n_used, has_missing)
    return encoding, remote


def _encode(
    pieces: list[Any],
    name: str,
    choice: ColumnChoice,
    feature_scaling: str,
    rows: NDArray[np.int64] | None,
) -> tuple[ReadColumn, EncodedColumn, bool]:
    """Encode a column; called on a worker."""
    if isinstance(pieces[0], np.ndarray):
        values: Any = np.concatenate(pieces)
    else:
        values = import_module("pandas").concat(pieces, ignore_index=True)
    column = open_column(values, name, rows)
    read, encoded = fit_column(column, choice.role(lambda: column), feature_scaling)
    return read, encoded, encoded.dtype == np.float32 and bool(np.isnan(encoded).any())
