"""The posterior: kept ensembles, with conversions from the user's table and to the user's units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from obliquebart import _core
from obliquebart.likelihood import Given, Likelihood, likelihood_of
from obliquebart.model.outcome import Outcome, OutcomeScale
from obliquebart.model.parameters import Schedule
from obliquebart.model.settings import ensemble_prefix, settings_to_dict
from obliquebart.posterior.draws import constant_draws, draws_from_arrays, split_draws, take_draws
from obliquebart.posterior.joining import cut_chain, equal_chains, user_trace
from obliquebart.posterior.outcome_quantiles import outcome_quantiles
from obliquebart.posterior.summaries import PosteriorSummaries, documented
from obliquebart.sampling.chain import Chain, ChainProgress, Ensembles, State, Trace
from obliquebart.sampling.memory import require_memory
from obliquebart.sampling.run import Run
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_choice, check_number, effective_jobs

# Draws are converted to the user's units in blocks of this many numbers.
BLOCK_NUMBERS = 4_000_000
FloatArray = NDArray[np.float64]


class Posterior(PosteriorSummaries):
    """Kept draws of a fitted ensemble.

    Draws are ordered by chain, then by sweep. All numbers are in the units of y (regression), on
    the latent probit scale (classification) or logarithms of times (survival).

    Attributes
    ----------
    n_chains, n_draws : int
        Numbers of chains and of kept draws per chain.
    n_trees : int
        Number of trees in an ensemble.
    trace : dict of str to ndarray of shape (n_chains, n_draws)
        `sigma`, `theta`, `leaf_sd`, `n_leaves` and `depth` (means over the trees), `axis_share`
        (share of axis-aligned rules among the continuous rules) and the acceptance rates
        `accept_grow`, `accept_prune`, `accept_change`, `accept_perturb`, which are NaN in a sweep
        that proposed no such move.
    burn_sigma : ndarray of shape (n_chains, n_burn)
        sigma in the burn-in sweeps.
    encoding : Encoding
        Converts a table to the engine's columns.
    settings : dict
        The calibrated prior, in the engine's units (standard deviations of y).
    scale : OutcomeScale
        Converts the engine's units to the user's.
    states : tuple of dict
        The sampler's state at the end of each chain, for `sample_more`; empty if it was not
        saved.
    schedule : Schedule
        The length of each chain: `n_burn`, `n_draws`, `n_thin`. With ``n_draws="auto"``, `fit`
        chooses them; a fit with these numbers gives the same draws.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor
    >>> x = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=50, n_draws=30, n_chains=2, random_state=0)
    >>> posterior = model.fit(x, x[:, 0]).posterior_
    >>> posterior.predict(x).shape
    (60, 50)
    >>> posterior.trace["sigma"].shape
    (2, 30)
    """

    def __init__(
        self,
        ensembles: Ensembles,
        trace: Trace,
        encoding: Encoding,
        settings: dict[str, Any],
        scale: OutcomeScale,
        states: tuple[State, ...] = (),
        n_thin: int = 1,
    ) -> None:
        self.ensembles = ensembles
        self.trace = {name: values for name, values in trace.items() if name != "burn_sigma"}
        self.burn_sigma = trace["burn_sigma"]
        self.encoding = encoding
        self.settings = settings
        self.scale = scale
        self.states = states
        self._n_thin = n_thin

    @classmethod
    def from_run(
        cls, run: Run, encoding: Encoding, settings: _core.Settings, scale: OutcomeScale
    ) -> Posterior:
        """Join the chains of a run; if it was stopped, cut them to a common length."""
        units = likelihood_of(settings.likelihood, settings.more).trace_units(scale)
        chains = []
        for chain in run.chains:
            trace = user_trace(chain.trace, units)
            trace["burn_sigma"] = trace["burn_sigma"][: run.schedule.n_burn]
            chains.append(chain._replace(trace=trace))
        chains = equal_chains(chains, encoding)
        n_thin = run.schedule.n_thin
        return cls._from_chains(chains, encoding, settings_to_dict(settings), scale, n_thin)

    @classmethod
    def _from_chains(
        cls,
        chains: list[Chain],
        encoding: Encoding,
        settings: dict[str, Any],
        scale: OutcomeScale,
        n_thin: int,
    ) -> Posterior:
        """Join chains of one length, their traces in the user's units."""
        # Do not modify the first chain's draws: a checkpoint may still refer to them.
        ensembles = tuple(
            draws_from_arrays(draws.to_arrays(), encoding) for draws in chains[0].ensembles
        )
        for chain in chains[1:]:
            for draws, others in zip(ensembles, chain.ensembles, strict=True):
                draws.append(others)
        trace = {name: np.stack([c.trace[name] for c in chains]) for name in chains[0].trace}
        states = tuple(chain.state for chain in chains if chain.state is not None)
        if not likelihood_of(settings["likelihood"], settings["more"]).has_latents:
            # Here the target is y, which is not stored with every chain.
            states = tuple({k: v for k, v in s.items() if k != "target"} for s in states)
        return cls(ensembles, trace, encoding, settings, scale, states, n_thin)

    def starts(self) -> list[ChainProgress]:
        """Return the chains as starting points of a run that continues them."""
        if not self.states:
            raise ValueError(
                "This model was saved without the state of its chains (include_state=False), so "
                "they cannot be continued. Fit the model again."
            )
        nothing = {name.replace("accept_", ""): np.zeros(0) for name in self.trace}
        nothing["burn_sigma"] = np.zeros(0)
        return [
            ChainProgress(Chain(parts, nothing, state), 0)
            for parts, state in zip(self._by_chain(), self.states, strict=True)
        ]

    def _by_chain(self) -> list[Ensembles]:
        """Return the draws of each chain."""
        parts = [split_draws(draws, self.n_chains, self.encoding) for draws in self.ensembles]
        return list(zip(*parts, strict=True))

    def extended(self, run: Run) -> Posterior:
        """Return the posterior with the additional draws of a run that began at `starts`."""
        chains = []
        units = self.likelihood.trace_units(self.scale)
        for number, chain in enumerate(run.chains):
            new = user_trace(chain.trace, units)
            trace = {
                name: np.concatenate([old[number], new[name]]) for name, old in self.trace.items()
            }
            trace["burn_sigma"] = self.burn_sigma[number]
            chains.append(chain._replace(trace=trace))
        # After an interrupt. Here no chain is dropped in favour of the draws of others.
        length = min(int(chain.draws.n_draws) for chain in chains)
        chains = [cut_chain(chain, length, self.encoding) for chain in chains]
        return self._from_chains(chains, self.encoding, self.settings, self.scale, self._n_thin)

    def shortened(self, n_chains: int, n_draws: int) -> Posterior:
        """Return the posterior with the first draws of some of its chains."""
        if (n_chains, n_draws) == (self.n_chains, self.n_draws):
            return self
        trace = {**self.trace, "burn_sigma": self.burn_sigma}
        ensembles = self._by_chain()
        chains = [
            Chain(ensembles[c], {name: values[c] for name, values in trace.items()}, self.states[c])
            for c in range(n_chains)
        ]
        chains = [cut_chain(chain, n_draws, self.encoding) for chain in chains]
        return self._from_chains(chains, self.encoding, self.settings, self.scale, self._n_thin)

    @classmethod
    def constant(
        cls, encoding: Encoding, n_trees: int, shape: tuple[int, int], outcome: Outcome
    ) -> Posterior:
        """Return the posterior of a constant outcome: ensembles of trees without rules."""
        nan, zero, one = np.full(shape, np.nan), np.zeros(shape), np.ones(shape)
        trace = {"sigma": zero, "theta": nan, "leaf_sd": zero, "n_leaves": one, "depth": zero}
        trace |= {"axis_share": nan, **{s.name: zero for s in outcome.likelihood.noise}}
        trace.update({f"accept_{move}": nan for move in _core.MOVES})
        trace["burn_sigma"] = np.zeros((shape[0], 0))
        draws = constant_draws(shape[0] * shape[1], n_trees, encoding)
        settings = {"likelihood": outcome.likelihood.name, "n_trees": n_trees}
        return cls((draws,), trace, encoding, settings, outcome.scale)

    @property
    def draws(self) -> _core.Draws:
        """The draws of the first ensemble: of f, if there is one f."""
        return self.ensembles[0]

    def parts(self) -> list[Posterior]:
        """Return a posterior per class if this is one of several classes, otherwise itself."""
        if not self.likelihood.is_joint:
            return [self]
        return [self.part(e) for e in range(len(self.ensembles))]

    def part(self, e: int) -> Posterior:
        """Return one ensemble as a posterior of its own, from which chains cannot go on."""
        first = {n: values for n, values in self.trace.items() if not n.startswith("ensemble.")}
        prefix = ensemble_prefix(e)
        trace = first | {
            name.removeprefix(prefix): values
            for name, values in self.trace.items()
            if prefix and name.startswith(prefix)
        }
        trace["burn_sigma"] = self.burn_sigma
        settings = self.likelihood.part_settings(self.settings, e)
        return Posterior(
            (self.ensembles[e],), trace, self.encoding, settings, self.scale, n_thin=self._n_thin
        )

    @property
    def likelihood(self) -> Likelihood:
        """Return how outcomes depend on f."""
        return likelihood_of(self.settings["likelihood"], self.settings.get("more", {}))

    @property
    def n_chains(self) -> int:
        """Return the number of chains."""
        return int(self.trace["sigma"].shape[0])

    @property
    def n_draws(self) -> int:
        """Return the number of kept draws per chain."""
        return int(self.trace["sigma"].shape[1])

    @property
    def schedule(self) -> Schedule:
        """Return how long each chain ran."""
        n_burn = int(self.burn_sigma.shape[1])
        return Schedule(self.n_chains, n_burn, self.n_draws, self._n_thin)

    @property
    def n_trees(self) -> int:
        """Return the number of trees of an ensemble."""
        return int(self.draws.n_trees)

    @property
    def nbytes(self) -> int:
        """Return the memory of draws and trace in bytes."""
        traces = sum(values.nbytes for values in self.trace.values())
        draws = sum(int(draws.nbytes) for draws in self.ensembles)
        return draws + traces + self.burn_sigma.nbytes

    def in_words(self) -> str:
        """Describe the numbers of chains, draws and trees."""
        return f"{self.n_chains} chains of {self.n_draws} draws of {self.n_trees} trees"

    def __repr__(self) -> str:
        return f"Posterior({self.in_words()}, {self.nbytes / 1e6:.1f} MB)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "ensembles": [draws.to_arrays() for draws in self.ensembles]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.ensembles = tuple(
            draws_from_arrays(arrays, self.encoding) for arrays in state["ensembles"]
        )

    @documented
    def predict(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return every draw of f at the rows of X.

        Returns
        -------
        ndarray of shape (n_chains * n_draws, n)
            In the units of y; for classification the latent f plus its offset.
        """
        data = self.encode(X)
        require_draws_memory(int(self.draws.n_draws), data.n_rows, 1)
        return self._f(data, n_jobs)

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
        if kind == "outcome":
            noise = self.likelihood.core_noise(self.likelihood.noise_of(self.trace), self.scale)
            if noise is None:
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
        link = self.likelihood.other_link
        return [draws.predict(data, link, 0.0, jobs).astype(float) for draws in self.ensembles[1:]]

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
        f += self._offset
        f *= self.scale.scale
        f += self.scale.location
        return f

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
            sd = np.sqrt(self.likelihood.variance(given))
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

    def _take(self, index: NDArray[np.intp]) -> Posterior:
        """Return a posterior of one chain with some of the draws."""
        if len(index) == int(self.draws.n_draws):
            return self
        trace = {name: values.reshape(1, -1)[:, index] for name, values in self.trace.items()}
        ensembles = tuple(take_draws(draws, index, self.encoding) for draws in self.ensembles)
        trace["burn_sigma"] = np.zeros((1, 0))
        return Posterior(ensembles, trace, self.encoding, self.settings, self.scale)


def equal_posteriors(posteriors: list[Posterior]) -> list[Posterior]:
    """Cut the posteriors of a model to common numbers of chains and draws."""
    n_chains = min(posterior.n_chains for posterior in posteriors)
    n_draws = min(posterior.n_draws for posterior in posteriors)
    return [posterior.shortened(n_chains, n_draws) for posterior in posteriors]


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
