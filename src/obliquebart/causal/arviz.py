"""Export of a causal model to ArviZ: its trace, and the effects at some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from obliquebart.causal.effects import RowEffects
from obliquebart.posterior.arviz import build, import_arviz, require_groups_memory, trace_groups
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.posterior import Posterior


def effects_to_arviz(
    posterior: Posterior, effects: Mapping[str, RowEffects], rows: int | Sequence[int]
) -> Any:
    """Export the draws of effects, by arm, at some of their rows; without effects the trace."""
    arviz = import_arviz()
    groups = trace_groups(posterior)
    coords: dict[str, Any] = {}
    if effects:
        n_rows = next(iter(effects.values())).n_rows
        chosen = choose_rows(rows, n_rows)
        shape = (posterior.n_chains, posterior.n_draws, len(chosen))
        require_groups_memory(shape[0] * shape[1], shape[2], n_arrays=len(effects))
        draws = [
            each._replace(table=each.table.take(chosen)).draws().reshape(shape)
            for each in effects.values()
        ]
        if chosen.size:
            groups["posterior"]["effect"] = np.stack(draws, axis=-1)
            coords = {"f_row": chosen, "arm": list(effects)}
    return build(arviz, groups, coords, {"effect": ["f_row", "arm"]} if coords else {})
