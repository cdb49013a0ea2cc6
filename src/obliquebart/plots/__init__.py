"""Plots of a fitted model; each function draws on Axes and returns them.

All plots are readable in black and white: groups differ in marker, line style or lightness, never
only in hue.
"""

from obliquebart.plots.causal import (
    effect_ranking,
    overlap,
    policy,
    prior_and_posterior,
    sensitivity,
    subgroups,
)
from obliquebart.plots.checks import calibration, coverage, fit, residuals
from obliquebart.plots.columns import effects, importance
from obliquebart.plots.directions import direction_map, evidence, patches
from obliquebart.plots.structure import inclusion, tree
from obliquebart.plots.surfaces import NoSurfaceError, surface
from obliquebart.plots.survival import survival
from obliquebart.plots.traces import trace

__all__ = [
    "NoSurfaceError",
    "calibration",
    "coverage",
    "direction_map",
    "effect_ranking",
    "effects",
    "evidence",
    "fit",
    "importance",
    "inclusion",
    "overlap",
    "patches",
    "policy",
    "prior_and_posterior",
    "residuals",
    "sensitivity",
    "subgroups",
    "surface",
    "survival",
    "trace",
    "tree",
]
