"""The tests of the paper, and ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
LEVEL = 0.05


def one_sided_p(smaller: FloatArray, larger: FloatArray) -> float:
    """Return the p-value of a paired t-test that the first has the smaller mean.

    NaN with fewer than three pairs; ½ if all pairs are equal.
    """
    if len(smaller) < 3:
        return float("nan")
    difference = larger - smaller
    mean, error = difference.mean(), stats.sem(difference)
    if error == 0:
        return 0.5 if mean == 0 else float(mean < 0)
    return float(stats.t.sf(mean / error, len(difference) - 1))


def is_better(one: FloatArray, other: FloatArray, *, lower_is_better: bool) -> bool:
    """Return whether the first is significantly better: one-sided, 5%, as in the paper."""
    p = one_sided_p(one, other) if lower_is_better else one_sided_p(other, one)
    return bool(p < LEVEL)


def mean_ranks(scores: FloatArray, *, lower_is_better: bool) -> FloatArray:
    """Return the mean rank of each column over the rows; 1 is best, ties share."""
    signed = scores if lower_is_better else -scores
    ranks: FloatArray = np.mean([stats.rankdata(row) for row in signed], axis=0)
    return ranks


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Return Nemenyi's critical difference of mean ranks at 5% (Demšar 2006, JMLR 7, eq. 5)."""
    q = stats.studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))
