"""The posterior: kept ensembles of some chains, how they were made, and how they go on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.display.numbers import counted
from obliquebart.likelihood import likelihood_of
from obliquebart.model.outcome import Outcome, OutcomeScale
from obliquebart.model.parameters import Schedule
from obliquebart.model.settings import ensemble_prefix, settings_to_dict
from obliquebart.posterior.draws import constant_draws, draws_from_arrays, split_draws, take_draws
from obliquebart.posterior.joining import cut_chain, equal_chains, user_trace
from obliquebart.posterior.predictions import PosteriorPredictions
from obliquebart.posterior.summaries import PosteriorSummaries
from obliquebart.sampling.chain import Chain, ChainProgress, Ensembles, State, Trace
from obliquebart.sampling.run import Run
from obliquebart.table import Encoding


class Posterior(PosteriorPredictions, PosteriorSummaries):
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

    def parts(self) -> list[Posterior]:
        """Return a posterior per class if this is one of several classes, otherwise itself."""
        if not self.likelihood.is_joint:
            return [self]
        return [self.part(e) for e in range(len(self.ensembles))]

    def part(self, e: int) -> Posterior:
        """Return one ensemble as a posterior of its own, from which chains cannot go on."""
        prefix = ensemble_prefix(e)
        # Weights of directions are of the first ensemble alone: others may have none.
        not_shared = ("ensemble.", *(["direction."] if prefix else []))
        first = {n: values for n, values in self.trace.items() if not n.startswith(not_shared)}
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
        """Describe the numbers of chains, draws and trees, and what is special about them."""
        draws, trees = counted(self.n_draws, "draw"), counted(self.n_trees, "tree")
        extras = ["soft rules"] * self.is_soft + ["scales of trees"] * self.has_tree_scales
        more = f" with {' and '.join(extras)}" if extras else ""
        return f"{counted(self.n_chains, 'chain')} of {draws} of {trees}{more}"

    @property
    def has_tree_scales(self) -> bool:
        """Whether trees have scales of their own."""
        return "tree_df" in self.settings

    @property
    def is_soft(self) -> bool:
        """Whether the rules of f are soft."""
        return "soft" in self.settings

    def __repr__(self) -> str:
        return f"Posterior({self.in_words()}, {self.nbytes / 1e6:.1f} MB)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "ensembles": [draws.to_arrays() for draws in self.ensembles]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.ensembles = tuple(
            draws_from_arrays(arrays, self.encoding) for arrays in state["ensembles"]
        )

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
