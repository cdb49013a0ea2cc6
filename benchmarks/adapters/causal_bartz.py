"""bartz's Bayesian causal forest.

Its defaults: 250 trees of the outcome and 100 of the effect, a sampled intercept of the effect, no
adaptive coding. It takes the propensity from the user, here from its own probit BART. One chain of
1,000 sweeps of burn-in (100 by default) and 1,000 kept draws, or as many as asked for. The first
fit of a process compiles.

`forests` makes the same draws for many problems of one shape at once, as suits a GPU: bartz sets up
the chains one by one, and its sweep is run on all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from bartz import Bart, _interface
from bartz._jaxext import split
from bartz.bcf import _bcf, bcf
from bartz.grove import evaluate_forest
from bartz.mcmcstep import step
from causal_study import Effects, Problem
from jax.scipy.special import ndtr

N_BURN, N_DRAWS = 1000, 1000
N_PROPENSITY = 250  # sweeps of burn-in, and kept draws
BLOCK = 50  # sweeps of many chains that are compiled as one program

State = Any
Step = Callable[[jax.Array, State], State]


def _arrays(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y, z = (a.astype(np.float32) for a in (problem.numbers(), problem.y, problem.z))
    return x, y, z


def _propensity_model(problem: Problem) -> Bart:
    x, _, z = _arrays(problem)
    return Bart(
        x.T,
        z.astype(bool),
        outcome_type="binary",
        n_burn=N_PROPENSITY,
        n_save=N_PROPENSITY,
        num_chains=None,
        printevery=None,
        seed=problem.seed,
    )


def _model(problem: Problem, propensity: np.ndarray, n_burn: int, n_draws: int) -> bcf:
    seed = problem.seed + 1
    return bcf(*_arrays(problem), pihat_train=propensity, nskip=n_burn, ndpost=n_draws, seed=seed)


def forest(problem: Problem, n_burn: int = N_BURN, n_draws: int = N_DRAWS) -> Effects:
    model = _propensity_model(problem)
    propensity = np.asarray(model.predict("train", kind="mean"), np.float32)
    x, _, _ = _arrays(problem)
    draws = _model(problem, propensity, n_burn, n_draws).predict(x, pihat_test=propensity)["tau"]
    return Effects(np.asarray(draws, np.float64), n_burn + n_draws)


# ------------------------------------------------------------------------------- many at once


class _Start(Exception):  # noqa: N818
    """The key and the first state of a chain."""


@contextmanager
def _stopped_at_start() -> Iterator[None]:
    """Let bartz set up its chains and stop before their first sweep, by raising `_Start`."""

    def of_bcf(key: jax.Array, state: State, *_: Any, **__: Any) -> None:
        raise _Start(key, state)

    def of_bart(state: State, *arguments: Any) -> None:
        raise _Start(next(a for a in arguments if _is_key(a)), state)

    before = _bcf.run_mcmc, _interface._run_mcmc
    _bcf.run_mcmc, _interface._run_mcmc = of_bcf, of_bart
    try:
        yield
    finally:
        _bcf.run_mcmc, _interface._run_mcmc = before


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _start(fit: Callable[[], Any]) -> tuple[jax.Array, State]:
    """Return the key and the first state of the chain of a fit."""
    with _stopped_at_start():
        try:
            fit()
        except _Start as start:
            key, state = start.args
            return key, state
    raise AssertionError("bartz did not run its chain")


def _starts(fits: Sequence[Callable[[], Any]]) -> tuple[jax.Array, State]:
    """Return keys and first states of all fits, stacked."""
    keys, states = zip(*map(_start, fits), strict=True)
    return jnp.stack(keys), jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def _sweep(one_step: Step, key: jax.Array, state: State) -> State:
    """Do what a turn of `run_mcmc` does."""
    n_done = state.config.steps_done
    state = one_step(split(jax.random.fold_in(key, n_done), 2).pop(), state)
    return replace(state, config=replace(state.config, steps_done=n_done + 1))


@partial(jax.jit, static_argnums=(2, 3), donate_argnums=1)
def _block(
    keys: jax.Array, states: State, one_step: Step, read: Callable[[State], jax.Array]
) -> tuple[State, jax.Array]:
    """Do some sweeps of each chain; return what `read` finds after each of them."""

    def turn(states: State, _: None) -> tuple[State, jax.Array]:
        states = jax.vmap(partial(_sweep, one_step))(keys, states)
        return states, jax.vmap(read)(states)

    return jax.lax.scan(turn, states, None, BLOCK)


def _probability(state: State) -> jax.Array:
    """The mean of a probit outcome at the rows of training."""
    return ndtr(state.z - state.resid * state.resid_unit)


def _effect(state: State) -> jax.Array:
    """The effect at the rows of training, in the units of the chain."""
    trees = evaluate_forest(state.X, state.forest_tau, sum_batch_axis=-1)
    tau = state.forest_tau.offset + trees + state.tau_0
    return (state.b[1] - state.b[0]) * tau


def _run(
    fits: Sequence[Callable[[], Any]],
    one_step: Step,
    read: Callable[[State], jax.Array],
    n_burn: int,
    n_draws: int,
) -> np.ndarray:
    """Return draws of shape (n_draws, n_fits, n_rows)."""
    if n_burn % BLOCK or n_draws % BLOCK:
        raise ValueError(f"{n_burn} and {n_draws} sweeps are not multiples of {BLOCK}")
    keys, states = _starts(fits)
    draws = []
    for done in range(0, n_burn + n_draws, BLOCK):
        states, found = _block(keys, states, one_step, read)
        if done >= n_burn:
            draws.append(np.asarray(found))
    return np.concatenate(draws)


def forests(
    problems: Sequence[Problem], n_burn: int = N_BURN, n_draws: int = N_DRAWS
) -> list[Effects]:
    first = [partial(_propensity_model, problem) for problem in problems]
    found = _run(first, step, _probability, N_PROPENSITY, N_PROPENSITY).mean(axis=0)
    second = [
        partial(_model, problem, propensity, n_burn, n_draws)
        for problem, propensity in zip(problems, found, strict=True)
    ]
    draws = _run(second, _bcf.bcf_step, _effect, n_burn, n_draws).astype(np.float64)
    scales = [np.std(problem.y.astype(np.float32)) for problem in problems]
    return [Effects(draws[:, i] * scale, n_burn + n_draws) for i, scale in enumerate(scales)]
