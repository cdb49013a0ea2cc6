"""Class probabilities: of two classes, or of each class against the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from obliquebart.posterior.posterior import FloatArray, Posterior, require_draws_memory
from obliquebart.table.encoded import EncodedTable


class ClassProbabilities:
    """Means, intervals and draws of the probabilities of all classes.

    There is no posterior for a single class, one (of the second class) for two, one per class for
    more. The probability of each against the rest is then divided by their sum, draw by draw, so
    that means and intervals are those of the normalised draws. `n_draws` counts the draws in all.
    """

    def __init__(self, posteriors: list[Posterior], n_classes: int, n_draws: int) -> None:
        self._posteriors = posteriors
        self._n_classes = n_classes
        self._n_draws = n_draws

    def mean(self, columns: EncodedTable, n_jobs: int | None) -> FloatArray:
        """Return posterior means, shape (rows, classes)."""
        out = np.ones((columns.n_rows, self._n_classes))
        if self._n_classes == 2:
            out[:, 1] = self._posteriors[0].summarise(columns, n_jobs=n_jobs).mean
            out[:, 0] = 1.0 - out[:, 1]
        elif self._n_classes > 2:
            for rows, draws in self._blocks(columns, n_jobs):
                out[rows] = draws.mean(axis=0)
        return out

    def interval(self, columns: EncodedTable, tail: float, n_jobs: int | None) -> FloatArray:
        """Return the quantiles `tail` and `1 - tail`, shape (rows, classes, 2)."""
        ends = (tail, 1.0 - tail)
        out = np.ones((columns.n_rows, self._n_classes, 2))
        if self._n_classes == 2:
            out[:, 1] = self._posteriors[0].summarise(columns, ends, n_jobs=n_jobs).quantiles
            out[:, 0] = 1.0 - out[:, 1, ::-1]
        elif self._n_classes > 2:
            for rows, draws in self._blocks(columns, n_jobs):
                out[rows] = np.moveaxis(np.quantile(draws, ends, axis=0), 0, -1)
        return out

    def draws(self, columns: EncodedTable, n_jobs: int | None) -> FloatArray:
        """Return every draw, shape (draws, rows, classes)."""
        require_draws_memory(self._n_draws, columns.n_rows, self._n_classes)
        out = np.ones((self._n_draws, columns.n_rows, self._n_classes))
        for rows, draws in self._blocks(columns, n_jobs):
            out[:, rows] = draws
        return out

    def _blocks(
        self, columns: EncodedTable, n_jobs: int | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and the draws at them, a bounded number of rows at a time."""
        parts = [posterior.mean_blocks(columns, n_jobs) for posterior in self._posteriors]
        for blocks in zip(*parts, strict=True):
            draws = np.stack([probabilities for _, probabilities in blocks], axis=-1)
            if self._n_classes == 2:
                draws = np.concatenate([1.0 - draws, draws], axis=-1)
            else:
                # All classes at probability 0 in float64 would leave 0 / 0.
                draws = np.maximum(draws, np.finfo(np.float64).tiny)
                draws /= draws.sum(axis=-1, keepdims=True)
            yield blocks[0][0], draws
