"""Where rules look: which columns directions have under the prior, and in a posterior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.posterior.draws import ContinuousNode, DecodedDraws, LeafNode, Node

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

FloatArray = NDArray[np.float64]


def prior_shares(
    trace: Mapping[str, FloatArray],
    components: Sequence[Mapping[str, Any]],
    p_cont: int,
    is_zero_legal: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities that a rule has each column, and that it has one.

    By draw, as theta and the weights of the components in the trace are: of shapes
    (p_cont, n_draws) and (n_draws,).
    """
    theta = trace["theta"].ravel()
    used, valid = np.zeros((p_cont, len(theta))), np.zeros(len(theta))
    for c, component in enumerate(components):
        weight = trace[f"direction.{c}"].ravel() if len(components) > 1 else np.ones(len(theta))
        if component["kind"] in ("sparse", "signs"):
            columns = np.array(component["columns"] or range(p_cont), dtype=np.int64)
            used[columns] += weight * theta
            valid += weight * (1.0 if is_zero_legal else 1.0 - (1.0 - theta) ** len(columns))
        else:
            used += np.outer(_inclusion(component, p_cont), weight)
            valid += weight
    return used, valid


def _inclusion(component: Mapping[str, Any], p_cont: int) -> FloatArray:
    """Return the probability that a column is in a direction that is never zero."""
    out = np.zeros(p_cont)
    if component["kind"] == "groups":
        inclusion, groups = component["inclusion"], component["groups"]
        for group in groups:
            out[group] += inclusion / (1.0 - (1.0 - inclusion) ** len(group)) / len(groups)
        return out
    if component["kind"] == "axis":
        columns = component["columns"] or list(range(p_cont))
        out[columns] = 1.0 / len(columns)
        return out
    along = [
        _coverage(*sizes)
        for sizes in zip(component["shape"], component["least"], component["most"], strict=True)
    ]
    out[component["columns"]] = reduce(np.multiply.outer, along).ravel()
    return out


