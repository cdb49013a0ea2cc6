"""Class probabilities: of two classes, of each class against the rest, or of all together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from obliquebart.likelihood import Given
from obliquebart.posterior.predictions import FloatArray, require_draws_memory
from obliquebart.table.encoded import EncodedTable

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior


class ClassProbabilities:
    """Means, quantiles and draws of the probabilities of all classes.

    A single class has no posterior, two classes have one (of the second class), and more classes
    have one each, or one that has all of them if the likelihood says so. If they have one each,
    each draw of the probabilities of classes against the rest is divided by its sum; means and
    intervals are those of the normalised draws. Class weights multiply every draw before it is
    normalised. `n_draws` is the total number of draws.
    """

    def __init__(
        self,
        posteriors: list[Posterior],
        n_classes: int,
        n_draws: int,
        weights: FloatArray | None = None,
    ) -> None:
        self._posteriors = posteriors
        self._n_classes = n_classes
        self._n_draws = n_draws
        self._weights = weights

    @property
    def _is_plain_pair(self) -> bool:
        """Whether the posterior directly gives the probability of the second of two classes."""
        return self._n_classes == 2 and self._weights is None

    def mean(self, columns: EncodedTable, n_jobs: int | None) -> FloatArray:
        """Return posterior means, shape (rows, classes)."""
        out = np.ones((columns.n_rows, self._n_classes))
        if self._is_plain_pair:
            out[:, 1] = self._posteriors[0].summarise(columns, n_jobs=n_jobs).mean
            out[:, 0] = 1.0 - out[:, 1]
        elif self._n_classes > 1:
            for rows, draws in self.blocks(columns, n_jobs):
                out[rows] = draws.mean(axis=0)
        return out

    def interval(self, columns: EncodedTable, tail: float, n_jobs: int | None) -> FloatArray:
        """Return the quantiles `tail` and `1 - tail`, shape (rows, classes, 2)."""
        return self.quantiles(columns, (tail, 1.0 - tail), n_jobs)

    def quantiles(
        self, columns: EncodedTable, levels: Sequence[float], n_jobs: int | None
    ) -> FloatArray:
        """Return posterior quantiles, shape (rows, classes, levels)."""
        out = np.ones((columns.n_rows, self._n_classes, len(levels)))
        if self._is_plain_pair:
            both = [*levels, *(1.0 - level for level in levels)]
            found = self._posteriors[0].summarise(columns, both, n_jobs=n_jobs).quantiles
            out[:, 1] = found[:, : len(levels)]
            out[:, 0] = 1.0 - found[:, len(levels) :]
        elif self._n_classes > 1:
            for rows, draws in self.blocks(columns, n_jobs):
                out[rows] = np.moveaxis(np.quantile(draws, levels, axis=0), 0, -1)
        return out

    def draws(self, columns: EncodedTable, n_jobs: int | None) -> FloatArray:
        """Return every draw, shape (draws, rows, classes)."""
        require_draws_memory(self._n_draws, columns.n_rows, self._n_classes)
        out = np.ones((self._n_draws, columns.n_rows, self._n_classes))
        for rows, draws in self.blocks(columns, n_jobs):
            out[:, rows] = draws
        return out

    def blocks(
        self, columns: EncodedTable, n_jobs: int | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and the draws at them, a bounded number of rows at a time."""
        if self._posteriors and self._posteriors[0].likelihood.joint_classes:
            yield from self._joint_blocks(columns, n_jobs)
            return
        parts = [posterior.mean_blocks(columns, n_jobs) for posterior in self._posteriors]
        for blocks in zip(*parts, strict=True):
            draws = np.stack([probabilities for _, probabilities in blocks], axis=-1)
            if self._posteriors[0].likelihood.is_score:
                draws = np.exp(draws - draws.max(axis=-1, keepdims=True))
            if self._n_classes == 2:
                draws = np.concatenate([1.0 - draws, draws], axis=-1)
            if not self._is_plain_pair:
                draws = self._normalised(draws)
            yield blocks[0][0], draws

    def _joint_blocks(
        self, columns: EncodedTable, n_jobs: int | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Do the same where the likelihood of the only posterior knows all probabilities."""
        (posterior,) = self._posteriors
        likelihood = posterior.likelihood
        noise = likelihood.noise_of(posterior.trace)
        for rows, f in posterior.blocks(columns, n_jobs):
            step = max(f.shape[1] // self._n_classes, 1)
            for begin in range(0, f.shape[1], step):
                part = f[:, begin : begin + step]
                draws = likelihood.predictions(Given(part, noise))
                start = rows.start + begin
                yield (
                    slice(start, start + part.shape[1]),
                    draws if self._weights is None else self._normalised(draws),
                )

    def _normalised(self, draws: FloatArray) -> FloatArray:
        """Multiply by the weights, and divide by the sum over the classes."""
        # If all probabilities were 0 in float64, the result would be 0 / 0.
        draws = np.maximum(draws, np.finfo(np.float64).tiny)
        if self._weights is not None:
            # The largest weight is one, so that not all products underflow.
            draws *= self._weights / self._weights.max()
        draws /= draws.sum(axis=-1, keepdims=True)
        return draws


def weighted_probabilities(
    weights: FloatArray | None, n_jobs: int | None
) -> Callable[[list[Posterior], EncodedTable], FloatArray] | None:
    """Return what computes draws of weighted probabilities; None without weights.

    They have the shape (draws, rows, classes), or only the second of two classes.
    """
    if weights is None:
        return None

    def draws(posteriors: list[Posterior], table: EncodedTable) -> FloatArray:
        n_draws = int(posteriors[0].draws.n_draws)
        found = ClassProbabilities(posteriors, len(weights), n_draws, weights)
        return found.draws(table, n_jobs)[..., 1 if len(weights) == 2 else 0 :]

    return draws
