"""Predictions after replacing one column of a table, draw by draw.

Importances replace it by the values of other rows, effects by constants. Predictions are f, or
probabilities; with more than two classes they sum to one. The engine does the work and does not
re-evaluate trees that do not use the column. Where one posterior has all classes, importances are
those of f, and effects on the probabilities are computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.likelihood import Given
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_count, effective_jobs

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

FloatArray = NDArray[np.float64]
# Of the classes of some posteriors, at the rows of a table, with all draws.
Probabilities = Callable[["list[Posterior]", EncodedTable], FloatArray]

# Rows times trees per call of the engine; Ctrl-C works only between calls.
CALL_WORK = 2**26
# What the engine returns, by name.
ENGINE_FIELDS = ("mean", "variance", "change", "square")


class Replaced(NamedTuple):
    """Predictions at the rows of a table, and their changes, in the user's units.

    Squares are in those of the engine, because squares of the user's may overflow. The last
    dimension is the class; it has one entry for up to two classes.
    """

    mean: FloatArray
    """(draws, classes): over the rows."""
    variance: FloatArray
    """(draws, classes): over the rows, in the square of `unit`."""
    change: FloatArray
    """(draws, replacements, classes): the mean change over the rows."""
    square: FloatArray
    """(draws, replacements, classes): the mean of its square, in the square of `unit`."""
    unit: float = 1.0


class Sampled:
    """Evenly thinned rows of a table and draws of a model's posteriors."""

    def __init__(
        self,
        posteriors: Sequence[Posterior],
        table: EncodedTable,
        limits: tuple[int, int],
        n_jobs: int | None = None,
        probabilities: Probabilities | None = None,
    ) -> None:
        max_rows, max_draws = limits
        rows = choose_rows(check_count("max_rows", max_rows, 1), table.n_rows)
        self.table = table if len(rows) == table.n_rows else table.take(rows)
        n_draws = int(posteriors[0].draws.n_draws)
        self.index = choose_rows(check_count("max_draws", max_draws, 1), n_draws).astype(np.int64)
        self._posteriors = posteriors
        self._n_jobs = effective_jobs(n_jobs)
        self._own_probabilities = probabilities
        self._data = self.table.to_core()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.index)

    def swapped(self, partner: NDArray[np.int64]) -> Replaced:
        """Replace each column in turn by its values in the partner rows.

        Replacements are in the engine's order, with continuous columns first.
        """
        other = self.table.to_core(partner)
        return self._call(_core.swap_columns, other=other)

    def fixed(self, grid: EncodedTable, column: int) -> Replaced:
        """Replace a column, numbered in the engine's order, by each of its values in a grid."""
        if self._posteriors[0].likelihood.joint_classes or self._own_probabilities:
            return self._fixed_classes(grid, column)
        return self._call(_core.fix_column, grid=grid.to_core(), column=column)

    def _fixed_classes(self, grid: EncodedTable, column: int) -> Replaced:
        """Do the same for probabilities that the engine does not know."""
        thinned = [posterior._take(self.index.astype(np.intp)) for posterior in self._posteriors]
        before = self._probabilities(thinned, self.table)
        p_cont = self.table.p_cont
        values = grid.x_cont[column] if column < p_cont else grid.x_cat[column - p_cont]
        changes = [
            self._probabilities(thinned, self.table.with_value(column, value)) - before
            for value in values.tolist()
        ]
        return Replaced(
            before.mean(axis=1),
            before.var(axis=1),
            np.stack([change.mean(axis=1) for change in changes], axis=1),
            np.stack([(change**2).mean(axis=1) for change in changes], axis=1),
        )

    def _probabilities(self, posteriors: list[Posterior], table: EncodedTable) -> FloatArray:
        """Return draws of the probabilities, shape (draws, rows, classes); of two, the second's."""
        if self._own_probabilities is not None:
            return self._own_probabilities(posteriors, table)
        (posterior,) = posteriors
        likelihood = posterior.likelihood
        noise = likelihood.noise_of(posterior.trace)
        return np.concatenate(
            [
                likelihood.predictions(Given(f, noise))
                for _, f in posterior.blocks(table, self._n_jobs)
            ],
            axis=1,
        )

    def _call(self, engine: Callable[..., dict[str, Any]], **by: Any) -> Replaced:
        """Call the engine for some draws at a time, so that Ctrl-C works."""
        posteriors = self._posteriors
        first = posteriors[0]
        draws = [posterior.draws for posterior in posteriors]
        offsets = [float(posterior.settings.get("offset", 0.0)) for posterior in posteriors]
        # Scores of several classes become probabilities; that of one stays what it is.
        are_scores = first.likelihood.is_score
        link = "exp" if are_scores and len(posteriors) > 1 else first.likelihood.link
        options = {"link": link, "x": self._data, "n_threads": self._n_jobs}
        step = max(CALL_WORK // (self.n_rows * first.n_trees * len(posteriors)), 1)
        parts = [
            engine(draws, offsets, index=self.index[begin : begin + step], **options, **by)
            for begin in range(0, self.n_draws, step)
        ]
        mean, variance, change, square = (
            np.concatenate([part[name] for part in parts]) for name in ENGINE_FIELDS
        )
        unit = first.scale.scale
        location = first.scale.location + (offsets[0] if link == "identity" else 0.0)
        return Replaced(location + unit * mean, variance, unit * change, square, unit)


def engine_order(encoding: Encoding) -> NDArray[np.intp]:
    """Return each column's position in the engine's order, with continuous columns first."""
    is_categorical = np.array([kind == "categorical" for kind in encoding.kinds])
    order = np.argsort(is_categorical, kind="stable")
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.arange(len(order))
    return number
