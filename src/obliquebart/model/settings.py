"""The engine's settings as plain values that pickle and can be written to a file."""

from __future__ import annotations

from typing import Any

from obliquebart import _core


def settings_to_dict(settings: _core.Settings) -> dict[str, Any]:
    """Return settings as plain values, without the number of threads."""
    return {name: getattr(settings, name) for name in _core.SETTINGS}


def settings_from_dict(values: dict[str, Any]) -> _core.Settings:
    """Return the settings that `settings_to_dict` wrote; other fields have their defaults."""
    settings = _core.Settings()
    for name, value in values.items():
        setattr(settings, name, value)
    return settings
