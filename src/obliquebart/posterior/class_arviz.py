"""Export of more than two classes to ArviZ: every quantity has a dimension `class`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.posterior.arviz import (
    Groups,
    Observed,
    build,
    import_arviz,
    require_groups_memory,
    trace_groups,
)
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import FloatArray

# Rounded probabilities can be 0, which has no logarithm.
SMALLEST = np.finfo(np.float64).tiny


def classes_to_arviz(
    posteriors: Mapping[Any, Posterior],
    probabilities: ClassProbabilities,
    unweighted: ClassProbabilities,
    X: Any,
    observed: Observed,
    rows: int | Sequence[int],
    n_jobs: int | None,
) -> Any:
    """Export the posteriors of classes, by label; `observed.y` contains class indices.

    Outcomes are class indices, with the probabilities of `predict_proba`. The posterior's own
    likelihood has no class weights.
    """
    arviz = import_arviz()
    observed.require_table(X)
    groups = _stacked([trace_groups(posterior) for posterior in posteriors.values()])
    dims = {name: ["class"] for variables in groups.values() for name in variables}
    coords: dict[str, Any] = {"class": list(posteriors)}
    if X is not None:
        first = next(iter(posteriors.values()))
        columns = first.encode(X)
        shape = (first.n_chains, first.n_draws, columns.n_rows)
        chosen = choose_rows(rows, columns.n_rows)
        observed = observed.checked(lambda y, _: np.asarray(y), columns.n_rows)
        require_groups_memory(shape[0] * shape[1], shape[2], n_arrays=2 + 2 * len(posteriors))
        p = probabilities.draws(columns, n_jobs).reshape(*shape, len(posteriors))
        if chosen.size:
            at_rows = columns.take(chosen)
            groups["posterior"]["f"] = np.stack(
                [
                    np.concatenate([f for _, f in posterior.blocks(at_rows, n_jobs)], axis=1)
                    for posterior in posteriors.values()
                ],
                axis=-1,
            ).reshape(*shape[:2], len(chosen), -1)
            groups["posterior"]["p"] = p[:, :, chosen]
        groups |= _outcome_groups(p, observed)
        if observed.y is not None:
            plain = unweighted.draws(columns, n_jobs).reshape(p.shape)
            groups |= _observed_groups(plain, observed)
        coords |= {"row": np.arange(columns.n_rows), "f_row": chosen}
        dims |= {"f": ["f_row", "class"], "p": ["f_row", "class"], "y": ["row"]}
    return build(arviz, groups, coords, dims)


def _stacked(groups: list[Groups]) -> Groups:
    """Return variables that all classes have, with the classes as the last dimension."""
    return {
        name: {
            variable: np.stack([group[name][variable] for group in groups], axis=-1)
            for variable in groups[0][name]
            if all(variable in group[name] for group in groups)
        }
        for name in groups[0]
    }


def _outcome_groups(p: FloatArray, observed: Observed) -> Groups:
    """Draw a new class for each draw and row."""
    u = observed.random_state.random_sample(p.shape[:-1])
    return {"posterior_predictive": {"y": (np.cumsum(p[..., :-1], -1) < u[..., None]).sum(-1)}}


def _observed_groups(p: FloatArray, observed: Observed) -> Groups:
    """Compute the log likelihood of the observed classes."""
    codes: NDArray[np.intp] = observed.y
    p_observed = np.take_along_axis(p, codes[None, None, :, None], axis=-1)[..., 0]
    log_p = observed.sample_weight * np.log(np.maximum(p_observed, SMALLEST))
    return {"log_likelihood": {"y": log_p}, "observed_data": {"y": codes}}
