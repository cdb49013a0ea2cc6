"""Draws of the effects of a treatment, from those of a causal posterior."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import CausalDesign
from obliquebart.model.outcome import OutcomeScale
from obliquebart.posterior.draws import change_outputs
from obliquebart.posterior.posterior import Posterior
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
