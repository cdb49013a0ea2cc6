"""What draws predict: from the user's table to the user's units, a block of rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from obliquebart import _core
from obliquebart.likelihood import Given, Likelihood, likelihood_of
from obliquebart.model.outcome import OutcomeScale
from obliquebart.posterior.outcome_quantiles import outcome_quantiles
from obliquebart.posterior.summaries import documented
from obliquebart.sampling.chain import Ensembles, Trace
from obliquebart.sampling.memory import require_memory
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_choice, check_number, effective_jobs

# Draws are converted to the user's units in blocks of this many numbers.
BLOCK_NUMBERS = 4_000_000
FloatArray = NDArray[np.float64]


class Summary(NamedTuple):
    """Summaries at n rows."""

    mean: FloatArray
    """(n,)"""
    sd: FloatArray
    """(n,)"""
    quantiles: FloatArray
    """(n, number of quantiles)"""


def check_quantiles(name: str, q: float | Sequence[float], kind: str) -> list[float]:
    """Return one or more probabilities as a list; for outcomes, 0 and 1 are not allowed."""
    check_choice("kind", kind, ("mean", "outcome"))
    levels = np.atleast_1d(np.asarray(q, dtype=object))
    if levels.ndim != 1 or levels.size == 0:
        raise ValueError(f"{name}={q!r} must be a number in [0, 1] or a sequence of them.")
    closed = "both" if kind == "mean" else "neither"
    return [check_number(name, level, 0, 1, closed) for level in levels]


def require_draws_memory(n_draws: int, n_rows: int, n_columns: int) -> None:
    """Raise MemoryError if that many draws at that many rows do not fit in memory."""
    require_memory(
        8.0 * n_draws * n_rows * n_columns,
        f"Storing {n_draws} draws at {n_rows} rows",
        "Compute means, intervals or quantiles, which do not store the draws, or pass fewer rows "
        "at a time.",
    )


class PosteriorPredictions(ABC):
    """A base of `Posterior`: f, the mean, and new outcomes at the rows of a table."""

    ensembles: Ensembles
    trace: Trace
    encoding: Encoding
    settings: dict[str, Any]
    scale: OutcomeScale

    @property
    def draws(self) -> _core.Draws:
        """The draws of the first ensemble: of f, if there is one f."""
        return self.ensembles[0]

    @property
    def likelihood(self) -> Likelihood:
        """Return how outcomes depend on f."""
        return likelihood_of(self.settings["likelihood"], self.settings.get("more", {}))

    @documented
    def predict(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return every draw of f at the rows of X.

        Returns
        -------
        ndarray of shape (n_chains * n_draws, n)
            In the units of y; for classification the latent f plus its offset.
        """
        return self.predict_encoded(self.encode(X), n_jobs)

    @documented
    def mean(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return the posterior mean of f at the rows of X.

        Returns
        -------
        ndarray of shape (n,)
            In the units of y; for classification, the mean probability of the second class.
        """
        return self.summarise(self.encode(X), n_jobs=n_jobs).mean

    @documented
    def std(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return the posterior standard deviation of f at the rows of X, in the units of `mean`.

        It does not include the noise of a new outcome.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.summarise(self.encode(X), n_jobs=n_jobs).sd

    @documented
    def quantile(
        self, X: Any, q: float | Sequence[float], kind: str = "mean", *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return posterior quantiles of f ("mean") or of a new y ("outcome") at the rows of X.

        Parameters
        ----------
        q : float or sequence of float
            Probabilities.
        kind : {"mean", "outcome"}, default="mean"
            Quantiles of f, or of a new outcome of weight one.

        Returns
        -------
        ndarray of shape (n,) or (n, len(q))
            The first shape if `q` is a number.
        """
        levels = check_quantiles("q", q, kind)
        quantiles = self.summarise(self.encode(X), levels, kind, n_jobs).quantiles
        return quantiles[:, 0] if np.ndim(q) == 0 else quantiles

    def encode(self, X: Any) -> EncodedTable:
        """Return the engine's columns of a user's table."""
        return self.encoding.transform(X)

    def summarise(
        self,
        columns: EncodedTable,
        quantiles: Sequence[float] = (),
        kind: str = "mean",
        n_jobs: int | None = None,
        shift: FloatArray | None = None,
    ) -> Summary:
        """Return mean, standard deviation and quantiles without storing all draws at all rows.

        `kind="mean"` summarises f (for classification, the probability). `kind="outcome"`
        summarises a new y of weight one, by the mixture of its distributions over the draws. A
        `shift`, such as the log of the exposure of each row, is added to f for a new y.
        """
        check_choice("kind", kind, ("mean", "outcome"))
        noise = None
        if self.likelihood.n_treatments and kind == "mean":
            return self._summarise_mean(columns, quantiles, n_jobs)
        if kind == "outcome":
            noise = self.likelihood.core_noise(self.likelihood.noise_of(self.trace), self.scale)
            if noise is None or self.likelihood.n_treatments:
                return self._summarise_outcome(columns, quantiles, n_jobs, shift)
        noise_scale, noise_df = (None, None) if noise is None else noise
        result = self.draws.summarise(
            columns.to_core(),
            self.likelihood.link,
            self._offset,
            [float(q) for q in quantiles],
            noise_scale,
            noise_df,
            effective_jobs(n_jobs),
        )
        mean, sd, levels = (
            np.asarray(result[name], np.float64) for name in ("mean", "sd", "quantiles")
        )
        location, scale = self.scale.location, self.scale.scale
        levels = levels.reshape(len(quantiles), columns.n_rows)
        return Summary(location + scale * mean, scale * sd, location + scale * levels.T)

    def _summarise_mean(
        self, columns: EncodedTable, quantiles: Sequence[float], n_jobs: int | None
    ) -> Summary:
        """Do the same for an f of several ensembles, which the engine does not add up."""
        parts = []
        for _, mean in self.mean_blocks(columns, n_jobs):
            sd = mean.std(axis=0, ddof=min(len(mean) - 1, 1))
            parts.append(Summary(mean.mean(axis=0), sd, np.quantile(mean, quantiles, axis=0).T))
        return Summary(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def _summarise_outcome(
        self,
        columns: EncodedTable,
        quantiles: Sequence[float],
        n_jobs: int | None,
        shift: FloatArray | None,
    ) -> Summary:
        """Do the same for noise that the engine does not support, by the likelihood's functions."""
        parts = []
        for _, given in self.given_blocks(columns, n_jobs, shift):
            mean, variance = self.likelihood.mean(given.f), self.likelihood.variance(given)
            sd = np.sqrt(mean.var(axis=0, ddof=min(len(mean) - 1, 1)) + variance.mean(axis=0))
            levels = outcome_quantiles(self.likelihood, given, quantiles)
            parts.append(Summary(mean.mean(axis=0), sd, levels))
        return Summary(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def given_blocks(
        self,
        columns: EncodedTable,
        n_jobs: int | None = None,
        shift: FloatArray | None = None,
    ) -> Iterator[tuple[slice, Given]]:
        """Yield rows and what the distribution of their outcomes depends on, in all draws.

        The shift, a number per row, is added to f.
        """
        scalars = self.likelihood.noise_of(self.trace)
        for rows, f in self.blocks(columns, n_jobs):
            f += 0.0 if shift is None else shift[rows]
            noise = scalars
            if len(self.ensembles) > 1:
                at_rows = self._other_ensembles(columns.take(rows), n_jobs)
                noise = self.likelihood.noise_at_rows(scalars, at_rows)
            yield rows, Given(f, noise)

    def _other_ensembles(self, columns: EncodedTable, n_jobs: int | None) -> list[FloatArray]:
        """Return all draws of the ensembles after the first, in the engine's units."""
        data, jobs = columns.to_core(), effective_jobs(n_jobs)
        others = self.ensembles[1:]
        links = self.likelihood.other_links(len(others))
        return [
            draws.predict(data, link, 0.0, jobs).astype(float)
            for draws, link in zip(others, links, strict=True)
        ]

    def blocks(
        self, columns: EncodedTable, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and all draws of f at them, in the units of y, in blocks of limited size."""
        step = max(BLOCK_NUMBERS // max(int(self.draws.n_draws), 1), 1)
        for begin in range(0, columns.n_rows, step):
            rows = slice(begin, min(begin + step, columns.n_rows))
            yield rows, self._f(columns.take(rows), n_jobs)

    def _f(self, columns: EncodedTable, n_jobs: int | None) -> FloatArray:
        """Return all draws of f in the units of y; every call prepares all trees again."""
        jobs = effective_jobs(n_jobs)
        f: FloatArray = self.draws.predict(
            columns.to_core(), self.likelihood.sum_link, 0.0, jobs
        ).astype(float)
        if self.likelihood.n_treatments:
            scalars = self.likelihood.noise_of(self.trace)
            f += self.likelihood.added(scalars, self._other_ensembles(columns, n_jobs))
        f += self._offset
        f *= self.scale.scale
        f += self.scale.location
        return f

    def predict_encoded(self, columns: EncodedTable, n_jobs: int | None = None) -> FloatArray:
        """Return every draw of f at the rows of an encoded table."""
        require_draws_memory(int(self.draws.n_draws), columns.n_rows, 1)
        return self._f(columns, n_jobs)

    @property
    def usual_shift(self) -> float:
        """What is added to f at a usual row."""
        return self.likelihood.usual_shift(self.settings.get("more", {}))

    @property
    def _offset(self) -> float:
        """The offset that the engine's f does not include; 0 for a constant outcome."""
        return float(self.settings.get("offset", 0.0))

    def mean_blocks(
        self, columns: EncodedTable, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and all draws of the mean outcome at them."""
        for rows, f in self.blocks(columns, n_jobs):
            yield rows, self.likelihood.mean(f)

    @documented
    def noise(
        self, X: Any, quantiles: Sequence[float] = (), *, n_jobs: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the standard deviation of an outcome around its mean at the rows of X.

        Parameters
        ----------
        quantiles : sequence of float
            Probabilities.

        Returns
        -------
        mean : ndarray of shape (n,)
            The posterior mean, for outcomes of weight one.
        quantiles : ndarray of shape (n, len(quantiles))
            Posterior quantiles.
        """
        columns = self.encode(X)
        mean = np.empty(columns.n_rows)
        levels = np.empty((columns.n_rows, len(quantiles)))
        for rows, given in self.given_blocks(columns, n_jobs):
            sd = self.likelihood.noise_sd(given)
            mean[rows] = sd.mean(axis=0)
            levels[rows] = np.quantile(sd, quantiles, axis=0).T
        return mean, levels

    @documented
    def log_density(
        self, X: Any, y: Any, *, shift: FloatArray | None = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the log of the predictive density, or probability, of each outcome at its row.

        The density is averaged over the draws.

        Parameters
        ----------
        y : array-like of shape (n,)
            Outcomes; with two classes 0 and 1.
        shift : ndarray of shape (n,), optional
            Added to f, such as the logarithm of exposures.

        Returns
        -------
        ndarray of shape (n,)
        """
        columns = self.encode(X)
        observed = self.likelihood.check_observed(y, columns.n_rows)
        out = np.empty(columns.n_rows)
        for rows, given in self.given_blocks(columns, n_jobs, shift):
            log_each = self.likelihood.log_density(observed[rows], given)
            out[rows] = logsumexp(log_each, axis=0) - np.log(len(given.f))
        return out

    @documented
    def sample_y(
        self,
        X: Any,
        n_samples: int,
        random_state: np.random.RandomState,
        *,
        shift: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> FloatArray:
        """Return draws of new outcomes at the rows of X.

        Each column is one joint draw: one kept ensemble for all rows, and independent noise.
        Ensembles are drawn without replacement if there are enough.

        Parameters
        ----------
        n_samples : int
            Draws per row.
        random_state : RandomState
            Generator for the noise and the choice of draws.
        shift : ndarray of shape (n,), optional
            Added to f, such as the log of the exposure of each row of a model of counts.

        Returns
        -------
        ndarray of shape (n, n_samples)
        """
        columns = self.encode(X)
        n_draws = int(self.draws.n_draws)
        require_draws_memory(n_samples, columns.n_rows, 1)
        times, rest = divmod(n_samples, n_draws)
        chosen = np.concatenate(
            [np.tile(np.arange(n_draws), times), random_state.permutation(n_draws)[:rest]]
        )
        random_state.shuffle(chosen)
        taken, position = np.unique(chosen, return_inverse=True)
        out = np.empty((columns.n_rows, n_samples))
        for rows, given in self._take(taken).given_blocks(columns, n_jobs, shift):
            noise = {name: values[position].T for name, values in given.noise.items()}
            of_samples = Given(given.f[position].T, noise)
            out[rows] = self.likelihood.simulate(of_samples, random_state)
        return out

    @abstractmethod
    def _take(self, index: NDArray[np.intp]) -> PosteriorPredictions:
        """Return some of the draws."""