def prior_pairs(
    trace: Mapping[str, FloatArray],
    components: Sequence[Mapping[str, Any]],
    p_cont: int,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> FloatArray:
    """Return the share of the oblique rules of the prior that have both columns of each pair.

    Oblique rules have two columns or more. theta and the weights of the components are those of
    the trace, as in `prior_shares`.
    """
    theta = trace["theta"].ravel()
    both, oblique = np.zeros(len(pairs[0])), 0.0
    for c, component in enumerate(components):
        weight = trace[f"direction.{c}"].ravel() if len(components) > 1 else np.ones(len(theta))
        if component["kind"] in ("sparse", "signs"):
            columns = component["columns"] or list(range(p_cont))
            has_both = np.isin(pairs[0], columns) & np.isin(pairs[1], columns)
            both += has_both * np.mean(weight * theta**2)
            oblique += float(np.mean(weight * _several(theta, len(columns))))
        elif component["kind"] == "groups":
            share, several = _pairs_of_groups(component, pairs)
            both += share * weight.mean()
            oblique += several * float(weight.mean())
        elif component["kind"] == "patch":
            share, several = _pairs_of_patches(component, pairs)
            both += share * weight.mean()
            oblique += several * float(weight.mean())
    return both / max(oblique, 1e-300)


def _several(inclusion: FloatArray | float, n_columns: int) -> FloatArray:
    """Return the probability that two or more of some columns are included."""
    none, one = (1.0 - inclusion) ** n_columns, (1.0 - inclusion) ** (n_columns - 1)
    return np.asarray(1.0 - none - n_columns * inclusion * one)


def _pairs_of_groups(
    component: Mapping[str, Any], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[FloatArray, float]:
    """Return the probabilities that a direction has both columns, and that it has several."""
    inclusion, groups = component["inclusion"], component["groups"]
    both, several = np.zeros(len(pairs[0])), 0.0
    for group in groups:
        share = 1.0 / (1.0 - (1.0 - inclusion) ** len(group)) / len(groups)
        both += share * inclusion**2 * (np.isin(pairs[0], group) & np.isin(pairs[1], group))
        several += share * float(_several(inclusion, len(group)))
    return both, several


def _pairs_of_patches(
    component: Mapping[str, Any], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[FloatArray, float]:
    """Return the same for a patch: one run along each axis has both cells."""
    columns, shape = np.asarray(component["columns"]), component["shape"]
    inside = np.isin(pairs[0], columns) & np.isin(pairs[1], columns)
    both, one = inside.astype(np.float64), 1.0
    first, second = (
        np.unravel_index(np.searchsorted(columns, each[inside]), shape) for each in pairs
    )
    for a, sizes in enumerate(zip(shape, component["least"], component["most"], strict=True)):
        length, least, most = sizes
        low, high = np.minimum(first[a], second[a]), np.maximum(first[a], second[a])
        count, n_runs = np.zeros(len(low)), 0
        for size in range(least, most + 1):
            starts = np.minimum(low, length - size) - np.maximum(high - size + 1, 0) + 1
            count += np.maximum(starts, 0)
            n_runs += length - size + 1
        both[inside] *= count / n_runs
        one *= length / n_runs if least == 1 else 0.0
    return both, 1.0 - one


def _coverage(length: int, least: int, most: int) -> FloatArray:
    """Return the share of the runs of an axis that have each cell."""
    count, n_runs = np.zeros(length), 0
    for size in range(least, most + 1):
        n_starts = length - size + 1
        count += np.convolve(np.ones(n_starts), np.ones(size))
        n_runs += n_starts
    return count / n_runs


def column_effects(posterior: Posterior, n_draws: int = 100) -> tuple[FloatArray, FloatArray]:
    """Return how much rules look at each continuous column, and in which direction.

    A rule divides the leaves of a tree in two parts, and its effect is the difference between the
    mean outputs of these. The first array has the sums over all rules of the size of the effect
    times |φ|, the second those of the effect times φ, which is positive where f grows with the
    column. Both are means over up to `n_draws` draws, in the units of the outcome's scale.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor
    >>> X = np.random.default_rng(0).uniform(size=(100, 3))
    >>> model = ObliqueBARTRegressor(n_trees=10, n_burn=100, n_draws=50, random_state=0)
    >>> size, slope = column_effects(model.fit(X, 5 * X[:, 1]).posterior_)
    >>> int(size.argmax()), bool(slope[1] > 0)
    (1, True)
    """
    size, slope = np.zeros((2, posterior.encoding.p_cont))
    share = _share_of_draw(posterior, n_draws)
    for node, effect in _rules(posterior, n_draws):
        size[node.columns] += abs(effect) * np.abs(node.weights)
        slope[node.columns] += effect * node.weights
    return size * share, slope * share


class StrongPatch(NamedTuple):
    """Columns that rules use together, and how much f changes with them.

    `effect` is the sum of the sizes of the effects of all rules with exactly these columns, as a
    mean over draws. `weights` is their mean φ, with the sign with which f grows, weighted by these
    sizes. `part` is the number of the posterior whose rules they are.
    """

    columns: NDArray[np.int64]
    weights: FloatArray
    effect: float
    part: int = 0


def strongest_patches(
    posteriors: Sequence[Posterior],
    n_patches: int,
    columns: NDArray[np.int64] | None = None,
    n_draws: int = 100,
    overlap: float = 0.5,
) -> list[StrongPatch]:
    """Return the sets of columns with the largest effects, largest first.

    With `columns`, rules that have any other column do not count. Chains find the same feature in
    patches that differ by a cell. A patch that shares more than `overlap` of its columns and those
    of a stronger one, counted together, is therefore left out. Posteriors are kept apart: each has
    an f of its own, and these cannot be added up.
    """
    sums: dict[tuple[int, bytes], tuple[FloatArray, float]] = {}
    is_shown = np.full(posteriors[0].encoding.p_cont, columns is None)
    is_shown[[] if columns is None else columns.ravel()] = True
    for part, posterior in enumerate(posteriors):
        share = _share_of_draw(posterior, n_draws)
        for node, effect in _rules(posterior, n_draws):
            # Where φ may be zero, a rule may have no column at all.
            if not len(node.columns) or not is_shown[node.columns].all():
                continue
            key = part, np.asarray(node.columns, np.int64).tobytes()
            weights, size = sums.get(key, (np.zeros(len(node.columns)), 0.0))
            sums[key] = (weights + share * effect * node.weights, size + share * abs(effect))
    found: list[StrongPatch] = []
    for (part, cells), (weights, size) in sorted(sums.items(), key=lambda item: -item[1][1]):
        used = np.frombuffer(cells, np.int64)
        if len(found) == n_patches or size == 0.0:
            break
        stronger = [each.columns for each in found if each.part == part]
        if all(_jaccard(used, columns) <= overlap for columns in stronger):
            found.append(StrongPatch(used, weights / size, size, part))
    return found


def _jaccard(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    n_shared = len(np.intersect1d(a, b, assume_unique=True))
    return n_shared / (len(a) + len(b) - n_shared)


def _share_of_draw(posterior: Posterior, n_draws: int) -> float:
    """Return what turns a sum over `_rules` into a mean over draws, in the units of the outcome."""
    n_kept = posterior.n_chains * posterior.n_draws
    return float(posterior.scale.scale) / min(n_draws, n_kept)


def _rules(posterior: Posterior, n_draws: int) -> Iterator[tuple[ContinuousNode, float]]:
    """Yield the continuous rules of up to `n_draws` draws, evenly spaced, with their effects."""
    decoded = DecodedDraws(posterior.draws, posterior.encoding.n_levels)
    n_kept = len(decoded.structure_of)
    chosen = np.linspace(0, n_kept - 1, min(n_draws, n_kept)).astype(np.int64)
    for draw in chosen.tolist():
        ends = np.cumsum(decoded.n_leaves[draw])
        all_outputs = decoded.draw_outputs(draw)
        for tree, structure in enumerate(decoded.structure_of[draw].tolist()):
            outputs = all_outputs[ends[tree] - decoded.n_leaves[draw, tree] : ends[tree]]
            yield from _effects(decoded.nodes(structure), outputs)


def _effects(
    nodes: Sequence[Node], outputs: NDArray[np.float32]
) -> Iterator[tuple[ContinuousNode, float]]:
    """Yield the continuous rules of a tree, each with the mean right of it less that left of it."""
    means: list[tuple[float, int]] = []  # of finished subtrees, from the right: mean and leaves
    for node in reversed(nodes):
        if isinstance(node, LeafNode):
            means.append((float(outputs[node.number]), 1))
            continue
        (left, n_left), (right, n_right) = means.pop(), means.pop()
        n_leaves = n_left + n_right
        means.append(((n_left * left + n_right * right) / n_leaves, n_leaves))
        if isinstance(node, ContinuousNode):
            yield node, right - left
