"""The engine's settings as plain values that pickle and can be written to a file."""

from __future__ import annotations

from typing import Any

from obliquebart import _core

__all__ = ["settings_from_dict", "settings_to_dict"]

# Names and order are those of model files, so neither changes. How many threads a chain has is no
# part of a model.
FIELDS = (
    *("n_trees", "alpha", "beta", "max_depth", "min_samples_leaf", "axis_rules"),
    *("likelihood", "offset", "leaf_sd", "leaf_sd_fixed", "leaf_shape", "leaf_rate"),
    *("sigma", "sigma_fixed", "nu", "lambda_"),
    *("theta", "theta_fixed", "theta_a", "theta_b", "theta_by_column"),
    *("p_change", "p_perturb", "perturb_angle", "perturb_shift"),
    *("output_correlation", "stretch"),
)


def settings_to_dict(settings: _core.Settings) -> dict[str, Any]:
    """Return settings as plain values."""
    return {name: getattr(settings, name) for name in FIELDS}


def settings_from_dict(values: dict[str, Any]) -> _core.Settings:
    """Return the settings that `settings_to_dict` wrote; what is not given has its default."""
    settings = _core.Settings()
    for name, value in values.items():
        setattr(settings, name, value)
    return settings
