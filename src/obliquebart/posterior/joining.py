"""Prepare the chains of a run for joining or continuing: common units, common length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from obliquebart import _core
from obliquebart.model.parameters import Schedule
from obliquebart.posterior.draws import Columns, no_draws, take_draws
from obliquebart.sampling.chain import Chain, State, Trace
from obliquebart.table import Encoding


def user_trace(trace: Trace, units: Mapping[str, float]) -> Trace:
    """Convert a chain's trace to the user's names and units."""
    return {_user_name(name): values * units.get(name, 1.0) for name, values in trace.items()}


def _user_name(name: str) -> str:
    """Return the name of a value of the trace, in which a move stands for its acceptance rate."""
    ensemble, dot, last = name.rpartition(".")
    return f"{ensemble}{dot}accept_{last}" if last in _core.MOVES else name


def equal_chains(chains: list[Chain], encoding: Encoding) -> list[Chain]:
    """Cut the chains to a common length, dropping chains so short that more draws are kept."""
    lengths = [int(chain.draws.n_draws) for chain in chains]
    # With c chains, the c-th longest sets the length; maximise the total number of draws.
    length = max(sorted(lengths), key=lambda n: n * sum(other >= n for other in lengths))
    return [
        cut_chain(chain, length, encoding)
        for chain, n in zip(chains, lengths, strict=True)
        if n >= length
    ]


def as_burn_in(chain: Chain, schedule: Schedule, columns: Columns) -> Chain:
    """Return a chain at the end of its schedule as a chain that has kept no draws yet."""
    n_sweeps = schedule.n_sweeps
    is_kept = np.zeros(n_sweeps, dtype=bool)
    is_kept[schedule.n_burn + schedule.n_thin - 1 :: schedule.n_thin] = True
    sigma = np.empty(n_sweeps)
    sigma[is_kept], sigma[~is_kept] = chain.trace["sigma"], chain.trace["burn_sigma"]
    trace = {name: np.zeros(0) for name in chain.trace}
    ensembles = tuple(no_draws(int(draws.n_trees), columns) for draws in chain.ensembles)
    return Chain(ensembles, {**trace, "burn_sigma": sigma}, _all_changed(chain.state))


def cut_chain(chain: Chain, length: int, encoding: Encoding) -> Chain:
    """Return a chain with its first `length` draws."""
    if chain.draws.n_draws == length:
        return chain
    trace = {
        name: values if name == "burn_sigma" else values[:length]
        for name, values in chain.trace.items()
    }
    index = np.arange(length)
    ensembles = tuple(take_draws(draws, index, encoding) for draws in chain.ensembles)
    return Chain(ensembles, trace, _all_changed(chain.state))


def _all_changed(state: State | None) -> State | None:
    """Return a state that shares no structure of a tree with the draws before it."""
    return state and {
        name: np.ones_like(value) if name.rpartition(".")[2] == "changed" else value
        for name, value in state.items()
    }
