"""Directions from the prior of a component: plain NumPy, one rule after the other.

A component is the dictionary that the core's settings have. Smooth values come from the Cholesky
factor of their whole covariance, boxes from a list of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

Component = dict[str, Any]
Box = tuple[tuple[int, int], ...]  # start and size along each axis


def draw(
    components: Sequence[Component], weights: np.ndarray, theta: np.ndarray, p_cont: int, rng
) -> tuple[np.ndarray, np.ndarray]:
    """Return phi (N, p_cont) of N rules, and the number of the component of each.

    `weights` and `theta` have a row per rule; theta has one entry, or one for each column.
    """
    n = len(theta)
    above = rng.random((n, 1)) > np.cumsum(weights, axis=1)
    which = np.minimum(above.sum(axis=1), len(components) - 1)
    phi = np.zeros((n, p_cont))
    for c, component in enumerate(components):
        at = np.flatnonzero(which == c)
        phi[at] = DRAW[component["kind"]](component, theta[at], p_cont, rng)
    norm = np.sqrt((phi**2).sum(axis=1, keepdims=True))
    return phi / np.where(norm > 0, norm, 1.0), which


def theta_columns(components: Sequence[Component], p_cont: int) -> list[int]:
    """Return the columns that some component takes with probability theta."""
    with_theta = [c for c in components if c["kind"] in ("sparse", "signs")]
    return sorted({int(j) for c in with_theta for j in _columns(c, p_cont)})


def _columns(component: Component, p_cont: int) -> np.ndarray:
    return np.array(component.get("columns") or range(p_cont))


def _support(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    may_be = np.zeros(p_cont, dtype=bool)
    may_be[_columns(component, p_cont)] = True
    return (rng.random((len(theta), p_cont)) < theta) & may_be


def _sparse(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    return rng.standard_normal((len(theta), p_cont)) * _support(component, theta, p_cont, rng)


def _signs(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    sign = rng.choice([-1.0, 1.0], (len(theta), p_cont))
    return sign * _support(component, theta, p_cont, rng)


def _axis(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    return np.eye(p_cont)[rng.choice(_columns(component, p_cont), len(theta))]


def _groups(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    out = np.zeros((len(theta), p_cont))
    for row in out:
        group = np.array(component["groups"][rng.integers(len(component["groups"]))])
        while not row.any():
            chosen = rng.random(len(group)) < component.get("inclusion", 0.5)
            row[group] = rng.standard_normal(len(group)) * chosen
    return out


def _patch(component: Component, theta: np.ndarray, p_cont: int, rng) -> np.ndarray:
    shape = component["shape"]
    places = boxes(tuple(shape), tuple(component["least"]), tuple(component["most"]))
    columns = np.array(component["columns"]).reshape(shape)
    out = np.zeros((len(theta), p_cont))
    for row in out:
        box = places[rng.integers(len(places))]
        inside = columns[tuple(slice(start, start + size) for start, size in box)]
        row[inside] = _values(component, inside.shape, rng)
    return out


def boxes(shape: tuple[int, ...], least: tuple[int, ...], most: tuple[int, ...]) -> list[Box]:
    """Return all boxes of a grid with sizes between limits."""
    along = [
        [(start, size) for start in range(n) for size in range(lo, hi + 1) if start + size <= n]
        for n, lo, hi in zip(shape, least, most, strict=True)
    ]
    return list(product(*along))


def _values(component: Component, shape: tuple[int, ...], rng) -> np.ndarray:
    kind = component.get("values", "normal")
    if kind == "difference":
        axis = rng.choice([a for a, size in enumerate(shape) if size > 1])
        split = rng.integers(1, shape[axis])
        is_before = np.indices(shape)[axis] < split
        edge = is_before / is_before.sum() - ~is_before / (~is_before).sum()
        return rng.choice([-1, 1]) * edge
    scale = component.get("length_scale", 2.0) if kind == "smooth" else 0.0
    return (covariance_factor(shape, scale) @ rng.standard_normal(np.prod(shape))).reshape(shape)


@cache
def covariance_factor(shape: tuple[int, ...], length_scale: float) -> np.ndarray:
    """Return the Cholesky factor of the covariance of smooth values; 0 is none."""
    if length_scale == 0.0:
        return np.eye(int(np.prod(shape)))
    at = np.indices(shape).reshape(len(shape), -1).T
    distance = np.abs(at[:, None] - at[None]).sum(axis=2)
    return np.linalg.cholesky(np.exp(-distance / length_scale))


DRAW = {"sparse": _sparse, "axis": _axis, "signs": _signs, "groups": _groups, "patch": _patch}
