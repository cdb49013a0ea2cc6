"""The engine's settings as plain values that pickle and can be written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obliquebart import _core

# The key of the settings of the ensembles after the first, where there are such.
MORE_ENSEMBLES = "ensembles"
# The settings of soft rules. Chains with hard rules only are written without them, so that older
# versions can read their files.
OF_SOFT_RULES = ("soft", "width_scale")
# Likewise of trees that have scales of their own.
OF_TREE_SCALES = ("tree_df",)


def settings_to_dict(settings: _core.Settings) -> dict[str, Any]:
    """Return settings as plain values, without the number of threads."""
    left_out: tuple[str, ...] = () if has_soft_rules(settings) else OF_SOFT_RULES
    left_out += () if has_tree_scales(settings) else OF_TREE_SCALES
    values = {name: getattr(settings, name) for name in _core.SETTINGS if name not in left_out}
    others = [
        {
            name: getattr(settings.ensemble(e), name)
            for name in _core.ENSEMBLE_SETTINGS
            if name not in left_out
        }
        for e in range(1, settings.n_ensembles)
    ]
    return {**values, MORE_ENSEMBLES: others} if others else values


def settings_from_dict(values: Mapping[str, Any]) -> _core.Settings:
    """Return the settings that `settings_to_dict` wrote; other fields have their defaults."""
    settings = _core.Settings()
    for name, value in values.items():
        if name != MORE_ENSEMBLES:
            setattr(settings, name, value)
    for others in values.get(MORE_ENSEMBLES, ()):
        settings.add_ensemble()
        ensemble = settings.ensemble(settings.n_ensembles - 1)
        for name, value in others.items():
            setattr(ensemble, name, value)
    return settings


def settings_of(values: Mapping[str, Any], e: int) -> dict[str, Any]:
    """Return the settings of a model as if ensemble e were its only one."""
    first = {name: value for name, value in values.items() if name != MORE_ENSEMBLES}
    return first if e == 0 else {**first, **values[MORE_ENSEMBLES][e - 1]}


def has_soft_rules(settings: _core.Settings) -> bool:
    """Say whether an ensemble of a chain has soft rules."""
    return any(settings.ensemble(e).soft for e in range(settings.n_ensembles))


def has_tree_scales(settings: _core.Settings) -> bool:
    """Say whether trees of an ensemble of a chain have scales of their own."""
    return any(settings.ensemble(e).tree_df > 0.0 for e in range(settings.n_ensembles))


def n_trees_in_all(settings: _core.Settings) -> int:
    """Return the number of trees of all ensembles of a chain."""
    return sum(settings.ensemble(e).n_trees for e in range(settings.n_ensembles))


def ensemble_prefix(e: int) -> str:
    """Return what the names of an ensemble's values begin with in traces and states."""
    return f"ensemble.{e}." if e else ""
