"""Range of phi'x over a cell: the box [-1, 1]^p cut by half-spaces a'x <= b."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

TOLERANCE = 1e-9


def by_vertices(phi: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(lo, hi) of phi (N, p) over N cells a (N, d, p), b (N, d), p <= 3, all vertices tried.

    lo > hi (infinite) where the cell is empty.
    """
    n, p = phi.shape
    box = np.concatenate([np.eye(p), -np.eye(p)])
    a = np.concatenate([np.broadcast_to(box, (n, 2 * p, p)), a], axis=1)
    b = np.concatenate([np.ones((n, 2 * p)), b], axis=1)
    lo, hi = np.full(n, np.inf), np.full(n, -np.inf)
    for chosen in combinations(range(a.shape[1]), p):
        vertex, regular = _solve(a[:, chosen, :], b[:, chosen])
        inside = (np.einsum("ndp,np->nd", a, vertex) <= b + TOLERANCE).all(axis=1) & regular
        value = np.einsum("np,np->n", phi, vertex)
        lo = np.where(inside, np.minimum(lo, value), lo)
        hi = np.where(inside, np.maximum(hi, value), hi)
    return lo, hi


def _solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cramer's rule for N systems of size p <= 3; also which of them are regular."""
    p = a.shape[1]
    if p == 1:
        det = a[:, 0, 0]
        adjugate = np.ones((len(a), 1, 1))
    elif p == 2:
        det = a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
        adjugate = np.stack(
            [np.stack([a[:, 1, 1], -a[:, 0, 1]], -1), np.stack([-a[:, 1, 0], a[:, 0, 0]], -1)], 1
        )
    else:
        r0, r1, r2 = a[:, 0], a[:, 1], a[:, 2]
        adjugate = np.stack([np.cross(r1, r2), np.cross(r2, r0), np.cross(r0, r1)], -1)
        det = np.einsum("np,np->n", r0, adjugate[:, :, 0])
    regular = np.abs(det) > 1e-12
    x = np.einsum("nij,nj->ni", adjugate, b) / np.where(regular, det, 1.0)[:, None]
    return np.where(regular[:, None], x, 2.0), regular


def by_duality(phi: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One half-space a'x <= b (N, p), (N,), any p: the dual has one variable, min over its kinks.

    max phi'x = min over t >= 0 of t b + |phi - t a|_1.
    """

    def maximum(c: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            kinks = np.where(a != 0, c / np.where(a != 0, a, 1.0), 0.0)
        t = np.concatenate([np.zeros((len(c), 1)), np.maximum(kinks, 0.0)], axis=1)
        values = t * b[:, None] + np.abs(c[:, None, :] - t[:, :, None] * a[:, None, :]).sum(axis=2)
        return values.min(axis=1)

    return -maximum(-phi), maximum(phi)


def by_linprog(phi: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """One cell, any p: scipy's HiGHS."""
    p = len(phi)
    out = []
    for sign in (1.0, -1.0):
        result = linprog(
            sign * phi,
            A_ub=a if len(a) else None,
            b_ub=b if len(a) else None,
            bounds=[(-1.0, 1.0)] * p,
            method="highs",
        )
        if result.status != 0:
            return np.inf, -np.inf
        out.append(sign * result.fun)
    return out[0], out[1]


def by_box(phi: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half-spaces of one column each, any p: the cell is a box."""
    lower, upper = -np.ones_like(phi), np.ones_like(phi)
    for k in range(a.shape[1]):
        bound = b[:, k, None] / np.where(a[:, k] != 0, a[:, k], 1.0)
        upper = np.where(a[:, k] > 0, np.minimum(upper, bound), upper)
        lower = np.where(a[:, k] < 0, np.maximum(lower, bound), lower)
    at = np.stack([phi * lower, phi * upper])
    return at.min(axis=0).sum(axis=1), at.max(axis=0).sum(axis=1)


def of_nodes(phi: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(lo, hi) for N nodes with d ancestors' half-spaces each, the cheapest way for p and d."""
    n, p = phi.shape
    if a.shape[1] == 0:
        width = np.abs(phi).sum(axis=1)
        return -width, width
    if a.shape[1] == 1:
        return by_duality(phi, a[:, 0], b[:, 0])
    if ((a != 0).sum(axis=2) <= 1).all():
        return by_box(phi, a, b)
    if p <= 3:
        return by_vertices(phi, a, b)
    pairs = [by_linprog(phi[i], a[i], b[i]) for i in range(n)]
    return np.array([q[0] for q in pairs]), np.array([q[1] for q in pairs])
