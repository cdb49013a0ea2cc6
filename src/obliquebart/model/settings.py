"""The engine's settings as plain values that pickle and can be written to a file."""

from __future__ import annotations

from typing import Any

from obliquebart import _core

__all__ = ["SETTINGS_FIELDS", "settings_from_dict", "settings_to_dict"]

SETTINGS_FIELDS = (
    *("n_trees", "alpha", "beta", "max_depth", "min_samples_leaf", "axis_rules"),
    *("likelihood", "offset", "leaf_sd", "leaf_sd_fixed", "leaf_shape", "leaf_rate"),
    *("sigma", "sigma_fixed", "nu", "lambda_"),
    *("theta", "theta_fixed", "theta_a", "theta_b", "theta_by_column"),
    *("p_change", "p_perturb", "perturb_angle", "perturb_shift"),
    *("output_correlation", "stretch"),
)


def settings_to_dict(settings: _core.Settings) -> dict[str, Any]:
    """Return settings as plain values that pickle; the number of threads is no part of them."""
    return {name: getattr(settings, name) for name in SETTINGS_FIELDS}


def settings_from_dict(values: dict[str, Any], n_threads: int = 1) -> _core.Settings:
    """Return the settings that `settings_to_dict` wrote."""
    settings = _core.Settings()
    for name, value in values.items():
        setattr(settings, name, value)
    settings.n_threads = n_threads
    return settings
