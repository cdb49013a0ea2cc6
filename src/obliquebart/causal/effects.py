"""Draws of the effects of a treatment, from those of a causal posterior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from obliquebart.causal.design import CausalDesign
from obliquebart.model.outcome import OutcomeScale
from obliquebart.posterior.draws import change_outputs
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import require_draws_memory
from obliquebart.table.encoded import EncodedTable

FloatArray = NDArray[np.float64]


def effect_posterior(posterior: Posterior, design: CausalDesign, k: int) -> Posterior:
    """Return the effect of treatment k on f as a posterior of its own, of the user's columns.

    It is a sum of trees too: level + (high - low) tau(x), per unit of the user's dose.
    """
    likelihood = posterior.likelihood
    e = len(posterior.ensembles) - likelihood.n_treatments + k
    part = posterior.part(e)
    trace = posterior.trace
    slope = (trace[f"high.{k}"] - trace[f"low.{k}"]).ravel()
    with np.errstate(all="ignore"):
        level = trace[f"level.{k}"].ravel() / posterior.scale.scale
    draws = change_outputs(posterior.ensembles[e], slope, level, design.narrow)
    scale = OutcomeScale(scale=posterior.scale.scale / design.treatment.scale)
    return Posterior(
        (draws,),
        {**part.trace, "burn_sigma": part.burn_sigma},
        design.narrow,
        {**part.settings, "offset": 0.0},
        scale,
        n_thin=posterior.schedule.n_thin,
    )


def effect_blocks(
    posterior: Posterior,
    effect: Posterior,
    wide: EncodedTable,
    change: tuple[float, float],
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows and all draws of the effect on the mean outcome at them.

    `change` has two doses of the treatment, in the user's units from that of f: the effect is the
    difference of the mean outcomes. Outcomes that are labels have probabilities as means.
    """
    narrow = narrow_table(wide, effect)
    first, second = change
    if not posterior.likelihood.has_classes:
        for rows, draws in effect.blocks(narrow, n_jobs):
            yield rows, (second - first) * draws
        return
    for rows, f in posterior.blocks(wide, n_jobs):
        of_dose = effect.predict_encoded(narrow.take(rows), n_jobs)
        mean = posterior.likelihood.mean
        yield rows, mean(f + second * of_dose) - mean(f + first * of_dose)


def narrow_table(wide: EncodedTable, effect: Posterior) -> EncodedTable:
    """Return the user's columns of a table that has propensities too."""
    return wide._replace(x_cont=wide.x_cont[: effect.encoding.p_cont])


class RowSummary(NamedTuple):
    """The posterior of a number per row."""

    mean: FloatArray
    """(n,)"""
    quantiles: FloatArray
    """(n, number of quantiles)"""
    above: FloatArray
    """(n,): the probability that the number is above a threshold."""


class RowEffects(NamedTuple):
    """The effect of one treatment at some rows: all draws, a block of rows at a time."""

    posterior: Posterior
    """Of the outcome without treatment."""
    effect: Posterior
    table: EncodedTable
    """With propensities if outcomes are labels, whose effects depend on the outcome."""
    change: tuple[float, float] = (0.0, 1.0)
    """As in `effect_blocks`."""
    n_jobs: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def n_draws(self) -> int:
        """Number of draws of all chains."""
        return self.effect.n_chains * self.effect.n_draws

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and all draws of the effect at them."""
        return effect_blocks(self.posterior, self.effect, self.table, self.change, self.n_jobs)

    def draws(self) -> FloatArray:
        """Return every draw, shape (n_draws, n_rows)."""
        require_draws_memory(self.n_draws, self.n_rows, 1)
        out = np.empty((self.n_draws, self.n_rows))
        for rows, draws in self.blocks():
            out[:, rows] = draws
        return out

    def summarise(self, quantiles: Sequence[float] = (), threshold: float = 0.0) -> RowSummary:
        """Summarise the effect of each row."""
        return summarise_blocks(self.blocks(), self.n_rows, quantiles, threshold)

    def averages(self, weights: FloatArray) -> FloatArray:
        """Return draws of weighted sums over the rows, for weights of shape (n_sums, n_rows)."""
        out = np.zeros((self.n_draws, len(weights)))
        for rows, draws in self.blocks():
            out += draws @ weights[:, rows].T
        return out


def summarise_blocks(
    blocks: Iterator[tuple[slice, FloatArray]],
    n_rows: int,
    quantiles: Sequence[float] = (),
    threshold: float = 0.0,
) -> RowSummary:
    """Summarise all draws of a number per row."""
    out = RowSummary(np.empty(n_rows), np.empty((n_rows, len(quantiles))), np.empty(n_rows))
    for rows, draws in blocks:
        out.mean[rows] = draws.mean(axis=0)
        out.quantiles[rows] = np.quantile(draws, list(quantiles), axis=0).T
        out.above[rows] = (draws > threshold).mean(axis=0)
    return out


def outcome_blocks(
    posterior: Posterior,
    effects: Sequence[Posterior],
    wide: EncodedTable,
    doses: FloatArray,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows and all draws of their mean outcomes under treatments.

    `doses` has a row per effect, in the user's units from that of f.
    """
    for rows, f in posterior.blocks(wide, n_jobs):
        part = wide.take(rows)
        for effect, dose in zip(effects, doses[:, rows], strict=True):
            if dose.any():
                f += dose * effect.predict_encoded(narrow_table(part, effect), n_jobs)
        yield rows, posterior.likelihood.mean(f)


def log_densities(
    posterior: Posterior,
    effects: Sequence[Posterior],
    wide: EncodedTable,
    doses: FloatArray,
    y: FloatArray,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the log predictive density of each outcome under its treatment."""
    out = np.empty(wide.n_rows)
    for rows, given in posterior.given_blocks(wide, n_jobs):
        part = wide.take(rows)
        for effect, dose in zip(effects, doses[:, rows], strict=True):
            given.f[:] += dose * effect.predict_encoded(narrow_table(part, effect), n_jobs)
        log_each = posterior.likelihood.log_density(y[rows], given)
        out[rows] = logsumexp(log_each, axis=0) - np.log(len(given.f))
    return out
